// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * What the peer's states say of our frames and packets [5].
 */
#include "sender.h"

/*
 * Finds a new use for the content of a ledger entry that will not be
 * acknowledged.
 */
static void displace(struct tbnet2_sender *s, struct tbnet2_send_rail *r, struct tbnet2_entry e)
{
	struct tbnet2_span w;

	if (e.marks) {
		tbnet2_forget_position(s, r, e.marks);
		return;
	}
	if (!e.packet)
		return;
	if (!s->cfg.retransmit || e.packet->given_up) {
		tbnet2_sender_unref(s, e.packet);
		return;
	}
	e.packet->displaced = true;
	w.packet = e.packet;
	w.off = e.off;
	w.n = e.n;
	w.rail = r->cfg.id;
	tbnet2_spans_push_back(&s->resend, w);
}

/**
 * tbnet2_move_away() - displace all that is in flight on a rail
 * @s: the send half
 * @r: the rail
 */
void tbnet2_move_away(struct tbnet2_sender *s, struct tbnet2_send_rail *r)
{
	while (tbnet2_ledger_len(&r->ledger)) {
		s->stats.suspected++;
		displace(s, r, tbnet2_ledger_pop_oldest(&r->ledger));
	}
	r->health.tail_ping = TBNET2_NEVER;
	r->unflagged = 0;
}

/* Takes a round trip from a frame that asked for its ack at once. */
static void sample(struct tbnet2_sender *s, s64 now, struct tbnet2_send_rail *r,
		   const struct tbnet2_entry *e)
{
	if (e->flags & ENTRY_ACK_NOW)
		tbnet2_estimate_sample(&r->estimate, tbnet2_running(s, now) - e->sent_at);
}

/* Takes sequences [una, next) off the ledger where nothing is lost. */
static void acknowledge(struct tbnet2_sender *s, s64 now, struct tbnet2_send_rail *r, u32 next)
{
	sample(s, now, r, tbnet2_ledger_at(&r->ledger, next - 1));
	while (r->ledger.una != next) {
		struct tbnet2_entry e = tbnet2_ledger_pop_oldest(&r->ledger);

		r->estimate.delivered += (u64)e.size;
		if (e.packet)
			tbnet2_sender_unref(s, e.packet);
	}
}

/*
 * Takes sequences [una, a->next) off the ledger: acknowledged but for the gaps
 * and for what lies before the block's depth.
 */
static void decide(struct tbnet2_sender *s, s64 now, struct tbnet2_send_rail *r,
		   const struct tbnet2_rail_block *a)
{
	struct tbnet2_ledger *l = &r->ledger;
	u32 floor = a->next - a->depth;
	u32 gap = 0;

	if (!a->count && !tbnet2_before(l->una, floor)) {
		acknowledge(s, now, r, a->next);
		return;
	}
	while (l->una != a->next) {
		u32 back = a->next - l->una; /* at least 1 */
		bool lost = tbnet2_before(l->una, floor);
		struct tbnet2_entry e;

		while (gap < a->count && (u32)(a->gaps[gap].back - a->gaps[gap].count) >= back)
			gap++;
		lost = lost || (gap < a->count && a->gaps[gap].back >= back);
		e = tbnet2_ledger_pop_oldest(l);
		if (lost) {
			s->stats.lost++;
			r->stats.lost++;
			displace(s, r, e);
			continue;
		}
		r->estimate.delivered += (u64)e.size;
		if (e.packet)
			tbnet2_sender_unref(s, e.packet);
		if (l->una == a->next)
			sample(s, now, r, &e);
	}
}

/* The longest delay of a rail that carries data. */
static s64 slowest_delay(const struct tbnet2_sender *s)
{
	s64 delay = 0;
	u32 i;

	for (i = 0; i < s->active_count; i++)
		delay = max(delay, s->active[i]->estimate.delay);
	return delay;
}

/* Decides the sequences that a rail block speaks for. */
static void apply_rail(struct tbnet2_sender *s, s64 now, u32 stamp, s64 slowest,
		       const struct tbnet2_rail_block *a)
{
	struct tbnet2_send_rail *r = s->rails[a->rail];
	struct tbnet2_ledger *l;

	if (!r)
		return; /* removed meanwhile */
	l = &r->ledger;
	if (tbnet2_before(l->next, a->next)) {
		s->stats.bad_states++; /* acknowledges what was never sent */
		return;
	}
	if (tbnet2_before(a->next, l->una)) {
		s->stats.stale_acks++;
		return;
	}
	r->estimate.delay = a->delay;
	r->credit = max_t(u64, r->credit, tbnet2_ledger_start(l, a->next) + a->credit);
	if (a->next == l->una)
		return;
	decide(s, now, r, a);
	r->health.tail_ping = TBNET2_NEVER;
	r->health.progress = tbnet2_running(s, now);
	r->estimate.skew = min_t(s64, SKEW_MOST, max_t(s64, 0, slowest - r->estimate.delay));
	tbnet2_estimate_acked(&r->estimate, now, stamp, l->una, l->next, l->in_flight);
}

