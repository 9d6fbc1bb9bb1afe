/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * tbnet2 control: the generic netlink family "tbnet2" between the kernel module
 * and programs. ctl/kernel is the Go client; numbers only ever get added.
 *
 * Reading is free. Changing needs CAP_NET_ADMIN in the namespace of the bond or
 * rail. Every refusal carries extack text that says what to do, and nothing is
 * half applied. Dumps are of the caller's network namespace; one that a change
 * overtook is marked (NLM_F_DUMP_INTR) and wants repeating.
 *
 * Units: bytes, bits per second (BPS), nanoseconds (NS). Integers are host order
 * and exactly as wide as their type here says.
 */
#ifndef TBNET2_CTL_H
#define TBNET2_CTL_H

#define TBNET2_GENL_NAME	"tbnet2"
#define TBNET2_GENL_VERSION	1
#define TBNET2_GENL_EVENTS	"events"	/* multicast group of TBNET2_CMD_EVENT */

enum tbnet2_cmd {
	TBNET2_CMD_UNSPEC,
	TBNET2_CMD_GET_HOST,	/* do: TBNET2_A_HOST */
	TBNET2_CMD_GET_BOND,	/* dump: one TBNET2_A_BOND each */
	TBNET2_CMD_GET_PEER,	/* dump: one TBNET2_A_PEER each */
	TBNET2_CMD_GET_RAIL,	/* dump: one TBNET2_A_RAIL each */
	TBNET2_CMD_GET_DROP,	/* dump: one TBNET2_A_DROP each */
	TBNET2_CMD_SET_RAILS,	/* do: TBNET2_A_USE once for each peer: all or none is done */
	TBNET2_CMD_SET_RAIL,	/* do: TBNET2_A_RAIL with IFINDEX and ENABLED */
	TBNET2_CMD_SET_BOND,	/* do: TBNET2_A_BOND with IFINDEX and what changes */
	TBNET2_CMD_EVENT,	/* notification: TBNET2_A_EVENT */
	__TBNET2_CMD_END,
};

/* Attributes of a message: one nest that says what it is about. */
enum tbnet2_attr {
	TBNET2_A_UNSPEC,
	TBNET2_A_HOST,
	TBNET2_A_BOND,
	TBNET2_A_PEER,
	TBNET2_A_RAIL,
	TBNET2_A_DROP,
	TBNET2_A_USE,
	TBNET2_A_EVENT,
	TBNET2_A_PAD,		/* before 64-bit values */
	__TBNET2_A_END,
};

enum tbnet2_host_attr {
	TBNET2_HOST_UNSPEC,
	TBNET2_HOST_PAD,
	TBNET2_HOST_UUID,	/* binary, 16 bytes */
	TBNET2_HOST_NAME,	/* string */
	TBNET2_HOST_VERSION,	/* string: of the module */
	TBNET2_HOST_STARTED,	/* u64: wall clock, ns since 1970 */
	__TBNET2_HOST_END,
};

enum tbnet2_bond_attr {
	TBNET2_BOND_UNSPEC,
	TBNET2_BOND_PAD,
	TBNET2_BOND_IFINDEX,	/* u32 */
	TBNET2_BOND_RETRANSMIT,	/* u8: 0 or 1; both ends must ask for it */
	TBNET2_BOND_WINDOW,	/* u32: bytes that a peer may have under way */
	TBNET2_BOND_QUEUE,	/* u32: bytes queued to a peer at most */
	__TBNET2_BOND_END,
};

enum tbnet2_peer_attr {
	TBNET2_PEER_UNSPEC,
	TBNET2_PEER_PAD,
	TBNET2_PEER_UUID,	/* binary, 16 bytes */
	TBNET2_PEER_NAME,	/* string */
	TBNET2_PEER_BOND,	/* u32: ifindex of its bond */
	TBNET2_PEER_STATE,	/* u8: enum tbnet2_peer_state */
	TBNET2_PEER_REASON,	/* string: why it is not connected */
	TBNET2_PEER_RETRANSMIT,	/* u8: in force */
	TBNET2_PEER_RTT,	/* u64 NS: least of its rails */
	/* u64 totals since the peer was first seen */
	TBNET2_PEER_TX_PACKETS,
	TBNET2_PEER_TX_BYTES,
	TBNET2_PEER_TX_RESENT_BYTES,
	TBNET2_PEER_RX_PACKETS,
	TBNET2_PEER_RX_BYTES,
	TBNET2_PEER_RX_REORDERED,
	/* u64 of now */
	TBNET2_PEER_RX_PARKED_BYTES,
	TBNET2_PEER_TX_QUEUED_BYTES,
	__TBNET2_PEER_END,
};

