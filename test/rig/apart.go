// SPDX-License-Identifier: Apache-2.0

package rig

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"os/exec"
	"time"

	"github.com/tbnet2/tbnet2/lab"
)

// Apart is a pair whose hosts are processes of their own, each with its half of
// the CPUs, as two computers are: waking the other host crosses CPUs for whoever
// is measured. Host a is this process.
type Apart struct {
	Lab  *lab.Lab
	A    *Host
	CPUs int // of each host
	addr string
	all  []int // CPUs of this process before
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  *json.Decoder
}

// OpenApart builds a pair and waits until all its rails are up. size is what
// PingPong sends, bytes.
func OpenApart(ctx context.Context, c Config, size int) (*Apart, error) {
	m, err := mode()
	if err != nil {
		return nil, err
	}
	p := &Apart{}
	if p.all, err = allowed(); err != nil {
		return nil, err
	}
	if len(p.all) < 2 {
		return nil, errors.New("two hosts need two CPUs")
	}
	if p.Lab, err = lab.New(ctx, c.Topology, m); err != nil {
		return nil, err
	}
	if err := p.open(ctx, c, size); err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return p, nil
}

func (p *Apart) open(ctx context.Context, c Config, size int) (err error) {
	half := len(p.all) / 2
	p.CPUs = half
	if err := p.serve(ctx, servedConfig{Addr: "10.78.0.2", Endpoint: DefaultEndpoint, Size: size, CPUs: p.all[half : 2*half], Config: c}); err != nil {
		return err
	}
	if err := keepTo(p.all[:half]); err != nil {
		return err
	}
	if p.A, err = OpenHost(p.Lab.Host("a"), "10.78.0.1", c); err != nil {
		return err
	}
	if p.A.Fabric == nil {
		return nil
	}
	want := len(p.A.Node.RailNames())
	return Within(ctx, 20*time.Second, fmt.Sprintf("%d rails up on both hosts", want), func() bool {
		st, err := p.Stats()
		return err == nil && st.RailsUp == want && p.A.RailsUp() == want
	})
}

// serve starts host b and waits until it listens.
func (p *Apart) serve(ctx context.Context, c servedConfig) (err error) {
	node := p.Lab.Host("b")
	if c.Place, err = hereOf(node); err != nil {
		return err
	}
	p.addr = netip.AddrPortFrom(netip.MustParseAddr(c.Addr), servedPort).String()
	if c.Config.Outlet == MPTCP { // its host has an address for every rail
		return errors.New("outlet mptcp is not served apart")
	}
	config, err := json.Marshal(c)
	if err != nil {
		return err
	}
	if p.cmd, err = node.Command(ctx, "/proc/self/exe"); err != nil {
		return err
	}
	p.cmd.Env = append(p.cmd.Env, servedVar+"="+string(config))
	p.cmd.Stderr = os.Stderr
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		return err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := p.cmd.Start(); err != nil {
		return err
	}
	p.out = json.NewDecoder(bufio.NewReader(out))
	var first servedStats
	if err := p.out.Decode(&first); err != nil {
		return fmt.Errorf("host b did not start: %w", err)
	}
	return nil
}

// Stats asks host b how it stands.
func (p *Apart) Stats() (s servedStats, err error) {
	if _, err := io.WriteString(p.in, "\n"); err != nil {
		return s, fmt.Errorf("host b: %w", err)
	}
	if err := p.out.Decode(&s); err != nil {
		return s, fmt.Errorf("host b: %w", err)
	}
	return s, nil
}

// PingPong is the mean round trip of size bytes over d, after a tenth of it.
func (p *Apart) PingPong(ctx context.Context, size int, d time.Duration) (time.Duration, error) {
	c, err := dialServed(ctx, p.A, p.addr, askEcho)
	if err != nil {
		return 0, err
	}
	defer c.Close()
	return meanTrip(c, size, d)
}

// Flow measures one TCP flow from a to b for d after warm: bits per second, and
// CPU seconds of both hosts for each GiB.
func (p *Apart) Flow(ctx context.Context, warm, d time.Duration) (rate, perGiB float64, err error) {
	c, err := dialServed(ctx, p.A, p.addr, askSink)
	if err != nil {
		return 0, 0, err
	}
	f := &Flow{out: c}
	f.done.Add(1)
	go f.send()
	defer func() {
		_ = c.SetWriteDeadline(time.Now())
		f.done.Wait()
		_ = c.Close()
	}()
	time.Sleep(warm)
	start, own := time.Now(), CPUTime()
	before, err := p.Stats()
	if err != nil {
		return 0, 0, err
	}
	time.Sleep(d)
	after, err := p.Stats()
	if err != nil {
		return 0, 0, err
	}
	took, cpu := time.Since(start), CPUTime()-own+after.CPU-before.CPU
	bytes := float64(after.Received - before.Received)
	if bytes == 0 {
		return 0, 0, errors.New("the flow stands still")
	}
	return bytes * 8 / took.Seconds(), cpu.Seconds() / (bytes / (1 << 30)), nil
}

// Close undoes everything.
func (p *Apart) Close() error {
	var errs []error
	if p.A != nil {
		errs = append(errs, p.A.Close())
	}
	if p.in != nil {
		errs = append(errs, p.in.Close())
	}
	if p.out != nil {
		errs = append(errs, p.cmd.Wait())
	}
	return errors.Join(append(errs, p.Lab.Close(), keepTo(p.all))...)
}
