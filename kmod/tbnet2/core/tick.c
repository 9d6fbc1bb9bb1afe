// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * What time asks of the send half: liveness, PINGs, giving up; and its end.
 */
#include "sender.h"

/**
 * tbnet2_sender_stall() - add the time that this host itself was stopped to all
 *	deadlines
 * @s: the send half
 * @now: the time; that a tick is late shows it, to whatever is called first
 */
void tbnet2_sender_stall(struct tbnet2_sender *s, s64 now)
{
	s64 late = now - s->due;

	if (late <= OWN_STALL)
		return;
	s->stalled += late;
	s->due = now;
}

/*
 * Whether a rail waits for credit with nothing in flight whose acknowledgement
 * could bring it.
 */
static bool is_starved(const struct tbnet2_sender *s, const struct tbnet2_send_rail *r)
{
	return s->queued > 0 && !tbnet2_ledger_len(&r->ledger) &&
	       r->health.state == TBNET2_LIVE_UP;
}

static void tick_rail(struct tbnet2_sender *s, s64 now, struct tbnet2_send_rail *r, bool heard,
		      struct tbnet2_inbox *in)
{
	struct tbnet2_health *h = &r->health;
	s64 run = tbnet2_running(s, now);

	h->here = heard;
	tbnet2_judge(s, now, r, in);
	tbnet2_check_tail(s, now, r, in);
	tbnet2_probe_expire(&r->probe, run, r->mtu);
	tbnet2_probe_retry(&r->probe, run, r->mtu, r->cfg.mtu);
	if (!h->carrier || !h->enabled)
		return;
	if (run >= h->ping_at || (r->probe.size && h->here && run >= r->probe.due))
		h->ping_due = true;
	if (is_starved(s, r) && run >= h->ping_at - PING_INTERVAL + SUSPECT_PING)
		h->ping_due = true;
}

/* When time will ask for something again. */
static s64 next_tick(const struct tbnet2_sender *s, s64 now)
{
	s64 next = now + PING_INTERVAL, soonest = now + BUSY_TICK;
	u64 set = s->rail_set;
	bool busy;
	u8 id;

	busy = s->queued > 0 || s->resend.count || tbnet2_skips_due(s) ||
	       tbnet2_positions_due(s) || s->control.ack_due ||
	       (!s->cfg.retransmit && s->set.acked != s->set.generation);
	tbnet2_for_each_rail(id, set) {
		const struct tbnet2_send_rail *r = s->rails[id];

		busy = busy || tbnet2_ledger_len(&r->ledger);
		next = min_t(s64, next, max_t(s64, soonest, r->health.ping_at + s->stalled));
		if (r->probe.size && r->health.here)
			next = min_t(s64, next, max_t(s64, soonest, r->probe.due + s->stalled));
	}
	return busy ? soonest : next;
}

/**
 * tbnet2_sender_tick() - do what time asks of the send half
 * @s: the send half
 * @now: the time
 * @heard: our rails on which the peer is heard
 * @in: takes events
 */
void tbnet2_sender_tick(struct tbnet2_sender *s, s64 now, u64 heard, struct tbnet2_inbox *in)
{
	u64 set = s->rail_set;
	u8 id;

	tbnet2_sender_stall(s, now);
	tbnet2_for_each_rail(id, set)
		tick_rail(s, now, s->rails[id], tbnet2_has(heard, id), in);
	tbnet2_give_up_old(s, now);
	s->due = next_tick(s, now);
}

/* Lets go of all that is in flight on a rail, and of its memory. */
static void close_rail(struct tbnet2_sender *s, struct tbnet2_send_rail *r)
{
	while (tbnet2_ledger_len(&r->ledger)) {
		struct tbnet2_entry e = tbnet2_ledger_pop_oldest(&r->ledger);

		if (e.packet)
			tbnet2_sender_unref(s, e.packet);
	}
}

/**
 * tbnet2_sender_close() - abort every packet and give back all memory
 * @s: the send half; nothing but its counters may be asked for afterwards
 */
void tbnet2_sender_close(struct tbnet2_sender *s)
{
	u64 set = s->rail_set;
	u32 ch;
	u8 id;

	if (s->closed)
		return;
	s->closed = true;
	tbnet2_sender_settle(s);
	tbnet2_for_each_rail(id, set)
		close_rail(s, s->rails[id]);
	while (s->resend.count)
		tbnet2_sender_drop_span(s);
	for (ch = 0; ch < TBNET2_CHANNELS; ch++) {
		struct tbnet2_send_channel *c = &s->channels[ch];

		while (c->head) {
			struct tbnet2_packet *p = c->head;

			tbnet2_channel_pop(c);
			tbnet2_sender_finish(s, p, TBNET2_ABORTED);
		}
	}
	s->queued = 0;
	tbnet2_sender_settle(s);
	for (ch = 0; ch < TBNET2_CHANNELS; ch++) {
		tbnet2_free(s->channels[ch].open);
		s->channels[ch].open = NULL;
	}
	tbnet2_free(s->resend.ring);
	memset(&s->resend, 0, sizeof(s->resend));
}
