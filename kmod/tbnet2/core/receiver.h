/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * The receive half of an association: frames in, deliveries and
 * acknowledgements out. One caller at a time.
 */
#ifndef TBNET2_CORE_RECEIVER_H
#define TBNET2_CORE_RECEIVER_H

#include "assembly.h"
#include "config.h"
#include "inbox.h"
#include "recv_rail.h"
#include "stats.h"

/**
 * struct tbnet2_recv_channel - one sequence space, seen by the receiver
 * @next: every packet before it is done with
 * @skip: packets before it will not come
 * @slots: packets that are parked; NULL before the first
 * @held: bytes of the packets in @slots
 * @backlog: bytes delivered and not consumed
 * @parked: packets in @slots
 * @hole_since: TBNET2_NEVER: nothing waits behind a hole
 * @active: something came on it
 * @news: something to tell of it
 */
struct tbnet2_recv_channel {
	u32 next;
	u32 skip;
	struct tbnet2_packet_assembly **slots;
	s64 held;
	s64 backlog;
	u32 parked;
	s64 hole_since;
	bool active;
	bool news;
};

/**
 * struct tbnet2_receiver - the receive half
 * @cfg: of the association
 * @rails: by our id
 * @rail_set: which there are
 * @channels: by number
 * @spare: empty assemblies
 * @spares: how many
 * @starved: the frame in hand was dropped for want of memory
 * @generation: newest RAILSET
 * @peer_set: its rails, by the peer's ids
 * @ack_now: something must be told at once
 * @pinged: a PING wants the whole state
 * @ack_since: TBNET2_NEVER: nothing waits to be told
 * @ack_frames: ledgered frames not told of
 * @rail_turn: which rail block comes first
 * @stalled: how long this host itself was stopped
 * @due: of the next tick
 * @stats: counters
 */
struct tbnet2_receiver {
	struct tbnet2_config cfg;
	struct tbnet2_recv_rail *rails[TBNET2_RAILS_MAX];
	u64 rail_set;
	struct tbnet2_recv_channel channels[TBNET2_CHANNELS];
	struct tbnet2_packet_assembly *spare;
	u32 spares;
	bool starved;
	u32 generation;
	u64 peer_set;
	bool ack_now;
	bool pinged;
	s64 ack_since;
	u32 ack_frames;
	u32 rail_turn;
	s64 stalled;
	s64 due;
	struct tbnet2_recv_stats stats;
};

/* A frame that is being taken: where it came, and what it says. */
struct tbnet2_arrival {
	const struct tbnet2_rx *rx;
	struct tbnet2_recv_rail *rail;
	struct tbnet2_header h;
	s64 now;
	struct tbnet2_inbox *in;
};

static inline struct tbnet2_packet_assembly **
tbnet2_parked_slot(const struct tbnet2_receiver *r, const struct tbnet2_recv_channel *c, u32 seq)
{
	return &c->slots[seq & (r->cfg.local_slots - 1)];
}

/* Counts a frame that is not taken. */
static inline bool tbnet2_drop(struct tbnet2_receiver *r, enum tbnet2_drop why)
{
	r->stats.drops[why]++;
	return false;
}

/* receiver.c */
void tbnet2_receiver_init(struct tbnet2_receiver *r, const struct tbnet2_config *cfg, s64 now);
void tbnet2_receiver_take(struct tbnet2_receiver *r, s64 now, u8 rail,
			  const struct tbnet2_rx *rx, struct tbnet2_inbox *in);
void tbnet2_receiver_tick(struct tbnet2_receiver *r, s64 now, struct tbnet2_inbox *in);
u64 tbnet2_heard_here(const struct tbnet2_receiver *r, s64 now);
enum tbnet2_drop tbnet2_drop_of(enum tbnet2_wire_error err);

/* owe.c */
void tbnet2_owe(struct tbnet2_receiver *r, s64 now, struct tbnet2_inbox *in);
void tbnet2_owe_all(struct tbnet2_receiver *r, s64 now, struct tbnet2_inbox *in);

/* recv_channel.c */
bool tbnet2_take_data(struct tbnet2_receiver *r, const struct tbnet2_arrival *at);
void tbnet2_consume(struct tbnet2_receiver *r, u8 ch, s64 n);

/* resequence.c */
struct tbnet2_packet_assembly *tbnet2_park(struct tbnet2_receiver *r,
					   struct tbnet2_recv_channel *c, u32 seq, s32 total);
bool tbnet2_fits(const struct tbnet2_receiver *r, const struct tbnet2_recv_channel *c, s32 total);
void tbnet2_drain(struct tbnet2_receiver *r, s64 now, u8 ch, struct tbnet2_inbox *in);
void tbnet2_deliver(struct tbnet2_receiver *r, struct tbnet2_recv_channel *c,
		    struct tbnet2_inbox *in, struct tbnet2_delivery d);
void tbnet2_release(struct tbnet2_receiver *r, struct tbnet2_recv_channel *c, u32 seq);
void tbnet2_put_buffer(struct tbnet2_receiver *r, struct tbnet2_packet_assembly *a);
void tbnet2_receiver_close(struct tbnet2_receiver *r);

/* proof.c */
bool tbnet2_take_positions(struct tbnet2_receiver *r, const struct tbnet2_arrival *at);
bool tbnet2_take_railset(struct tbnet2_receiver *r, const struct tbnet2_arrival *at);
bool tbnet2_take_skips(struct tbnet2_receiver *r, const struct tbnet2_arrival *at);
void tbnet2_prove(struct tbnet2_receiver *r, s64 now, u8 ch, struct tbnet2_inbox *in);
void tbnet2_expire_holes(struct tbnet2_receiver *r, s64 now, struct tbnet2_inbox *in);

#endif /* TBNET2_CORE_RECEIVER_H */
