// SPDX-License-Identifier: Apache-2.0

package outlets

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/tbnet2/tbnet2/rail/netnstest"
)

// echoMost is how long a key press may take to come back while a cable goes.
const echoMost = 300 * time.Millisecond

// TestSessionAcrossUnplug types into a session, as ssh does, while a cable goes
// away and comes back: small messages in both directions, each echoed.
func TestSessionAcrossUnplug(t *testing.T) {
	for name, open := range map[string]func(a, b *host){
		"TAP to TAP":    func(a, b *host) { a.openTAP(1500); b.openTAP(1500) },
		"TAP to gVisor": func(a, b *host) { a.openTAP(1500); b.openStack() },
	} {
		t.Run(name, func(t *testing.T) {
			a, b := join(t, 2, 9000)
			open(a, b)
			out, in := connect(t, a, b)
			echoed := make(chan struct{})
			go func() {
				defer close(echoed)
				_, _ = io.Copy(in, in)
			}()
			slowest := time.Duration(0)
			for _, step := range []func(){nothing,
				func() { netnstest.SetUp(t, b.ns, "cable0", false) },
				func() { netnstest.SetUp(t, b.ns, "cable0", true) }} {
				step()
				for range 100 {
					took, err := press(out)
					if err != nil {
						t.Fatal(err)
					}
					slowest = max(slowest, took)
				}
				wait(t, "the rails follow", func() bool { return a.railsUp() >= 1 && b.railsUp() >= 1 })
			}
			_ = out.Close()
			<-echoed
			t.Logf("slowest echo %v", slowest)
			if slowest > echoMost {
				t.Errorf("an echo took %v, more than %v", slowest, echoMost)
			}
		})
	}
}

// press sends a few bytes and waits for them to come back.
func press(c net.Conn) (time.Duration, error) {
	sent := make([]byte, 1+rand.IntN(100))
	for i := range sent {
		sent[i] = byte(rand.Int())
	}
	got := make([]byte, len(sent))
	begun := time.Now()
	if _, err := c.Write(sent); err != nil {
		return 0, err
	}
	if _, err := io.ReadFull(c, got); err != nil {
		return 0, err
	}
	if !bytes.Equal(sent, got) {
		return 0, errors.New("another echo came back than was typed")
	}
	return time.Since(begun), nil
}

// TestIperf3 runs the tool that users run, over two TAPs and two rails, both
// ways.
func TestIperf3(t *testing.T) {
	iperf3, err := exec.LookPath("iperf3")
	if err != nil {
		t.Fatal("iperf3 is missing: run make deps")
	}
	a, b := join(t, 2, 9000)
	a.openTAP(1500)
	b.openTAP(1500)
	for _, reverse := range []bool{false, true} {
		server := b.command(t, iperf3, "-s", "-1", "-B", b.ip)
		if err := server.Start(); err != nil {
			t.Fatal(err)
		}
		wait(t, "iperf3 listens", func() bool { return b.listens(t, 5201) })
		args := []string{"-c", b.ip, "-C", "cubic", "-t", "1", "-J"}
		if reverse {
			args = append(args, "-R")
		}
		rate, err := a.iperf3(t, iperf3, args)
		if err != nil {
			t.Error(err)
			_ = server.Process.Kill()
		}
		_ = server.Wait()
		t.Logf("simulated: reverse %v: %.2f Gb/s", reverse, rate/1e9)
		if rate < 50e6 {
			t.Errorf("reverse %v: %.0f bit/s", reverse, rate)
		}
	}
	for _, p := range a.fab.Status().Peers {
		for _, r := range p.Rails {
			if r.TxBytes < 1<<20 {
				t.Errorf("rail %s carried %d bytes", r.Name, r.TxBytes)
			}
		}
	}
}

// iperf3 runs the client and gives the rate received, bits per second.
func (h *host) iperf3(t *testing.T, tool string, args []string) (rate float64, err error) {
	t.Helper()
	out, err := h.output(t, tool, args...)
	if err != nil {
		return 0, fmt.Errorf("iperf3 %v: %w: %s", args, err, out)
	}
	var r struct {
		End struct {
			Received struct {
				Rate float64 `json:"bits_per_second"`
			} `json:"sum_received"`
		} `json:"end"`
	}
	err = json.Unmarshal(out, &r)
	return r.End.Received.Rate, err
}

// listens reports whether somebody in the host listens on a TCP port.
func (h *host) listens(t *testing.T, port int) (yes bool) {
	netnstest.Do(t, h.ns, func() error {
		table, err := os.ReadFile("/proc/thread-self/net/tcp")
		yes = bytes.Contains(table, fmt.Appendf(nil, ":%04X 00000000:0000 0A", port))
		return err
	})
	return yes
}

// commandMost ends a command that hangs.
const commandMost = 20 * time.Second

// command makes a command in the host's namespace; it must be started by
// output or Start within the namespace.
func (h *host) command(t *testing.T, name string, args ...string) *nsCommand {
	ctx, cancel := context.WithTimeout(context.Background(), commandMost)
	t.Cleanup(cancel)
	return &nsCommand{Cmd: exec.CommandContext(ctx, name, args...), host: h, t: t}
}

// nsCommand is a command that starts in a host's namespace.
type nsCommand struct {
	*exec.Cmd
	host *host
	t    *testing.T
}

// Start starts the command there.
func (c *nsCommand) Start() (err error) {
	netnstest.Do(c.t, c.host.ns, func() error {
		err = c.Cmd.Start()
		return nil
	})
	return err
}

// output runs a command in the host's namespace and gives what it prints.
func (h *host) output(t *testing.T, name string, args ...string) (out []byte, err error) {
	c := h.command(t, name, args...)
	var buf bytes.Buffer
	c.Stdout = &buf
	if err := c.Start(); err != nil {
		return nil, err
	}
	err = c.Wait()
	return buf.Bytes(), err
}
