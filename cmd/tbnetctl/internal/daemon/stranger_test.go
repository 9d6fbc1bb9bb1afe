// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/tbnet2/tbnet2/ctl"
)

// Environment of a stranger's process.
const (
	strangerRole   = "DAEMON_TEST_ROLE"
	strangerSocket = "DAEMON_TEST_SOCKET"
)

// Users whom the daemon does not know.
const (
	hostileUser = 65533
	honestUser  = 65532
)

// roles are what a stranger does at the socket until its standard input ends.
// Each gives how often it did it.
var roles = map[string]func(path string, quit *atomic.Bool) int{
	"honest":    askHonestly,
	"change":    changeThings,
	"idle":      stayIdle,
	"drip":      dripRequests,
	"endless":   sendWithoutEnd,
	"deaf":      neverRead,
	"malformed": sendGarbage,
}

// startStranger runs this test as another user's process. stop ends it and
// gives how often it did what it does.
func startStranger(t *testing.T, role, socket string, uid uint32) (stop func() int) {
	t.Helper()
	for dir := filepath.Dir(socket); dir != os.TempDir() && dir != "/"; dir = filepath.Dir(dir) {
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	exe, err := os.Open("/proc/self/exe") // its folder may be closed to others
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = exe.Close() }()
	cmd := exec.Command("/proc/self/fd/3")
	cmd.ExtraFiles = []*os.File{exe}
	cmd.Env = []string{strangerRole + "=" + role, strangerSocket + "=" + socket}
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return func() (n int) {
		t.Helper()
		_ = in.Close()
		if err := cmd.Wait(); err != nil {
			t.Fatalf("%s: %v: %s", role, err, said.String())
		}
		if _, err := fmt.Sscan(out.String(), &n); err != nil {
			t.Fatalf("%s said %q, %s", role, out.String(), said.String())
		}
		return n
	}
}

// asStranger is that process.
func asStranger(role string) int {
	var quit atomic.Bool
	var reader sync.WaitGroup
	reader.Go(func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		quit.Store(true)
	})
	n := roles[role](os.Getenv(strangerSocket), &quit)
	reader.Wait()
	fmt.Println(n)
	if n < 0 {
		return 1
	}
	return 0
}

// blame gives what a role returns when the daemon did wrong.
func blame(format string, args ...any) int {
	fmt.Fprintf(os.Stderr, format+"\n", args...)
	return -1
}

func askHonestly(path string, quit *atomic.Bool) (n int) {
	for c := ctl.NewClient(path); !quit.Load(); n++ {
		if _, err := c.Status(context.Background()); err != nil {
			return blame("status: %v", err)
		}
	}
	return n
}

// changeThings tries everything that changes something.
func changeThings(path string, quit *atomic.Bool) (n int) {
	ctx, c := context.Background(), ctl.NewClient(path)
	for ; !quit.Load(); n++ {
		_, rails := c.SetRails(ctx, ctl.RailSet{Target: "node2", Rails: []ctl.RailChoice{{Name: "tbr0"}}})
		_, bench := c.Bench(ctx, ctl.BenchRequest{Peer: "node2", Seconds: 1, Flows: []int{1}}, nil)
		for what, err := range map[string]error{
			"rails": rails, "bench": bench, "reload": c.Reload(ctx), "rail": c.SetRailUp(ctx, "tbr0", false),
			"bond": c.SetBond(ctx, ctl.BondChange{Name: "tbbond0", MTU: 1500}),
		} {
			if ctl.CodeOf(err) != ctl.CodeDenied {
				return blame("%s was not denied: %v", what, err)
			}
		}
	}
	return n
}

// idleMost is how many connections stay open at once: with soft limits as they
// are anywhere, a process has descriptors for fewer than 1024.
const idleMost = 1000

