// SPDX-License-Identifier: Apache-2.0

package verbs

import "time"

// Attr are a queue pair's attributes.
type Attr struct {
	Access     Access // rights of the peer, beside those of the region
	QKey       uint32 // UD
	Remote     GID
	RemoteQPN  uint32
	MaxReads   int   // READs and atomics we may have under way at the peer
	MaxPeer    int   // and the peer at us
	Timeout    uint8 // 4.096 us x 2^Timeout without progress is one try; 0: for ever
	Retries    uint8
	RNRRetries uint8         // 7: for ever
	RNRTimer   time.Duration // what the peer waits when no receive is posted
}

// AttrMask says which attributes a Modify sets.
type AttrMask uint32

// Parts of Attr.
const (
	MaskAccess AttrMask = 1 << iota
	MaskQKey
	MaskRemote // Remote and RemoteQPN
	MaskMaxReads
	MaskMaxPeer
	MaskTimeout
	MaskRetries
	MaskRNRRetries
	MaskRNRTimer
)

// step is what a transition must and may set.
type step struct{ must, may AttrMask }

// transitions by kind, from, to. To Reset and Error leads every state.
var transitions = map[QPType]map[[2]State]step{
	RC: {
		{Reset, Init}:                 {MaskAccess, 0},
		{Init, Init}:                  {0, MaskAccess},
		{Init, ReadyToReceive}:        {MaskRemote | MaskMaxPeer | MaskRNRTimer, MaskAccess},
		{ReadyToReceive, ReadyToSend}: {MaskTimeout | MaskRetries | MaskRNRRetries | MaskMaxReads, MaskAccess | MaskRNRTimer},
		{ReadyToSend, ReadyToSend}:    {0, MaskAccess | MaskRNRTimer},
		{ReadyToSend, SendDrained}:    {0, 0},
		{SendDrained, ReadyToSend}:    {0, MaskAccess | MaskRNRTimer},
	},
	UC: {
		{Reset, Init}:                 {MaskAccess, 0},
		{Init, Init}:                  {0, MaskAccess},
		{Init, ReadyToReceive}:        {MaskRemote, MaskAccess},
		{ReadyToReceive, ReadyToSend}: {0, MaskAccess},
		{ReadyToSend, ReadyToSend}:    {0, MaskAccess},
		{ReadyToSend, SendDrained}:    {0, 0},
		{SendDrained, ReadyToSend}:    {0, MaskAccess},
	},
	UD: {
		{Reset, Init}:                 {MaskQKey, 0},
		{Init, Init}:                  {0, MaskQKey},
		{Init, ReadyToReceive}:        {0, MaskQKey},
		{ReadyToReceive, ReadyToSend}: {0, MaskQKey},
		{ReadyToSend, ReadyToSend}:    {0, MaskQKey},
		{ReadyToSend, SendDrained}:    {0, 0},
		{SendDrained, ReadyToSend}:    {0, MaskQKey},
	},
}

// Modify brings the queue pair into a state and sets the attributes in mask.
// ErrState if no transition leads there, ErrInvalid if the mask lacks what it
// needs or has what it does not take, ErrNoPeer if no host has the address.
func (q *QP) Modify(to State, a Attr, mask AttrMask) error {
	var peer *peer
	if mask&MaskRemote != 0 {
		if peer = q.pd.device.findPeer(a.Remote); peer == nil {
			return ErrNoPeer
		}
	}
	d := q.pd.device
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return ErrClosed
	}
	if q.gone {
		return ErrInvalid
	}
	switch to {
	case Reset:
		q.clear()
		q.state, q.attr = Reset, Attr{}
		return nil
	case Error:
		if q.state == Reset {
			return ErrState
		}
		q.fail()
		return nil
	}
	s, ok := transitions[q.typ][[2]State{q.state, to}]
	if !ok {
		return ErrState
	}
	if mask&s.must != s.must || mask&^(s.must|s.may) != 0 || !q.admits(a, mask) {
		return ErrInvalid
	}
	q.set(a, mask, peer)
	q.state = to
	if to == ReadyToSend && q.peer != nil {
		q.peer.want(q)
	}
	return nil
}

// admits holds attributes to the limits.
func (q *QP) admits(a Attr, mask AttrMask) bool {
	most := q.pd.device.limits.Reads
	return !(mask&MaskMaxReads != 0 && (a.MaxReads < 0 || a.MaxReads > most) ||
		mask&MaskMaxPeer != 0 && (a.MaxPeer < 0 || a.MaxPeer > most) ||
		a.Timeout > 31 || a.Retries > 7 || a.RNRRetries > 7 || a.Access&^accessKnown != 0 ||
		a.RNRTimer < 0 || a.RNRTimer > time.Second || a.RemoteQPN >= 1<<24)
}

// set takes over what mask names.
func (q *QP) set(a Attr, mask AttrMask, peer *peer) {
	for _, f := range []struct {
		bit AttrMask
		do  func()
	}{
		{MaskAccess, func() { q.attr.Access = a.Access }},
		{MaskQKey, func() { q.attr.QKey = a.QKey }},
		{MaskRemote, func() { q.attr.Remote, q.attr.RemoteQPN, q.peer = a.Remote, a.RemoteQPN, peer }},
		{MaskMaxReads, func() { q.attr.MaxReads = a.MaxReads }},
		{MaskMaxPeer, func() { q.attr.MaxPeer = a.MaxPeer }},
		{MaskTimeout, func() { q.attr.Timeout = a.Timeout }},
		{MaskRetries, func() { q.attr.Retries = a.Retries }},
		{MaskRNRRetries, func() { q.attr.RNRRetries = a.RNRRetries }},
		{MaskRNRTimer, func() { q.attr.RNRTimer = a.RNRTimer }},
	} {
		if mask&f.bit != 0 {
			f.do()
		}
	}
}

// Connect brings a new RC or UC queue pair to ReadyToSend towards another,
// with all rights, and the usual 0.5 s (timeout 14, 7 retries).
func (q *QP) Connect(to GID, qpn uint32) error {
	a := Attr{Access: accessKnown, Remote: to, RemoteQPN: qpn, MaxReads: 16, MaxPeer: 16, Timeout: 14, Retries: 7,
		RNRRetries: 7, RNRTimer: 640 * time.Microsecond}
	for _, s := range []State{Init, ReadyToReceive, ReadyToSend} {
		mask := transitions[q.typ][[2]State{s - 1, s}].must
		if err := q.Modify(s, a, mask); err != nil {
			return err
		}
	}
	return nil
}

// Open brings a new UD queue pair to ReadyToSend.
func (q *QP) Open(qkey uint32) error {
	for _, s := range []State{Init, ReadyToReceive, ReadyToSend} {
		if err := q.Modify(s, Attr{QKey: qkey}, transitions[UD][[2]State{s - 1, s}].must); err != nil {
			return err
		}
	}
	return nil
}
