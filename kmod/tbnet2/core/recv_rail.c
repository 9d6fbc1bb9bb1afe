// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Rail sequences, gaps and one-way times.
 */
#include "recv_rail.h"

/* Whether one-way time a is less than b, whatever the clocks are off by. */
static bool is_less(s32 a, s32 b)
{
	return (s32)((u32)a - (u32)b) < 0;
}

/**
 * tbnet2_transit_sample() - take one arrival
 * @t: of the rail
 * @now: the time
 * @stamp: of the frame
 */
void tbnet2_transit_sample(struct tbnet2_transit *t, s64 now, u32 stamp)
{
	s32 d = (s32)(tbnet2_stamp(now) - stamp);

	if (now - t->since >= DELAY_WINDOW) {
		t->least_old = t->least;
		t->some_old = t->some;
		t->some = false;
		t->since = now;
	}
	if (!t->some || is_less(d, t->least)) {
		t->least = d;
		t->some = true;
	}
}

/**
 * tbnet2_transit_value() - the least one-way time
 * @t: of the rail
 * @value: set to it
 *
 * Return: whether there is one.
 */
bool tbnet2_transit_value(const struct tbnet2_transit *t, s32 *value)
{
	if (t->some && !(t->some_old && is_less(t->least_old, t->least))) {
		*value = t->least;
		return true;
	}
	*value = t->least_old;
	return t->some_old;
}

/**
 * tbnet2_recv_rail_excess() - the rail's one-way time above a base, in ns
 * @r: the rail
 * @base: the least of all rails
 */
u32 tbnet2_recv_rail_excess(const struct tbnet2_recv_rail *r, s32 base)
{
	s32 t;

	if (!tbnet2_transit_value(&r->transit, &t))
		return 0;
	return (u32)min_t(s64, (s64)(s32)((u32)t - (u32)base) * 1024, U32_MAX);
}

/* Adds the newest gap, in the place of the oldest if need be. */
static void keep_gap(struct tbnet2_recv_rail *r, u32 first, u32 count)
{
	struct tbnet2_lost_run *g;

	if (r->gap_count == TBNET2_GAPS_MAX) {
		g = &r->gaps[r->gap_at];
		r->started = g->first + g->count; /* what came before is no longer told */
		r->gap_at = (r->gap_at + 1) % TBNET2_GAPS_MAX;
		r->gap_count--;
	}
	g = &r->gaps[(r->gap_at + r->gap_count) % TBNET2_GAPS_MAX];
	g->first = first;
	g->count = count;
	r->gap_count++;
}

/**
 * tbnet2_recv_rail_arrive() - follow the rail sequence of a frame
 * @r: the rail
 * @seq: of the frame
 * @ledgered: the frame uses it up
 * @gap: set to whether frames before it are lost
 *
 * Return: false when the sequence cannot be.
 */
bool tbnet2_recv_rail_arrive(struct tbnet2_recv_rail *r, u32 seq, bool ledgered, bool *gap)
{
	s32 ahead = tbnet2_seq_sub(seq, r->next);

	*gap = false;
	if (ahead > SEQ_JUMP_MOST || ahead < -SEQ_JUMP_MOST)
		return false;
	if (ahead < 0) {
		if (ledgered)
			r->reordered++;
		return true;
	}
	if (ahead > 0) {
		r->lost += (u32)ahead;
		keep_gap(r, r->next, (u32)ahead);
		r->next = seq;
		*gap = true;
	}
	if (ledgered)
		r->next++;
	return true;
}

/**
 * tbnet2_recv_rail_refuse() - tell the frame that came last as lost, so that it is
 *	sent again: it could not be held
 * @r: the rail
 * @seq: of the frame; one that was late was told of before
 */
void tbnet2_recv_rail_refuse(struct tbnet2_recv_rail *r, u32 seq)
{
	struct tbnet2_lost_run *g;

	if (seq + 1 != r->next)
		return;
	r->news = true;
	if (r->gap_count) {
		g = &r->gaps[(r->gap_at + r->gap_count - 1) % TBNET2_GAPS_MAX];
		if (g->first + g->count == seq && g->count < LEDGER_MOST) {
			g->count++;
			return;
		}
	}
	keep_gap(r, seq, 1);
}

/* Forgets the oldest gap: nothing before its end is spoken for. */
static void forget_gap(struct tbnet2_recv_rail *r)
{
	const struct tbnet2_lost_run *g = &r->gaps[r->gap_at];

	r->started = tbnet2_seq_max(r->started, g->first + g->count);
	r->gap_at = (r->gap_at + 1) % TBNET2_GAPS_MAX;
	r->gap_count--;
}

/**
 * tbnet2_recv_rail_ack() - fill in the block that tells of a rail
 * @r: the rail, of which there is no news afterwards
 * @a: the block, but for the delay
 */
void tbnet2_recv_rail_ack(struct tbnet2_recv_rail *r, struct tbnet2_rail_block *a)
{
	u32 i;

	/* The peer has no more in flight than a ledger holds. */
	if (tbnet2_seq_sub(r->next, r->started) > LEDGER_MOST)
		r->started = r->next - LEDGER_MOST;
	/* No part of a gap may count as arrived. */
	while (r->gap_count && tbnet2_before(r->gaps[r->gap_at].first, r->started))
		forget_gap(r);
	a->rail = r->peer_id;
	a->next = r->next;
	a->depth = (u16)(r->next - r->started);
	a->credit = r->ring;
	a->count = (u8)r->gap_count;
	for (i = 0; i < r->gap_count; i++) {
		const struct tbnet2_lost_run *g = &r->gaps[(r->gap_at + i) % TBNET2_GAPS_MAX];

		a->gaps[i].back = (u16)(r->next - g->first);
		a->gaps[i].count = (u16)g->count;
	}
	r->news = false;
}

/**
 * tbnet2_recv_rail_position() - no packet before this one will still begin here
 * @r: the rail
 * @ch: the channel
 * @packet: its number; positions only advance
 */
void tbnet2_recv_rail_position(struct tbnet2_recv_rail *r, u8 ch, u32 packet)
{
	if (r->known >> ch & 1 && !tbnet2_before(r->position[ch], packet))
		return;
	r->position[ch] = packet;
	r->known |= (u16)(1u << ch);
}
