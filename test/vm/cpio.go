// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path"
	"slices"
	"strings"
)

// archive is an initramfs in the making, in cpio's "newc" form. Equal additions
// give equal bytes: no times, owners or inode numbers of this machine go in.
type archive struct {
	buf   bytes.Buffer
	ino   int
	known map[string]bool
}

func newArchive() *archive { return &archive{known: map[string]bool{".": true, "/": true, "": true}} }

// Modes of what goes in.
const (
	modeFolder = 0o040755
	modeFile   = 0o100755
	modeLink   = 0o120777
)

// put writes one entry; name without a leading slash. A name goes in once.
func (a *archive) put(name string, mode int, content []byte) {
	name = strings.TrimPrefix(path.Clean(name), "/")
	if a.known[name] {
		return
	}
	a.folder(path.Dir(name))
	a.known[name] = true
	a.ino++
	a.entry(name, a.ino, mode, content)
}

func (a *archive) entry(name string, ino, mode int, content []byte) {
	// magic, ino, mode, uid, gid, nlink, mtime, size, device and special device, name's size, check
	fmt.Fprintf(&a.buf, "070701%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%s\x00",
		ino, mode, 0, 0, 1, 0, len(content), 0, 0, 0, 0, len(name)+1, 0, name)
	a.pad()
	a.buf.Write(content)
	a.pad()
}

func (a *archive) pad() {
	for a.buf.Len()%4 != 0 {
		a.buf.WriteByte(0)
	}
}

func (a *archive) folder(name string) {
	if !a.known[name] {
		a.put(name, modeFolder, nil)
	}
}

func (a *archive) link(name, target string) { a.put(name, modeLink, []byte(target)) }

// file puts in the file src of this machine as name.
func (a *archive) file(src, name string) error {
	b, err := os.ReadFile(src)
	if err != nil {
		return err
	}
	a.put(name, modeFile, b)
	return nil
}

// program puts in a program of this machine, as /usr/bin/NAME, and the libraries it loads.
func (a *archive) program(name string) error {
	src, err := exec.LookPath(name)
	if err != nil {
		return fmt.Errorf("the guest needs %s: run scripts/deps.sh", name)
	}
	if err := a.file(src, "usr/bin/"+path.Base(name)); err != nil {
		return err
	}
	out, err := exec.Command("ldd", src).Output()
	if err != nil {
		return nil // static
	}
	for _, word := range strings.Fields(string(out)) {
		if strings.HasPrefix(word, "/") {
			if err := a.file(word, word); err != nil {
				return err
			}
		}
	}
	return nil
}

// finish ends the archive and gives its bytes. More may be added afterwards:
// each call gives a whole archive.
func (a *archive) finish() []byte {
	whole := &archive{known: map[string]bool{}}
	whole.buf.Write(a.buf.Bytes())
	whole.entry("TRAILER!!!", 0, 0, nil)
	return slices.Clone(whole.buf.Bytes())
}
