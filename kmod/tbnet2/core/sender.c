// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Packets are queued, cut into frames for the rails that would deliver them
 * soonest, and done with when nothing names them any more.
 */
#include "sender.h"

/**
 * tbnet2_sender_init() - begin without rails
 * @s: the send half, zeroed
 * @cfg: of the association, defaults filled in
 * @now: the time
 */
void tbnet2_sender_init(struct tbnet2_sender *s, const struct tbnet2_config *cfg, s64 now)
{
	s->cfg = *cfg;
	s->outage_since = now;
	s->due = now;
	s->finished_tail = &s->finished;
}

/*
 * How many bytes may wait when a packet of n bytes comes: small ones
 * (acknowledgements, ARP) have a reserve, so that they are not lost behind
 * bulk data.
 */
static s64 queue_limit(const struct tbnet2_sender *s, u32 n)
{
	return s->cfg.queue_bytes + (n <= SMALL_PACKET ? SMALL_RESERVE : 0);
}

/**
 * tbnet2_sender_room() - whether a packet would be taken
 * @s: the send half
 * @n: its bytes
 */
bool tbnet2_sender_room(const struct tbnet2_sender *s, u32 n)
{
	return !s->queued || s->queued + n <= queue_limit(s, n);
}

/* Makes place for the open packets of a channel at its first one. */
static bool make_slots(struct tbnet2_sender *s, struct tbnet2_send_channel *c)
{
	if (c->open)
		return true;
	c->open = tbnet2_alloc(s->cfg.slots * sizeof(*c->open));
	c->slots = s->cfg.slots;
	return c->open;
}

/**
 * tbnet2_sender_send() - queue a packet, which is the core's until done
 * @s: the send half
 * @p: the packet
 *
 * Return: 0; -ESHUTDOWN: closed; -EINVAL: the packet is empty, too long, on no
 * channel or its offload does not fit; -EAGAIN: the queue is full; -ENOMEM.
 */
int tbnet2_sender_send(struct tbnet2_sender *s, struct tbnet2_packet *p)
{
	struct tbnet2_send_channel *c;

	if (s->closed)
		return -ESHUTDOWN;
	if (!p->length || p->length > TBNET2_PACKET_MAX || p->channel >= TBNET2_CHANNELS)
		return -EINVAL;
	if (p->has_desc && !tbnet2_check_desc(&p->desc, p->length))
		return -EINVAL;
	if (!tbnet2_sender_room(s, p->length)) {
		s->stats.queue_full++;
		return -EAGAIN;
	}
	c = &s->channels[p->channel];
	if (!make_slots(s, c))
		return -ENOMEM;
	p->number = 0;
	p->cut = 0;
	p->refs = 0;
	p->given_up = false;
	p->displaced = false;
	p->first_sent = 0;
	p->next = NULL;
	if (!c->head)
		tbnet2_turn_wake(s, p->channel);
	tbnet2_channel_push(c, p);
	s->queued += p->length;
	s->stats.packets++;
	s->stats.bytes += p->length;
	return 0;
}

/**
 * tbnet2_sender_settle() - tell the owners of packets that are done with
 * @s: the send half; the burst that may have named them was sent before
 */
void tbnet2_sender_settle(struct tbnet2_sender *s)
{
	struct tbnet2_packet *p = s->finished;

	s->finished = NULL;
	s->finished_tail = &s->finished;
	while (p) {
		struct tbnet2_packet *next = p->next;

		s->stats.outcomes[p->outcome]++;
		s->cfg.ops->done(s->cfg.context, p, p->outcome);
		p = next;
	}
}

/**
 * tbnet2_sender_finish() - a packet is done with
 * @s: the send half
 * @p: the packet, in no queue
 * @outcome: what became of it
 */
void tbnet2_sender_finish(struct tbnet2_sender *s, struct tbnet2_packet *p,
			  enum tbnet2_outcome outcome)
{
	p->outcome = (u8)outcome;
	tbnet2_channel_close(&s->channels[p->channel], p);
	p->next = NULL;
	*s->finished_tail = p;
	s->finished_tail = &p->next;
}

/**
 * tbnet2_sender_unref() - let go of a packet
 * @s: the send half
 * @p: without references and wholly cut it is done with
 */
