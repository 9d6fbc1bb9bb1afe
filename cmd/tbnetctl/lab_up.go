// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tbnet2/tbnet2/lab"
)

// labShape is what `lab up` builds.
type labShape struct {
	file     string
	cables   []string // in short form
	segments []string
	hosts    int
	pairs    int // cables between two hosts
	rails    int // of each cable
	mtu      int
	skew     string
	link     map[string]*string
	mode     string
	seed     uint64
}

// linkFlags are the link model's parameters and what they are.
var linkFlags = [][2]string{
	{"rate", "`RATE` of a cable in each direction, such as 5gbit"},
	{"delay", "one-way `DELAY`, such as 50us"},
	{"jitter", "up to this much more `DELAY`"},
	{"loss", "`SHARE` of frames lost, such as 0.1%"},
	{"corrupt", "`SHARE` of frames with a bit flipped"},
	{"duplicate", "`SHARE` of frames sent twice"},
	{"queue", "`BYTES` that may wait in each direction"},
}

func newLabUp(a *app, f *labFlags) *cobra.Command {
	s := &labShape{link: map[string]*string{}}
	cmd := &cobra.Command{
		Use:   "up",
		Short: "Build a lab and keep it up in the background",
		Args:  wants(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			t, err := s.topology(cmd)
			if err != nil {
				return usagef("%v", err)
			}
			if _, err := f.client(); err != nil { // checks the name
				return err
			}
			if s.mode != "" && !slices.Contains(lab.Modes(), lab.Mode(s.mode)) {
				return usagef("--mode %q is none of %v", s.mode, lab.Modes())
			}
			p := &progress{a: a}
			p.step("building the lab "+f.name, "")
			st, err := lab.Up(cmd.Context(), lab.ServeOptions{Name: f.name, Dir: f.dir, Topology: t, Mode: lab.Mode(s.mode)})
			p.done()
			if err != nil {
				if errors.Is(err, lab.ErrMode) {
					return usagef("%v", err)
				}
				return labError(err)
			}
			return a.printLab(st)
		},
	}
	s.flags(cmd)
	return cmd
}

func (s *labShape) flags(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.StringVar(&s.file, "file", "", "topology as a JSON `FILE`, - for standard input")
	fl.StringArrayVar(&s.cables, "cable", nil, "a cable, `SPEC` as in \"a-b,rails=2,rate=10gbit\" (may be given again)")
	fl.StringArrayVar(&s.segments, "segment", nil, "a switch, `SPEC` as in \"a+b+c,rate=10gbit\" (may be given again)")
	fl.IntVar(&s.hosts, "hosts", 2, "number of hosts, every two joined (without --cable, --segment, --file)")
	fl.IntVar(&s.pairs, "cables", 1, "cables between every two hosts")
	fl.IntVar(&s.rails, "rails", 1, "rails on every cable")
	fl.IntVar(&s.mtu, "mtu", 0, "MTU of the rails (default 65535)")
	fl.StringVar(&s.skew, "skew", "", "`DELAY` that rail n has n times more of")
	for _, p := range linkFlags {
		s.link[p[0]] = fl.String(p[0], "", p[1])
	}
	fl.StringVar(&s.mode, "mode", "", "namespaces, user-namespace or memory (default: the best there is)")
	fl.Uint64Var(&s.seed, "seed", 0, "of the link model's randomness")
}

// shapeFlags make a regular lab; they mean nothing beside --file, --cable and
// --segment, which say all by themselves.
var shapeFlags = []string{"hosts", "cables", "rails", "mtu", "skew", "rate", "delay", "jitter", "loss", "corrupt", "duplicate", "queue"}

func (s *labShape) topology(cmd *cobra.Command) (lab.Topology, error) {
	t, err := s.build(cmd)
	if err != nil {
		return t, err
	}
	if cmd.Flags().Changed("seed") {
		t.Seed = s.seed
	}
	return t, t.Validate()
}

