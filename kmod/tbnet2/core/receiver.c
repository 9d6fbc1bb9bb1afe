// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * A frame is checked once, its rail sequence followed, and its content taken.
 */
#include "receiver.h"

/* Bytes of a DATA frame that must be linear. */
#define DATA_LINEAR (TBNET2_HEADER_LEN + TBNET2_DATA_LEN + TBNET2_OFFLOAD_LEN)

/* Most runs of new units that one fragment may hold. */
#define RUNS_MOST (TBNET2_PACKET_MAX / TBNET2_UNIT / 2 + 1)

/**
 * tbnet2_receiver_init() - begin without rails
 * @r: the receive half, zeroed
 * @cfg: of the association, defaults filled in
 * @now: the time
 */
void tbnet2_receiver_init(struct tbnet2_receiver *r, const struct tbnet2_config *cfg, s64 now)
{
	u32 ch;

	r->cfg = *cfg;
	r->ack_since = TBNET2_NEVER;
	r->due = now;
	for (ch = 0; ch < TBNET2_CHANNELS; ch++)
		r->channels[ch].hole_since = TBNET2_NEVER;
}

/**
 * tbnet2_drop_of() - the reason to drop for what is wrong with bytes
 * @err: not TBNET2_WIRE_OK
 */
enum tbnet2_drop tbnet2_drop_of(enum tbnet2_wire_error err)
{
	switch (err) {
	case TBNET2_WIRE_VERSION:
		return TBNET2_DROP_VERSION;
	case TBNET2_WIRE_TYPE:
	case TBNET2_WIRE_RESERVED:
		return TBNET2_DROP_TYPE;
	default:
		return TBNET2_DROP_SHORT;
	}
}

/*
 * Adds the time that this host itself was stopped to all deadlines. That a
 * tick is late shows it, to whatever is called first.
 */
static void notice_stall(struct tbnet2_receiver *r, s64 now)
{
	s64 late = now - r->due;
	u32 ch;

	if (late <= OWN_STALL)
		return;
	r->stalled += late;
	r->due = now;
	for (ch = 0; ch < TBNET2_CHANNELS; ch++)
		if (r->channels[ch].hole_since != TBNET2_NEVER)
			r->channels[ch].hole_since += late;
}

/* Checks a frame's CRC as far as one is asked for. */
static bool is_intact(struct tbnet2_receiver *r, const struct tbnet2_arrival *at)
{
	u32 len = TBNET2_HEADER_LEN + at->h.length;
	u32 linear = min(len, at->rx->linear);
	u32 crc;

	if (!(at->h.flags & TBNET2_F_CRC)) {
		if (r->cfg.require_crc && !at->rail->trust_link)
			return tbnet2_drop(r, TBNET2_DROP_NO_CRC);
		return true;
	}
	crc = tbnet2_crc_begin(at->rx->head, linear);
	if (linear < len)
		crc = r->cfg.ops->rx_crc(r->cfg.context, crc, at->rx, linear, len - linear);
	return ~crc == at->h.crc || tbnet2_drop(r, TBNET2_DROP_CRC);
}

/*
 * Notes that the peer is alive on a rail; if that is news, a tick tells the
 * send half.
 */
static void hear(struct tbnet2_receiver *r, s64 now, struct tbnet2_recv_rail *rail)
{
	s64 run = now - r->stalled;

	if (!rail->heard || run - rail->heard_at >= DOWN_AFTER)
		r->due = min(r->due, now);
	rail->heard_at = run;
	rail->heard = true;
}

/* Follows what is owed to the sender of a frame. */
static void note_ack(struct tbnet2_receiver *r, const struct tbnet2_arrival *at, bool gap)
{
	if (gap) {
		at->rail->news = true;
		r->ack_now = true;
		r->stats.gaps++;
	}
	if (!tbnet2_is_ledgered(at->h.type))
		return;
	at->rail->news = true;
	r->ack_frames++;
	if (r->ack_since == TBNET2_NEVER) {
		r->ack_since = at->now;
		r->due = min_t(s64, r->due, at->now + ACK_DELAY);
	}
	if (at->h.flags & TBNET2_F_ACK || r->ack_frames >= ACK_FRAMES)
		r->ack_now = true;
}

/* Passes a PING, PONG or ACK on to the send half. */
static bool take_state(struct tbnet2_receiver *r, const struct tbnet2_arrival *at)
{
	struct tbnet2_inbox *in = at->in;
	const u8 *body = at->rx->head + TBNET2_HEADER_LEN;
	struct tbnet2_state_frame *f;
	u32 stamp;

	if (at->h.length < TBNET2_STATE_LEN)
		return tbnet2_drop(r, TBNET2_DROP_SHORT);
	stamp = tbnet2_get32(body);
	tbnet2_transit_sample(&at->rail->transit, at->now, stamp);
	f = &in->states[in->stated.count++];
	f->rail = at->rail->id;
	f->type = at->h.type;
	f->body.at = body;
	f->body.left = at->h.length;
	if (at->h.type == TBNET2_PING) {
		struct tbnet2_ping *p = &in->pings[in->pinged.count++];

		p->rail = at->rail->id;
		p->stamp = stamp;
		r->pinged = true;
	}
	return true;
}

/* Takes the content of a frame; false if it was dropped. */
static bool dispatch(struct tbnet2_receiver *r, const struct tbnet2_arrival *at)
{
	switch (at->h.type) {
	case TBNET2_DATA:
		return tbnet2_take_data(r, at);
	case TBNET2_POSITION:
		return tbnet2_take_positions(r, at);
	case TBNET2_SKIP:
		return tbnet2_take_skips(r, at);
	case TBNET2_RAILSET:
		return tbnet2_take_railset(r, at);
	default:
		return take_state(r, at);
	}
}

