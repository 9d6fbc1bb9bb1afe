// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// result is one row of report.json.
type result struct {
	Kernel  string  `json:"kernel"`
	Test    string  `json:"test"`
	Status  string  `json:"status"` // pass or fail
	Seconds float64 `json:"seconds"`
	Log     string  `json:"log"` // folder of console.log and dmesg.log
	Why     string  `json:"why,omitempty"`
}

func main() {
	kernels := flag.String("kernels", "6.1,6.12", "kernels to run on, of 6.1, 6.12, debug")
	name := flag.String("run", "", "run only this test")
	out := flag.String("out", "build/vm", "folder for kernels, logs and report.json")
	shell := flag.Bool("shell", false, "a prompt in a guest with two hosts, on the first kernel")
	flag.Parse()
	if err := do(strings.Split(*kernels, ","), *name, *out, *shell); err != nil {
		fmt.Fprintln(os.Stderr, "vm:", err)
		os.Exit(1)
	}
}

func do(kernels []string, name, out string, shell bool) error {
	root, err := os.Getwd()
	if err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(root, "test/vm/guest/init")); err != nil {
		return errors.New("run me from the project's folder")
	}
	for _, k := range kernels {
		if !slices.Contains(kernelNames, k) {
			return fmt.Errorf("kernel %q is none of %v", k, kernelNames)
		}
	}
	if shell {
		return openShell(root, kernels[0], out)
	}
	tests, err := findTests(root, name)
	if err != nil {
		return err
	}
	results, err := runAll(root, kernels, tests, out)
	if err != nil {
		return err
	}
	return summarize(results, out)
}

// runAll runs each test on each kernel it is for, one after the other: each guest
// has as many CPUs as a small machine.
func runAll(root string, kernels []string, tests []*test, out string) ([]result, error) {
	var results []result
	for _, name := range kernels {
		begin := time.Now()
		k, err := openKernel(root, name, filepath.Join(out, name))
		if err != nil {
			return nil, err
		}
		fmt.Printf("kernel %s is %s, ready in %.0f s\n", name, k.release(), time.Since(begin).Seconds())
		for _, t := range tests {
			if !slices.Contains(t.kernels, name) {
				continue
			}
			r, err := runOne(root, k, t)
			if err != nil {
				return nil, fmt.Errorf("%s on %s: %w", t.name, name, err)
			}
			fmt.Printf("%-4s %-6s %-20s %5.1f s %s\n", r.Status, r.Kernel, r.Test, r.Seconds, r.Why)
			results = append(results, r)
		}
	}
	return results, nil
}

func runOne(root string, k *kernel, t *test) (result, error) {
	r := run{kernel: k, test: t, dir: filepath.Join(k.dir, "logs", t.name)}
	begin := time.Now()
	ended, log, err := r.boot(root)
	if err != nil {
		return result{}, err
	}
	res := result{Kernel: k.name, Test: t.name, Status: "pass", Log: r.dir, Seconds: time.Since(begin).Seconds()}
	if ok, why := judge(t.expect, ended, complaints(log)); !ok {
		res.Status, res.Why = "fail", why
	}
	return res, nil
}

// summarize writes report.json and fails where a test did.
func summarize(results []result, out string) error {
	b, err := json.MarshalIndent(results, "", "  ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(out, "report.json"), append(b, '\n'), 0o644); err != nil {
		return err
	}
	failed := 0
	for _, r := range results {
		if r.Status != "pass" {
			failed++
		}
	}
	fmt.Printf("%d passed, %d failed\n", len(results)-failed, failed)
	switch {
	case len(results) == 0:
		return errors.New("no test ran: none is for these kernels")
	case failed > 0:
		return fmt.Errorf("failed tests: see the logs in %s", out)
	}
	return nil
}

// openShell boots a guest with two hosts and a prompt.
func openShell(root, name, out string) error {
	k, err := openKernel(root, name, filepath.Join(out, name))
	if err != nil {
		return err
	}
	t := &test{name: "shell", modules: []string{"veth", "bonding", "sch_netem"}, cpus: defaultCPUs, memory: defaultMemory}
	if _, ok := k.ours["tbsim"]; ok {
		t.copies = []string{"tbsim", "thunderbolt-net"}
	}
	fmt.Println("leave with exit; Ctrl-A X ends QEMU")
	r := run{kernel: k, test: t, dir: filepath.Join(k.dir, "logs", t.name)}
	return r.shell(root)
}
