// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Fragments: checked, and taken in the ordered or the reliable class [3].
 */
#include "receiver.h"

/**
 * struct fragment - a checked range of a packet
 * @c: its channel
 * @d: what the frame says
 * @desc: likewise, if @has_desc
 * @has_desc: there is one
 * @off: bytes before it in the packet
 * @total: bytes of the packet
 * @from: place of its content in the frame
 * @n: bytes of it
 */
struct fragment {
	struct tbnet2_recv_channel *c;
	struct tbnet2_data_head d;
	struct tbnet2_desc desc;
	bool has_desc;
	s32 off;
	s32 total;
	u32 from;
	s32 n;
};

static bool is_whole(const struct fragment *f)
{
	return !f->off && f->total == f->n;
}

/* Whether a fragment is well formed, before anything else is believed. */
static bool check(struct tbnet2_receiver *r, const struct fragment *f)
{
	u32 off = (u32)f->d.offset * TBNET2_UNIT, end = off + (u32)f->n;

	if (f->d.channel >= TBNET2_CHANNELS || !f->d.total || f->d.total > TBNET2_PACKET_MAX ||
	    !f->n)
		return tbnet2_drop(r, TBNET2_DROP_FIELD);
	if (end > f->d.total || (end < f->d.total && f->n % TBNET2_UNIT))
		return tbnet2_drop(r, TBNET2_DROP_FIELD);
	if (f->has_desc && (off || !tbnet2_check_desc(&f->desc, f->d.total)))
		return tbnet2_drop(r, TBNET2_DROP_OFFLOAD);
	return true;
}

static struct tbnet2_delivery delivery(const struct fragment *f, const struct tbnet2_arrival *at,
				       s32 from, s32 to)
{
	struct tbnet2_delivery d = {
		.channel = f->d.channel,
		.packet = f->d.packet,
		.offset = (u32)from,
		.total = (u32)f->total,
		.len = (u32)(to - from),
		.frame = at->rx->frame,
		.from = f->from + (u32)(from - f->off),
		.has_desc = f->has_desc,
	};

	if (f->has_desc)
		d.desc = f->desc;
	return d;
}

/*
 * The assembly of the fragment's packet, new if need be; NULL if the fragment
 * was dropped.
 */
static struct tbnet2_packet_assembly *park(struct tbnet2_receiver *r, const struct fragment *f)
{
	return tbnet2_park(r, f->c, f->d.packet, f->total);
}

/* Copies what is new in a fragment to its place; false if nothing is. */
static bool fill(struct tbnet2_receiver *r, struct tbnet2_packet_assembly *a,
		 const struct fragment *f, const struct tbnet2_arrival *at)
{
	const struct tbnet2_ops *ops = r->cfg.ops;
	struct tbnet2_run run;
	bool fresh = false;

	if (!a->got && is_whole(f)) {
		ops->copy(r->cfg.context, a->buffer, 0, at->rx, f->from, (u32)f->n);
		a->got = a->total; /* nobody will ask which units */
		return true;
	}
	tbnet2_run_begin(a, &run, f->off, f->n);
	while (tbnet2_run_next(a, &run)) {
		ops->copy(r->cfg.context, a->buffer, (u32)run.from, at->rx,
			  f->from + (u32)(run.from - f->off), (u32)(run.to - run.from));
		fresh = true;
	}
	return fresh;
}

/* Whether a whole packet may go to the consumer at once, without a copy. */
static bool may_pass(const struct tbnet2_receiver *r, const struct fragment *f)
{
	const struct tbnet2_recv_channel *c = f->c;

	if (!is_whole(f) || (f->d.packet != c->next && !r->cfg.unordered))
		return false;
	if (c->slots && *tbnet2_parked_slot(r, c, f->d.packet))
		return false;
	return !c->backlog || tbnet2_fits(r, c, f->total);
}

/*
 * Remembers a packet that is delivered ahead of its turn; false if there is no
 * room for that, and the fragment was dropped.
 */
static bool mark_done(struct tbnet2_receiver *r, const struct fragment *f)
{
	struct tbnet2_packet_assembly *a = park(r, f);

	if (!a)
		return false;
	a->got = a->total;
	tbnet2_put_buffer(r, a);
	return true;
}

static bool pass(struct tbnet2_receiver *r, const struct fragment *f,
		 const struct tbnet2_arrival *at)
{
	struct tbnet2_recv_channel *c = f->c;
	bool ahead = f->d.packet != c->next;

	if (ahead && !mark_done(r, f))
		return false;
	tbnet2_deliver(r, c, at->in, delivery(f, at, 0, f->total));
	if (!ahead) {
		c->next++;
		c->news = true;
		tbnet2_drain(r, at->now, f->d.channel, at->in);
	}
	return true;
}

/*
 * Takes a fragment in the ordered class: the next packet goes straight to the
 * consumer, others are parked.
 */
