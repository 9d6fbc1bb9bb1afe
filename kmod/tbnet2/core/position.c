// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Without retransmission: which rails are in use, and where each of them is in
 * each channel, so that the receiver can prove losses [4].
 */
#include "sender.h"

#define ALL_CHANNELS	((u16)0xffff)

/* The rails the set is made of: in use and up. */
static u64 candidates(const struct tbnet2_sender *s)
{
	u64 set = s->rail_set, found = 0;
	u8 id;

	tbnet2_for_each_rail(id, set) {
		const struct tbnet2_send_rail *r = s->rails[id];

		if (r->health.state == TBNET2_LIVE_UP && r->in_use)
			found |= tbnet2_bit(id);
	}
	return found;
}

/**
 * tbnet2_announce_set() - begin a new generation when the set has changed
 * @s: the send half
 */
void tbnet2_announce_set(struct tbnet2_sender *s)
{
	u64 found = candidates(s), set = s->rail_set;
	u8 id;

	if (s->cfg.retransmit || found == s->set.rails)
		return;
	s->set.rails = found;
	s->set.generation++;
	s->set.at = 0;
	tbnet2_for_each_rail(id, set) {
		struct tbnet2_send_rail *r = s->rails[id];

		r->announced = r->announced && tbnet2_has(found, id);
		if (!tbnet2_has(found, id)) {
			tbnet2_forget_position(s, r, ALL_CHANNELS); /* as the peer does */
			r->behind_since = TBNET2_NEVER;
		} else if (r->behind_since == TBNET2_NEVER) {
			r->behind_since = 0; /* its first POSITION is due */
		}
	}
}

/**
 * tbnet2_apply_generation() - open the rails of a set that the peer has seen
 * @s: the send half
 * @now: the time
 * @generation: that it has seen
 */
void tbnet2_apply_generation(struct tbnet2_sender *s, s64 now, u32 generation)
{
	u64 set = s->set.rails;
	u8 id;

	if (s->cfg.retransmit || s->set.acked == generation || generation != s->set.generation)
		return;
	s->set.acked = generation;
	tbnet2_for_each_rail(id, set)
		s->rails[id]->announced = true;
	tbnet2_membership(s, now);
}

/**
 * tbnet2_send_railset() - tell the set on every rail until the peer has seen it
 * @s: the send half
 * @now: the time
 * @b: takes the frames
 *
 * Return: false when the burst is full.
 */
bool tbnet2_send_railset(struct tbnet2_sender *s, s64 now, struct tbnet2_burst *b)
{
	const u32 size = TBNET2_HEADER_LEN + TBNET2_RAILSET_LEN;
	const struct tbnet2_set told = { s->set.generation, s->set.rails };
	s64 run = tbnet2_running(s, now);
	u64 set = s->rail_set;
	u8 id;

	if (s->cfg.retransmit || s->set.acked == s->set.generation || run < s->set.at)
		return true;
	tbnet2_for_each_rail(id, set) {
		struct tbnet2_send_rail *r = s->rails[id];
		struct tbnet2_burst_frame f = { .head_len = size };

		if (!r->health.here || !r->health.carrier || !r->health.enabled || r->busy)
			continue;
		if (!tbnet2_burst_room(b, size))
			return false;
		f.head = tbnet2_burst_head(b, size);
		tbnet2_put_set(f.head + TBNET2_HEADER_LEN, &told);
		tbnet2_put_control(s, f.head, TBNET2_RAILSET, r, size);
		tbnet2_burst_add(b, id, f);
	}
	s->set.at = run + RAILSET_INTERVAL;
	return true;
}

/**
 * tbnet2_note_position() - the peer will learn a rail's position from a fragment
 * @s: the send half
 * @r: the rail; the others fall behind
 * @p: the packet
 */
void tbnet2_note_position(struct tbnet2_sender *s, struct tbnet2_send_rail *r,
			  const struct tbnet2_packet *p)
{
	u32 i;

	r->position[p->channel] = p->number;
	for (i = 0; i < s->active_count; i++)
		if (s->active[i]->behind_since == TBNET2_NEVER)
			s->active[i]->behind_since = s->cut_at;
}

