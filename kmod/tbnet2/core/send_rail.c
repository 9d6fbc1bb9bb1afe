// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * How long a rail's path is busy, and what it may carry.
 */
#include "send_rail.h"

/**
 * tbnet2_rail_init() - begin with a rail that has never been up
 * @r: the rail, zeroed
 * @run: running clock
 * @c: describes it
 * @undecided: counts the ledger entries of all rails
 */
void tbnet2_rail_init(struct tbnet2_send_rail *r, s64 run, const struct tbnet2_rail_config *c,
		      u32 *undecided)
{
	r->cfg = *c;
	r->in_use = true;
	r->behind_since = TBNET2_NEVER;
	r->ledger.undecided = undecided;
	r->mtu = min_t(u32, c->mtu, PROBE_BASE);
	tbnet2_estimate_init(&r->estimate, run, c->rate, r->mtu);
	r->health.reason = TBNET2_REASON_NEW;
	r->health.carrier = true;
	r->health.enabled = true;
	r->health.ping_at = run;
	r->health.tail_ping = TBNET2_NEVER;
	tbnet2_probe_init(&r->probe, run, c->mtu);
}

/**
 * tbnet2_rail_has_window() - whether more bytes may be in flight
 * @r: the rail
 * @size: how many
 *
 * One frame always may, so that a window below a frame does not stop the rail.
 */
bool tbnet2_rail_has_window(const struct tbnet2_send_rail *r, u32 size)
{
	return !r->ledger.in_flight ||
	       r->ledger.in_flight + size <= tbnet2_estimate_limit(&r->estimate);
}

/**
 * tbnet2_rail_has_credit() - whether the peer's ring has room
 * @r: the rail
 * @size: bytes more
 */
bool tbnet2_rail_has_credit(const struct tbnet2_send_rail *r, u32 size)
{
	return r->ledger.bytes + size <= r->credit;
}

/**
 * tbnet2_rail_expected() - when a frame would arrive, from now
 * @r: the rail
 * @size: bytes of the frame
 */
s64 tbnet2_rail_expected(const struct tbnet2_send_rail *r, u32 size)
{
	return r->queue + tbnet2_estimate_time(&r->estimate, size) + r->estimate.delay;
}

/* Works out how long the path will be busy with what is in flight. */
static void weigh(struct tbnet2_send_rail *r)
{
	s64 all = tbnet2_estimate_time(&r->estimate, r->ledger.in_flight);

	r->queue = max_t(s64, all - r->served, min(all, r->backlog));
}

/**
 * tbnet2_rail_look() - prepare a burst: how busy is the path?
 * @r: the rail
 * @run: running clock
 *
 * How long the path will still be busy, and at most has worked on what is in
 * flight: since the oldest of it was sent, or since what was acknowledged last
 * had passed. The first errs where the rate is wrong, the second where the
 * rail had nothing to do for a while.
 */
void tbnet2_rail_look(struct tbnet2_send_rail *r, s64 run)
{
	const struct tbnet2_ledger *l = &r->ledger;

	r->backlog = max_t(s64, 0, r->idle_at - run);
	r->served = 0;
	if (tbnet2_ledger_len(l))
		r->served = min_t(s64, run - tbnet2_ledger_at(l, l->una)->sent_at,
				  run - r->health.progress +
				  tbnet2_estimate_least(&r->estimate));
	weigh(r);
}

/**
 * tbnet2_rail_load() - note a frame sent in the burst that look prepared
 * @r: the rail
 * @run: running clock
 * @size: bytes of the frame
 */
void tbnet2_rail_load(struct tbnet2_send_rail *r, s64 run, u32 size)
{
	r->backlog += tbnet2_estimate_time(&r->estimate, size);
	r->idle_at = run + r->backlog;
	weigh(r);
}

/**
 * tbnet2_rail_set_mtu() - take what a probe has proven
 * @r: the rail
 * @mtu: bytes of one frame
 */
void tbnet2_rail_set_mtu(struct tbnet2_send_rail *r, u32 mtu)
{
	r->mtu = mtu;
	tbnet2_estimate_set_floor(&r->estimate, mtu);
}

/**
 * tbnet2_rail_wants_ack() - whether a frame should ask for an ack
 * @r: the rail
 * @size: bytes of the frame
 */
bool tbnet2_rail_wants_ack(struct tbnet2_send_rail *r, u32 size)
{
	r->unflagged += size;
	return r->unflagged * ACKS_PER_WINDOW >= tbnet2_estimate_limit(&r->estimate);
}
