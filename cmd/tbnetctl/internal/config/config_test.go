// SPDX-License-Identifier: Apache-2.0

package config

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/tbnet2/tbnet2/userstack/proxy"
)

const full = `
# everything
[host]
uuid = 0f0e0d0c-0b0a-4908-8706-050403020100
name = node1
[bond]
outlet = userstack
name = bond7
mtu = 9000
address = 10.0.0.1/24
address = fd00::1/64
retransmit = no
window = 4M
queue = 512K
rmem = 32M
wmem = 16M
[rail tbr0]
device = thunderbolt0
weight = 3
[rail  tbr1]
path = 0-3
mtu = max
crc = no
[socks5]
listen = 127.0.0.1:1080
[forward]
local = 8080:node2:80
local = 127.0.0.1:8081:[fe80::2]:80/udp
remote = 22:127.0.0.1:22
[log]
format = json
level = debug
[control]
group = wheel
`

func fullConfig() Config {
	return Config{
		Host:  Host{UUID: uuid.MustParse("0f0e0d0c-0b0a-4908-8706-050403020100"), Name: "node1"},
		Bond:  Bond{Outlet: OutletUserstack, Name: "bond7", MTU: 9000, Addresses: []string{"10.0.0.1/24", "fd00::1/64"}, Window: 4 << 20, Queue: 512 << 10, ReadBuffer: 32 << 20, WriteBuffer: 16 << 20},
		Rails: []Rail{{Name: "tbr0", Device: "thunderbolt0", Weight: 3, CRC: true}, {Name: "tbr1", Path: "0-3", MTU: MTUMax}},
		SOCKS: "127.0.0.1:1080",
		Forwards: []proxy.Forward{{Network: "tcp", Listen: "127.0.0.1:8080", Target: "node2:80"}, {Network: "udp", Listen: "127.0.0.1:8081", Target: "[fe80::2]:80"},
			{Network: "tcp", Reverse: true, Listen: ":22", Target: "127.0.0.1:22"}},
		Log: Log{Format: "json", Level: "debug"}, Control: Control{Group: "wheel"},
	}
}

