// SPDX-License-Identifier: Apache-2.0

package config

import (
	"fmt"
	"os"
	"slices"
	"strings"
)

// Error is a fault of a configuration and where it is.
type Error struct {
	File string
	Line int // 0: of the file as a whole
	Text string
}

// Error implements error.
func (e *Error) Error() string {
	if e.Line == 0 {
		return fmt.Sprintf("%s: %s", e.File, e.Text)
	}
	return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.Text)
}

// sizeMax bounds the file, in bytes.
const sizeMax = 1 << 20

// Load reads the file at path. A missing file is an error that wraps
// fs.ErrNotExist.
func Load(path string) (Config, error) {
	info, err := os.Stat(path)
	if err != nil {
		return Config{}, err
	}
	if info.Size() > sizeMax {
		return Config{}, &Error{path, 0, fmt.Sprintf("larger than %d bytes", sizeMax)}
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return Config{}, err
	}
	return Parse(path, string(data))
}

// Parse reads a configuration. name is for errors.
func Parse(name, text string) (Config, error) {
	p := &parser{file: name, config: Default(), seen: map[string]int{}}
	for line := range strings.Lines(text) {
		p.line++
		if err := p.parse(strings.TrimSpace(line)); err != nil {
			return Config{}, err
		}
	}
	if err := p.config.Validate(); err != nil {
		return Config{}, &Error{name, 0, err.Error()}
	}
	return p.config, nil
}

type parser struct {
	file    string
	line    int
	config  Config
	section string         // as written, "rail tbr0"
	rail    int            // index of the rail of this section
	seen    map[string]int // "section/key" and "section" to the line
}

func (p *parser) errorf(format string, args ...any) error {
	return &Error{p.file, p.line, fmt.Sprintf(format, args...)}
}

func (p *parser) parse(line string) error {
	if line == "" || line[0] == '#' || line[0] == ';' {
		return nil
	}
	if line[0] == '[' {
		return p.begin(line)
	}
	key, value, found := strings.Cut(line, "=")
	key, value = strings.TrimSpace(key), strings.TrimSpace(value)
	switch {
	case !found:
		return p.errorf("%q is no \"key = value\"", line)
	case p.section == "":
		return p.errorf("key %q stands before any [section]", key)
	case value == "":
		return p.errorf("%s has no value (leave the line out for the default)", key)
	}
	return p.set(key, value)
}

// begin opens a section.
func (p *parser) begin(line string) error {
	if line[len(line)-1] != ']' {
		return p.errorf("%q has no closing ]", line)
	}
	words := strings.Fields(line[1 : len(line)-1])
	if len(words) == 0 {
		return p.errorf("[] names no section")
	}
	p.section = strings.Join(words, " ")
	if first, twice := p.seen[p.section]; twice {
		return p.errorf("[%s] is there already, in line %d", p.section, first)
	}
	p.seen[p.section] = p.line
	if words[0] == "rail" {
		return p.beginRail(words[1:])
	}
	if _, known := keys[p.section]; !known {
		return p.errorf("unknown section [%s]; known are %s and [rail NAME]", p.section, strings.Join(sections(), ", "))
	}
	return nil
}

func (p *parser) beginRail(names []string) error {
	if len(names) != 1 {
		return p.errorf("a rail section is [rail NAME]")
	}
	if err := checkName(names[0]); err != nil {
		return p.errorf("rail name %v", err)
	}
	p.rail = len(p.config.Rails)
	p.config.Rails = append(p.config.Rails, Rail{Name: names[0], CRC: true})
	return nil
}

func (p *parser) set(key, value string) error {
	kind, _, _ := strings.Cut(p.section, " ")
	k, known := keys[kind][key]
	if !known {
		return p.errorf("unknown key %q in [%s]; known are %s", key, p.section, keyNames(kind))
	}
	at := p.section + "/" + key
	if first, twice := p.seen[at]; twice && !k.again {
		return p.errorf("%s is set already, in line %d", key, first)
	}
	p.seen[at] = p.line
	var r *Rail
	if kind == "rail" {
		r = &p.config.Rails[p.rail]
	}
	if err := k.set(&p.config, r, value); err != nil {
		return p.errorf("%s: %v", key, err)
	}
	return nil
}

func sections() []string {
	var out []string
	for name := range keys {
		if name != "rail" {
			out = append(out, "["+name+"]")
		}
	}
	slices.Sort(out)
	return out
}

func keyNames(section string) string {
	var out []string
	for name := range keys[section] {
		out = append(out, name)
	}
	slices.Sort(out)
	return strings.Join(out, ", ")
}
