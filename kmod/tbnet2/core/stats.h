/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Counters of an association.
 */
#ifndef TBNET2_CORE_STATS_H
#define TBNET2_CORE_STATS_H

#include "packet.h"

/* Why a received frame was not taken: each counts under exactly one. */
enum tbnet2_drop {
	TBNET2_DROP_SHORT,		/* does not fit its length */
	TBNET2_DROP_VERSION,		/* of another version */
	TBNET2_DROP_TYPE,		/* type or flag unknown, reserved bits set */
	TBNET2_DROP_CRC,		/* checksum wrong */
	TBNET2_DROP_NO_CRC,		/* checksum missing */
	TBNET2_DROP_RAIL_SEQ,		/* rail sequence far outside */
	TBNET2_DROP_FIELD,		/* a field out of range */
	TBNET2_DROP_CONTRADICTION,	/* differs from what is held of the packet */
	TBNET2_DROP_WINDOW,		/* beyond the window */
	TBNET2_DROP_OFFLOAD,		/* descriptor does not fit */
	TBNET2_DROP_DUPLICATE,		/* nothing new in it */
	TBNET2_DROP_LATE,		/* of a packet delivered or given up before */
	TBNET2_DROP_MEMORY,		/* no memory to hold it; told as lost */
	TBNET2_DROPS,
};

/* Totals of the send half. */
struct tbnet2_send_stats {
	u64 packets, bytes;			/* taken by tbnet2_send() */
	u64 outcomes[TBNET2_OUTCOMES];		/* packets done with */
	u64 queue_full;				/* refused by tbnet2_send() */
	u64 frames, resent_frames, resent_bytes;	/* less what devices refused */
	u64 control_frames, refused;
	u64 lost;				/* frames known lost */
	u64 suspected;		/* frames moved from a suspect, down or removed rail */
	u64 acks, stale_acks, bad_states;	/* states received */
	u64 rail_blocked, credit_wait, channel_wait;	/* nothing sent for want of this */
	u64 skips_sent, positions_sent, probes;
};

/* Totals of the receive half. */
struct tbnet2_recv_stats {
	u64 frames, bytes;			/* all that tbnet2_receive() was given */
	u64 taken;				/* frames that count under no drop */
	u64 data_frames;
	u64 packets, packet_bytes;		/* delivered */
	u64 drops[TBNET2_DROPS];
	u64 gaps, lost_frames;			/* seen by rail sequence */
	u64 rail_reordered;
	u64 out_of_order;			/* packets that waited for an earlier one */
	u64 skipped, proven_lost;		/* by the sender; by RFC 1990's rule */
	u64 hole_timeouts;
	u64 acks_sent;
	u64 no_memory;				/* frames dropped for want of it */
	u64 parked_bytes, parked_bytes_most;	/* now, and at most */
	u64 parked_packets;			/* now */
};

/* Counters of one rail's send half. */
struct tbnet2_rail_stats {
	u64 tx_frames, tx_bytes;		/* headers included */
	u64 lost;				/* of ours, told by the peer */
	u64 flaps;				/* times it left up */
	u64 suspicions;
	u64 credit_wait;
};

#endif /* TBNET2_CORE_STATS_H */
