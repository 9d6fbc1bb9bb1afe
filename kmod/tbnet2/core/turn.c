// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Whose turn it is among the channels: deficit round robin, and first the
 * channels that just became busy [6].
 */
#include "sender.h"

static void turn_to(struct tbnet2_sender *s, u32 ch)
{
	s->channel_turn = (u8)(ch % TBNET2_CHANNELS);
}

/**
 * tbnet2_turn_wake() - put a channel that has work again ahead of the busy ones,
 *	once
 * @s: the send half
 * @ch: the channel
 */
void tbnet2_turn_wake(struct tbnet2_sender *s, u8 ch)
{
	u16 bit = (u16)(1u << ch);

	if ((s->fresh | s->old) & bit)
		return;
	s->channels[ch].deficit = QUANTUM;
	s->fresh |= bit;
}

/**
 * tbnet2_turn_requeue() - keep the order after a channel has sent a fragment
 * @s: the send half
 * @ch: the channel; once it has used its quantum it goes behind the others
 */
void tbnet2_turn_requeue(struct tbnet2_sender *s, u8 ch)
{
	struct tbnet2_send_channel *c = &s->channels[ch];
	u16 bit = (u16)(1u << ch);

	if (!c->head && s->fresh & bit) {
		s->fresh &= (u16)~bit;
		s->old |= bit; /* until its turn, so that it cannot jump the queue at once */
	} else if (!c->head) {
		s->old &= (u16)~bit;
	} else if (c->deficit <= 0) {
		c->deficit += QUANTUM;
		s->fresh &= (u16)~bit;
		s->old |= bit;
		turn_to(s, ch + 1u);
	}
}

/* The first channel of a set at or after a turn, cyclically. */
static u8 first_from(u16 set, u8 turn)
{
	u32 twice = set | (u32)set << TBNET2_CHANNELS;

	return (u8)((__ffs64(twice >> turn) + turn) % TBNET2_CHANNELS);
}

/**
 * tbnet2_turn_next() - the channel to send from: fresh ones first, then the old
 *	in turn
 * @s: the send half
 * @stuck: channels that are not asked
 *
 * Return: -1 when there is none.
 */
int tbnet2_turn_next(struct tbnet2_sender *s, u16 stuck)
{
	u16 ready = s->fresh & (u16)~stuck;

	if (ready)
		return (int)__ffs64(ready);
	for (;;) {
		struct tbnet2_send_channel *c;
		u8 ch;

		ready = s->old & (u16)~stuck;
		if (!ready)
			return -1;
		ch = first_from(ready, s->channel_turn);
		c = &s->channels[ch];
		if (!c->head) {
			s->old &= (u16)~(1u << ch);
			continue;
		}
		if (c->deficit > 0)
			return ch;
		c->deficit += QUANTUM;
		turn_to(s, ch + 1u);
	}
}
