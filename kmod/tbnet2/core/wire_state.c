// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * The body of PING, PONG and ACK.
 */
#include "wire.h"

/**
 * tbnet2_get_state() - read the head of a state
 * @c: the body; moved behind the head
 * @s: filled in
 */
enum tbnet2_wire_error tbnet2_get_state(struct tbnet2_cursor *c, struct tbnet2_state_head *s)
{
	const u8 *b = c->at;

	if (c->left < TBNET2_STATE_LEN)
		return TBNET2_WIRE_SHORT;
	if (b[22] | b[23])
		return TBNET2_WIRE_RESERVED;
	s->stamp = tbnet2_get32(b);
	s->echo = tbnet2_get32(b + offsetof(struct tbnet2_state, echo));
	s->heard = tbnet2_get64(b + offsetof(struct tbnet2_state, heard));
	s->generation = tbnet2_get32(b + offsetof(struct tbnet2_state, generation));
	s->rails = b[offsetof(struct tbnet2_state, rails)];
	s->channels = b[offsetof(struct tbnet2_state, channels)];
	c->at += TBNET2_STATE_LEN;
	c->left -= TBNET2_STATE_LEN;
	return TBNET2_WIRE_OK;
}

/**
 * tbnet2_put_state() - write the head of a state
 * @b: TBNET2_STATE_LEN bytes
 * @s: what they shall say
 */
void tbnet2_put_state(u8 *b, const struct tbnet2_state_head *s)
{
	tbnet2_put32(s->stamp, b);
	tbnet2_put32(s->echo, b + offsetof(struct tbnet2_state, echo));
	tbnet2_put64(s->heard, b + offsetof(struct tbnet2_state, heard));
	tbnet2_put32(s->generation, b + offsetof(struct tbnet2_state, generation));
	b[offsetof(struct tbnet2_state, rails)] = s->rails;
	b[offsetof(struct tbnet2_state, channels)] = s->channels;
	tbnet2_put16(0, b + offsetof(struct tbnet2_state, reserved));
}

/* Gaps come newest last, do not touch or overlap, and lie within depth. */
static enum tbnet2_wire_error get_gaps(const u8 *b, struct tbnet2_rail_block *a)
{
	u16 left = a->depth; /* sequences before next not spoken for by an older gap */
	u32 i;

	for (i = 0; i < a->count; i++) {
		struct tbnet2_lost g;

		g.back = tbnet2_get16(b + i * TBNET2_GAP_LEN);
		g.count = tbnet2_get16(b + i * TBNET2_GAP_LEN + 2);
		if (g.back > left || !g.count || g.count > g.back)
			return TBNET2_WIRE_RESERVED;
		left = (u16)(g.back - g.count);
		a->gaps[i] = g;
	}
	return TBNET2_WIRE_OK;
}

/**
 * tbnet2_get_rail_block() - take the first rail block off a state
 * @c: the blocks; moved behind the block and its gaps
 * @a: filled in
 */
enum tbnet2_wire_error tbnet2_get_rail_block(struct tbnet2_cursor *c, struct tbnet2_rail_block *a)
{
	const u8 *b = c->at;
	enum tbnet2_wire_error err;
	u32 n;

	if (c->left < TBNET2_RAIL_ACK_LEN)
		return TBNET2_WIRE_SHORT;
	a->rail = b[0];
	a->count = b[1];
	a->depth = tbnet2_get16(b + offsetof(struct tbnet2_rail_ack, depth));
	a->next = tbnet2_get32(b + offsetof(struct tbnet2_rail_ack, next));
	a->credit = tbnet2_get32(b + offsetof(struct tbnet2_rail_ack, credit));
	a->delay = tbnet2_get32(b + offsetof(struct tbnet2_rail_ack, delay));
	if (a->rail >= TBNET2_RAILS_MAX || a->count > TBNET2_GAPS_MAX)
		return TBNET2_WIRE_RESERVED;
	n = TBNET2_RAIL_ACK_LEN + a->count * TBNET2_GAP_LEN;
	if (c->left < n)
		return TBNET2_WIRE_SHORT;
	err = get_gaps(b + TBNET2_RAIL_ACK_LEN, a);
	if (err)
		return err;
	c->at += n;
	c->left -= n;
	return TBNET2_WIRE_OK;
}

/**
 * tbnet2_put_rail_block() - write a rail block and its gaps
 * @b: TBNET2_RAIL_ACK_LEN + @a->count * TBNET2_GAP_LEN bytes
 * @a: what they shall say
 *
 * Return: the bytes written.
 */
u32 tbnet2_put_rail_block(u8 *b, const struct tbnet2_rail_block *a)
{
	u32 i;

	b[0] = a->rail;
	b[1] = a->count;
	tbnet2_put16(a->depth, b + offsetof(struct tbnet2_rail_ack, depth));
	tbnet2_put32(a->next, b + offsetof(struct tbnet2_rail_ack, next));
	tbnet2_put32(a->credit, b + offsetof(struct tbnet2_rail_ack, credit));
	tbnet2_put32(a->delay, b + offsetof(struct tbnet2_rail_ack, delay));
	b += TBNET2_RAIL_ACK_LEN;
	for (i = 0; i < a->count; i++, b += TBNET2_GAP_LEN) {
		tbnet2_put16(a->gaps[i].back, b);
		tbnet2_put16(a->gaps[i].count, b + 2);
	}
	return TBNET2_RAIL_ACK_LEN + a->count * TBNET2_GAP_LEN;
}

/**
 * tbnet2_get_channel_block() - take the first channel block off a state
 * @c: the blocks; moved behind the block
 * @a: filled in
 */
enum tbnet2_wire_error tbnet2_get_channel_block(struct tbnet2_cursor *c,
						struct tbnet2_channel_block *a)
{
	const u8 *b = c->at;

	if (c->left < TBNET2_CHANNEL_ACK_LEN)
		return TBNET2_WIRE_SHORT;
	if (b[0] >= TBNET2_CHANNELS || b[1] | b[2] | b[3])
		return TBNET2_WIRE_RESERVED;
	a->channel = b[0];
	a->next = tbnet2_get32(b + offsetof(struct tbnet2_channel_ack, next));
	a->window = tbnet2_get32(b + offsetof(struct tbnet2_channel_ack, window));
	c->at += TBNET2_CHANNEL_ACK_LEN;
	c->left -= TBNET2_CHANNEL_ACK_LEN;
	return TBNET2_WIRE_OK;
}

/**
 * tbnet2_put_channel_block() - write a channel block
 * @b: TBNET2_CHANNEL_ACK_LEN bytes
 * @a: what they shall say
 */
void tbnet2_put_channel_block(u8 *b, const struct tbnet2_channel_block *a)
{
	tbnet2_put32(a->channel, b);
	tbnet2_put32(a->next, b + offsetof(struct tbnet2_channel_ack, next));
	tbnet2_put32(a->window, b + offsetof(struct tbnet2_channel_ack, window));
}