enum tbnet2_peer_state {
	TBNET2_PEER_CONNECTED,
	TBNET2_PEER_LOST,
	TBNET2_PEER_MISMATCH,
};

enum tbnet2_rail_attr {
	TBNET2_RAIL_UNSPEC,
	TBNET2_RAIL_PAD,
	TBNET2_RAIL_IFINDEX,	/* u32 */
	TBNET2_RAIL_BOND,	/* u32: ifindex, 0 without one */
	TBNET2_RAIL_PEER,	/* binary, 16 bytes: UUID; absent without a peer */
	TBNET2_RAIL_STATE,	/* u8: enum tbnet2_rail_state */
	TBNET2_RAIL_REASON,	/* string: why it is not up */
	TBNET2_RAIL_ENABLED,	/* u8 */
	TBNET2_RAIL_IN_USE,	/* u8 */
	TBNET2_RAIL_SIMULATED,	/* u8: its hardware is not real */
	TBNET2_RAIL_WEIGHT,	/* u32: 0 by measured rate */
	TBNET2_RAIL_PEER_MTU,	/* u32: 0 unknown */
	TBNET2_RAIL_LINK_BPS,	/* u64: the device's own word, 0 unknown */
	TBNET2_RAIL_BPS,	/* u64: measured */
	TBNET2_RAIL_DELAY,	/* u64 NS: one way, beyond the quickest rail */
	TBNET2_RAIL_RTT,	/* u64 NS */
	TBNET2_RAIL_SINCE,	/* u64: of this state, wall clock ns since 1970 */
	/* u64 totals since the rail was added */
	TBNET2_RAIL_TX_FRAMES,
	TBNET2_RAIL_TX_BYTES,
	TBNET2_RAIL_TX_ERRORS,
	TBNET2_RAIL_TX_STALL,
	TBNET2_RAIL_TX_LOST,
	TBNET2_RAIL_CREDIT_WAIT,
	TBNET2_RAIL_RX_FRAMES,
	TBNET2_RAIL_RX_BYTES,
	TBNET2_RAIL_RX_ERRORS,
	TBNET2_RAIL_RX_NO_BUFFER,
	TBNET2_RAIL_RX_LOST,
	TBNET2_RAIL_RX_REORDERED,
	TBNET2_RAIL_FLAPS,
	TBNET2_RAIL_SUSPICIONS,
	__TBNET2_RAIL_END,
};

enum tbnet2_rail_state {
	TBNET2_RAIL_IS_UNPAIRED,	/* no host answers at the other end */
	TBNET2_RAIL_IS_PROBING,
	TBNET2_RAIL_IS_UP,
	TBNET2_RAIL_IS_SUSPECT,
	TBNET2_RAIL_IS_DOWN,
};

enum tbnet2_drop_attr {
	TBNET2_DROP_UNSPEC,
	TBNET2_DROP_PAD,
	TBNET2_DROP_REASON,	/* string */
	TBNET2_DROP_COUNT,	/* u64 */
	__TBNET2_DROP_END,
};

/* The rails in use to a peer, all of them: who is not named is not used. */
enum tbnet2_use_attr {
	TBNET2_USE_UNSPEC,
	TBNET2_USE_PEER,	/* binary, 16 bytes */
	TBNET2_USE_RAIL,	/* nest of tbnet2_use_rail_attr, once for each rail */
	__TBNET2_USE_END,
};

enum tbnet2_use_rail_attr {
	TBNET2_USE_RAIL_UNSPEC,
	TBNET2_USE_RAIL_IFINDEX,	/* u32 */
	TBNET2_USE_RAIL_WEIGHT,		/* u32: 1 to 1000, absent: by measured rate */
	__TBNET2_USE_RAIL_END,
};

enum tbnet2_event_attr {
	TBNET2_EVENT_UNSPEC,
	TBNET2_EVENT_PAD,
	TBNET2_EVENT_TIME,	/* u64: wall clock, ns since 1970 */
	TBNET2_EVENT_KIND,	/* u8: enum tbnet2_event_kind */
	TBNET2_EVENT_PEER,	/* string: name */
	TBNET2_EVENT_RAIL,	/* string: name */
	TBNET2_EVENT_STATE,	/* u8: of a rail or a peer, by kind */
	TBNET2_EVENT_REASON,	/* string */
	__TBNET2_EVENT_END,
};

enum tbnet2_event_kind {
	TBNET2_EVENT_IS_RAIL,
	TBNET2_EVENT_IS_PEER,
	TBNET2_EVENT_IS_MISMATCH,
};

#endif /* TBNET2_CTL_H */
