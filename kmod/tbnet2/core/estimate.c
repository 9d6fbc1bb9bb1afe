// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Rate, round trip and window of a rail [6].
 */
#include "estimate.h"

static void set_rate(struct tbnet2_estimate *e, u64 rate)
{
	e->rate = max_t(u64, rate, TBNET2_RATE_MIN);
	e->inverse = tbnet2_rate_inverse(e->rate);
}

/**
 * tbnet2_estimate_init() - begin knowing nothing
 * @e: the estimate
 * @now: running clock
 * @rate: first guess, 0 unknown
 * @frame: bytes of the largest frame
 */
void tbnet2_estimate_init(struct tbnet2_estimate *e, s64 now, u64 rate, u32 frame)
{
	memset(e, 0, sizeof(*e));
	e->least_at = now;
	e->least = TBNET2_NEVER;
	e->least_old = TBNET2_NEVER;
	e->slow_start = true;
	e->floor = (s64)WINDOW_FRAMES * frame;
	e->window = max_t(s64, WINDOW_FIRST, e->floor);
	set_rate(e, rate ? rate : RATE_FIRST);
	e->round.least = TBNET2_NEVER;
	e->round.starved = true;
}

/**
 * tbnet2_estimate_set_floor() - follow a change of the largest frame
 * @e: the estimate
 * @frame: its bytes
 */
void tbnet2_estimate_set_floor(struct tbnet2_estimate *e, u32 frame)
{
	e->floor = (s64)WINDOW_FRAMES * frame;
	e->window = max(e->window, e->floor);
}

/**
 * tbnet2_estimate_least() - the least round trip seen lately, 0 before the first
 * @e: the estimate
 */
s64 tbnet2_estimate_least(const struct tbnet2_estimate *e)
{
	s64 least = min(e->least, e->least_old);

	return least == TBNET2_NEVER ? 0 : least;
}

/**
 * tbnet2_estimate_limit() - how many bytes may be in flight now
 * @e: the estimate
 */
s64 tbnet2_estimate_limit(const struct tbnet2_estimate *e)
{
	if (e->round.drain)
		return max_t(s64, e->floor, e->window / 2);
	return e->window;
}

/**
 * tbnet2_estimate_sample() - take a true round trip
 * @e: the estimate
 * @rtt: ns
 */
void tbnet2_estimate_sample(struct tbnet2_estimate *e, s64 rtt)
{
	rtt = max_t(s64, rtt, 1);
	if (!e->smoothed)
		e->smoothed = rtt;
	e->smoothed += (rtt - e->smoothed) >> 3;
	e->least = min(e->least, rtt);
	e->round.least = min(e->round.least, rtt);
}

/* Takes the round's sample into the highest of the last few. */
static void measure_rate(struct tbnet2_estimate *e, s64 took)
{
	u64 rate = div64_u64((e->delivered - e->round.delivered) << 20, (u64)took);
	u64 best = 0;
	u32 i;

	if (e->round.starved && rate <= e->rate)
		return;
	e->rates[e->rates_at % RATES_KEPT] = rate;
	e->rates_at++;
	for (i = 0; i < RATES_KEPT; i++)
		best = max(best, e->rates[i]);
	set_rate(e, best);
}

/* Takes a slow path at the least window for what it is. */
static void note_path_change(struct tbnet2_estimate *e, s64 rtt)
{
	if (e->window > e->floor)
		return;
	if (++e->at_floor < FLOOR_ROUNDS)
		return;
	e->least = rtt;
	e->least_old = TBNET2_NEVER;
	e->at_floor = 0;
}

/* Steers the queue on the path to at most QUEUE_TARGET. */
static void adjust_window(struct tbnet2_estimate *e)
{
	const struct tbnet2_round *r = &e->round;
	s64 queue, target, enough;

	if (r->least == TBNET2_NEVER)
		return;
	queue = r->least - tbnet2_estimate_least(e);
	target = max_t(s64, QUEUE_TARGET, tbnet2_estimate_least(e) / 4);
	target = max_t(s64, target, e->skew + QUEUE_TARGET / 4);
	enough = max_t(s64, target / 2, e->skew + QUEUE_TARGET / 8);
	if (queue > target) {
		e->slow_start = false;
		e->window = max_t(s64, e->floor, e->window - e->window / 8);
		note_path_change(e, r->least);
		return;
	}
	e->at_floor = 0;
	if (queue >= enough || !r->blocked || r->drain)
		return; /* enough, or no sign that more would be used */
	if (e->slow_start)
		e->window = min_t(s64, WINDOW_MOST, 2 * e->window);
	else
		e->window = min_t(s64, WINDOW_MOST, e->window + e->window / 4);
}

/*
 * Turns the window of least round trips, and asks for a round with a short
 * queue so that the new one holds a true least.
 */
static bool drain_due(struct tbnet2_estimate *e, s64 now)
{
	if (now - e->least_at < RTT_WINDOW)
		return false;
	e->least_at = now;
	e->least_old = e->least;
	e->least = TBNET2_NEVER;
	return true;
}

static void begin_round(struct tbnet2_estimate *e, u32 stamp, u32 next)
{
	struct tbnet2_round *r = &e->round;

	memset(r, 0, sizeof(*r));
	r->stamp = stamp;
	r->timed = true;
	r->marker = next;
	r->delivered = e->delivered;
	r->least = TBNET2_NEVER;
}

/**
 * tbnet2_estimate_acked() - advance the round when the ledger has passed its marker
 * @e: the estimate
 * @now: the time
 * @stamp: of the state that acknowledged
 * @una: oldest undecided sequence of the ledger
 * @next: next sequence of the ledger
 * @in_flight: bytes
 */
void tbnet2_estimate_acked(struct tbnet2_estimate *e, s64 now, u32 stamp, u32 una, u32 next,
			   s64 in_flight)
{
	struct tbnet2_round *r = &e->round;
	s64 took;

	if (!r->timed) {
		begin_round(e, stamp, next);
		r->starved = true;
		return;
	}
	took = tbnet2_stamp_span(stamp, r->stamp);
	if (!in_flight)
		r->starved = r->starved || !r->blocked;
	if (tbnet2_before(una, r->marker) ||
	    took < max_t(s64, ROUND_LEAST, tbnet2_estimate_least(e)))
		return;
	if (una == r->marker && una != next)
		return; /* the marker itself is not acknowledged yet */
	measure_rate(e, took);
	adjust_window(e);
	begin_round(e, stamp, next);
	r->drain = drain_due(e, now);
}
