/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * The receive half's view of one rail.
 */
#ifndef TBNET2_CORE_RECV_RAIL_H
#define TBNET2_CORE_RECV_RAIL_H

#include "tuning.h"
#include "wire.h"

/* A gap in the rail sequence. */
struct tbnet2_lost_run {
	u32 first;
	u32 count;
};

/*
 * The least one-way time of late, in units of 1024 ns and off by the
 * difference of the clocks.
 */
struct tbnet2_transit {
	s32 least;
	s32 least_old;
	bool some;
	bool some_old;
	s64 since;
};

/**
 * struct tbnet2_recv_rail - one rail
 * @id: ours
 * @peer_id: the peer's
 * @trust_link: frames need no CRC
 * @heard: @heard_at is set
 * @news: something to tell of it
 * @sampled: @transit has a sample of this batch
 * @ring: bytes of receive ring told as credit
 * @next: rail sequence expected
 * @gaps: a ring, oldest at @gap_at
 * @gap_at: of @gaps
 * @gap_count: of @gaps
 * @started: sequences before it are not spoken for
 * @heard_at: running clock
 * @transit: one-way time
 * @position: RFC 1990: the packet of each channel before which nothing comes
 *	any more, where known
 * @known: channels whose @position is
 * @frames: taken
 * @bytes: of them
 * @lost: by rail sequence
 * @reordered: before the expected sequence
 */
struct tbnet2_recv_rail {
	u8 id;
	u8 peer_id;
	bool trust_link;
	bool heard;
	bool news;
	bool sampled;
	u32 ring;
	u32 next;
	struct tbnet2_lost_run gaps[TBNET2_GAPS_MAX];
	u32 gap_at;
	u32 gap_count;
	u32 started;
	s64 heard_at;
	struct tbnet2_transit transit;
	u32 position[TBNET2_CHANNELS];
	u16 known;
	u64 frames;
	u64 bytes;
	u64 lost;
	u64 reordered;
};

void tbnet2_transit_sample(struct tbnet2_transit *t, s64 now, u32 stamp);
bool tbnet2_transit_value(const struct tbnet2_transit *t, s32 *value);
u32 tbnet2_recv_rail_excess(const struct tbnet2_recv_rail *r, s32 base);
bool tbnet2_recv_rail_arrive(struct tbnet2_recv_rail *r, u32 seq, bool ledgered, bool *gap);
void tbnet2_recv_rail_refuse(struct tbnet2_recv_rail *r, u32 seq);
void tbnet2_recv_rail_ack(struct tbnet2_recv_rail *r, struct tbnet2_rail_block *a);
void tbnet2_recv_rail_position(struct tbnet2_recv_rail *r, u8 ch, u32 packet);

#endif /* TBNET2_CORE_RECV_RAIL_H */
