/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Ranges of packets that have to be sent again, oldest first.
 */
#ifndef TBNET2_CORE_RANGES_H
#define TBNET2_CORE_RANGES_H

#include "packet.h"

/* A range of a packet, and the rail that it was on. */
struct tbnet2_span {
	struct tbnet2_packet *packet;
	s32 off;
	s32 n;
	u8 rail;
};

/* A ring of them; slots is a power of two or 0. */
struct tbnet2_spans {
	struct tbnet2_span *ring;
	u32 slots;
	u32 head;
	u32 count;
	s64 bytes;
};

/* The oldest span; the queue is not empty. */
static inline struct tbnet2_span *tbnet2_spans_front(const struct tbnet2_spans *q)
{
	return &q->ring[q->head & (q->slots - 1)];
}

bool tbnet2_spans_room(struct tbnet2_spans *q, u32 undecided);
void tbnet2_spans_push_back(struct tbnet2_spans *q, struct tbnet2_span s);
void tbnet2_spans_push_front(struct tbnet2_spans *q, struct tbnet2_span s);
void tbnet2_spans_take(struct tbnet2_spans *q, s32 n);

#endif /* TBNET2_CORE_RANGES_H */
