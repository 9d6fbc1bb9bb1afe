/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * The send half of an association: packets in, frames out, and what the peer
 * says of both. One caller at a time.
 */
#ifndef TBNET2_CORE_SENDER_H
#define TBNET2_CORE_SENDER_H

#include "burst.h"
#include "ranges.h"
#include "send_channel.h"
#include "send_rail.h"

/* What a fragment asks of a rail. */
struct tbnet2_need {
	s32 left;	/* packet bytes that are to go */
	u32 head;	/* bytes of its head */
	u8 channel;	/* for TBNET2_FLOW_HASH */
	bool resent;	/* needs no credit */
};

/**
 * struct tbnet2_ranking - when each rail would deliver a fragment
 * @of: the fragment
 * @most: frame of an active rail, bytes: nothing larger makes a difference
 * @times: by place among the active rails; TBNET2_NEVER: it may not carry it
 * @loaded: place of the rail that was loaded since; -1: none
 * @valid: @times hold for @of
 *
 * So a burst of fragments of one kind asks every rail once, and then only
 * those that it has loaded.
 */
struct tbnet2_ranking {
	struct tbnet2_need of;
	u32 most;
	s64 times[TBNET2_RAILS_MAX];
	int loaded;
	bool valid;
};

/**
 * struct tbnet2_control_queue - what waits to be said besides data
 * @pongs: PINGs that wait for an answer, newest last
 * @pong_count: of @pongs
 * @state_len: bytes of @state
 * @state: newest encoded state: body of PING, PONG and ACK
 * @ack_due: it is to be sent as an ACK
 * @acks: sent, for the detour
 */
struct tbnet2_control_queue {
	struct tbnet2_ping pongs[PONGS_MOST];
	u32 pong_count;
	u32 state_len;
	u8 state[STATE_BYTES];
	bool ack_due;
	u32 acks;
};

/**
 * struct tbnet2_announcement - the rail set that the peer is told, without
 *	retransmission [4]
 * @generation: of the set
 * @acked: newest generation the peer has seen
 * @rails: the set
 * @at: running clock: when it is told next
 */
struct tbnet2_announcement {
	u32 generation;
	u32 acked;
	u64 rails;
	s64 at;
};

/**
 * struct tbnet2_sender - the send half
 * @cfg: of the association
 * @rails: by id
 * @rail_set: which there are
 * @active: rails that may carry data, by id
 * @active_count: of them
 * @active_set: the same as a set
 * @ranking: of the active rails
 * @turn: of TBNET2_ROUND_ROBIN
 * @channels: by number
 * @fresh: channels with packets to cut that just became so
 * @old: the others with packets to cut
 * @channel_turn: which old one is next
 * @undecided: ledger entries of all rails
 * @resend: ranges to be sent again
 * @finished: packets done with, oldest first; done is called when the burst
 *	they are in was sent
 * @finished_tail: where the next is linked in
 * @queued: bytes not cut yet
 * @control: what else is to be said
 * @newest_state: stamp of the newest state applied
 * @any_state: there was one
 * @closed: the association has ended
 * @set: announced rails
 * @cut_at: of the burst being cut, running clock
 * @cut_stamp: the same on the wire
 * @stalled: how long this host itself was stopped
 * @outage: how long no rail could carry data, before @outage_since
 * @outage_since: running clock; TBNET2_NEVER: some rail can
 * @due: of the next tick
 * @stats: counters
 */
struct tbnet2_sender {
	struct tbnet2_config cfg;
	struct tbnet2_send_rail *rails[TBNET2_RAILS_MAX];
	u64 rail_set;
	struct tbnet2_send_rail *active[TBNET2_RAILS_MAX];
	u32 active_count;
	u64 active_set;
	struct tbnet2_ranking ranking;
	u32 turn;
	struct tbnet2_send_channel channels[TBNET2_CHANNELS];
	u16 fresh;
	u16 old;
	u8 channel_turn;
	u32 undecided;
	struct tbnet2_spans resend;
	struct tbnet2_packet *finished;
	struct tbnet2_packet **finished_tail;
	s64 queued;
	struct tbnet2_control_queue control;
	u32 newest_state;
	bool any_state;
	bool closed;
	struct tbnet2_announcement set;
	s64 cut_at;
	u32 cut_stamp;
	s64 stalled;
	s64 outage;
	s64 outage_since;
	s64 due;
	struct tbnet2_send_stats stats;
};

/* The time less what this host itself was stopped. */
static inline s64 tbnet2_running(const struct tbnet2_sender *s, s64 now)
{
	return now - s->stalled;
}

