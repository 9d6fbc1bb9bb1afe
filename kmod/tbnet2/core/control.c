// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * PING, PONG and ACK, and the order in which control frames go.
 */
#include "sender.h"

/**
 * tbnet2_control_take() - pick up what the receive half wants said
 * @c: what waits to be said
 * @in: from the receive half
 */
void tbnet2_control_take(struct tbnet2_control_queue *c, const struct tbnet2_inbox *in)
{
	u32 i;

	if (!in->state_len)
		return;
	memcpy(c->state, in->state, in->state_len);
	c->state_len = in->state_len;
	c->ack_due = c->ack_due || in->ack;
	for (i = 0; i < in->pinged.count && c->pong_count < PONGS_MOST; i++)
		c->pongs[c->pong_count++] = in->pings[i];
}

/**
 * tbnet2_put_control() - write the header of a control frame
 * @s: the send half
 * @head: where
 * @type: of the frame
 * @r: its rail
 * @size: bytes of the frame
 */
void tbnet2_put_control(struct tbnet2_sender *s, u8 *head, u8 type,
			const struct tbnet2_send_rail *r, u32 size)
{
	struct tbnet2_header h = {
		.type = type,
		.length = (u16)(size - TBNET2_HEADER_LEN),
		.index = s->cfg.peer_index,
		.rail_seq = r->ledger.next,
	};

	tbnet2_put_header(head, &h);
	s->stats.control_frames++;
}

/*
 * Adds a PING, PONG or ACK, padded to size bytes if that is more; false when
 * the burst is full.
 */
static bool add_state(struct tbnet2_sender *s, s64 now, struct tbnet2_burst *b,
		      struct tbnet2_send_rail *r, u8 type, u32 echo, u32 size)
{
	const struct tbnet2_control_queue *c = &s->control;
	u32 n = TBNET2_HEADER_LEN + max(c->state_len, TBNET2_STATE_LEN);
	struct tbnet2_burst_frame f = { .head_len = n };
	u8 *body;

	if (!tbnet2_burst_room(b, n))
		return false;
	f.head = tbnet2_burst_head(b, n);
	body = f.head + TBNET2_HEADER_LEN;
	memset(body, 0, TBNET2_STATE_LEN);
	memcpy(body, c->state, c->state_len);
	tbnet2_put32(tbnet2_stamp(now), body);
	tbnet2_put32(echo, body + offsetof(struct tbnet2_state, echo));
	if (size > n)
		f.pad = size - n;
	tbnet2_put_control(s, f.head, type, r, n + f.pad);
	tbnet2_burst_add(b, r->cfg.id, f);
	return true;
}

static bool send_pongs(struct tbnet2_sender *s, s64 now, struct tbnet2_burst *b)
{
	struct tbnet2_control_queue *c = &s->control;

	for (; c->pong_count; c->pong_count--) {
		struct tbnet2_ping p = c->pongs[c->pong_count - 1];
		struct tbnet2_send_rail *r = s->rails[p.rail];

		if (!r || r->busy)
			continue;
		if (!add_state(s, now, b, r, TBNET2_PONG, p.stamp, 0))
			return false;
		c->ack_due = false;
	}
	return true;
}

static bool send_pings(struct tbnet2_sender *s, s64 now, struct tbnet2_burst *b)
{
	s64 run = tbnet2_running(s, now);
	u64 set = s->rail_set;
	u8 id;

	tbnet2_for_each_rail(id, set) {
		struct tbnet2_send_rail *r = s->rails[id];
		u32 size = 0;

		if (!r->health.ping_due || r->busy)
			continue;
		if (r->probe.size && run >= r->probe.due)
			size = r->probe.size;
		if (!add_state(s, now, b, r, TBNET2_PING, 0, size))
			return false;
		if (size) {
			s->stats.probes++;
			tbnet2_probe_sent(&r->probe, run, tbnet2_stamp(now));
		}
		r->health.ping_due = false;
		r->health.ping_at = run + PING_INTERVAL;
	}
	return true;
}

/* A rail on which the peer may hear us though no data may go. */
static struct tbnet2_send_rail *any_live(struct tbnet2_sender *s)
{
	u64 set = s->rail_set;
	u8 id;

	tbnet2_for_each_rail(id, set) {
		struct tbnet2_send_rail *r = s->rails[id];

		if (r->health.carrier && r->health.enabled && r->health.here && !r->busy)
			return r;
	}
	return NULL;
}

/**
 * tbnet2_ack_rail() - the quickest rail, and every few times another one: if the
 *	first loses all we send, the peer hears the rest
 * @s: the send half
 *
 * Return: NULL when there is none.
 */
struct tbnet2_send_rail *tbnet2_ack_rail(struct tbnet2_sender *s)
{
	const struct tbnet2_control_queue *c = &s->control;
	struct tbnet2_send_rail *best = NULL;
	u32 i;

	for (i = 0; i < s->active_count; i++) {
		struct tbnet2_send_rail *r = s->active[i];

		if (!r->busy && (!best || tbnet2_rail_expected(r, STATE_BYTES) <
				 tbnet2_rail_expected(best, STATE_BYTES)))
			best = r;
	}
	if (!best)
		return any_live(s);
	if (c->acks % ACK_DETOUR == ACK_DETOUR - 1) {
		struct tbnet2_send_rail *other = s->active[c->acks / ACK_DETOUR % s->active_count];

		if (!other->busy)
			return other;
	}
	return best;
}

static bool send_ack(struct tbnet2_sender *s, s64 now, struct tbnet2_burst *b)
{
	struct tbnet2_control_queue *c = &s->control;
	struct tbnet2_send_rail *r;

	if (!c->ack_due)
		return true;
	r = tbnet2_ack_rail(s);
	if (!r)
		return true; /* kept until a rail is there */
	if (!add_state(s, now, b, r, TBNET2_ACK, 0, 0))
		return false;
	c->ack_due = false;
	c->acks++;
	return true;
}

/**
 * tbnet2_send_control() - add the control frames that are due
 * @s: the send half
 * @now: the time
 * @b: takes them
 *
 * Return: false when the burst is full.
 */
bool tbnet2_send_control(struct tbnet2_sender *s, s64 now, struct tbnet2_burst *b)
{
	return send_pongs(s, now, b) && send_pings(s, now, b) && send_ack(s, now, b) &&
	       tbnet2_send_railset(s, now, b) && tbnet2_send_skips(s, now, b) &&
	       tbnet2_send_positions(s, now, b);
}
