/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * What a sender has learnt of one rail's path [6].
 */
#ifndef TBNET2_CORE_ESTIMATE_H
#define TBNET2_CORE_ESTIMATE_H

#include "tuning.h"

/**
 * struct tbnet2_round - from one acknowledgement to that of the first frame
 *	sent after it
 * @stamp: of the state that began it: on the peer's clock, so that acks may
 *	take any rail
 * @timed: @stamp is set
 * @starved: the sender ran out of data
 * @blocked: the window held the sender back
 * @drain: the window was cut to see the path without a queue
 * @marker: rail sequence that ends it
 * @delivered: bytes, when it began
 * @least: round trip; TBNET2_NEVER before a sample
 */
struct tbnet2_round {
	u32 stamp;
	bool timed;
	bool starved;
	bool blocked;
	bool drain;
	u32 marker;
	u64 delivered;
	s64 least;
};

/**
 * struct tbnet2_estimate - of a rail
 * @rate: measured
 * @inverse: ns per byte in 2^-20
 * @rates: samples of the last rounds
 * @rates_at: next of them
 * @smoothed: round trip; 0 before the first sample
 * @least: round trip, lately
 * @least_old: of the window before
 * @least_at: when the current window began
 * @delay: one way, above the bundle's least
 * @skew: of a slower rail, which the stream waits for anyway
 * @window: bytes that may be in flight
 * @floor: its least
 * @delivered: bytes acknowledged, ever
 * @round: under way
 * @slow_start: no queue was seen yet
 * @at_floor: rounds spent at the floor though the path is slow
 */
struct tbnet2_estimate {
	u64 rate;
	u64 inverse;
	u64 rates[RATES_KEPT];
	u32 rates_at;
	s64 smoothed;
	s64 least;
	s64 least_old;
	s64 least_at;
	s64 delay;
	s64 skew;
	s64 window;
	s64 floor;
	u64 delivered;
	struct tbnet2_round round;
	bool slow_start;
	u32 at_floor;
};

/* Ns that n bytes take at the measured rate. */
static inline s64 tbnet2_estimate_time(const struct tbnet2_estimate *e, s64 n)
{
	return (s64)((u64)n * e->inverse >> 20);
}

void tbnet2_estimate_init(struct tbnet2_estimate *e, s64 now, u64 rate, u32 frame);
void tbnet2_estimate_set_floor(struct tbnet2_estimate *e, u32 frame);
s64 tbnet2_estimate_least(const struct tbnet2_estimate *e);
s64 tbnet2_estimate_limit(const struct tbnet2_estimate *e);
void tbnet2_estimate_sample(struct tbnet2_estimate *e, s64 rtt);
void tbnet2_estimate_acked(struct tbnet2_estimate *e, s64 now, u32 stamp, u32 una, u32 next,
			   s64 in_flight);

#endif /* TBNET2_CORE_ESTIMATE_H */
