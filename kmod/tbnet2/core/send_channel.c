// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * The queue of a channel and its open packets.
 */
#include "send_channel.h"

/**
 * tbnet2_channel_may_begin() - whether the window lets a packet begin
 * @c: the channel
 * @p: the packet
 */
bool tbnet2_channel_may_begin(const struct tbnet2_send_channel *c, const struct tbnet2_packet *p)
{
	return tbnet2_seq_sub(c->next, c->acked) < (s32)c->slots &&
	       c->bytes + p->length <= c->limit;
}

/**
 * tbnet2_channel_begin() - give a packet its number
 * @c: the channel, which may begin it
 * @usable: the usable clock
 * @p: the packet
 */
void tbnet2_channel_begin(struct tbnet2_send_channel *c, s64 usable, struct tbnet2_packet *p)
{
	struct tbnet2_open *o = tbnet2_channel_slot(c, c->next);

	p->number = c->next;
	p->first_sent = usable;
	o->packet = p;
	o->start = c->bytes;
	c->bytes += p->length;
	c->next++;
}

/**
 * tbnet2_channel_push() - queue a packet for its first sending
 * @c: the channel
 * @p: the packet
 */
void tbnet2_channel_push(struct tbnet2_send_channel *c, struct tbnet2_packet *p)
{
	if (c->tail)
		c->tail->next = p;
	else
		c->head = p;
	c->tail = p;
}

/**
 * tbnet2_channel_pop() - take the head off
 * @c: the channel, whose queue is not empty
 */
void tbnet2_channel_pop(struct tbnet2_send_channel *c)
{
	struct tbnet2_packet *p = c->head;

	c->head = p->next;
	p->next = NULL;
	if (!c->head)
		c->tail = NULL;
}

/**
 * tbnet2_channel_close() - forget an open packet that is done with
 * @c: the channel
 * @p: the packet
 */
void tbnet2_channel_close(struct tbnet2_send_channel *c, const struct tbnet2_packet *p)
{
	struct tbnet2_open *o;

	if (!c->open)
		return;
	o = tbnet2_channel_slot(c, p->number);
	if (o->packet == p)
		o->packet = NULL;
}
