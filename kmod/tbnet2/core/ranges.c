// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * The queue of ranges to be sent again. Each undecided ledger entry may become
 * one, at a time when memory cannot be asked for; so place for them all is
 * made before an entry is written.
 */
#include "ranges.h"

#define SPANS_FIRST 64

/**
 * tbnet2_spans_room() - make place for one more frame in flight
 * @q: the queue
 * @undecided: ledger entries of all rails
 *
 * The frame may become a span, and may leave the rest of one behind.
 *
 * Return: false when there is no memory.
 */
bool tbnet2_spans_room(struct tbnet2_spans *q, u32 undecided)
{
	u32 need = q->count + undecided + 2;
	u32 slots = max_t(u32, SPANS_FIRST, q->slots);
	struct tbnet2_span *grown;
	u32 i;

	if (need <= q->slots)
		return true;
	while (slots < need)
		slots *= 2;
	grown = tbnet2_alloc(slots * sizeof(*grown));
	if (!grown)
		return false;
	for (i = 0; i < q->count; i++)
		grown[i] = q->ring[(q->head + i) & (q->slots - 1)];
	tbnet2_free(q->ring);
	q->ring = grown;
	q->slots = slots;
	q->head = 0;
	return true;
}

/**
 * tbnet2_spans_push_back() - add a span behind all others
 * @q: the queue, which has room
 * @s: the span
 */
void tbnet2_spans_push_back(struct tbnet2_spans *q, struct tbnet2_span s)
{
	q->ring[(q->head + q->count) & (q->slots - 1)] = s;
	q->count++;
	q->bytes += s.n;
}

/**
 * tbnet2_spans_push_front() - add a span before all others
 * @q: the queue, which has room
 * @s: the span
 */
void tbnet2_spans_push_front(struct tbnet2_spans *q, struct tbnet2_span s)
{
	q->head--;
	q->ring[q->head & (q->slots - 1)] = s;
	q->count++;
	q->bytes += s.n;
}

/**
 * tbnet2_spans_take() - remove bytes of the oldest span, and it with its last
 * @q: the queue, not empty
 * @n: bytes, at most the span's
 */
void tbnet2_spans_take(struct tbnet2_spans *q, s32 n)
{
	struct tbnet2_span *s = tbnet2_spans_front(q);

	s->off += n;
	s->n -= n;
	q->bytes -= n;
	if (!s->n) {
		q->head++;
		q->count--;
	}
}
