// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Packets parked behind a hole, and their way to the consumer in order. What
 * they may hold is decided in tbnet2_fits() alone.
 */
#include "receiver.h"

/**
 * tbnet2_fits() - whether a packet is within the channel's window
 * @r: the receive half
 * @c: the channel
 * @total: bytes of the packet
 */
bool tbnet2_fits(const struct tbnet2_receiver *r, const struct tbnet2_recv_channel *c, s32 total)
{
	return c->held + c->backlog + total <= r->cfg.window;
}

/* An empty assembly; NULL where there is no memory. */
static struct tbnet2_packet_assembly *new_assembly(struct tbnet2_receiver *r, s32 total)
{
	struct tbnet2_packet_assembly *a = r->spare;

	if (a) {
		r->spare = a->next;
		r->spares--;
		a->next = NULL;
	} else {
		a = tbnet2_alloc(sizeof(*a));
		if (!a)
			return NULL;
	}
	a->total = total;
	if (r->cfg.class == TBNET2_RELIABLE)
		return a;
	a->buffer = r->cfg.ops->get_buffer(r->cfg.context, (u32)total);
	if (!a->buffer) {
		tbnet2_free(a);
		return NULL;
	}
	return a;
}

/* Keeps an empty assembly for the next packet, or gives it back. */
static void put_assembly(struct tbnet2_receiver *r, struct tbnet2_packet_assembly *a)
{
	if (r->spares >= SPARES_MOST) {
		tbnet2_free(a);
		return;
	}
	tbnet2_assembly_reset(a);
	a->next = r->spare;
	r->spare = a;
	r->spares++;
}

/**
 * tbnet2_put_buffer() - give the memory of an assembly back
 * @r: the receive half
 * @a: the assembly
 */
void tbnet2_put_buffer(struct tbnet2_receiver *r, struct tbnet2_packet_assembly *a)
{
	if (!a->buffer)
		return;
	r->cfg.ops->put_buffer(r->cfg.context, a->buffer);
	a->buffer = NULL;
}

static struct tbnet2_packet_assembly *park_new(struct tbnet2_receiver *r,
					       struct tbnet2_recv_channel *c, u32 seq,
					       s32 total)
{
	struct tbnet2_packet_assembly *a = NULL;

	if (!c->slots)
		c->slots = tbnet2_alloc(r->cfg.local_slots * sizeof(*c->slots));
	if (c->slots)
		a = new_assembly(r, total);
	if (!a)
		return NULL;
	*tbnet2_parked_slot(r, c, seq) = a;
	c->held += total;
	c->parked++;
	r->stats.parked_packets++;
	r->stats.parked_bytes += (u64)total;
	r->stats.parked_bytes_most = max(r->stats.parked_bytes_most, r->stats.parked_bytes);
	return a;
}

/*
 * Whether a packet may wait for earlier ones, as far as the memory for all
 * peers goes.
 */
static bool may_wait(const struct tbnet2_receiver *r, const struct tbnet2_recv_channel *c,
		     u32 seq, s32 total)
{
	if (r->cfg.class != TBNET2_ORDERED || seq == c->next || r->cfg.unordered)
		return true;
	return r->cfg.ops->room(r->cfg.context) >= total;
}

static struct tbnet2_packet_assembly *starve(struct tbnet2_receiver *r)
{
	r->starved = true;
	tbnet2_drop(r, TBNET2_DROP_MEMORY);
	return NULL;
}

/**
 * tbnet2_park() - the assembly of a packet, new if need be
 * @r: the receive half
 * @c: the channel
 * @seq: the packet's number, less than the slots after c->next
 * @total: its bytes
 *
 * Return: NULL if the fragment was dropped; r->starved says that it is to be
 * told as lost.
 */
struct tbnet2_packet_assembly *tbnet2_park(struct tbnet2_receiver *r,
					   struct tbnet2_recv_channel *c, u32 seq, s32 total)
{
	struct tbnet2_packet_assembly *a = c->slots ? *tbnet2_parked_slot(r, c, seq) : NULL;

	if (a && a->total != total) {
		tbnet2_drop(r, TBNET2_DROP_CONTRADICTION);
		return NULL;
	}
	if (a && tbnet2_assembly_whole(a)) {
		tbnet2_drop(r, TBNET2_DROP_DUPLICATE);
		return NULL;
	}
	if (a)
		return a;
	if (!tbnet2_fits(r, c, total)) {
		tbnet2_drop(r, TBNET2_DROP_WINDOW);
		return NULL;
	}
	if (!may_wait(r, c, seq, total))
		return starve(r);
	a = park_new(r, c, seq, total);
	if (a)
		return a;
	r->stats.no_memory++;
	return starve(r);
}