void tbnet2_sender_unref(struct tbnet2_sender *s, struct tbnet2_packet *p)
{
	enum tbnet2_outcome outcome = TBNET2_SENT;

	if (--p->refs > 0 || p->cut < (s32)p->length)
		return;
	if (p->given_up)
		outcome = TBNET2_GIVEN_UP;
	else if (s->closed)
		outcome = TBNET2_ABORTED;
	else if (s->cfg.retransmit)
		outcome = TBNET2_ACKNOWLEDGED;
	tbnet2_sender_finish(s, p, outcome);
}

/**
 * tbnet2_sender_drop_span() - discard the front span
 * @s: the send half, with a span to be sent again
 */
void tbnet2_sender_drop_span(struct tbnet2_sender *s)
{
	struct tbnet2_span w = *tbnet2_spans_front(&s->resend);

	tbnet2_spans_take(&s->resend, w.n);
	tbnet2_sender_unref(s, w.packet);
}

/*
 * Chooses the rail for a span. Without retransmission a span is one that a
 * device refused, and must keep its place on its rail.
 */
static struct tbnet2_send_rail *pick_resend(struct tbnet2_sender *s, const struct tbnet2_span *w,
					    struct tbnet2_need n)
{
	if (s->cfg.retransmit || !tbnet2_has(s->active_set, w->rail))
		return tbnet2_pick(s, n);
	return tbnet2_pick_home(s, w->rail, n);
}

/* Sends the beginning of the front span w on r. */
static void resend_one(struct tbnet2_sender *s, struct tbnet2_burst *b,
		       struct tbnet2_send_rail *r, struct tbnet2_span w, struct tbnet2_need n)
{
	s32 cut = tbnet2_cut_len(n, r);
	struct tbnet2_send_rail *home = s->rails[w.rail];
	u8 flags = ENTRY_RESENT;

	if (cut < w.n)
		w.packet->refs++; /* one for the ledger, one for the rest of the span */
	tbnet2_spans_take(&s->resend, cut);
	if (home && cut == w.n && !s->cfg.retransmit)
		home->held--;
	if (!s->cfg.retransmit && r->cfg.id == w.rail)
		flags = 0; /* its first sending, in order on its rail */
	tbnet2_emit(s, b, r, w.packet, w.off, cut, flags);
	s->stats.resent_frames++;
	s->stats.resent_bytes += (u64)cut;
}

/* Cuts lost ranges again, before anything new; true when the burst is full. */
static bool send_resends(struct tbnet2_sender *s, struct tbnet2_burst *b)
{
	while (s->resend.count) {
		struct tbnet2_span *w = tbnet2_spans_front(&s->resend);
		struct tbnet2_packet *p = w->packet;
		struct tbnet2_send_rail *r;
		struct tbnet2_need n;

		if (p->given_up) {
			tbnet2_sender_drop_span(s);
			continue;
		}
		n.left = w->n;
		n.head = tbnet2_head_len(p, w->off);
		n.channel = p->channel;
		n.resent = true;
		r = pick_resend(s, w, n);
		if (!r) {
			s->stats.rail_blocked++;
			return false;
		}
		if (!tbnet2_burst_room(b, n.head))
			return true;
		/* The choice may have moved the queue to larger memory. */
		resend_one(s, b, r, *tbnet2_spans_front(&s->resend), n);
	}
	return false;
}

/* Sends the next fragment of the head packet of a channel. */
static void cut_next(struct tbnet2_sender *s, s64 now, struct tbnet2_burst *b, u8 ch,
		     struct tbnet2_send_rail *r, struct tbnet2_need n)
{
	struct tbnet2_send_channel *c = &s->channels[ch];
	struct tbnet2_packet *p = c->head;
	s32 cut = tbnet2_cut_len(n, r);
	s32 off = p->cut;

	if (!off)
		tbnet2_channel_begin(c, tbnet2_usable(s, now), p);
	p->refs++;
	p->cut += cut;
	s->queued -= cut;
	tbnet2_emit(s, b, r, p, off, cut, 0);
	c->deficit -= cut;
	if (p->cut == (s32)p->length)
		tbnet2_channel_pop(c);
	tbnet2_turn_requeue(s, ch);
}

