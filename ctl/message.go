// SPDX-License-Identifier: Apache-2.0

package ctl

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Versions of the socket's protocol that this package speaks. A daemon serves
// all from ProtocolMin to ProtocolMax.
const (
	ProtocolMin = 1
	ProtocolMax = 1
)

// Sizes of one line on the socket, in bytes with its newline.
const (
	RequestMax  = 64 << 10
	ResponseMax = 16 << 20
)

// Op names a call.
type Op string

// Calls.
const (
	OpStatus    Op = "status"
	OpStats     Op = "stats"
	OpSetRails  Op = "rails_set"
	OpSetRailUp Op = "rail_up"
	OpSetBond   Op = "bond_set"
	OpEvents    Op = "events"
	OpReload    Op = "reload"
	OpBench     Op = "bench"
)

// changes tells whether the call needs the right to change something. Bench
// does: it loads the network.
func (o Op) changes() bool {
	switch o {
	case OpStatus, OpStats, OpEvents:
		return false
	}
	return true
}

// Request is one line from a client.
type Request struct {
	Version int             `json:"v"`
	ID      uint64          `json:"id"` // chosen by the client, not 0
	Op      Op              `json:"op"`
	Args    json.RawMessage `json:"args,omitempty"`
}

// Response is one line from the daemon; exactly one of Event, OK and Error is
// set. ID is the request's, and 0 where none could be read.
type Response struct {
	Version int             `json:"v"`
	ID      uint64          `json:"id"`
	Event   json.RawMessage `json:"event,omitempty"`
	OK      json.RawMessage `json:"ok,omitempty"`
	Error   *Error          `json:"error,omitempty"`
}

// ParseRequest reads one line. The ID is returned even where the rest is
// refused, so that the error can be told. It does not look into Args.
func ParseRequest(line []byte) (Request, error) {
	var r Request
	if err := strict(line, &r); err != nil {
		return Request{}, Errorf(CodeMalformed, "not a request: %v", err)
	}
	switch {
	case r.ID == 0:
		return r, Errorf(CodeMalformed, "request without an id")
	case r.Version < ProtocolMin:
		return r, Errorf(CodeVersion, "the client speaks control protocol %d, too old for this daemon (tbnet2 %s, %d to %d): install the same version of tbnetctl", r.Version, Version, ProtocolMin, ProtocolMax)
	case r.Version > ProtocolMax:
		return r, Errorf(CodeVersion, "the client speaks control protocol %d, too new for this daemon (tbnet2 %s, %d to %d): restart the daemon after its update", r.Version, Version, ProtocolMin, ProtocolMax)
	case r.Op == "":
		return r, Errorf(CodeMalformed, "request without an op")
	}
	return r, nil
}

// decode reads the arguments of the call.
func (r *Request) decode(into any) error {
	if len(r.Args) == 0 {
		return Errorf(CodeInvalid, "%s needs args", r.Op)
	}
	if err := strict(r.Args, into); err != nil {
		return Errorf(CodeInvalid, "args of %s: %v", r.Op, err)
	}
	return nil
}

// strict decodes exactly one JSON value and refuses unknown fields.
func strict(data []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return errors.New("it ends early")
		}
		return err
	}
	if d.More() || len(bytes.TrimSpace(data[d.InputOffset():])) > 0 {
		return fmt.Errorf("more text after byte %d", d.InputOffset())
	}
	return nil
}

// eventsArgs are the arguments of OpEvents.
type eventsArgs struct {
	Follow bool `json:"follow"`
}

// railUpArgs are the arguments of OpSetRailUp.
type railUpArgs struct {
	Rail string `json:"rail"`
	Up   bool   `json:"up"`
}
