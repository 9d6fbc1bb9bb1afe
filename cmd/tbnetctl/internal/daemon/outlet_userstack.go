// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"errors"
	"log/slog"

	"github.com/google/uuid"

	"github.com/tbnet2/tbnet2/cmd/tbnetctl/internal/config"
	"github.com/tbnet2/tbnet2/fabric"
)

type ways struct {
	outlet outlet
	log    *slog.Logger
}

func (*ways) Close() error { return nil }

func (*ways) set(string, []config.Forward) error { return nil }

func openUserstack(config.Bond, uuid.UUID, string, fabric.Port, *slog.Logger) (outlet, error) {
	return nil, errors.New("outlet = userstack is not in this build; use outlet = tap")
}