func (s *labShape) build(cmd *cobra.Command) (lab.Topology, error) {
	specs := len(s.cables)+len(s.segments) > 0
	if specs || s.file != "" {
		for _, name := range shapeFlags {
			if cmd.Flags().Changed(name) {
				return lab.Topology{}, fmt.Errorf("--%s does not go with --file, --cable or --segment: write it into them", name)
			}
		}
	}
	switch {
	case specs && s.file != "":
		return lab.Topology{}, errors.New("give --file, or --cable and --segment, not both")
	case specs:
		return lab.ParseSpecs(s.cables, s.segments)
	case s.file != "":
		data, err := readFile(s.file)
		if err != nil {
			return lab.Topology{}, err
		}
		return lab.ParseTopology(data)
	}
	return s.regular()
}

// regular joins every two hosts by the same cables.
func (s *labShape) regular() (lab.Topology, error) {
	if s.hosts < 2 || s.pairs < 1 {
		return lab.Topology{}, fmt.Errorf("--hosts %d --cables %d: at least 2 hosts and 1 cable are needed", s.hosts, s.pairs)
	}
	t := lab.Mesh(s.hosts)
	var cables []lab.Cable
	for _, c := range t.Cables {
		c.Rails, c.Name = s.rails, ""
		if s.mtu != 0 {
			c.MTU, c.MTUB = s.mtu, s.mtu
		}
		var err error
		if s.skew != "" {
			if c.Skew, err = lab.ParseTime(s.skew); err != nil {
				return lab.Topology{}, fmt.Errorf("skew: %w", err)
			}
		}
		for _, p := range linkFlags {
			if v := *s.link[p[0]]; v != "" {
				if err := c.Link.Set(p[0], v); err != nil {
					return lab.Topology{}, err
				}
			}
		}
		for range s.pairs {
			c.Name = fmt.Sprintf("cable%d", len(cables)+1)
			cables = append(cables, c)
		}
	}
	t.Cables = cables
	return t, nil
}

func readFile(path string) ([]byte, error) {
	if path == "-" {
		return io.ReadAll(os.Stdin)
	}
	return os.ReadFile(path)
}

// labDocument is the JSON document of `lab up` and `lab status`.
type labDocument struct {
	SchemaVersion int `json:"schema_version"`
	lab.Status
}

func (a *app) printLab(st lab.Status) error {
	if a.json {
		return a.printJSON(labDocument{lab.SchemaVersion, st})
	}
	return labText(a.out, &st)
}

func labText(w io.Writer, st *lab.Status) error {
	_, _ = fmt.Fprintf(w, "SIMULATED lab %s (%s)\n", st.Name, st.Mode)
	for _, h := range st.Hosts {
		_, _ = fmt.Fprintf(w, "host  %s  %s  %s\n", h.Name, h.UUID, strings.Join(h.Rails, ", "))
	}
	for _, n := range st.Notes {
		_, _ = fmt.Fprintf(w, "note: %s\n", n)
	}
	_, _ = fmt.Fprintln(w)
	var rows [][]any
	for i := range st.Rails {
		r := &st.Rails[i]
		for side := range r.Ends {
			e := &r.Ends[side]
			c := e.Counts
			rows = append(rows, []any{r.Name, carrier(r.Plugged), orDash(e.Host), orDash(e.Device), e.MTU, e.Rate, e.Delay, e.Loss, endFault(e),
				c.In, c.Out, c.Lost + c.Discarded + c.Unplugged, c.Overflow})
		}
	}
	return table(w, []any{"RAIL", "STATE", "FROM", "DEVICE", "MTU", "RATE", "DELAY", "LOSS", "FAULT", "IN", "OUT", "LOST", "OVERFLOW"}, rows)
}

func endFault(e *lab.RailEnd) string {
	if e.Discard {
		return "discard"
	}
	return "-"
}
