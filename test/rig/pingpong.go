// SPDX-License-Identifier: Apache-2.0

package rig

import (
	"context"
	"errors"
	"io"
	"net"
	"time"
)

// PingPong sends size bytes to and fro over a TCP connection, one message at a
// time, for d after a tenth of it, and gives the mean round trip.
func PingPong(ctx context.Context, from, to *Host, size int, d time.Duration) (time.Duration, error) {
	out, in, err := Connect(ctx, from, to)
	if err != nil {
		return 0, err
	}
	echoed := make(chan error, 1)
	go func() { echoed <- echo(in, size) }()
	trip, err := meanTrip(out, size, d)
	err = errors.Join(err, out.Close())
	return trip, errors.Join(err, <-echoed, in.Close())
}

// meanTrip makes round trips to an echo for d after a tenth of it.
func meanTrip(c net.Conn, size int, d time.Duration) (time.Duration, error) {
	if err := trips(c, size, d/10, nil); err != nil {
		return 0, err
	}
	var n int
	start := time.Now()
	err := trips(c, size, d, &n)
	return time.Since(start) / time.Duration(max(n, 1)), err
}

// trips makes round trips for d and counts them.
func trips(c net.Conn, size int, d time.Duration, n *int) error {
	msg := pattern[:size]
	buf := make([]byte, size)
	for end := time.Now().Add(d); time.Now().Before(end); {
		if _, err := c.Write(msg); err != nil {
			return err
		}
		if _, err := io.ReadFull(c, buf); err != nil {
			return err
		}
		if string(buf) != string(msg) {
			return errors.New("the echo is not what was sent")
		}
		if n != nil {
			*n++
		}
	}
	return nil
}

// echo sends back every message until the connection is closed.
func echo(c net.Conn, size int) error {
	buf := make([]byte, size)
	for {
		if _, err := io.ReadFull(c, buf); err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		if _, err := c.Write(buf); err != nil {
			return err
		}
	}
}
