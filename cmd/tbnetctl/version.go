// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/tbnet2/tbnet2/ctl"
	"github.com/tbnet2/tbnet2/wire"
)

// versionInfo is the JSON document of `version`.
type versionInfo struct {
	SchemaVersion int    `json:"schema_version"`
	Version       string `json:"version"`
	Revision      string `json:"revision,omitempty"` // of the source, where the build knew it
	Wire          int    `json:"wire"`               // version of the frames
	Control       int    `json:"control"`            // version of the daemon's socket
	Go            string `json:"go"`
}

func newVersion(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the versions of the program and its protocols",
		Args:  wants(0, 0),
		RunE: func(*cobra.Command, []string) error {
			v := versionInfo{ctl.SchemaVersion, ctl.Version, revision(), wire.Version, ctl.ProtocolMax, runtime.Version()}
			if a.json {
				return a.printJSON(v)
			}
			_, _ = fmt.Fprintf(a.out, "tbnetctl %s (wire %d, control %d, %s)\n", v.Version, v.Wire, v.Control, v.Go)
			return nil
		},
	}
}

func revision() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			return s.Value
		}
	}
	return ""
}
