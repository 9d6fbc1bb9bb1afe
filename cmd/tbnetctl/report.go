// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"github.com/tbnet2/tbnet2/doctor"
)

func newReport(a *app) *cobra.Command {
	var file, out string
	cmd := &cobra.Command{
		Use:   "report",
		Short: "Write one anonymised file about this machine, to attach to a bug report",
		Long: `Write one JSON file with kernel, link speeds and widths, rails, rates, counters
and what doctor finds. Host names, UUIDs, MAC and IP addresses are replaced by
pseudonyms, the same for the same original. Read it before you send it.`,
		Args: wants(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			data, err := doctor.Anonymised(cmd.Context(), a.machine(file), doctor.Checks())
			if err != nil {
				return err
			}
			return a.writeReport(out, append(data, '\n'))
		},
	}
	configFlag(cmd, &file)
	cmd.Flags().StringVarP(&out, "output", "o", "tbnet2-report.json", "`FILE` to write, - for standard output")
	return cmd
}

// writeReport does not overwrite: an older report may be the only one of a
// state that has passed.
func (a *app) writeReport(path string, data []byte) error {
	if path == "-" || a.json {
		_, err := a.out.Write(data)
		return err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s is there already: remove it, or give --output FILE", path)
	}
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	_, _ = fmt.Fprintln(a.out, path)
	return nil
}
