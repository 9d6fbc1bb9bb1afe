// SPDX-License-Identifier: Apache-2.0

package script

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/tbnet2/tbnet2/transport"
)

// Script is a file: lines that set up, then steps.
type Script struct {
	File  string
	Head  []string // comments and blank lines before the first setup line, and the setup
	Setup []Line
	Steps []*Step
}

// Line is a line of a file.
type Line struct {
	Number int
	Text   string
}

// Step is one moment: actions, and what they bring.
type Step struct {
	At      transport.Time
	Actions []Line
	Source  []string // the step's lines but for expect
	Want    []Line
}

// setupWords begin the lines that set up.
var setupWords = map[string]bool{"config": true, "rail": true, "host": true}

// Read reads a script file.
func Read(file string) (*Script, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	return Parse(file, string(text))
}

// ReadAll reads the script files of a folder.
func ReadAll(dir string) ([]*Script, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.txt"))
	if err != nil {
		return nil, err
	}
	var all []*Script
	for _, file := range files {
		s, err := Read(file)
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, nil
}

// Name is the file's name without folder and extension.
func (s *Script) Name() string { return strings.TrimSuffix(filepath.Base(s.File), ".txt") }

// Parse reads the text of a script; file is for messages.
func Parse(file, text string) (*Script, error) {
	s := &Script{File: file}
	var pending []string // comments before a step belong to it
	for i, line := range strings.Split(strings.TrimRight(text, "\n"), "\n") {
		first, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		l := Line{i + 1, rest}
		var last *Step
		if len(s.Steps) > 0 {
			last = s.Steps[len(s.Steps)-1]
		}
		switch {
		case first == "" || strings.HasPrefix(first, "#"):
			pending = append(pending, line)
		case setupWords[first]:
			s.Head = append(append(s.Head, pending...), line)
			pending, s.Setup = nil, append(s.Setup, Line{i + 1, line})
		case first == "at":
			when, action, _ := strings.Cut(rest, " ")
			at, err := parseTime(when)
			if err != nil {
				return nil, fmt.Errorf("%s:%d: %w", file, i+1, err)
			}
			s.Steps = append(s.Steps, &Step{At: at, Actions: []Line{{i + 1, action}}, Source: append(pending, line)})
			pending = nil
		case first == "and" && last != nil:
			last.Actions = append(last.Actions, l)
			last.Source = append(append(last.Source, pending...), line)
			pending = nil
		case first == "expect" && last != nil:
			last.Want = append(last.Want, l)
		default:
			return nil, fmt.Errorf("%s:%d: %q does not begin a line here", file, i+1, first)
		}
	}
	return s, nil
}

// Bare gives the script's lines without comments and expect lines: what is to
// be played.
func (s *Script) Bare() []string {
	var lines []string
	for _, l := range s.Setup {
		lines = append(lines, l.Text)
	}
	for _, step := range s.Steps {
		for i, a := range step.Actions {
			if i == 0 {
				lines = append(lines, fmt.Sprintf("at %s %s", timeText(step.At), a.Text))
			} else {
				lines = append(lines, "and "+a.Text)
			}
		}
	}
	return lines
}

// Write writes the script with got, the lines of each step, as what it expects.
func (s *Script) Write(file string, got [][]string) error {
	var b bytes.Buffer
	for _, line := range s.Head {
		fmt.Fprintln(&b, line)
	}
	for i, step := range s.Steps {
		for _, line := range step.Source {
			fmt.Fprintln(&b, line)
		}
		for _, line := range got[i] {
			fmt.Fprintln(&b, "expect "+line)
		}
	}
	return os.WriteFile(file, b.Bytes(), 0o644)
}

// Check compares what each step has brought with what is expected; the error
// names the first line that differs.
func (s *Script) Check(got [][]string) error {
	for i, step := range s.Steps {
		for k := range max(len(got[i]), len(step.Want)) {
			have, want, line := "nothing more", "nothing more", step.Actions[len(step.Actions)-1].Number
			if k < len(got[i]) {
				have = got[i][k]
			}
			if k < len(step.Want) {
				want, line = step.Want[k].Text, step.Want[k].Number
			}
			if have != want {
				return fmt.Errorf("%s:%d: at %s\n got %s\nwant %s", s.File, line, timeText(step.At), have, want)
			}
		}
	}
	return nil
}

// core is what a script drives.
type core interface {
	// do does one action at now; end says that the moment is over.
	do(c *clause, now transport.Time)
	end(now transport.Time)
	// runTo ticks at every deadline up to and at the given time.
	runTo(at transport.Time)
	// out gives what the step has brought.
	out() []string
	// took gives the frames that went out since it was last asked.
	took() []Sent
	// finish ends it all, and tells what is left over that should not be.
	finish() error
}

// Player plays one script, step by step.
type Player struct {
	file string
	core core
	now  transport.Time
}

// Play plays a script and gives the lines that each step brings. The error
// tells what is wrong with the text, or with the core at its end.
func (s *Script) Play() (got [][]string, err error) {
	p, err := NewPlayer(s.File, s.Setup)
	if err != nil {
		return nil, err
	}
	for _, step := range s.Steps {
		lines, err := p.Step(step.At, step.Actions)
		if err != nil {
			return got, err
		}
		got = append(got, lines)
	}
	return got, p.Finish()
}

// NewPlayer sets up what the lines say.
func NewPlayer(file string, setup []Line) (*Player, error) {
	p := &Player{file: file}
	var assoc *player
	for _, l := range setup {
		err := p.guard(l, func(c *clause) {
			switch {
			case c.word(0) == "config" && p.core == nil:
				assoc = newPlayer(c)
				p.core = assoc
			case c.word(0) == "host" && p.core == nil:
				p.core = newGreeter(c)
			case c.word(0) == "rail" && assoc != nil:
				assoc.addRail(c)
			default:
				panic(scriptError("cannot be set up here"))
			}
		})
		if err != nil {
			return nil, err
		}
	}
	if p.core == nil {
		return nil, fmt.Errorf("%s: no config and no host line", file)
	}
	return p, nil
}

// guard runs f on a parsed line and gives what is wrong with its text.
func (p *Player) guard(l Line, f func(*clause)) (err error) {
	c, err := parseClause(l.Text)
	if err != nil {
		return fmt.Errorf("%s:%d: %w", p.file, l.Number, err)
	}
	defer func() {
		switch e := recover().(type) {
		case nil:
		case scriptError:
			err = fmt.Errorf("%s:%d: %s", p.file, l.Number, e)
		default:
			panic(e)
		}
	}()
	f(&c)
	if key := c.unknown(); key != "" {
		return fmt.Errorf("%s:%d: nobody knows %s= here", p.file, l.Number, key)
	}
	return nil
}

// Step does the actions of one moment and gives what they bring.
func (p *Player) Step(at transport.Time, actions []Line) ([]string, error) {
	if at < p.now {
		return nil, fmt.Errorf("%s:%d: time runs backwards", p.file, actions[0].Number)
	}
	for _, l := range actions {
		err := p.guard(l, func(c *clause) {
			if c.word(0) == "run" {
				p.core.runTo(at)
				return
			}
			p.core.do(c, at)
		})
		if err != nil {
			return nil, err
		}
	}
	p.now = at
	p.core.end(at)
	return p.core.out(), nil
}

// Finish ends it all; the error tells what is left over.
func (p *Player) Finish() error {
	if err := p.core.finish(); err != nil {
		return fmt.Errorf("%s: %w", p.file, err)
	}
	return nil
}
