// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * The choice of a rail for a fragment [6].
 */
#include "sender.h"

/* The frame that r would carry for n, bytes. */
static u32 frame_size(const struct tbnet2_send_rail *r, struct tbnet2_need n)
{
	return n.head + (u32)min_t(s32, n.left, (s32)(r->mtu - n.head));
}

/* Whether a rail with a weight is not ahead of the others that have one. */
static bool weighted(const struct tbnet2_sender *s, const struct tbnet2_send_rail *r)
{
	u64 least = U64_MAX;
	u32 i;

	for (i = 0; i < s->active_count; i++) {
		const struct tbnet2_send_rail *o = s->active[i];

		if (o->cfg.weight)
			least = min_t(u64, least, div64_u64(o->wrote, o->cfg.weight));
	}
	return div64_u64(r->wrote, r->cfg.weight) <= least + WEIGHT_SLACK;
}

/*
 * Whether r can take the fragment, in a frame of size bytes, now; counts why
 * not.
 */
static bool admits(struct tbnet2_sender *s, struct tbnet2_send_rail *r, struct tbnet2_need n,
		   u32 size)
{
	if (r->busy || !tbnet2_ledger_room(&r->ledger) ||
	    !tbnet2_spans_room(&s->resend, s->undecided))
		return false;
	if (r->held > 0 && !n.resent)
		return false; /* would overtake what the device refused */
	if (!tbnet2_rail_has_window(r, size)) {
		r->estimate.round.blocked = true;
		return false;
	}
	if (!n.resent && !tbnet2_rail_has_credit(r, size)) {
		r->stats.credit_wait++;
		s->stats.credit_wait++;
		return false;
	}
	return !r->cfg.weight || weighted(s, r);
}

/* When r would deliver a fragment; TBNET2_NEVER where it may not carry it. */
static s64 rank(struct tbnet2_sender *s, struct tbnet2_send_rail *r, struct tbnet2_need n)
{
	u32 size = frame_size(r, n);

	return admits(s, r, n, size) ? tbnet2_rail_expected(r, size) : TBNET2_NEVER;
}

/*
 * Asks every rail. Weights depend on what the others carried, so that rails
 * with weights are asked each time.
 */
static void rank_all(struct tbnet2_sender *s, struct tbnet2_need n)
{
	struct tbnet2_ranking *k = &s->ranking;
	u32 i;

	k->of = n;
	k->valid = true;
	for (i = 0; i < s->active_count; i++) {
		k->times[i] = rank(s, s->active[i], n);
		k->valid = k->valid && !s->active[i]->cfg.weight;
	}
}

static bool same_need(struct tbnet2_need a, struct tbnet2_need b)
{
	return a.left == b.left && a.head == b.head && a.channel == b.channel &&
	       a.resent == b.resent;
}

/* The rail with the shortest expected delivery, ties to the lowest id. */
static struct tbnet2_send_rail *pick_shortest(struct tbnet2_sender *s, struct tbnet2_need n)
{
	struct tbnet2_ranking *k = &s->ranking;
	s64 least = TBNET2_NEVER;
	u32 i;

	n.left = min_t(s32, n.left, (s32)k->most);
	n.channel = 0;
	if (!k->valid || !same_need(k->of, n))
		rank_all(s, n);
	else if (k->loaded >= 0)
		k->times[k->loaded] = rank(s, s->active[k->loaded], n);
	k->loaded = -1;
	for (i = 0; i < s->active_count; i++) {
		if (k->times[i] < least) {
			least = k->times[i];
			k->loaded = (int)i;
		}
	}
	return k->loaded < 0 ? NULL : s->active[k->loaded];
}

/* The next rail in turn that has room. */
static struct tbnet2_send_rail *pick_next(struct tbnet2_sender *s, struct tbnet2_need n)
{
	u32 i;

	for (i = 0; i < s->active_count; i++) {
		u32 at = (s->turn + i) % s->active_count;
		struct tbnet2_send_rail *r = s->active[at];

		if (admits(s, r, n, frame_size(r, n))) {
			s->turn = (at + 1) % s->active_count;
			return r;
		}
	}
	return NULL;
}

/* The rail of the channel. */
static struct tbnet2_send_rail *pick_hashed(struct tbnet2_sender *s, struct tbnet2_need n)
{
	struct tbnet2_send_rail *r;

	if (!s->active_count)
		return NULL;
	r = s->active[n.channel % s->active_count];
	return admits(s, r, n, frame_size(r, n)) ? r : NULL;
}

/**
 * tbnet2_pick() - choose the rail for a fragment
 * @s: the send half
 * @n: the fragment
 *
 * Return: NULL when none can take it; the shortage that stopped it is counted.
 */
struct tbnet2_send_rail *tbnet2_pick(struct tbnet2_sender *s, struct tbnet2_need n)
{
	switch (s->cfg.policy) {
	case TBNET2_ROUND_ROBIN:
		return pick_next(s, n);
	case TBNET2_FLOW_HASH:
		return pick_hashed(s, n);
	default:
		return pick_shortest(s, n);
	}
}

/**
 * tbnet2_pick_home() - give the one rail that a fragment must go by, if it may
 * @s: the send half
 * @rail: its id; it is active
 * @n: the fragment
 */
struct tbnet2_send_rail *tbnet2_pick_home(struct tbnet2_sender *s, u8 rail, struct tbnet2_need n)
{
	struct tbnet2_send_rail *r = s->rails[rail];

	s->ranking.valid = false; /* it is loaded without its pick */
	return admits(s, r, n, frame_size(r, n)) ? r : NULL;
}

/**
 * tbnet2_pick_begin() - prepare for a burst
 * @s: the send half
 */
void tbnet2_pick_begin(struct tbnet2_sender *s)
{
	struct tbnet2_ranking *k = &s->ranking;
	u32 i;

	k->valid = false;
	k->most = 0;
	for (i = 0; i < s->active_count; i++)
		k->most = max(k->most, s->active[i]->mtu);
}

/**
 * tbnet2_refresh_active() - list the rails that may carry data, by id: those in
 *	use and up
 * @s: the send half
 *
 * A rail that joins starts level with the weights of the others.
 */
void tbnet2_refresh_active(struct tbnet2_sender *s)
{
	u64 before = s->active_set, set = s->rail_set;
	u32 i;
	u8 id;

	s->active_count = 0;
	s->active_set = 0;
	tbnet2_for_each_rail(id, set) {
		struct tbnet2_send_rail *r = s->rails[id];

		if (r->health.state != TBNET2_LIVE_UP || !r->in_use)
			continue;
		if (!s->cfg.retransmit && !r->announced)
			continue;
		s->active[s->active_count++] = r;
		s->active_set |= tbnet2_bit(id);
	}
	if (s->active_set == before)
		return;
	for (i = 0; i < s->active_count; i++)
		s->active[i]->wrote = 0;
	s->turn = 0;
}
