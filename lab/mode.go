// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// Mode says what hosts and rails are made of.
type Mode string

// Modes.
const (
	ModeNamespaces    Mode = "namespaces"     // network namespaces, as root
	ModeUserNamespace Mode = "user-namespace" // the same inside a user namespace
	ModeMemory        Mode = "memory"         // no kernel devices at all
)

// ErrMode is wrapped by what New returns for a mode that is not to be had.
var ErrMode = errors.New("lab mode not available")

// Modes lists every mode, the best first.
func Modes() []Mode { return []Mode{ModeNamespaces, ModeUserNamespace, ModeMemory} }

// Support says whether a mode is to be had.
type Support struct {
	Mode Mode   `json:"mode"`
	OK   bool   `json:"ok"`
	Why  string `json:"why,omitempty"` // where it is not, and what would help
	// Enter: only after Enter, in the process that it starts.
	Enter bool `json:"enter,omitempty"`
}

// Detection is what a machine allows.
type Detection struct {
	Best  Mode      `json:"best"`
	Modes []Support `json:"modes"` // in the order of Modes
}

// Get gives what was found about a mode.
func (d Detection) Get(m Mode) Support {
	for _, s := range d.Modes {
		if s.Mode == m {
			return s
		}
	}
	return Support{Mode: m, Why: fmt.Sprintf("unknown mode %q; modes are %q", m, Modes())}
}

// Detect tries each mode, by making and dropping a namespace with a veth pair.
// It takes a few milliseconds and leaves nothing.
func Detect() Detection {
	d := Detection{Modes: []Support{
		{Mode: ModeNamespaces}, {Mode: ModeUserNamespace}, {Mode: ModeMemory, OK: true},
	}}
	here, user := &d.Modes[0], &d.Modes[1]
	err := tryNamespace()
	switch {
	case err == nil && inUserNamespace():
		user.OK = true
		here.Why = "this process is root only inside a user namespace; run as root outside"
	case err == nil:
		here.OK = true
		user.detectEnter()
	default:
		here.Why = err.Error() + "; run as root, or with CAP_NET_ADMIN and CAP_SYS_ADMIN"
		user.detectEnter()
	}
	for _, s := range d.Modes {
		if s.OK {
			d.Best = s.Mode
			break
		}
	}
	return d
}

func (s *Support) detectEnter() {
	if err := tryUserNamespace(); err != nil {
		s.Why = err.Error()
		return
	}
	s.OK, s.Enter = true, true
}

// tryNamespace makes a namespace and a veth pair with this process's rights.
func tryNamespace() error {
	return onThread(func() error {
		if err := unix.Unshare(unix.CLONE_NEWNET | unix.CLONE_NEWNS | unix.CLONE_NEWUTS); err != nil {
			return fmt.Errorf("cannot make a network namespace: %w", err)
		}
		veth := netlink.NewVeth(netlink.LinkAttrs{Name: "try0"})
		veth.PeerName = "try1"
		h, err := netlink.NewHandle(unix.NETLINK_ROUTE)
		if err != nil {
			return fmt.Errorf("cannot open netlink: %w", err)
		}
		defer h.Close()
		if err := h.LinkAdd(veth); err != nil {
			return fmt.Errorf("cannot make a veth pair (is the kernel's veth module there?): %w", err)
		}
		return nil
	})
}

// tryUserNamespace clones a child into the namespaces that Enter uses, where
// it changes its root, which needs a capability there, and then fails to find a
// program: that failure is the success.
func tryUserNamespace() error {
	attr := enterAttr()
	attr.Chroot = "/"
	_, err := syscall.ForkExec("/proc/self/no-such-program", []string{"probe"},
		&syscall.ProcAttr{Sys: attr})
	if errors.Is(err, syscall.ENOENT) {
		return nil
	}
	if err == nil {
		err = errors.New("the probe ran a program that does not exist")
	}
	return fmt.Errorf("cannot make a user namespace: %w%s", err, userNamespaceHint())
}

// userNamespaceHint names the setting that commonly forbids user namespaces.
func userNamespaceHint() string {
	for _, c := range []struct{ path, forbids, fix string }{
		{"/proc/sys/user/max_user_namespaces", "0", "sysctl user.max_user_namespaces=10000"},
		{"/proc/sys/kernel/unprivileged_userns_clone", "0", "sysctl kernel.unprivileged_userns_clone=1"},
		{"/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1", "sysctl kernel.apparmor_restrict_unprivileged_userns=0"},
	} {
		if b, err := os.ReadFile(c.path); err == nil && strings.TrimSpace(string(b)) == c.forbids {
			return fmt.Sprintf("; %s is %s: as root, %s", c.path, c.forbids, c.fix)
		}
	}
	return "; a container's seccomp filter may forbid it"
}

// inUserNamespace reports whether this process is in another user namespace
// than the machine's first.
func inUserNamespace() bool {
	first, _, count := uidMap()
	return first != 0 || count != 1<<32-1
}

// OuterUID is the uid that this process has outside of the user namespace it
// is in: the user who ran the lab, also after Enter.
func OuterUID() int {
	_, outer, count := uidMap()
	if uid := int64(os.Getuid()); count == 1 && uid == 0 {
		return int(outer)
	}
	return os.Getuid()
}

// uidMap reads the first line of this process's map: uids from inner on are
// those from outer on, count of them. Without user namespaces it is all.
func uidMap() (inner, outer, count int64) {
	b, err := os.ReadFile("/proc/self/uid_map")
	fields := strings.Fields(string(b))
	if err != nil || len(fields) < 3 {
		return 0, 0, 1<<32 - 1
	}
	var v [3]int64
	for i := range v {
		v[i], _ = strconv.ParseInt(fields[i], 10, 64)
	}
	return v[0], v[1], v[2]
}
