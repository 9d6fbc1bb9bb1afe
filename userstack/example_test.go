// SPDX-License-Identifier: Apache-2.0

package userstack_test

import (
	"fmt"
	"io"

	"github.com/google/uuid"

	"github.com/tbnet2/tbnet2/fabric"
	"github.com/tbnet2/tbnet2/rail/mem"
	"github.com/tbnet2/tbnet2/userstack"
)

// exampleHost makes a host whose one rail is dev.
func exampleHost(id uuid.UUID, name string, dev *mem.Device) (*userstack.Stack, func()) {
	f, err := fabric.New(fabric.Config{Host: id, HostName: name, Endpoint: 1, Retransmit: true})
	if err != nil {
		panic(err)
	}
	if err := f.AddRail(dev, fabric.RailOptions{}); err != nil {
		panic(err)
	}
	s, err := userstack.New(f.Port(), userstack.Config{Host: id})
	if err != nil {
		panic(err)
	}
	return s, func() { _, _ = s.Close(), f.Close() }
}

// Two hosts find each other over a rail and talk by their automatic addresses.
func ExampleStack_Dial() {
	link, err := mem.New(mem.Config{Name: "cable"})
	if err != nil {
		panic(err)
	}
	idA, idB := uuid.MustParse("00000000-0000-4000-8000-00000000000a"), uuid.MustParse("00000000-0000-4000-8000-00000000000b")
	a, closeA := exampleHost(idA, "a", link.A())
	defer closeA()
	b, closeB := exampleHost(idB, "b", link.B())
	defer closeB()

	l, err := b.Listen("tcp", ":7")
	if err != nil {
		panic(err)
	}
	defer l.Close()
	go func() {
		c, err := l.Accept()
		if err != nil {
			return
		}
		_, _ = io.Copy(c, c)
		_ = c.Close()
	}()

	c, err := a.Dial("tcp", fmt.Sprintf("[%v]:7", userstack.LinkLocal6(idB)))
	if err != nil {
		panic(err)
	}
	defer c.Close()
	fmt.Fprint(c, "hello over all rails")
	answer := make([]byte, 20)
	_, err = io.ReadFull(c, answer)
	fmt.Println(string(answer), err)
	// Output: hello over all rails <nil>
}

// A host's names come from its UUID and are always the same.
func ExampleLinkLocal6() {
	id := uuid.MustParse("00000000-0000-4000-8000-00000000000a")
	later := uuid.MustParse(id.String())
	fmt.Println(userstack.LinkLocal6(id) == userstack.LinkLocal6(later), userstack.LinkLocal6(id).IsLinkLocalUnicast())
	// Output: true true
}
