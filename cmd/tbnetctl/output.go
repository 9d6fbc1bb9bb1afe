// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
)

// printJSON prints v as one indented document.
func (a *app) printJSON(v any) error {
	data, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	_, err = a.out.Write(append(data, '\n'))
	return err
}

// printLine prints v as one line of JSON, for streams.
func (a *app) printLine(v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = a.out.Write(append(data, '\n'))
	return err
}

// table prints rows in aligned columns, each row's cells given in order.
func table(w io.Writer, head []any, rows [][]any) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, row := range append([][]any{head}, rows...) {
		for i, cell := range row {
			if i > 0 {
				_, _ = t.Write([]byte{'\t'})
			}
			_, _ = fmt.Fprint(t, cell)
		}
		_, _ = t.Write([]byte{'\n'})
	}
	return t.Flush()
}

// watchFlags are --watch and --interval.
type watchFlags struct {
	watch    bool
	interval time.Duration
}

func (f *watchFlags) add(cmd *cobra.Command) {
	cmd.Flags().BoolVarP(&f.watch, "watch", "w", false, "print again and again until interrupted (with --json: one document a line)")
	cmd.Flags().DurationVar(&f.interval, "interval", time.Second, "time between two prints of --watch")
}

// intervalMin keeps a typing error from making a busy loop of --watch.
const intervalMin = 50 * time.Millisecond

// show fetches and prints once, or with --watch until ctx ends. text prints
// for people; it gets the value before as well, nil at first.
func show[T any](ctx context.Context, a *app, f watchFlags, fetch func(context.Context) (*T, error), text func(w io.Writer, now, before *T) error) error {
	if f.watch && f.interval < intervalMin {
		return usagef("--interval %v is below %v", f.interval, intervalMin)
	}
	now, err := fetch(ctx)
	if err != nil {
		return err
	}
	if !f.watch {
		if a.json {
			return a.printJSON(now)
		}
		return text(a.out, now, nil)
	}
	c, stop := a.tick(f.interval)
	defer stop()
	var before *T
	for {
		if err := a.page(func(w io.Writer) error { return text(w, now, before) }, now); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-c:
		}
		before = now
		if now, err = fetch(ctx); err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return err
		}
	}
}

// clear moves a terminal's cursor home and erases what is below.
const clear = "\x1b[H\x1b[J"

// page prints one round of --watch in one write, so that a terminal does not
// flicker and a pipe never ends in half a page.
func (a *app) page(text func(io.Writer) error, v any) error {
	if a.json {
		return a.printLine(v)
	}
	var b bytes.Buffer
	if a.outTTY {
		b.WriteString(clear)
	}
	if err := text(&b); err != nil {
		return err
	}
	if !a.outTTY {
		b.WriteByte('\n')
	}
	_, err := a.out.Write(b.Bytes())
	return err
}

// progress tells on stderr of work that takes long: one changing line on a
// terminal, a line for each change of what in a pipe.
type progress struct {
	a    *app
	last string
}

// step says what is being done; detail changes often and is shown on a
// terminal only.
func (p *progress) step(what, detail string) {
	if p.a.errTTY {
		_, _ = fmt.Fprintf(p.a.err, "\r\x1b[K%s %s", what, detail)
	} else if what != p.last {
		_, _ = fmt.Fprintln(p.a.err, what)
	}
	p.last = what
}

// done ends the line.
func (p *progress) done() {
	if p.a.errTTY && p.last != "" {
		_, _ = fmt.Fprint(p.a.err, "\r\x1b[K")
	}
}
