// SPDX-License-Identifier: Apache-2.0

// Command tbnetctl sets up, shows and checks tbnet2, and is its daemon. Each
// subcommand has a file of its own. Exit codes: 0 all is well, 1 a warning or
// failure, 2 wrong usage (of doctor: 0 OK, 1 WARN, 2 FAIL).
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/tbnet2/tbnet2/lab"
)

func main() {
	if err := lab.Main(); err != nil { // also what a lab starts inside itself
		fmt.Fprintln(os.Stderr, "tbnetctl:", err)
		os.Exit(exitFail)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := newApp().run(ctx, os.Args[1:])
	stop()
	os.Exit(code)
}
