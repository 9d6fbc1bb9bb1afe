// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Bursts: frames chained by rail, their heads in one arena that never moves.
 */
#include "burst.h"

/**
 * tbnet2_burst_reset() - empty a burst; also makes a new one ready
 * @b: the burst
 */
void tbnet2_burst_reset(struct tbnet2_burst *b)
{
	b->rails = 0;
	b->count = 0;
	b->used = 0;
	memset(b->first, 0xff, sizeof(b->first));
	memset(b->last, 0xff, sizeof(b->last));
}

/**
 * tbnet2_burst_room() - whether a frame with a head of n bytes fits
 * @b: the burst
 * @n: bytes
 */
bool tbnet2_burst_room(const struct tbnet2_burst *b, u32 n)
{
	return b->count < BURST_FRAMES && b->used + n <= BURST_ARENA;
}

/**
 * tbnet2_burst_head() - give n bytes for a head
 * @b: the burst, which has room for them
 * @n: bytes
 */
u8 *tbnet2_burst_head(struct tbnet2_burst *b, u32 n)
{
	u8 *head = b->arena + b->used;

	b->used += n;
	return head;
}

/**
 * tbnet2_burst_add() - put a frame behind those of its rail
 * @b: the burst, which has room
 * @rail: where it goes
 * @f: the frame
 */
void tbnet2_burst_add(struct tbnet2_burst *b, u8 rail, struct tbnet2_burst_frame f)
{
	u16 i = (u16)b->count++;

	f.next = BURST_NONE;
	f.prev = b->last[rail];
	if (f.prev == BURST_NONE)
		b->first[rail] = i;
	else
		b->frames[f.prev].next = i;
	b->last[rail] = i;
	b->frames[i] = f;
	b->rails |= tbnet2_bit(rail);
}

/**
 * tbnet2_burst_pop() - take the last frame of a rail out
 * @b: the burst
 * @rail: has a frame
 *
 * Return: the frame, valid until the burst is reset.
 */
struct tbnet2_burst_frame *tbnet2_burst_pop(struct tbnet2_burst *b, u8 rail)
{
	struct tbnet2_burst_frame *f = &b->frames[b->last[rail]];

	b->last[rail] = f->prev;
	if (f->prev == BURST_NONE)
		b->first[rail] = BURST_NONE;
	else
		b->frames[f->prev].next = BURST_NONE;
	return f;
}