/* Moves a channel's window. Limits never move back. */
static void apply_channel(struct tbnet2_sender *s, const struct tbnet2_channel_block *a)
{
	struct tbnet2_send_channel *c = &s->channels[a->channel];

	if (tbnet2_before(c->next, a->next)) {
		s->stats.bad_states++; /* acknowledges what was never begun */
		return;
	}
	if (tbnet2_before(a->next, c->acked)) {
		s->stats.stale_acks++;
		return;
	}
	c->limit = max_t(u64, c->limit, tbnet2_channel_start(c, a->next) + a->window);
	c->acked = a->next;
	c->skip = tbnet2_seq_max(c->skip, a->next); /* level, lest it wrap and seem ahead */
}

/*
 * Whether a state was made after all that came before: states overtake each
 * other on different rails.
 */
static bool is_newest(struct tbnet2_sender *s, u32 stamp)
{
	if (s->any_state && (s32)(stamp - s->newest_state) < 0)
		return false;
	s->newest_state = stamp;
	s->any_state = true;
	return true;
}

/* Notes which of our rails the peer hears. */
static void apply_heard(struct tbnet2_sender *s, s64 now, u64 heard, struct tbnet2_inbox *in)
{
	u64 set = s->rail_set;
	u8 id;

	tbnet2_for_each_rail(id, set) {
		struct tbnet2_send_rail *r = s->rails[id];

		if (r->health.there == tbnet2_has(heard, id))
			continue;
		r->health.there = !r->health.there;
		tbnet2_judge(s, now, r, in);
	}
}

/* Takes a round trip and the answer to a probe. */
static void apply_pong(struct tbnet2_sender *s, s64 now, u8 rail, u32 echo,
		       struct tbnet2_inbox *in)
{
	struct tbnet2_send_rail *r = s->rails[rail];
	s64 rtt = tbnet2_stamp_span(tbnet2_stamp(now), echo);

	if (!r)
		return;
	r->health.tail_ping = TBNET2_NEVER;
	if (rtt >= 0 && rtt < DOWN_AFTER) {
		tbnet2_estimate_sample(&r->estimate, rtt);
		/* A suspect that answers was slow, not dead: be as patient from now on. */
		if (r->health.state == TBNET2_LIVE_SUSPECT)
			r->estimate.smoothed = max(r->estimate.smoothed, rtt);
	}
	if (tbnet2_probe_answers(&r->probe, echo)) {
		tbnet2_proved(s, now, r, in);
		tbnet2_judge(s, now, r, in);
	}
}

/* Applies the rail and channel blocks of a state; false where one cannot be. */
static bool apply_blocks(struct tbnet2_sender *s, s64 now, const struct tbnet2_state_head *st,
			 struct tbnet2_cursor *c)
{
	s64 slowest = slowest_delay(s);
	u32 i;

	for (i = 0; i < st->rails; i++) {
		struct tbnet2_rail_block a;

		if (tbnet2_get_rail_block(c, &a))
			return false;
		apply_rail(s, now, st->stamp, slowest, &a);
	}
	for (i = 0; i < st->channels; i++) {
		struct tbnet2_channel_block a;

		if (tbnet2_get_channel_block(c, &a))
			return false;
		apply_channel(s, &a);
	}
	return true;
}

/* Takes one PING, PONG or ACK. What cannot be is counted and left. */
static void apply_state(struct tbnet2_sender *s, s64 now, const struct tbnet2_state_frame *f,
			struct tbnet2_inbox *in)
{
	struct tbnet2_cursor c = f->body;
	struct tbnet2_state_head st;

	if (tbnet2_get_state(&c, &st)) {
		s->stats.bad_states++;
		return;
	}
	s->stats.acks++;
	if (!apply_blocks(s, now, &st, &c)) {
		s->stats.bad_states++;
		return;
	}
	if (is_newest(s, st.stamp)) {
		apply_heard(s, now, st.heard, in);
		tbnet2_apply_generation(s, now, st.generation);
	}
	if (f->type == TBNET2_PONG)
		apply_pong(s, now, f->rail, st.echo, in);
}

/**
 * tbnet2_sender_apply() - take the states that a batch of received frames brought
 * @s: the send half
 * @now: the time
 * @in: the batch
 */
void tbnet2_sender_apply(struct tbnet2_sender *s, s64 now, struct tbnet2_inbox *in)
{
	u32 i;

	tbnet2_sender_stall(s, now);
	tbnet2_sender_settle(s);
	tbnet2_control_take(&s->control, in);
	for (i = 0; i < in->stated.count; i++)
		apply_state(s, now, &in->states[i], in);
}
