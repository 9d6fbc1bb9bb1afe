// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tbnet2/tbnet2/cmd/tbnetctl/internal/config"
)

// TestConfigExample reads the shipped example as it is, which is the default,
// and with every line of it in force: each must be one that is understood.
func TestConfigExample(t *testing.T) {
	const path = "../../packaging/config.example"
	if c, err := config.Load(path); err != nil || !cmp.Equal(c, config.Default()) {
		t.Errorf("%v\n%s", err, cmp.Diff(config.Default(), c))
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	keys := 0
	for line := range strings.Lines(string(data)) {
		m := regexp.MustCompile(`^#(\[rail tbr0\]|[a-z0-9]+ = ?\S*)(\s|$)`).FindStringSubmatch(line)
		switch {
		case m == nil && strings.HasPrefix(line, "["):
			all = append(all, line)
		case m == nil || strings.HasSuffix(strings.TrimSpace(m[1]), "="), strings.HasPrefix(m[1], "device "):
			// a comment, a key without a default, the other way to name a device
		case m[1] == "outlet = tap":
			all = append(all, "outlet = userstack") // for the sections that need it
			keys++
		default:
			all = append(all, m[1])
			keys++
		}
	}
	c, err := config.Parse(path, strings.Join(all, "\n"))
	if err != nil {
		t.Fatalf("%v in\n%s", err, strings.Join(all, "\n"))
	}
	if keys < 16 || len(c.Rails) != 1 || c.Rails[0].Path != "0-1" || len(c.Forwards) != 2 || c.SOCKS == "" {
		t.Errorf("%d keys: %+v", keys, c)
	}
}
