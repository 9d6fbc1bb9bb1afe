/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Times are nanoseconds (s64) on a monotonic clock of the caller's choice;
 * both ends have their own and only differences matter. Sequence numbers are
 * u32 modulo 2^32, compared with tbnet2_before() alone. Rates are bytes per
 * 2^20 ns (u64). Rail sets are bitmaps of rail ids (u64).
 */
#ifndef TBNET2_CORE_UNITS_H
#define TBNET2_CORE_UNITS_H

#include "shim.h"

#define TBNET2_US	1000LL
#define TBNET2_MS	(1000 * TBNET2_US)
#define TBNET2_SEC	(1000 * TBNET2_MS)

/* Later than every time. */
#define TBNET2_NEVER	S64_MAX

/* Keeps ns per byte within 64-bit products: about 1 Mb/s. */
#define TBNET2_RATE_MIN	128ULL

/* The wire form of a time: units of 1024 ns, modulo 2^32. */
static inline u32 tbnet2_stamp(s64 t)
{
	return (u32)((u64)t >> 10);
}

/* The time between two stamps. */
static inline s64 tbnet2_stamp_span(u32 later, u32 earlier)
{
	return (s64)(s32)(later - earlier) * 1024;
}

/* The distance from b to a. */
static inline s32 tbnet2_seq_sub(u32 a, u32 b)
{
	return (s32)(a - b);
}

/* Whether a comes before b, within half the number space. */
static inline bool tbnet2_before(u32 a, u32 b)
{
	return (s32)(a - b) < 0;
}

/* The later of the two. */
static inline u32 tbnet2_seq_max(u32 a, u32 b)
{
	return tbnet2_before(a, b) ? b : a;
}

/* Ns per byte in units of 2^-20. */
static inline u64 tbnet2_rate_inverse(u64 rate)
{
	return div64_u64(1ULL << 40, max_t(u64, rate, TBNET2_RATE_MIN));
}

static inline u64 tbnet2_bit(u8 rail)
{
	return 1ULL << rail;
}

static inline bool tbnet2_has(u64 set, u8 rail)
{
	return set >> rail & 1;
}

/* The lowest id of a set, which is taken out; the set is not empty. */
static inline u8 tbnet2_next_rail(u64 *set)
{
	u8 id = (u8)__ffs64(*set);

	*set &= *set - 1;
	return id;
}

/* The i-th id of a set, from 0; the set has more. */
static inline u8 tbnet2_nth_rail(u64 set, u32 i)
{
	for (; i; i--)
		set &= set - 1;
	return (u8)__ffs64(set);
}

/* Goes through the ids of a set, a variable that is used up. */
#define tbnet2_for_each_rail(id, set) \
	for (; (set) && ((id) = tbnet2_next_rail(&(set)), true);)

#endif /* TBNET2_CORE_UNITS_H */