/**
 * tbnet2_release() - empty the slot of a packet
 * @r: the receive half
 * @c: the channel
 * @seq: the packet, which is parked
 */
void tbnet2_release(struct tbnet2_receiver *r, struct tbnet2_recv_channel *c, u32 seq)
{
	struct tbnet2_packet_assembly **slot = tbnet2_parked_slot(r, c, seq);
	struct tbnet2_packet_assembly *a = *slot;

	*slot = NULL;
	c->held -= a->total;
	c->parked--;
	r->stats.parked_packets--;
	r->stats.parked_bytes -= (u64)a->total;
	tbnet2_put_buffer(r, a);
	put_assembly(r, a);
}

/**
 * tbnet2_deliver() - hand content to the consumer
 * @r: the receive half
 * @c: the channel
 * @in: has room for it
 * @d: the content
 */
void tbnet2_deliver(struct tbnet2_receiver *r, struct tbnet2_recv_channel *c,
		    struct tbnet2_inbox *in, struct tbnet2_delivery d)
{
	if (r->cfg.manual_consume)
		c->backlog += d.len;
	r->stats.packet_bytes += d.len;
	if (d.offset + d.len == d.total || r->cfg.class == TBNET2_ORDERED)
		r->stats.packets++;
	in->deliveries[in->delivered.count++] = d;
}

/* Hands over the packet at c->next and frees its slot. */
static void deliver_parked(struct tbnet2_receiver *r, u8 ch, struct tbnet2_packet_assembly *a,
			   struct tbnet2_inbox *in)
{
	struct tbnet2_recv_channel *c = &r->channels[ch];
	struct tbnet2_delivery d = {
		.channel = ch,
		.packet = c->next,
		.total = (u32)a->total,
		.len = (u32)a->total,
		.buffer = a->buffer,
		.has_desc = a->has_desc,
	};

	if (a->has_desc)
		d.desc = a->desc;
	if (a->buffer) { /* else it was delivered out of turn */
		a->buffer = NULL;
		tbnet2_deliver(r, c, in, d);
	}
	tbnet2_release(r, c, c->next);
}

/* Starts the clock of the last resort. */
static void note_hole(struct tbnet2_receiver *r, s64 now, struct tbnet2_recv_channel *c)
{
	if (c->hole_since != TBNET2_NEVER)
		return;
	c->hole_since = now;
	r->due = min_t(s64, r->due, now + HOLE_TIMEOUT);
}

/**
 * tbnet2_drain() - deliver what is now in turn, and pass what was skipped
 * @r: the receive half
 * @now: the time
 * @ch: the channel
 * @in: has room for all that is parked
 */
void tbnet2_drain(struct tbnet2_receiver *r, s64 now, u8 ch, struct tbnet2_inbox *in)
{
	struct tbnet2_recv_channel *c = &r->channels[ch];

	c->skip = tbnet2_seq_max(c->skip, c->next); /* level, lest it wrap and seem ahead */
	while (c->parked || tbnet2_before(c->next, c->skip)) {
		struct tbnet2_packet_assembly *a = NULL;

		if (c->slots)
			a = *tbnet2_parked_slot(r, c, c->next);
		if (a && tbnet2_assembly_whole(a)) {
			deliver_parked(r, ch, a, in);
		} else if (tbnet2_before(c->next, c->skip)) {
			r->stats.skipped++;
			if (a)
				tbnet2_release(r, c, c->next);
		} else {
			note_hole(r, now, c);
			return;
		}
		c->next++;
		c->news = true;
		c->hole_since = TBNET2_NEVER;
	}
	c->hole_since = TBNET2_NEVER;
}

/**
 * tbnet2_receiver_close() - give all memory back
 * @r: the receive half
 */
void tbnet2_receiver_close(struct tbnet2_receiver *r)
{
	u32 ch, seq;

	for (ch = 0; ch < TBNET2_CHANNELS; ch++) {
		struct tbnet2_recv_channel *c = &r->channels[ch];

		for (seq = c->next; c->parked; seq++)
			if (*tbnet2_parked_slot(r, c, seq))
				tbnet2_release(r, c, seq);
		tbnet2_free(c->slots);
		c->slots = NULL;
	}
	while (r->spare) {
		struct tbnet2_packet_assembly *a = r->spare;

		r->spare = a->next;
		tbnet2_free(a);
	}
	r->spares = 0;
}
