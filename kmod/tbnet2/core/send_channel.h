/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * One sequence space, seen by the sender.
 */
#ifndef TBNET2_CORE_SEND_CHANNEL_H
#define TBNET2_CORE_SEND_CHANNEL_H

#include "packet.h"

/* A packet that was begun and the bytes begun before it. */
struct tbnet2_open {
	struct tbnet2_packet *packet;
	u64 start;
};

/**
 * struct tbnet2_send_channel - a channel
 * @head: packets not cut to the end yet, oldest first
 * @tail: the last of them
 * @next: number of the next packet to be begun
 * @acked: every packet before it is done with, by the peer's word
 * @bytes: of packets begun
 * @limit: @bytes may grow to this
 * @open: packets [acked, next); NULL before the first packet
 * @slots: of @open, a power of two
 * @deficit: bytes of its turn left
 * @skip: packets before it are given up
 * @skip_at: when that is told next
 */
struct tbnet2_send_channel {
	struct tbnet2_packet *head;
	struct tbnet2_packet *tail;
	u32 next;
	u32 acked;
	u64 bytes;
	u64 limit;
	struct tbnet2_open *open;
	u32 slots;
	s64 deficit;
	u32 skip;
	s64 skip_at;
};

static inline struct tbnet2_open *tbnet2_channel_slot(const struct tbnet2_send_channel *c,
						      u32 seq)
{
	return &c->open[seq & (c->slots - 1)];
}

/* Bytes begun before packet seq, which is in [acked, next]. */
static inline u64 tbnet2_channel_start(const struct tbnet2_send_channel *c, u32 seq)
{
	return seq == c->next ? c->bytes : tbnet2_channel_slot(c, seq)->start;
}

bool tbnet2_channel_may_begin(const struct tbnet2_send_channel *c, const struct tbnet2_packet *p);
void tbnet2_channel_begin(struct tbnet2_send_channel *c, s64 usable, struct tbnet2_packet *p);
void tbnet2_channel_push(struct tbnet2_send_channel *c, struct tbnet2_packet *p);
void tbnet2_channel_pop(struct tbnet2_send_channel *c);
void tbnet2_channel_close(struct tbnet2_send_channel *c, const struct tbnet2_packet *p);

#endif /* TBNET2_CORE_SEND_CHANNEL_H */
