// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * The state that the peer is owed [5].
 */
#include "receiver.h"

/* Bytes that rail blocks may take, so that all channel blocks fit beside. */
#define RAILS_END (STATE_BYTES - TBNET2_CHANNELS * TBNET2_CHANNEL_ACK_LEN)

/* The rails on which the peer was heard lately, by its ids. */
static u64 heard_there(const struct tbnet2_receiver *r, s64 now)
{
	u64 set = tbnet2_heard_here(r, now), heard = 0;
	u8 id;

	tbnet2_for_each_rail(id, set)
		heard |= tbnet2_bit(r->rails[id]->peer_id);
	return heard;
}

/* The least one-way time of all rails. */
static s32 base_transit(const struct tbnet2_receiver *r)
{
	u64 set = r->rail_set;
	bool found = false;
	s32 least = 0, t;
	u8 id;

	tbnet2_for_each_rail(id, set) {
		if (!tbnet2_transit_value(&r->rails[id]->transit, &t))
			continue;
		if (!found || (s32)((u32)t - (u32)least) < 0)
			least = t;
		found = true;
	}
	return least;
}

/*
 * Adds rail blocks while they fit; what does not comes first the next time.
 * Gives the end of what is written.
 */
static u32 put_rails(struct tbnet2_receiver *r, u8 *state, struct tbnet2_state_head *st, bool all)
{
	u32 n = hweight64(r->rail_set), end = TBNET2_STATE_LEN, i;
	s32 base = base_transit(r);

	for (i = 0; i < n; i++) {
		u32 turn = (r->rail_turn + i) % n;
		struct tbnet2_recv_rail *rail = r->rails[tbnet2_nth_rail(r->rail_set, turn)];
		struct tbnet2_rail_block a;

		if (!all && !rail->news)
			continue;
		if (end + TBNET2_RAIL_ACK_LEN + rail->gap_count * TBNET2_GAP_LEN > RAILS_END) {
			r->rail_turn = turn;
			break;
		}
		tbnet2_recv_rail_ack(rail, &a);
		a.delay = tbnet2_recv_rail_excess(rail, base);
		end += tbnet2_put_rail_block(state + end, &a);
		st->rails++;
	}
	return end;
}

/*
 * What every channel may be sent beyond what it holds, bytes: an equal part of
 * the memory that is left, so that the peer slows down before frames have to
 * be dropped. One packet always may.
 */
static s64 channel_room(const struct tbnet2_receiver *r)
{
	s64 left, active = 0;
	u32 ch;

	if (r->cfg.class != TBNET2_ORDERED)
		return r->cfg.window;
	left = r->cfg.ops->room(r->cfg.context);
	if (left >= TBNET2_CHANNELS * r->cfg.window)
		return r->cfg.window;
	for (ch = 0; ch < TBNET2_CHANNELS; ch++)
		active += r->channels[ch].active;
	return max_t(s64, TBNET2_PACKET_MAX, div64_s64(left, max_t(s64, 1, active)));
}

static u32 put_channels(struct tbnet2_receiver *r, u8 *state, u32 end,
			struct tbnet2_state_head *st, bool all)
{
	s64 room = channel_room(r);
	u8 ch;

	for (ch = 0; ch < TBNET2_CHANNELS; ch++) {
		struct tbnet2_recv_channel *c = &r->channels[ch];
		s64 window = min_t(s64, r->cfg.window - c->backlog, c->held + room);
		struct tbnet2_channel_block a = {
			.channel = ch,
			.next = c->next,
			.window = (u32)max_t(s64, 0, window),
		};

		if (!c->news && !all)
			continue;
		c->news = false;
		tbnet2_put_channel_block(state + end, &a);
		end += TBNET2_CHANNEL_ACK_LEN;
		st->channels++;
	}
	return end;
}

/* Writes the state: all rails and channels, or only those with news. */
static void encode(struct tbnet2_receiver *r, s64 now, struct tbnet2_inbox *in, bool all)
{
	struct tbnet2_state_head st = {
		.heard = heard_there(r, now),
		.generation = r->generation,
	};
	u32 end = put_rails(r, in->state, &st, all);

	in->state_len = put_channels(r, in->state, end, &st, all);
	tbnet2_put_state(in->state, &st);
	r->ack_now = false;
	r->pinged = false;
	r->ack_since = TBNET2_NEVER;
	r->ack_frames = 0;
	r->stats.acks_sent++;
}

/**
 * tbnet2_owe_all() - write the whole state
 * @r: the receive half
 * @now: the time
 * @in: takes it
 */
void tbnet2_owe_all(struct tbnet2_receiver *r, s64 now, struct tbnet2_inbox *in)
{
	encode(r, now, in, true);
}

/**
 * tbnet2_owe() - write what the peer must be told, if it is due; ends a batch
 * @r: the receive half
 * @now: the time
 * @in: takes it
 */
void tbnet2_owe(struct tbnet2_receiver *r, s64 now, struct tbnet2_inbox *in)
{
	u64 set = r->rail_set;
	bool overdue;
	u8 id;

	tbnet2_for_each_rail(id, set)
		r->rails[id]->sampled = false;
	overdue = r->ack_since != TBNET2_NEVER && now - r->ack_since >= ACK_DELAY;
	if (!r->ack_now && !r->pinged && !overdue)
		return;
	in->ack = r->ack_now || overdue;
	encode(r, now, in, r->pinged);
}
