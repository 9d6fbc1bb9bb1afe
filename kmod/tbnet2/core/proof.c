// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Which packets will not come: proven by RFC 1990's rule, told by SKIP, or
 * given up as a last resort [4].
 */
#include "receiver.h"

static struct tbnet2_cursor body_of(const struct tbnet2_arrival *at)
{
	struct tbnet2_cursor c = { at->rx->head + TBNET2_HEADER_LEN, at->h.length };

	return c;
}

/**
 * tbnet2_take_positions() - take a POSITION frame
 * @r: the receive half
 * @at: the frame
 *
 * Return: false if it was dropped.
 */
bool tbnet2_take_positions(struct tbnet2_receiver *r, const struct tbnet2_arrival *at)
{
	struct tbnet2_cursor c = body_of(at);
	struct tbnet2_mark_at m;

	while (c.left) {
		struct tbnet2_recv_channel *ch;

		if (tbnet2_get_mark(&c, &m) || m.channel >= TBNET2_CHANNELS)
			return tbnet2_drop(r, TBNET2_DROP_FIELD);
		ch = &r->channels[m.channel];
		if (tbnet2_seq_sub(m.packet, ch->next) > (s32)r->cfg.local_slots)
			return tbnet2_drop(r, TBNET2_DROP_WINDOW); /* cannot have begun these */
		tbnet2_recv_rail_position(at->rail, m.channel, m.packet);
		ch->active = true;
		tbnet2_prove(r, at->now, m.channel, at->in);
	}
	return true;
}

/**
 * tbnet2_take_railset() - take a RAILSET frame
 * @r: the receive half
 * @at: the frame
 *
 * Return: false if it was dropped.
 */
bool tbnet2_take_railset(struct tbnet2_receiver *r, const struct tbnet2_arrival *at)
{
	struct tbnet2_cursor c = body_of(at);
	struct tbnet2_set set;
	u64 ids = r->rail_set;
	u8 id, ch;

	if (tbnet2_get_set(c.at, c.left, &set))
		return tbnet2_drop(r, TBNET2_DROP_FIELD);
	r->ack_now = true;
	if (tbnet2_seq_sub(set.generation, r->generation) <= 0)
		return true;
	r->generation = set.generation;
	r->peer_set = set.rails;
	tbnet2_for_each_rail(id, ids)
		if (!tbnet2_has(r->peer_set, r->rails[id]->peer_id))
			r->rails[id]->known = 0; /* told anew, lest it be half the numbers old */
	for (ch = 0; ch < TBNET2_CHANNELS; ch++)
		tbnet2_prove(r, at->now, ch, at->in);
	return true;
}

/*
 * The packet before which no rail of the peer's set will bring anything; false
 * while some rail's position is not known.
 */
static bool least_position(const struct tbnet2_receiver *r, u8 ch, u32 *least)
{
	u64 set = r->rail_set;
	bool found = false;
	u8 id;

	tbnet2_for_each_rail(id, set) {
		const struct tbnet2_recv_rail *rail = r->rails[id];

		if (!tbnet2_has(r->peer_set, rail->peer_id))
			continue;
		if (!(rail->known >> ch & 1))
			return false;
		if (!found || tbnet2_before(rail->position[ch], *least))
			*least = rail->position[ch];
		found = true;
	}
	return found;
}

/* Gives up the packet at c->next. */
static void pass_next(struct tbnet2_receiver *r, struct tbnet2_recv_channel *c)
{
	if (c->slots && *tbnet2_parked_slot(r, c, c->next))
		tbnet2_release(r, c, c->next);
	c->next++;
	c->news = true;
	c->hole_since = TBNET2_NEVER;
}

/**
 * tbnet2_prove() - pass the packets of a channel that every rail of the set is past
 * @r: the receive half
 * @now: the time
 * @ch: the channel
 * @in: takes what is in turn then
 */
void tbnet2_prove(struct tbnet2_receiver *r, s64 now, u8 ch, struct tbnet2_inbox *in)
{
	struct tbnet2_recv_channel *c = &r->channels[ch];
	u32 least = 0;
	s32 ahead;

	if (r->cfg.class != TBNET2_ORDERED || r->cfg.retransmit || !c->active || !r->peer_set)
		return;
	if (!least_position(r, ch, &least))
		return;
	/* None was taken further ahead: one that seems so is half the numbers old. */
	ahead = tbnet2_seq_sub(least, c->next);
	if (ahead <= 0 || ahead > (s32)r->cfg.local_slots)
		return;
	while (tbnet2_before(c->next, least)) {
		u32 before = c->next;

		tbnet2_drain(r, now, ch, in);
		if (c->next != before)
			continue;
		r->stats.proven_lost++;
		pass_next(r, c);
	}
	tbnet2_drain(r, now, ch, in);
}

/**
 * tbnet2_take_skips() - take a SKIP frame
 * @r: the receive half
 * @at: the frame
 *
 * Return: false if it was dropped.
 */
bool tbnet2_take_skips(struct tbnet2_receiver *r, const struct tbnet2_arrival *at)
{
	struct tbnet2_cursor c = body_of(at);
	struct tbnet2_mark_at m;

	while (c.left) {
		struct tbnet2_recv_channel *ch;
		s32 ahead;

		if (tbnet2_get_mark(&c, &m) || m.channel >= TBNET2_CHANNELS ||
		    r->cfg.class != TBNET2_ORDERED)
			return tbnet2_drop(r, TBNET2_DROP_FIELD);
		ch = &r->channels[m.channel];
		ahead = tbnet2_seq_sub(m.packet, ch->next);
		if (ahead > (s32)r->cfg.local_slots)
			return tbnet2_drop(r, TBNET2_DROP_WINDOW);
		r->ack_now = true;
		ch->news = true;
		ch->active = true;
		if (ahead <= 0)
			continue;
		ch->skip = m.packet;
		tbnet2_drain(r, at->now, m.channel, at->in);
	}
	return true;
}

static void expire_hole(struct tbnet2_receiver *r, s64 now, u8 ch, struct tbnet2_inbox *in)
{
	struct tbnet2_recv_channel *c = &r->channels[ch];

	if (now - c->hole_since < HOLE_TIMEOUT)
		return;
	r->stats.hole_timeouts++;
	pass_next(r, c);
	while (c->parked && !*tbnet2_parked_slot(r, c, c->next))
		pass_next(r, c);
	tbnet2_drain(r, now, ch, in);
}

/**
 * tbnet2_expire_holes() - the last resort against a hole that nobody closes
 * @r: the receive half
 * @now: the time
 * @in: takes what is in turn then; without memory for it, another tick does
 */
void tbnet2_expire_holes(struct tbnet2_receiver *r, s64 now, struct tbnet2_inbox *in)
{
	bool deaf = !tbnet2_heard_here(r, now);
	u8 ch;

	if (r->cfg.class != TBNET2_ORDERED ||
	    !tbnet2_inbox_reserve(in, (u32)r->stats.parked_packets))
		return;
	for (ch = 0; ch < TBNET2_CHANNELS; ch++) {
		struct tbnet2_recv_channel *c = &r->channels[ch];

		if (!c->parked || c->hole_since == TBNET2_NEVER)
			continue;
		if (deaf)
			c->hole_since = now; /* the peer cannot close it, nor tell */
		expire_hole(r, now, ch, in);
	}
}
