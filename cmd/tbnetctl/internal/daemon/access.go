// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"log/slog"
	"os"
	"os/user"
	"strconv"

	"github.com/tbnet2/tbnet2/ctl"
)

// access lets the members of the group change things, where there is such a
// group.
func access(group string, log *slog.Logger) ctl.Access {
	a := ctl.Access{UID: uint32(os.Getuid())}
	g, err := user.LookupGroup(group)
	if err != nil {
		log.Info("only root and the daemon's user may change things", "group", group, "reason", err)
		return a
	}
	gid, err := strconv.ParseUint(g.Gid, 10, 32)
	if err != nil {
		return a
	}
	a.GID, a.HasGID = uint32(gid), true
	return a
}
