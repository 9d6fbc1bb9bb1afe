// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/tbnet2/tbnet2/cmd/tbnetctl/internal/demo"
	"github.com/tbnet2/tbnet2/lab"
)

// demoTimeout is what `tbnetctl demo` may take altogether.
const demoTimeout = 80 * time.Second

func newDemo(a *app) *cobra.Command {
	var mode, size, out string
	c := &cobra.Command{
		Use:   "demo",
		Short: "One TCP connection over four rails, a cable pulled on the way",
		Long: `demo builds two hosts joined by four rails over two cables of different rate and
delay, sends a file over one TCP connection, pulls a cable half-way and puts it
back, and verifies every byte. It needs no hardware and no root: hosts are network
namespaces, of an unprivileged user namespace if need be, or in memory where
neither is allowed. All rates are those of simulated cables.`,
		Args: wants(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			p := demo.Default()
			bytes, err := lab.ParseSize(size)
			if err != nil {
				return usagef("--size: %v", err)
			}
			p.Bytes = uint64(bytes)
			if p.Bytes < demo.BytesLeast {
				return usagef("--size: %d bytes are too few to measure by; give %d or more", p.Bytes, demo.BytesLeast)
			}
			if mode != "auto" {
				p.Mode = lab.Mode(mode)
			}
			s := lab.Detect().Get(p.Mode)
			switch {
			case !s.OK:
				return usagef("--mode: %s", s.Why)
			case s.Enter:
				return enterDemo(cmd.Context())
			}
			return a.demo(cmd.Context(), p, out)
		},
	}
	c.Flags().StringVar(&mode, "mode", "auto", "auto, namespaces, user-namespace or memory")
	c.Flags().StringVar(&size, "size", "256m", "bytes to send, with k, m or g for powers of 1024")
	c.Flags().StringVar(&out, "out", "", "also write the report, as JSON, to this file")
	return c
}

// enterDemo runs the same command inside a user namespace.
func enterDemo(ctx context.Context) error {
	code, err := lab.Enter(ctx, lab.EnterOptions{Args: os.Args[1:], Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr})
	if err != nil {
		return err
	}
	if code != exitOK {
		return &exitError{code: code}
	}
	return nil
}

func (a *app) demo(ctx context.Context, p demo.Plan, out string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, demoTimeout, fmt.Errorf("not finished within %v", demoTimeout))
	defer cancel()
	view := &demoView{w: a.err, tty: a.errTTY}
	r, err := demo.Run(ctx, p, view.show)
	view.end()
	if err != nil {
		return err
	}
	if out != "" {
		if err := writeReport(out, r); err != nil {
			return err
		}
	}
	if a.json {
		err = a.printJSON(r)
	} else {
		err = printDemo(a.out, r)
	}
	if err == nil && !r.Equal() {
		err = fmt.Errorf("what arrived is not what was sent: sha256 %s, sent %s", r.SHA256Got, r.SHA256Sent)
	}
	return err
}

// writeReport writes JSON to a file, with its folder.
func writeReport(path string, r demo.Report) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	b, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(b, '\n'), 0o644)
}

// demoView shows progress: one changing line on a terminal, else a line now and
// then.
type demoView struct {
	w    io.Writer
	tty  bool
	mu   sync.Mutex // guards what follows: steps and rates come from two goroutines
	line bool       // the cursor stands behind a changing line
	last time.Time
}

// plainEvery is how often a plain line is written.
const plainEvery = time.Second

func (v *demoView) show(p demo.Progress) {
	v.mu.Lock()
	defer v.mu.Unlock()
	switch {
	case p.Step != "":
		v.clear()
		fmt.Fprintf(v.w, "* %s\n", p.Step)
	case v.tty:
		v.clear()
		fmt.Fprint(v.w, railLine(p))
		v.line = true
	case time.Since(v.last) >= plainEvery:
		v.last = time.Now()
		fmt.Fprintln(v.w, railLine(p))
	}
}

// clear takes a changing line away.
func (v *demoView) clear() {
	if v.line {
		fmt.Fprint(v.w, "\r\x1b[K")
		v.line = false
	}
}

func (v *demoView) end() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.clear()
}

// railLine is progress and the rate of each rail.
func railLine(p demo.Progress) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%3.0f %%", 100*float64(p.Done)/float64(p.Total))
	sum := 0.0
	for _, r := range p.Rails {
		sum += r.Bits
		if r.State == "up" {
			fmt.Fprintf(&b, "  %s %4.0f", r.Name, r.Bits/1e6)
		} else {
			fmt.Fprintf(&b, "  %s %4s", r.Name, r.State)
		}
	}
	fmt.Fprintf(&b, "  sum %4.0f Mb/s", sum/1e6)
	return b.String()
}

// printDemo tells of a report in words.
func printDemo(w io.Writer, r demo.Report) error {
	var b strings.Builder
	fmt.Fprintf(&b, "sent      %d MiB over one TCP connection in %.1f s (mode %s, simulated cables)\n", r.Bytes>>20, r.Seconds, r.Mode)
	verdict := "equal"
	if !r.Equal() {
		verdict = "DIFFERENT from " + r.SHA256Sent
	}
	fmt.Fprintf(&b, "sha256    %s, %s at both ends\n", r.SHA256Got, verdict)
	names := make([]string, 0, len(r.BytesPerRail))
	for name := range r.BytesPerRail {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		fmt.Fprintf(&b, "%-9s %.1f MB\n", name, float64(r.BytesPerRail[name])/1e6)
	}
	fmt.Fprintf(&b, "rate      %.0f of %.0f Mb/s with all cables in: %.1f %%\n", float64(r.GoodputBPS)/1e6, float64(r.SumBPS)/1e6, r.SharePct)
	fmt.Fprintf(&b, "reorder   %d packets came early and waited; %d frames moved to other rails, %d lost, %d sent again\n",
		r.OutOfOrder, r.Moved, r.Lost, r.Resent)
	fmt.Fprintf(&b, "stall     %.0f ms at most from the pull on; TCP itself sent %d segments again\n", r.StallMS, r.TCPRetransmits)
	_, err := io.WriteString(w, b.String())
	return err
}
