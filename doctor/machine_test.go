// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"path/filepath"
	"testing"

	"github.com/tbnet2/tbnet2/ctl"
)

// TestThisMachine runs on whatever machine this is, without a daemon: no check
// may panic, and the missing daemon must be found.
func TestThisMachine(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "none")
	e := Machine(socket, "/etc/tbnet2/config", nil)
	r := Run(t.Context(), e, Checks())
	found(t, r, "daemon", Fail, socket)
	if ctl.CodeOf(e.statusErr) != ctl.CodeNoDaemon {
		t.Errorf("got %v", e.statusErr)
	}
	if _, err := Anonymised(t.Context(), e, Checks()); err != nil {
		t.Error(err)
	}
}

func TestFeaturesOfLoopback(t *testing.T) {
	f, err := features("lo")
	if err != nil {
		t.Fatal(err)
	}
	if len(f) != len(ethtoolGet) || !f["sg"] {
		t.Errorf("got %v, want every offload told and scatter-gather on", f)
	}
	if _, err := features("nosuchdevice0"); err == nil {
		t.Error("a device that is not there has features")
	}
}
