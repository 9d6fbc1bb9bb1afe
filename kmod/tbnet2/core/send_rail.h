/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * The send half's view of one rail. Times are on the running clock.
 */
#ifndef TBNET2_CORE_SEND_RAIL_H
#define TBNET2_CORE_SEND_RAIL_H

#include "config.h"
#include "estimate.h"
#include "inbox.h"
#include "ledger.h"
#include "probe.h"
#include "stats.h"

/**
 * struct tbnet2_health - the liveness of a rail [8]
 * @state: enum tbnet2_liveness
 * @reason: enum tbnet2_reason
 * @carrier: the device has one
 * @enabled: the user wants it
 * @here: the peer is heard on it
 * @there: the peer hears us on it
 * @proven: a PING of the present MTU was answered since it was last down
 * @ping_due: a PING is to be sent
 * @ping_at: next regular PING
 * @tail_ping: when the oldest frame in flight was asked about; TBNET2_NEVER:
 *	not yet
 * @progress: when frames were last acknowledged
 */
struct tbnet2_health {
	u8 state;
	u8 reason;
	bool carrier;
	bool enabled;
	bool here;
	bool there;
	bool proven;
	bool ping_due;
	s64 ping_at;
	s64 tail_ping;
	s64 progress;
};

/**
 * struct tbnet2_send_rail - one rail
 * @cfg: as it was added, but for MTU and weight, which follow changes
 * @ledger: what is in flight
 * @estimate: of the path
 * @health: of the rail
 * @probe: of its MTU
 * @backlog: until the path is idle, by the rate; see tbnet2_rail_look()
 * @queue: how long the path is busy with what is in flight; see weigh()
 * @served: of what is in flight, at most; see tbnet2_rail_look()
 * @idle_at: the end of @backlog
 * @credit: ledger.bytes may grow to this
 * @wrote: bytes sent by the weight's measure
 * @unflagged: bytes since the last frame that asked for an ack
 * @held: without retransmission: spans that must go out on this rail first
 * @busy: the device refused frames; until writable
 * @in_use: chosen by tbnet2_set_use()
 * @announced: the peer knows the newest RAILSET
 * @mtu: bytes of one frame, proven
 * @position: without retransmission: what the peer knows of each channel
 * @behind_since: and since when it is behind; TBNET2_NEVER: not behind
 * @stats: counters
 */
struct tbnet2_send_rail {
	struct tbnet2_rail_config cfg;
	struct tbnet2_ledger ledger;
	struct tbnet2_estimate estimate;
	struct tbnet2_health health;
	struct tbnet2_probe probe;
	s64 backlog;
	s64 queue;
	s64 served;
	s64 idle_at;
	u64 credit;
	u64 wrote;
	s64 unflagged;
	s32 held;
	bool busy;
	bool in_use;
	bool announced;
	u32 mtu;
	u32 position[TBNET2_CHANNELS];
	s64 behind_since;
	struct tbnet2_rail_stats stats;
};

void tbnet2_rail_init(struct tbnet2_send_rail *r, s64 run, const struct tbnet2_rail_config *c,
		      u32 *undecided);
bool tbnet2_rail_has_window(const struct tbnet2_send_rail *r, u32 size);
bool tbnet2_rail_has_credit(const struct tbnet2_send_rail *r, u32 size);
s64 tbnet2_rail_expected(const struct tbnet2_send_rail *r, u32 size);
void tbnet2_rail_look(struct tbnet2_send_rail *r, s64 run);
void tbnet2_rail_load(struct tbnet2_send_rail *r, s64 run, u32 size);
void tbnet2_rail_set_mtu(struct tbnet2_send_rail *r, u32 mtu);
bool tbnet2_rail_wants_ack(struct tbnet2_send_rail *r, u32 size);

#endif /* TBNET2_CORE_SEND_RAIL_H */
