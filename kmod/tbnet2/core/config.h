/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * What an association and its rails are made of.
 */
#ifndef TBNET2_CORE_CONFIG_H
#define TBNET2_CORE_CONFIG_H

#include "packet.h"

/* What an association promises [4]. */
enum tbnet2_class {
	TBNET2_ORDERED,		/* packets of a channel whole and in order; one may be given up */
	TBNET2_RELIABLE,	/* every byte once, in any order */
};

/* Chooses the rail of a fragment; all but the first exist to be compared. */
enum tbnet2_policy {
	TBNET2_SHORTEST,
	TBNET2_ROUND_ROBIN,
	TBNET2_FLOW_HASH,
};

/**
 * struct tbnet2_config - fixed for the life of an association
 * @class: the promise
 * @policy: of the rail's choice
 * @retransmit: in force: both ends asked for it; implied by the reliable class
 * @send_crc: the peer asked for CRCs
 * @require_crc: frames without one are dropped
 * @unordered: packets are delivered as they become whole; shows what that costs
 * @manual_consume: the consumer calls tbnet2_consumed(); else delivery consumes
 * @local_index: what frames to us carry
 * @peer_index: what frames to the peer carry
 * @slots: packets the peer lets open per channel, a power of two; 0: default
 * @local_slots: the same for what we receive
 * @window: bytes of reorder memory per channel; 0: default
 * @queue_bytes: bytes of packets waiting to be sent; 0: default
 * @ops: what the core asks of its user
 * @context: for @ops
 */
struct tbnet2_config {
	enum tbnet2_class class;
	enum tbnet2_policy policy;
	bool retransmit;
	bool send_crc;
	bool require_crc;
	bool unordered;
	bool manual_consume;
	u32 local_index;
	u32 peer_index;
	u32 slots;
	u32 local_slots;
	s64 window;
	s64 queue_bytes;
	const struct tbnet2_ops *ops;
	void *context;
};

/**
 * struct tbnet2_rail_config - describes a rail
 * @id: ours
 * @peer_id: the peer's for the same rail
 * @mtu: bytes of one frame after the Ethernet header: the smaller of both ends
 * @rate: first guess, bytes per 2^20 ns; 0 unknown
 * @weight: 0: by measured rate
 * @ring: our receive ring's share for this association, bytes
 * @no_crc: the peer trusts the link: our frames carry no CRC
 * @trust_link: takes frames without a CRC though require_crc is set
 */
struct tbnet2_rail_config {
	u8 id;
	u8 peer_id;
	u32 mtu;
	u64 rate;
	u32 weight;
	u32 ring;
	bool no_crc;
	bool trust_link;
};

#endif /* TBNET2_CORE_CONFIG_H */