/* Cuts packets of the channels in turn; true when the burst is full. */
static bool send_queued(struct tbnet2_sender *s, s64 now, struct tbnet2_burst *b)
{
	u16 stuck = 0; /* channels without window */

	for (;;) {
		int ch = tbnet2_turn_next(s, stuck);
		struct tbnet2_send_rail *r;
		struct tbnet2_packet *p;
		struct tbnet2_need n;

		if (ch < 0)
			return false;
		p = s->channels[ch].head;
		if (!p->cut && !tbnet2_channel_may_begin(&s->channels[ch], p)) {
			s->stats.channel_wait++;
			stuck |= (u16)(1u << ch);
			continue;
		}
		n.left = (s32)p->length - p->cut;
		n.head = tbnet2_head_len(p, p->cut);
		n.channel = p->channel;
		n.resent = false;
		r = tbnet2_pick(s, n);
		if (!r && s->cfg.policy == TBNET2_FLOW_HASH) {
			stuck |= (u16)(1u << ch);
			continue;
		}
		if (!r) {
			s->stats.rail_blocked++;
			return false;
		}
		if (!tbnet2_burst_room(b, n.head))
			return true;
		cut_next(s, now, b, (u8)ch, r, n);
	}
}

/*
 * Remembers for every rail that could carry more that there was nothing more
 * to send.
 */
static void note_starved(struct tbnet2_sender *s)
{
	u32 i;

	for (i = 0; i < s->active_count; i++) {
		struct tbnet2_send_rail *r = s->active[i];

		if (tbnet2_rail_has_window(r, r->mtu))
			r->estimate.round.starved = true;
	}
}

/**
 * tbnet2_sender_transmit() - cut what may be sent now
 * @s: the send half
 * @now: the time
 * @b: takes the frames
 *
 * The caller sends the frames, or gives back with tbnet2_unsent() what a
 * device refused, before any other call.
 *
 * Return: whether there is more, for another burst.
 */
bool tbnet2_sender_transmit(struct tbnet2_sender *s, s64 now, struct tbnet2_burst *b)
{
	bool more;
	u32 i;

	tbnet2_sender_stall(s, now);
	tbnet2_sender_settle(s);
	s->cut_at = tbnet2_running(s, now);
	s->cut_stamp = tbnet2_stamp(now);
	for (i = 0; i < s->active_count; i++)
		tbnet2_rail_look(s->active[i], s->cut_at);
	if (!tbnet2_send_control(s, now, b)) {
		tbnet2_seal_all(s, b);
		return true;
	}
	tbnet2_pick_begin(s);
	more = send_resends(s, b);
	if (!more)
		more = send_queued(s, now, b);
	if (!s->queued)
		note_starved(s);
	if (b->count || s->queued)
		s->due = min_t(s64, s->due, now + BUSY_TICK);
	tbnet2_ask_for_acks(s, b);
	tbnet2_seal_all(s, b);
	return more;
}

/* Puts the content of a frame that never left into the queue again. */
static void take_back(struct tbnet2_sender *s, struct tbnet2_send_rail *r, struct tbnet2_entry e)
{
	struct tbnet2_span w;

	r->stats.tx_frames--;
	r->stats.tx_bytes -= (u64)e.size;
	r->wrote -= min_t(u64, r->wrote, e.size);
	r->idle_at -= tbnet2_estimate_time(&r->estimate, e.size);
	if (e.marks) {
		tbnet2_forget_position(s, r, e.marks);
		return;
	}
	s->stats.frames--;
	w.packet = e.packet;
	w.off = e.off;
	w.n = e.n;
	w.rail = r->cfg.id;
	tbnet2_spans_push_front(&s->resend, w);
	if (!s->cfg.retransmit) {
		r->position[e.packet->channel] = e.packet->number;
		r->held++;
	}
}

/**
 * tbnet2_sender_unsent() - take back frames that a device refused
 * @s: the send half
 * @rail: whose device; it carries nothing new until writable
 * @b: the burst
 * @n: how many, the last of the rail's part
 */
void tbnet2_sender_unsent(struct tbnet2_sender *s, u8 rail, struct tbnet2_burst *b, u32 n)
{
	struct tbnet2_send_rail *r = s->rails[rail];

	for (; n; n--) {
		u8 type = tbnet2_burst_pop(b, rail)->head[0] & 0x0f;

		s->stats.refused++;
		if (tbnet2_is_ledgered(type) && r)
			take_back(s, r, tbnet2_ledger_pop_newest(&r->ledger));
		else if (type == TBNET2_ACK)
			s->control.ack_due = true;
	}
	if (r)
		r->busy = true;
}