func TestParse(t *testing.T) {
	got, err := Parse("f", full)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(fullConfig(), got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if got, err := Parse("f", ""); err != nil || !cmp.Equal(got, Default()) {
		t.Errorf("empty: got %+v, %v", got, err)
	}
}

func TestFormatParsesBack(t *testing.T) {
	for _, c := range []Config{Default(), fullConfig()} {
		got, err := Parse("f", c.Format())
		if err != nil || !cmp.Equal(got, c) {
			t.Errorf("got %v\n%s%s", err, cmp.Diff(c, got), c.Format())
		}
	}
}

func TestErrorsNameTheLine(t *testing.T) {
	cases := []struct{ name, text, want string }{
		{"no section", "name = x", `f:1: key "name" stands before any [section]`},
		{"unknown section", "\n[bonds]", "f:2: unknown section [bonds]; known are [bond], [control], [forward], [host], [log], [socks5] and [rail NAME]"},
		{"unknown key", "[bond]\nmut = 9000", `f:2: unknown key "mut" in [bond]; known are address, mtu, name, outlet, queue, retransmit, rmem, window, wmem`},
		{"no equals sign", "[bond]\n\nmtu 9000", `f:3: "mtu 9000" is no "key = value"`},
		{"no value", "[bond]\nmtu =", "f:2: mtu has no value"},
		{"open bracket", "[bond", `f:1: "[bond" has no closing ]`},
		{"empty bracket", "[]", "f:1: [] names no section"},
		{"section twice", "[log]\n[bond]\n[log]", "f:3: [log] is there already, in line 1"},
		{"key twice", "[bond]\nmtu = 1500\nmtu = 9000", "f:3: mtu is set already, in line 2"},
		{"mtu", "[bond]\nmtu = 100", `f:2: mtu: "100" is not a number from 1280 to 65535`},
		{"size", "[bond]\nwindow = 4G", `f:2: window: "4G" is not a size from 256K to 256M`},
		{"huge size", "[bond]\nwindow = 9999999999999999M", "is not a size"},
		{"outlet", "[bond]\noutlet = tun", `f:2: outlet: "tun" is none of tap, userstack`},
		{"yes or no", "[bond]\nretransmit = true", `"true" is neither yes nor no`},
		{"address", "[bond]\naddress = 10.0.0.1", "is no ADDRESS/PREFIX"},
		{"multicast", "[bond]\naddress = 224.0.0.1/4", "is no address that a bond can have"},
		{"uuid", "[host]\nuuid = 1234", `"1234" is no UUID`},
		{"zero uuid", "[host]\nuuid = 00000000-0000-0000-0000-000000000000", "is no UUID"},
		{"rail without name", "[rail]", "f:1: a rail section is [rail NAME]"},
		{"rail with two names", "[rail a b]", "f:1: a rail section is [rail NAME]"},
		{"rail name", "[rail a/b]", `f:1: rail name "a/b" is no device name`},
		{"rail twice", "[rail a]\ndevice=x\n[rail  a]", "f:3: [rail a] is there already, in line 1"},
		{"rail without device", "[rail a]\nweight = 1", "f: [rail a] needs device or path, one of the two"},
		{"device and path", "[rail a]\ndevice = x\npath = 0-1", "needs device or path, one of the two"},
		{"device twice", "[rail a]\ndevice = x\n[rail b]\ndevice = x", "f: [rail a] and [rail b] are both on x"},
		{"rail on the bond", "[rail a]\ndevice = tbbond0", "is on the bond tbbond0 itself"},
		{"path", "[rail a]\npath = 0.1", "is no DOMAIN-ROUTE"},
		{"rail mtu", "[rail a]\nmtu = min", `"min" is not a number from 576 to 65535, nor max`},
		{"weight", "[rail a]\nweight = 0", `"0" is not a number from 1 to 1000`},
		{"socks", "[socks5]\nlisten = 1080", "is neither ADDRESS:PORT nor unix:/PATH"},
		{"socks port", "[socks5]\nlisten = :0", `"0" is no port`},
		{"socks for all", "[socks5]\nlisten = 0.0.0.0:1080", `"0.0.0.0" is no loopback address`},
		{"socks over tap", "[socks5]\nlisten = :1080", "[socks5] needs outlet = userstack"},
		{"buffers over tap", "[bond]\nrmem = 1M", "rmem and wmem in [bond] need outlet = userstack"},
		{"forward over tap", "[forward]\nlocal = 1:b:2", "[forward] needs outlet = userstack"},
		{"forward", "[forward]\nlocal = 80", "it has 1 fields; the form is [ADDRESS:]PORT:HOST:PORT"},
		{"forward port", "[forward]\nlocal = 80:node2:http", `target port "http"`},
		{"level", "[log]\nlevel = loud", "is none of debug, info, warn, error"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got, err := Parse("f", c.text)
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
				t.Fatalf("got %v, want %q", err, c.want)
			}
			if !cmp.Equal(got, Config{}) {
				t.Error("a part of it was applied")
			}
		})
	}
}

func TestSaveIsWhole(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new")
	path := filepath.Join(dir, "config")
	if _, err := Load(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing file: got %v", err)
	}
	for _, c := range []Config{Default(), fullConfig()} {
		if err := Save(path, c); err != nil {
			t.Fatal(err)
		}
		if got, err := Load(path); err != nil || !cmp.Equal(got, c) {
			t.Errorf("got %v\n%s", err, cmp.Diff(c, got))
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 {
		t.Errorf("left in the folder: %v, %v", entries, err)
	}
}

func TestClone(t *testing.T) {
	a := fullConfig()
	b := a.Clone()
	b.Rails[0].Device, b.Bond.Addresses[0], b.Forwards[0].Target = "x", "y", "z"
	if !cmp.Equal(a, fullConfig()) {
		t.Error("a change of the clone reaches the original")
	}
}

func FuzzParse(f *testing.F) {
	f.Add(full)
	f.Add("[rail a]\ndevice=\x00")
	f.Add("[bond]\nmtu = 9000\r\n[host]\nname=ä")
	f.Add("[forward]\nlocal=[[]]:1:a:2\nremote = ]:[:")
	f.Fuzz(func(t *testing.T, text string) {
		c, err := Parse("f", text)
		if err != nil {
			return
		}
		back, err := Parse("g", c.Format())
		if err != nil || !cmp.Equal(back, c) {
			t.Fatalf("%v\n%s\n%s", err, cmp.Diff(c, back), c.Format())
		}
	})
}
