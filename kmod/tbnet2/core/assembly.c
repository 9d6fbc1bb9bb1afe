// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Which units of a packet are there, a word at a time.
 */
#include "assembly.h"

/**
 * tbnet2_assembly_reset() - empty an assembly for its next packet
 * @a: the assembly, without a buffer
 */
void tbnet2_assembly_reset(struct tbnet2_packet_assembly *a)
{
	if (a->pieces)
		memset(a->have, 0, sizeof(a->have));
	a->next = NULL;
	a->total = 0;
	a->got = 0;
	a->pieces = false;
	a->has_desc = false;
}

/*
 * Counts the units from u on, before end, that are held, or with flip of all
 * ones those that are not.
 */
static s32 same(const struct tbnet2_packet_assembly *a, s32 u, s32 end, u64 flip)
{
	s32 n = 0;

	while (u + n < end) {
		s32 at = u + n, left = 64 - at % 64;
		u64 differs = ~((a->have[at / 64] ^ flip) >> (at % 64));
		s32 run = differs ? min_t(s32, (s32)__ffs64(differs), left) : left;

		n += run;
		if (run < left)
			break;
	}
	return min_t(s32, n, end - u);
}

/* Holds the units [u, end). */
static void mark(struct tbnet2_packet_assembly *a, s32 u, s32 end)
{
	while (u < end) {
		s32 n = min_t(s32, 64 - u % 64, end - u);

		a->have[u / 64] |= U64_MAX >> (64 - n) << (u % 64);
		u += n;
	}
}

/**
 * tbnet2_run_begin() - begin to walk over what is new in a range
 * @a: the assembly
 * @run: the walk
 * @off: of the range, a multiple of the unit
 * @n: bytes of it, likewise unless it ends the packet
 */
void tbnet2_run_begin(struct tbnet2_packet_assembly *a, struct tbnet2_run *run, s32 off, s32 n)
{
	a->pieces = true;
	run->unit = off / TBNET2_UNIT;
	run->end = (off + n + TBNET2_UNIT - 1) / TBNET2_UNIT;
	run->from = 0;
	run->to = 0;
}

/**
 * tbnet2_run_next() - give the next run of bytes that is not held yet, and hold it
 * @a: the assembly
 * @run: the walk; its from and to are set
 *
 * Return: false when there is none.
 */
bool tbnet2_run_next(struct tbnet2_packet_assembly *a, struct tbnet2_run *run)
{
	s32 start, end;

	if (run->unit >= run->end)
		return false;
	start = run->unit + same(a, run->unit, run->end, 0);
	if (start == run->end)
		return false;
	end = start + same(a, start, run->end, U64_MAX);
	mark(a, start, end);
	run->unit = end;
	run->from = start * TBNET2_UNIT;
	run->to = min_t(s32, end * TBNET2_UNIT, a->total);
	a->got += run->to - run->from;
	return true;
}
