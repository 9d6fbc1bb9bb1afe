// SPDX-License-Identifier: Apache-2.0

package lab_test

import (
	"context"
	"fmt"

	"github.com/tbnet2/tbnet2/lab"
)

// Two hosts joined by two cables of two rails each, in memory; the same code
// runs in namespaces with another mode.
func Example() {
	topo := lab.Pair(2, 2).With(func(l *lab.Link) { l.Rate, l.Delay = 5*lab.Gbit, 50*lab.Microsecond })
	l, err := lab.New(context.Background(), topo, lab.ModeMemory)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer l.Close()
	rails, err := l.Host("a").OpenRails()
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := l.Unplug("cable1"); err != nil {
		fmt.Println(err)
	}
	for _, r := range rails {
		defer r.Close()
		fmt.Println(r.Info().Name, r.Info().Carrier)
	}
	// Output:
	// rail0 false
	// rail1 false
	// rail2 true
	// rail3 true
}