/* sender.c */
void tbnet2_sender_init(struct tbnet2_sender *s, const struct tbnet2_config *cfg, s64 now);
int tbnet2_sender_send(struct tbnet2_sender *s, struct tbnet2_packet *p);
bool tbnet2_sender_room(const struct tbnet2_sender *s, u32 n);
bool tbnet2_sender_transmit(struct tbnet2_sender *s, s64 now, struct tbnet2_burst *b);
void tbnet2_sender_settle(struct tbnet2_sender *s);
void tbnet2_sender_unref(struct tbnet2_sender *s, struct tbnet2_packet *p);
void tbnet2_sender_finish(struct tbnet2_sender *s, struct tbnet2_packet *p,
			  enum tbnet2_outcome outcome);
void tbnet2_sender_drop_span(struct tbnet2_sender *s);
void tbnet2_sender_unsent(struct tbnet2_sender *s, u8 rail, struct tbnet2_burst *b, u32 n);

/* schedule.c */
struct tbnet2_send_rail *tbnet2_pick(struct tbnet2_sender *s, struct tbnet2_need n);
struct tbnet2_send_rail *tbnet2_pick_home(struct tbnet2_sender *s, u8 rail, struct tbnet2_need n);
void tbnet2_pick_begin(struct tbnet2_sender *s);
void tbnet2_refresh_active(struct tbnet2_sender *s);

/* turn.c */
void tbnet2_turn_wake(struct tbnet2_sender *s, u8 ch);
void tbnet2_turn_requeue(struct tbnet2_sender *s, u8 ch);
int tbnet2_turn_next(struct tbnet2_sender *s, u16 stuck);

/* emit.c */
u32 tbnet2_head_len(const struct tbnet2_packet *p, s32 off);
s32 tbnet2_cut_len(struct tbnet2_need n, const struct tbnet2_send_rail *r);
void tbnet2_emit(struct tbnet2_sender *s, struct tbnet2_burst *b, struct tbnet2_send_rail *r,
		 struct tbnet2_packet *p, s32 off, s32 n, u8 flags);
void tbnet2_ask_for_acks(struct tbnet2_sender *s, struct tbnet2_burst *b);
void tbnet2_seal_all(struct tbnet2_sender *s, struct tbnet2_burst *b);

/* acked.c */
void tbnet2_sender_apply(struct tbnet2_sender *s, s64 now, struct tbnet2_inbox *in);
void tbnet2_move_away(struct tbnet2_sender *s, struct tbnet2_send_rail *r);

/* health.c */
void tbnet2_judge(struct tbnet2_sender *s, s64 now, struct tbnet2_send_rail *r,
		  struct tbnet2_inbox *in);
void tbnet2_check_tail(struct tbnet2_sender *s, s64 now, struct tbnet2_send_rail *r,
		       struct tbnet2_inbox *in);
void tbnet2_proved(struct tbnet2_sender *s, s64 now, struct tbnet2_send_rail *r,
		   struct tbnet2_inbox *in);
void tbnet2_membership(struct tbnet2_sender *s, s64 now);
s64 tbnet2_usable(const struct tbnet2_sender *s, s64 now);

/* control.c */
void tbnet2_control_take(struct tbnet2_control_queue *c, const struct tbnet2_inbox *in);
bool tbnet2_send_control(struct tbnet2_sender *s, s64 now, struct tbnet2_burst *b);
struct tbnet2_send_rail *tbnet2_ack_rail(struct tbnet2_sender *s);
void tbnet2_put_control(struct tbnet2_sender *s, u8 *head, u8 type,
			const struct tbnet2_send_rail *r, u32 size);

/* position.c */
void tbnet2_announce_set(struct tbnet2_sender *s);
void tbnet2_apply_generation(struct tbnet2_sender *s, s64 now, u32 generation);
bool tbnet2_send_railset(struct tbnet2_sender *s, s64 now, struct tbnet2_burst *b);
void tbnet2_note_position(struct tbnet2_sender *s, struct tbnet2_send_rail *r,
			  const struct tbnet2_packet *p);
void tbnet2_forget_position(struct tbnet2_sender *s, struct tbnet2_send_rail *r, u16 marks);
bool tbnet2_positions_due(const struct tbnet2_sender *s);
bool tbnet2_send_positions(struct tbnet2_sender *s, s64 now, struct tbnet2_burst *b);

/* skip.c */
void tbnet2_give_up_old(struct tbnet2_sender *s, s64 now);
bool tbnet2_skips_due(const struct tbnet2_sender *s);
bool tbnet2_send_skips(struct tbnet2_sender *s, s64 now, struct tbnet2_burst *b);

/* tick.c */
void tbnet2_sender_tick(struct tbnet2_sender *s, s64 now, u64 heard, struct tbnet2_inbox *in);
void tbnet2_sender_stall(struct tbnet2_sender *s, s64 now);
void tbnet2_sender_close(struct tbnet2_sender *s);

#endif /* TBNET2_CORE_SENDER_H */