// stayIdle opens a thousand connections that it says nothing on, and then again
// and again the oldest of them, which the daemon may have closed.
func stayIdle(path string, quit *atomic.Bool) (n int) {
	var held [idleMost]net.Conn
	tick := time.NewTicker(pace)
	defer tick.Stop()
	for ; !quit.Load() || n < idleMost; n++ {
		at := n % idleMost
		if n >= idleMost {
			<-tick.C
			_ = held[at].Close()
		}
		conn, err := net.Dial("unix", path)
		if err != nil {
			return blame("connection %d: %v", n, err)
		}
		held[at] = conn
	}
	return n
}

// pace is between two connections. There is no defence against one who only
// connects, as fast as the processor lets him: all wait in the socket's queue,
// whoever they are, until the daemon has refused those before them.
const pace = 2 * time.Millisecond

// onMany runs f on connection after connection, on several at a time.
func onMany(path string, quit *atomic.Bool, f func(conn net.Conn)) int {
	var all sync.WaitGroup
	var n atomic.Int64
	for range 20 {
		all.Go(func() {
			tick := time.NewTicker(10 * pace)
			defer tick.Stop()
			for ; !quit.Load(); <-tick.C {
				conn, err := net.Dial("unix", path)
				if err != nil {
					continue // its queue is full
				}
				stop := time.AfterFunc(time.Second, func() { _ = conn.Close() })
				f(conn)
				stop.Stop()
				_ = conn.Close()
				n.Add(1)
			}
		})
	}
	all.Wait()
	return int(n.Load())
}

// dripRequests sends requests a byte at a time.
func dripRequests(path string, quit *atomic.Bool) int {
	return onMany(path, quit, func(conn net.Conn) {
		tick := time.NewTicker(time.Millisecond)
		defer tick.Stop()
		for !quit.Load() {
			if _, err := io.WriteString(conn, " "); err != nil {
				return
			}
			<-tick.C
		}
	})
}

// sendWithoutEnd sends requests that have no end.
func sendWithoutEnd(path string, quit *atomic.Bool) int {
	block := bytes.Repeat([]byte{'x'}, 32<<10)
	return onMany(path, quit, func(conn net.Conn) {
		for err := error(nil); err == nil && !quit.Load(); {
			_, err = conn.Write(block)
		}
	})
}

// neverRead asks for all there is and reads nothing.
func neverRead(path string, quit *atomic.Bool) int {
	ask := strings.Repeat(`{"v":1,"id":1,"op":"status"}`+"\n", 100) + `{"v":1,"id":2,"op":"events","args":{"follow":true}}` + "\n"
	return onMany(path, quit, func(conn net.Conn) {
		for err := error(nil); err == nil && !quit.Load(); {
			_, err = io.WriteString(conn, ask)
		}
	})
}

// sendGarbage sends what is no request, or only almost, and reads the answers.
func sendGarbage(path string, quit *atomic.Bool) int {
	lines := []string{"", "{", "null", `[]`, `{"v":1}`, `{"v":1,"id":0,"op":"status"}`, `{"v":-1,"id":1,"op":"status"}`,
		`{"v":1,"id":1,"op":"status","op":"reload"}`, `{"v":1,"id":1e99,"op":"status"}`, `{"v":1,"id":1,"op":"events","args":{"follow":7}}`,
		`{"v":1,"id":1,"op":"\ud800"}`, strings.Repeat(`{"a":`, 5000), strings.Repeat(" ", 60000), "\x00\xff\xfe"}
	return onMany(path, quit, func(conn net.Conn) {
		r := rand.New(rand.NewPCG(rand.Uint64(), 1))
		in := bufio.NewReader(conn)
		for !quit.Load() {
			line := []byte(lines[r.IntN(len(lines))])
			if r.IntN(2) == 0 && len(line) > 0 {
				line[r.IntN(len(line))] ^= byte(1 << r.IntN(8))
			}
			if _, err := conn.Write(append(line, '\n')); err != nil {
				return
			}
			if _, err := in.ReadSlice('\n'); err != nil && !errors.Is(err, bufio.ErrBufferFull) {
				return
			}
		}
	})
}