/*
 * Makes place for all that a frame may bring. What is refused here has not
 * touched the rail sequence: it is lost, and sent again.
 */
static bool reserve(struct tbnet2_receiver *r, struct tbnet2_inbox *in)
{
	u32 n = RUNS_MOST;

	if (r->cfg.class == TBNET2_ORDERED)
		n = (u32)r->stats.parked_packets + 1;
	if (tbnet2_inbox_reserve(in, n))
		return true;
	r->stats.no_memory++;
	return tbnet2_drop(r, TBNET2_DROP_MEMORY);
}

/* Checks a frame and follows its rail sequence; false if it was dropped. */
static bool admit(struct tbnet2_receiver *r, struct tbnet2_arrival *at)
{
	struct tbnet2_recv_rail *rail = at->rail;
	u64 lost, late;
	bool gap, ok;
	u32 linear;

	if (!rail || at->h.index != r->cfg.local_index || at->h.type < TBNET2_PING)
		return tbnet2_drop(r, TBNET2_DROP_FIELD);
	linear = TBNET2_HEADER_LEN + at->h.length;
	if (at->h.type == TBNET2_DATA)
		linear = min_t(u32, linear, DATA_LINEAR);
	if (at->rx->linear < linear)
		return tbnet2_drop(r, TBNET2_DROP_SHORT); /* not as struct tbnet2_rx says */
	if (!is_intact(r, at) || !reserve(r, at->in))
		return false;
	lost = rail->lost;
	late = rail->reordered;
	ok = tbnet2_recv_rail_arrive(rail, at->h.rail_seq, tbnet2_is_ledgered(at->h.type), &gap);
	r->stats.lost_frames += rail->lost - lost;
	r->stats.rail_reordered += rail->reordered - late;
	if (!ok)
		return tbnet2_drop(r, TBNET2_DROP_RAIL_SEQ);
	rail->frames++;
	rail->bytes += TBNET2_HEADER_LEN + at->h.length;
	hear(r, at->now, rail);
	note_ack(r, at, gap);
	return true;
}

/**
 * tbnet2_receiver_take() - take one frame from a rail
 * @r: the receive half
 * @now: the time
 * @rail: our id
 * @rx: the frame
 * @in: takes what it brings
 */
void tbnet2_receiver_take(struct tbnet2_receiver *r, s64 now, u8 rail,
			  const struct tbnet2_rx *rx, struct tbnet2_inbox *in)
{
	struct tbnet2_arrival at = { .rx = rx, .now = now, .in = in };
	enum tbnet2_wire_error err;

	notice_stall(r, now);
	r->stats.frames++;
	r->stats.bytes += rx->len;
	err = tbnet2_get_header(rx->head, rx->len, &at.h);
	if (err) {
		tbnet2_drop(r, tbnet2_drop_of(err));
		return;
	}
	if (rail < TBNET2_RAILS_MAX)
		at.rail = r->rails[rail];
	if (!admit(r, &at))
		return;
	if (dispatch(r, &at))
		r->stats.taken++;
	if (r->starved) {
		r->starved = false;
		r->ack_now = true;
		tbnet2_recv_rail_refuse(at.rail, at.h.rail_seq);
	}
}

/**
 * tbnet2_heard_here() - the rails on which the peer was heard lately, by our ids
 * @r: the receive half
 * @now: the time
 */
u64 tbnet2_heard_here(const struct tbnet2_receiver *r, s64 now)
{
	u64 set = r->rail_set, heard = 0;
	u8 id;

	tbnet2_for_each_rail(id, set) {
		const struct tbnet2_recv_rail *rail = r->rails[id];

		if (rail->heard && now - r->stalled - rail->heard_at < DOWN_AFTER)
			heard |= tbnet2_bit(id);
	}
	return heard;
}

/*
 * When time will ask for something again: a PING, a rail gone silent, a hole
 * to be given up.
 */
static s64 next_tick(const struct tbnet2_receiver *r, s64 now)
{
	s64 next = now + PING_INTERVAL;
	u64 set = r->rail_set;
	u32 ch;
	u8 id;

	tbnet2_for_each_rail(id, set) {
		const struct tbnet2_recv_rail *rail = r->rails[id];
		s64 silent = rail->heard_at + DOWN_AFTER + r->stalled;

		if (rail->heard && silent > now)
			next = min(next, silent);
	}
	for (ch = 0; ch < TBNET2_CHANNELS; ch++) {
		s64 since = r->channels[ch].hole_since;

		if (since != TBNET2_NEVER)
			next = min_t(s64, next, max_t(s64, now + BUSY_TICK, since + HOLE_TIMEOUT));
	}
	return next;
}

/**
 * tbnet2_receiver_tick() - do what time asks of the receive half
 * @r: the receive half
 * @now: the time
 * @in: takes what it brings, and always the whole state, for the send half is
 *	about to send PINGs
 */
void tbnet2_receiver_tick(struct tbnet2_receiver *r, s64 now, struct tbnet2_inbox *in)
{
	notice_stall(r, now);
	tbnet2_expire_holes(r, now, in);
	in->ack = in->ack || r->ack_now || r->ack_since != TBNET2_NEVER;
	tbnet2_owe_all(r, now, in);
	in->heard_here = tbnet2_heard_here(r, now);
	r->due = next_tick(r, now);
}
