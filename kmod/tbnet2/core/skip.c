// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Giving packets up, and telling the receiver [4].
 */
#include "sender.h"

/* The longest smoothed round trip of a rail that carries data. */
static s64 bundle_rtt(const struct tbnet2_sender *s)
{
	s64 rtt = 0;
	u32 i;

	for (i = 0; i < s->active_count; i++)
		rtt = max(rtt, s->active[i]->estimate.smoothed);
	return rtt;
}

/*
 * Abandons a packet: what is not cut is not, and what is in flight is not sent
 * again.
 */
static void give_up(struct tbnet2_sender *s, u8 ch, struct tbnet2_packet *p)
{
	struct tbnet2_send_channel *c = &s->channels[ch];

	p->given_up = true;
	c->skip = p->number + 1;
	c->skip_at = 0;
	if (p->cut < (s32)p->length) {
		s->queued -= (s32)p->length - p->cut;
		p->cut = (s32)p->length;
		tbnet2_channel_pop(c); /* only the head of a channel can be half cut */
		tbnet2_turn_requeue(s, ch);
	}
	tbnet2_channel_close(c, p);
	p->refs++;
	tbnet2_sender_unref(s, p); /* finishes it if nothing names it */
}

static void give_up_channel(struct tbnet2_sender *s, u8 ch, s64 limit)
{
	struct tbnet2_send_channel *c = &s->channels[ch];
	u32 seq;

	for (seq = tbnet2_seq_max(c->acked, c->skip); tbnet2_before(seq, c->next); seq++) {
		struct tbnet2_packet *p = tbnet2_channel_slot(c, seq)->packet;

		if (!p)
			continue; /* acknowledged, or given up */
		if (p->first_sent > limit || !p->displaced)
			return; /* what is only under way may not be skipped, nor what follows */
		give_up(s, ch, p);
	}
}

/**
 * tbnet2_give_up_old() - give up the packets that have been under way for too
 *	long and of which something was lost
 * @s: the send half
 * @now: the time
 */
void tbnet2_give_up_old(struct tbnet2_sender *s, s64 now)
{
	s64 limit;
	u8 ch;

	if (s->cfg.class != TBNET2_ORDERED || !s->cfg.retransmit)
		return;
	limit = tbnet2_usable(s, now) - max_t(s64, GIVE_UP_LEAST, 2 * bundle_rtt(s));
	for (ch = 0; ch < TBNET2_CHANNELS; ch++)
		give_up_channel(s, ch, limit);
}

/**
 * tbnet2_skips_due() - whether some channel has a SKIP under way
 * @s: the send half
 */
bool tbnet2_skips_due(const struct tbnet2_sender *s)
{
	u32 i;

	for (i = 0; i < TBNET2_CHANNELS; i++)
		if (tbnet2_before(s->channels[i].acked, s->channels[i].skip))
			return true;
	return false;
}

/**
 * tbnet2_send_skips() - repeat SKIP for every channel whose peer has not passed it
 * @s: the send half
 * @now: the time
 * @b: takes the frames
 *
 * Return: false when the burst is full.
 */
bool tbnet2_send_skips(struct tbnet2_sender *s, s64 now, struct tbnet2_burst *b)
{
	const u32 size = TBNET2_HEADER_LEN + TBNET2_MARK_LEN;
	u8 ch;

	for (ch = 0; ch < TBNET2_CHANNELS; ch++) {
		struct tbnet2_send_channel *c = &s->channels[ch];
		struct tbnet2_mark_at m = { ch, c->skip };
		struct tbnet2_burst_frame f = { .head_len = size };
		struct tbnet2_send_rail *r;

		if (!tbnet2_before(c->acked, c->skip) || tbnet2_usable(s, now) < c->skip_at)
			continue;
		r = tbnet2_ack_rail(s);
		if (!r)
			return true;
		if (!tbnet2_burst_room(b, size))
			return false;
		f.head = tbnet2_burst_head(b, size);
		tbnet2_put_mark(f.head + TBNET2_HEADER_LEN, &m);
		tbnet2_put_control(s, f.head, TBNET2_SKIP, r, size);
		tbnet2_burst_add(b, r->cfg.id, f);
		c->skip_at = tbnet2_usable(s, now) + SKIP_INTERVAL;
		s->stats.skips_sent++;
	}
	return true;
}
