// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * The liveness of rails [8], and what follows from a change of it.
 */
#include "sender.h"

/* The state that the facts call for. */
static void verdict(const struct tbnet2_health *h, u8 *state, u8 *reason)
{
	*state = TBNET2_LIVE_DOWN;
	*reason = TBNET2_REASON_NONE;
	if (!h->enabled) {
		*reason = TBNET2_REASON_DISABLED;
	} else if (!h->carrier) {
		*reason = TBNET2_REASON_NO_CARRIER;
	} else if (!h->here && h->reason == TBNET2_REASON_NEW) {
		*reason = TBNET2_REASON_NEW;
	} else if (!h->here) {
		*reason = TBNET2_REASON_SILENT;
	} else if (!h->there) {
		*reason = TBNET2_REASON_UNHEARD;
	} else if (!h->proven && h->state == TBNET2_LIVE_SUSPECT) {
		*state = TBNET2_LIVE_SUSPECT;
		*reason = TBNET2_REASON_UNANSWERED;
	} else if (!h->proven) {
		*state = TBNET2_LIVE_PROBING;
	} else {
		*state = TBNET2_LIVE_UP;
	}
}

static void tell(const struct tbnet2_send_rail *r, struct tbnet2_inbox *in)
{
	struct tbnet2_event e = {
		.kind = TBNET2_ABOUT_RAIL,
		.rail = r->cfg.id,
		.state = r->health.state,
		.reason = r->health.reason,
	};

	tbnet2_inbox_event(in, e);
}

/**
 * tbnet2_judge() - move a rail to the state that the facts call for
 * @s: the send half
 * @now: the time
 * @r: the rail
 * @in: takes an event
 *
 * What was in flight on a rail that is no longer up goes to the others.
 */
void tbnet2_judge(struct tbnet2_sender *s, s64 now, struct tbnet2_send_rail *r,
		  struct tbnet2_inbox *in)
{
	struct tbnet2_health *h = &r->health;
	u8 state, reason, was = h->state;

	verdict(h, &state, &reason);
	if (state == was && reason == h->reason)
		return;
	h->state = state;
	h->reason = reason;
	if (state == TBNET2_LIVE_DOWN) {
		h->proven = false;
		tbnet2_probe_init(&r->probe, tbnet2_running(s, now), r->cfg.mtu);
	} else if (state == TBNET2_LIVE_UP) {
		h->tail_ping = TBNET2_NEVER;
	}
	if (was == TBNET2_LIVE_UP) {
		r->stats.flaps++;
		tbnet2_move_away(s, r);
	}
	tbnet2_membership(s, now);
	tell(r, in);
}

/* Stops trusting a rail until it answers. */
static void suspect(struct tbnet2_sender *s, s64 now, struct tbnet2_send_rail *r,
		    struct tbnet2_inbox *in)
{
	r->stats.suspicions++;
	r->health.proven = false;
	r->health.state = TBNET2_LIVE_SUSPECT; /* judged from: was up, unproven now */
	r->health.reason = TBNET2_REASON_UNANSWERED;
	tbnet2_probe_suspect(&r->probe, tbnet2_running(s, now), r->mtu);
	r->stats.flaps++;
	tbnet2_move_away(s, r);
	tbnet2_membership(s, now);
	tell(r, in);
}

/**
 * tbnet2_check_tail() - ask about frames in flight of which none is acknowledged
 * @s: the send half
 * @now: the time
 * @r: the rail, suspected when the question is not answered either
 * @in: takes an event
 */
void tbnet2_check_tail(struct tbnet2_sender *s, s64 now, struct tbnet2_send_rail *r,
		       struct tbnet2_inbox *in)
{
	struct tbnet2_health *h = &r->health;
	s64 run = tbnet2_running(s, now);
	s64 patience = max_t(s64, SUSPECT_LEAST, 4 * r->estimate.smoothed);
	s64 age;

	if (h->state != TBNET2_LIVE_UP || !tbnet2_ledger_len(&r->ledger)) {
		h->tail_ping = TBNET2_NEVER;
		return;
	}
	age = run - max_t(s64, h->progress, tbnet2_ledger_at(&r->ledger, r->ledger.una)->sent_at);
	if (h->tail_ping == TBNET2_NEVER) {
		if (age >= patience / 2) {
			h->tail_ping = run;
			h->ping_due = true;
		}
	} else if (age >= patience && run - h->tail_ping >= patience / 2) {
		suspect(s, now, r, in);
	}
}

/**
 * tbnet2_proved() - take the answer to a probe into the rail
 * @s: the send half
 * @now: the time
 * @r: the rail
 * @in: takes an event
 */
void tbnet2_proved(struct tbnet2_sender *s, s64 now, struct tbnet2_send_rail *r,
		   struct tbnet2_inbox *in)
{
	u32 size = r->probe.size;

	tbnet2_probe_answered(&r->probe, tbnet2_running(s, now), r->cfg.mtu);
	if (size != r->mtu) {
		struct tbnet2_event e = {
			.kind = TBNET2_ABOUT_MTU,
			.rail = r->cfg.id,
			.mtu = size,
		};

		tbnet2_rail_set_mtu(r, size);
		tbnet2_inbox_event(in, e);
	}
	r->health.proven = true;
}

/**
 * tbnet2_membership() - follow a change of the rails that may carry data: the
 *	active list, the outage clock, the announced set
 * @s: the send half
 * @now: the time
 */
void tbnet2_membership(struct tbnet2_sender *s, s64 now)
{
	s64 run = tbnet2_running(s, now);

	tbnet2_refresh_active(s);
	if (!s->active_count && s->outage_since == TBNET2_NEVER) {
		s->outage_since = run;
	} else if (s->active_count && s->outage_since != TBNET2_NEVER) {
		s->outage += run - s->outage_since;
		s->outage_since = TBNET2_NEVER;
	}
	tbnet2_announce_set(s);
}

/**
 * tbnet2_usable() - the running time less that in which no rail could carry data
 * @s: the send half
 * @now: the time
 */
s64 tbnet2_usable(const struct tbnet2_sender *s, s64 now)
{
	s64 run = tbnet2_running(s, now);

	if (s->outage_since != TBNET2_NEVER)
		run = s->outage_since;
	return run - s->outage;
}
