// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"os"
	"runtime"
	"strconv"
	"strings"
)

// Machine is where a benchmark ran.
type Machine struct {
	CPU        string `json:"cpu"`
	CPUs       int    `json:"cpus"`
	MemoryMiB  int    `json:"memory_mib"`
	Kernel     string `json:"kernel"`
	Arch       string `json:"arch"`
	Go         string `json:"go"`
	GOMAXPROCS int    `json:"gomaxprocs"`
	// TCP is the kernel's default congestion control. Flows that are compared
	// set theirs on the socket.
	TCP string `json:"tcp_congestion_control"`
}

// ThisMachine describes the machine the program runs on.
func ThisMachine() Machine {
	return Machine{
		CPU: field("/proc/cpuinfo", "model name"), CPUs: runtime.NumCPU(),
		MemoryMiB: kib(field("/proc/meminfo", "MemTotal")) >> 10,
		Kernel:    text("/proc/sys/kernel/osrelease"), Arch: runtime.GOARCH,
		Go: runtime.Version(), GOMAXPROCS: runtime.GOMAXPROCS(0),
		TCP: text("/proc/sys/net/ipv4/tcp_congestion_control"),
	}
}

func text(path string) string {
	data, _ := os.ReadFile(path)
	return strings.TrimSpace(string(data))
}

// field gives the first "KEY: value" of a file.
func field(path, key string) string {
	for line := range strings.Lines(text(path)) {
		if k, v, found := strings.Cut(line, ":"); found && strings.TrimSpace(k) == key {
			return strings.TrimSpace(v)
		}
	}
	return ""
}

func kib(s string) int {
	n, _ := strconv.Atoi(strings.TrimSuffix(s, " kB"))
	return n
}
