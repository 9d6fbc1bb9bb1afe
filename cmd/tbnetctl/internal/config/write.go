// SPDX-License-Identifier: Apache-2.0

package config

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/uuid"

	"github.com/tbnet2/tbnet2/userstack/proxy"
)

// Format gives the text that Parse reads as c.
func (c Config) Format() string {
	var b strings.Builder
	b.WriteString("# tbnet2, see tbnetctl-daemon(8); written by `tbnetctl up`. A typing error is an\n# error at the start; a missing key has its default.\n")
	def := Default()
	section := func(name string, lines ...string) {
		var set []string
		for _, l := range lines {
			if l != "" {
				set = append(set, l)
			}
		}
		if len(set) > 0 {
			fmt.Fprintf(&b, "\n[%s]\n%s\n", name, strings.Join(set, "\n"))
		}
	}
	section("host", textLine("uuid", uuidText(c.Host.UUID), ""), textLine("name", c.Host.Name, ""))
	section("bond", append([]string{"outlet = " + c.Bond.Outlet, "name = " + c.Bond.Name, numberLine("mtu", c.Bond.MTU),
		yesLine("retransmit", c.Bond.Retransmit, def.Bond.Retransmit), sizeLine("window", c.Bond.Window), sizeLine("queue", c.Bond.Queue),
		sizeLine("rmem", c.Bond.ReadBuffer), sizeLine("wmem", c.Bond.WriteBuffer)},
		each("address", c.Bond.Addresses)...)...)
	for _, r := range c.Rails {
		section("rail "+r.Name, textLine("device", r.Device, ""), textLine("path", r.Path, ""), mtuLine(r.MTU), numberLine("weight", r.Weight), yesLine("crc", r.CRC, true))
	}
	section("socks5", textLine("listen", c.SOCKS, ""))
	section("forward", forwardLines(c.Forwards)...)
	section("log", textLine("format", c.Log.Format, def.Log.Format), textLine("level", c.Log.Level, def.Log.Level))
	section("control", textLine("group", c.Control.Group, def.Control.Group))
	return b.String()
}

func uuidText(id uuid.UUID) string {
	if id == uuid.Nil {
		return ""
	}
	return id.String()
}

func textLine(key, value, def string) string {
	if value == def || value == "" {
		return ""
	}
	return key + " = " + value
}

func numberLine(key string, n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("%s = %d", key, n)
}

func mtuLine(mtu int) string {
	if mtu == MTUMax {
		return "mtu = max"
	}
	return numberLine("mtu", mtu)
}

func sizeLine(key string, n int) string {
	if n == 0 {
		return ""
	}
	return key + " = " + bytesText(n)
}

func yesLine(key string, v, def bool) string {
	if v == def {
		return ""
	}
	return key + " = " + map[bool]string{true: "yes", false: "no"}[v]
}

func each(key string, values []string) []string {
	var out []string
	for _, v := range values {
		out = append(out, key+" = "+v)
	}
	return out
}

func forwardLines(forwards []proxy.Forward) []string {
	var out []string
	for _, f := range forwards {
		key := "local"
		if f.Reverse {
			key = "remote"
		}
		out = append(out, key+" = "+f.String())
	}
	return out
}

// Save replaces the file at path with c, whole or not at all, and makes its
// folder.
func Save(path string, c Config) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".config-")
	if err != nil {
		return err
	}
	_, err = f.WriteString(c.Format())
	err = errors.Join(err, f.Chmod(0o644), f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
		return err
	}
	return syncDir(filepath.Dir(path))
}

// syncDir makes the rename survive a crash.
func syncDir(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