static bool take_ordered(struct tbnet2_receiver *r, const struct fragment *f,
			 const struct tbnet2_arrival *at)
{
	struct tbnet2_packet_assembly *a;

	if (may_pass(r, f))
		return pass(r, f, at);
	a = park(r, f);
	if (!a)
		return false;
	if (!fill(r, a, f, at))
		return tbnet2_drop(r, TBNET2_DROP_DUPLICATE);
	if (f->has_desc) {
		a->desc = f->desc;
		a->has_desc = true;
	}
	if (f->d.packet != f->c->next && tbnet2_assembly_whole(a))
		r->stats.out_of_order++;
	tbnet2_drain(r, at->now, f->d.channel, at->in);
	return true;
}

/* Passes the packets at the beginning of a reliable channel that are whole. */
static void advance(struct tbnet2_receiver *r, struct tbnet2_recv_channel *c)
{
	while (c->parked) {
		const struct tbnet2_packet_assembly *a = *tbnet2_parked_slot(r, c, c->next);

		if (!a || !tbnet2_assembly_whole(a))
			return;
		tbnet2_release(r, c, c->next);
		c->next++;
		c->news = true;
	}
}

/*
 * Takes a fragment in the reliable class: what is new in it goes to the
 * consumer at once.
 */
static bool take_reliable(struct tbnet2_receiver *r, const struct fragment *f,
			  const struct tbnet2_arrival *at)
{
	struct tbnet2_recv_channel *c = f->c;
	struct tbnet2_packet_assembly *a;
	struct tbnet2_run run;
	bool fresh = false;

	if (is_whole(f) && f->d.packet == c->next && !c->parked) {
		tbnet2_deliver(r, c, at->in, delivery(f, at, 0, f->total));
		c->next++;
		c->news = true;
		return true;
	}
	a = park(r, f);
	if (!a)
		return false;
	tbnet2_run_begin(a, &run, f->off, f->n);
	while (tbnet2_run_next(a, &run)) {
		fresh = true;
		tbnet2_deliver(r, c, at->in, delivery(f, at, run.from, run.to));
	}
	if (!fresh)
		return tbnet2_drop(r, TBNET2_DROP_DUPLICATE);
	advance(r, c);
	return true;
}

/* Reads the head of a DATA frame. */
static bool read_fragment(struct tbnet2_receiver *r, const struct tbnet2_arrival *at,
			  struct fragment *f)
{
	enum tbnet2_wire_error err;
	u32 used = 0;

	f->has_desc = at->h.flags & TBNET2_F_OFFLOAD;
	err = tbnet2_get_data(at->h.flags, at->rx->head + TBNET2_HEADER_LEN, at->h.length,
			      &f->d, &f->desc, &used);
	if (err)
		return tbnet2_drop(r, tbnet2_drop_of(err));
	r->stats.data_frames++;
	if (!at->rail->sampled) { /* once a batch is enough: its frames left together */
		at->rail->sampled = true;
		tbnet2_transit_sample(&at->rail->transit, at->now, f->d.stamp);
	}
	f->from = TBNET2_HEADER_LEN + used;
	f->n = (s32)(at->h.length - used);
	if (!check(r, f))
		return false;
	f->c = &r->channels[f->d.channel];
	f->off = (s32)f->d.offset * TBNET2_UNIT;
	f->total = (s32)f->d.total;
	return true;
}

/**
 * tbnet2_take_data() - take the fragment of a DATA frame
 * @r: the receive half
 * @at: the frame
 *
 * Return: false if it was dropped.
 */
bool tbnet2_take_data(struct tbnet2_receiver *r, const struct tbnet2_arrival *at)
{
	struct fragment f;
	bool taken;

	if (!read_fragment(r, at, &f))
		return false;
	if (tbnet2_seq_sub(f.d.packet, f.c->next) >= (s32)r->cfg.local_slots)
		return tbnet2_drop(r, TBNET2_DROP_WINDOW);
	if (!(at->h.flags & TBNET2_F_RESENT))
		tbnet2_recv_rail_position(at->rail, f.d.channel, f.d.packet);
	if (tbnet2_before(f.d.packet, f.c->next))
		return tbnet2_drop(r, TBNET2_DROP_LATE);
	f.c->active = true;
	if (r->cfg.class == TBNET2_RELIABLE)
		return take_reliable(r, &f, at);
	taken = take_ordered(r, &f, at);
	if (!r->cfg.retransmit)
		tbnet2_prove(r, at->now, f.d.channel, at->in);
	return taken;
}

/**
 * tbnet2_consume() - return window of a channel
 * @r: the receive half
 * @ch: the channel
 * @n: bytes
 */
void tbnet2_consume(struct tbnet2_receiver *r, u8 ch, s64 n)
{
	struct tbnet2_recv_channel *c = &r->channels[ch];

	c->backlog -= min(n, c->backlog);
	c->news = true;
	r->ack_now = true;
}
