/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * One speaker's end of a pair of endpoints: no clock, no lock, no device. The
 * two halves may be guarded by two locks; where a call needs both, the receive
 * half's is taken first. Times are of the caller's monotonic clock.
 */
#ifndef TBNET2_CORE_ASSOCIATION_H
#define TBNET2_CORE_ASSOCIATION_H

#include "receiver.h"
#include "sender.h"

/**
 * struct tbnet2_association - an association
 * @send: send half
 * @recv: receive half
 * @alive_at: send half, running clock: when some rail was last up
 * @dead: send half: it was told that the association has ended
 */
struct tbnet2_association {
	struct tbnet2_sender send;
	struct tbnet2_receiver recv;
	s64 alive_at;
	bool dead;
};

/* Both halves. */
struct tbnet2_association *tbnet2_new(const struct tbnet2_config *cfg, s64 now);
int tbnet2_add_rail(struct tbnet2_association *a, s64 now, const struct tbnet2_rail_config *c);
void tbnet2_remove_rail(struct tbnet2_association *a, s64 now, u8 rail, struct tbnet2_inbox *in);
void tbnet2_close(struct tbnet2_association *a);
void tbnet2_destroy(struct tbnet2_association *a);

/* Send half. */
void tbnet2_set_carrier(struct tbnet2_association *a, s64 now, u8 rail, bool up,
			struct tbnet2_inbox *in);
void tbnet2_set_enabled(struct tbnet2_association *a, s64 now, u8 rail, bool on,
			struct tbnet2_inbox *in);
void tbnet2_set_use(struct tbnet2_association *a, s64 now, u64 use);
void tbnet2_set_weight(struct tbnet2_association *a, u8 rail, u32 weight);
int tbnet2_set_mtu(struct tbnet2_association *a, s64 now, u8 rail, u32 mtu);
int tbnet2_send(struct tbnet2_association *a, struct tbnet2_packet *p);
bool tbnet2_transmit(struct tbnet2_association *a, s64 now, struct tbnet2_burst *b);
void tbnet2_unsent(struct tbnet2_association *a, u8 rail, struct tbnet2_burst *b, u32 n);
void tbnet2_writable(struct tbnet2_association *a, u8 rail);
void tbnet2_apply(struct tbnet2_association *a, s64 now, struct tbnet2_inbox *in);
void tbnet2_tick_send(struct tbnet2_association *a, s64 now, struct tbnet2_inbox *in);
u64 tbnet2_up_rails(const struct tbnet2_association *a);

/* Receive half. */
void tbnet2_receive(struct tbnet2_association *a, s64 now, u8 rail, const struct tbnet2_rx *rx,
		    struct tbnet2_inbox *in);
void tbnet2_end_receive(struct tbnet2_association *a, s64 now, struct tbnet2_inbox *in);
void tbnet2_consumed(struct tbnet2_association *a, u8 ch, s64 n);
void tbnet2_tick_receive(struct tbnet2_association *a, s64 now, struct tbnet2_inbox *in);

#endif /* TBNET2_CORE_ASSOCIATION_H */