/**
 * tbnet2_forget_position() - have the positions of a lost or refused POSITION
 *	told again
 * @s: the send half
 * @r: the rail
 * @marks: the channels
 */
void tbnet2_forget_position(struct tbnet2_sender *s, struct tbnet2_send_rail *r, u16 marks)
{
	u32 ch;

	for (ch = 0; ch < TBNET2_CHANNELS; ch++)
		if (marks >> ch & 1)
			r->position[ch] = s->channels[ch].acked - 1;
	r->behind_since = 0;
}

/**
 * tbnet2_positions_due() - whether some rail has to tell where it is
 * @s: the send half
 */
bool tbnet2_positions_due(const struct tbnet2_sender *s)
{
	u32 i;

	for (i = 0; i < s->active_count; i++)
		if (s->active[i]->behind_since != TBNET2_NEVER)
			return true;
	return false;
}

/* The first packet of which a fragment may still be cut. */
static u32 next_position(const struct tbnet2_send_channel *c)
{
	return c->head && c->head->cut ? c->head->number : c->next;
}

/* Writes a mark for every channel in which r is behind. */
static u16 put_marks(struct tbnet2_sender *s, struct tbnet2_send_rail *r, u8 *body, u32 *len)
{
	u16 marks = 0;
	u8 ch;

	*len = 0;
	for (ch = 0; ch < TBNET2_CHANNELS; ch++) {
		const struct tbnet2_send_channel *c = &s->channels[ch];
		struct tbnet2_mark_at m = { ch, next_position(c) };

		if (!c->open || r->position[ch] == m.packet)
			continue;
		r->position[ch] = m.packet;
		marks |= (u16)(1u << ch);
		tbnet2_put_mark(body + *len, &m);
		*len += TBNET2_MARK_LEN;
	}
	return marks;
}

/* Adds one POSITION frame; false when the burst or the ledger is full. */
static bool send_position(struct tbnet2_sender *s, s64 run, struct tbnet2_burst *b,
			  struct tbnet2_send_rail *r)
{
	u8 body[TBNET2_CHANNELS * sizeof(struct tbnet2_mark)];
	struct tbnet2_entry e = { .sent_at = run };
	struct tbnet2_burst_frame f = { 0 };
	u32 len;

	if (!tbnet2_burst_room(b, TBNET2_HEADER_LEN + sizeof(body)) ||
	    !tbnet2_ledger_room(&r->ledger))
		return false;
	e.marks = put_marks(s, r, body, &len);
	r->behind_since = TBNET2_NEVER;
	if (!e.marks)
		return true;
	f.head_len = TBNET2_HEADER_LEN + len;
	f.head = tbnet2_burst_head(b, f.head_len);
	memcpy(f.head + TBNET2_HEADER_LEN, body, len);
	tbnet2_put_control(s, f.head, TBNET2_POSITION, r, f.head_len);
	e.size = (s32)f.head_len;
	tbnet2_ledger_push(&r->ledger, e);
	tbnet2_burst_add(b, r->cfg.id, f);
	s->stats.positions_sent++;
	return true;
}

/**
 * tbnet2_send_positions() - tell, on every rail that has fallen behind, which
 *	packet of each channel is the next that could come on it
 * @s: the send half
 * @now: the time
 * @b: takes the frames
 *
 * Return: false when the burst or a ledger is full.
 */
bool tbnet2_send_positions(struct tbnet2_sender *s, s64 now, struct tbnet2_burst *b)
{
	s64 run = tbnet2_running(s, now);
	u32 i;

	if (s->cfg.retransmit)
		return true;
	for (i = 0; i < s->active_count; i++) {
		struct tbnet2_send_rail *r = s->active[i];

		if (r->behind_since == TBNET2_NEVER || run - r->behind_since < POSITION_DELAY ||
		    r->busy || r->held > 0)
			continue;
		if (!send_position(s, run, b, r))
			return false;
	}
	return true;
}
