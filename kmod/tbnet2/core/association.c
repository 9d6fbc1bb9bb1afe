// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * The calls of an association, each on one half or on both.
 */
#include "association.h"

/* Fills in what was left out, and holds a config to what can be. */
static struct tbnet2_config with_defaults(const struct tbnet2_config *cfg)
{
	struct tbnet2_config c = *cfg;

	c.retransmit = c.retransmit || c.class == TBNET2_RELIABLE;
	c.manual_consume = c.manual_consume && c.class == TBNET2_ORDERED;
	if (!c.slots)
		c.slots = SLOTS_DEFAULT;
	if (!c.local_slots)
		c.local_slots = SLOTS_DEFAULT;
	if (c.window <= 0)
		c.window = WINDOW_DEFAULT;
	if (c.queue_bytes <= 0)
		c.queue_bytes = QUEUE_DEFAULT;
	return c;
}

/**
 * tbnet2_new() - make an association without rails
 * @cfg: what it is; copied
 * @now: the time
 *
 * Return: the association, or NULL where there is no memory.
 */
struct tbnet2_association *tbnet2_new(const struct tbnet2_config *cfg, s64 now)
{
	struct tbnet2_association *a = tbnet2_alloc(sizeof(*a));
	struct tbnet2_config c = with_defaults(cfg);

	if (!a)
		return NULL;
	tbnet2_sender_init(&a->send, &c, now);
	tbnet2_receiver_init(&a->recv, &c, now);
	a->alive_at = now;
	return a;
}

static int check_rail(const struct tbnet2_rail_config *c)
{
	if (c->id >= TBNET2_RAILS_MAX || c->peer_id >= TBNET2_RAILS_MAX)
		return -EINVAL;
	if (c->mtu < MTU_LEAST || c->mtu > MTU_MOST)
		return -ERANGE;
	return 0;
}

/**
 * tbnet2_add_rail() - add a rail, which carries data once it has answered
 * @a: the association
 * @now: the time
 * @c: describes it
 *
 * Return: 0; -EINVAL: an id is out of range; -EEXIST: in use; -ERANGE: the MTU
 * is below 576 or above 65535 bytes; -ENOMEM.
 */
int tbnet2_add_rail(struct tbnet2_association *a, s64 now, const struct tbnet2_rail_config *c)
{
	struct tbnet2_sender *s = &a->send;
	struct tbnet2_receiver *r = &a->recv;
	struct tbnet2_send_rail *out;
	struct tbnet2_recv_rail *in;
	u64 set = s->rail_set;
	int err = check_rail(c);
	u8 id;

	if (err)
		return err;
	if (tbnet2_has(set, c->id))
		return -EEXIST;
	tbnet2_for_each_rail(id, set)
		if (s->rails[id]->cfg.peer_id == c->peer_id)
			return -EEXIST;
	out = tbnet2_alloc(sizeof(*out));
	in = tbnet2_alloc(sizeof(*in));
	if (!out || !in) {
		tbnet2_free(out);
		tbnet2_free(in);
		return -ENOMEM;
	}
	tbnet2_rail_init(out, tbnet2_running(s, now), c, &s->undecided);
	in->id = c->id;
	in->peer_id = c->peer_id;
	in->ring = c->ring;
	in->trust_link = c->trust_link;
	s->rails[c->id] = out;
	s->rail_set |= tbnet2_bit(c->id);
	r->rails[c->id] = in;
	r->rail_set |= tbnet2_bit(c->id);
	s->due = min(s->due, now);
	r->due = min(r->due, now);
	return 0;
}

static struct tbnet2_send_rail *rail_of(const struct tbnet2_association *a, u8 rail)
{
	return rail < TBNET2_RAILS_MAX ? a->send.rails[rail] : NULL;
}

/* Gives the memory of a rail back, which nothing names any more. */
static void free_rail(struct tbnet2_association *a, u8 id)
{
	tbnet2_free(a->send.rails[id]->ledger.ring);
	tbnet2_free(a->send.rails[id]);
	a->send.rails[id] = NULL;
	tbnet2_free(a->recv.rails[id]);
	a->recv.rails[id] = NULL;
}

/**
 * tbnet2_remove_rail() - take a rail away; what is in flight on it goes to the
 *	others
 * @a: the association
 * @now: the time
 * @rail: our id
 * @in: takes events
 */
void tbnet2_remove_rail(struct tbnet2_association *a, s64 now, u8 rail, struct tbnet2_inbox *in)
{
	struct tbnet2_send_rail *r = rail_of(a, rail);

	if (!r)
		return;
	r->health.enabled = false;
	tbnet2_judge(&a->send, now, r, in);
	tbnet2_move_away(&a->send, r);
	a->send.rail_set &= ~tbnet2_bit(rail);
	a->recv.rail_set &= ~tbnet2_bit(rail);
	free_rail(a, rail);
	tbnet2_membership(&a->send, now);
}

/**
 * tbnet2_set_carrier() - a rail's device has gained or lost its carrier
 * @a: the association
 * @now: the time
 * @rail: our id
 * @up: it has one
 * @in: takes events
 */
void tbnet2_set_carrier(struct tbnet2_association *a, s64 now, u8 rail, bool up,
			struct tbnet2_inbox *in)
{
	struct tbnet2_send_rail *r = rail_of(a, rail);

	if (!r || r->health.carrier == up)
		return;
	r->health.carrier = up;
	r->busy = false;
	r->health.ping_due = up;
	tbnet2_judge(&a->send, now, r, in);
}

/**
 * tbnet2_set_enabled() - take a rail up or down by the user's will
 * @a: the association
 * @now: the time
 * @rail: our id
 * @on: up
 * @in: takes events
 */
void tbnet2_set_enabled(struct tbnet2_association *a, s64 now, u8 rail, bool on,
			struct tbnet2_inbox *in)
{
	struct tbnet2_send_rail *r = rail_of(a, rail);

	if (!r || r->health.enabled == on)
		return;
	r->health.enabled = on;
	r->health.ping_due = on;
	tbnet2_judge(&a->send, now, r, in);
}

/**
 * tbnet2_set_use() - choose the rails that may carry data; the others stay alive
 * @a: the association
 * @now: the time
 * @use: our ids
 */
void tbnet2_set_use(struct tbnet2_association *a, s64 now, u64 use)
{
	u64 set = a->send.rail_set;
	u8 id;

	tbnet2_for_each_rail(id, set)
		a->send.rails[id]->in_use = tbnet2_has(use, id);
	tbnet2_membership(&a->send, now);
}

/**
 * tbnet2_set_weight() - give a rail a fixed share relative to others with one
 * @a: the association
 * @rail: our id
 * @weight: 0 returns it to its measured rate
 */
void tbnet2_set_weight(struct tbnet2_association *a, u8 rail, u32 weight)
{
	struct tbnet2_send_rail *r = rail_of(a, rail);
	u32 i;

	if (!r)
		return;
	r->cfg.weight = weight;
	r->wrote = 0;
	for (i = 0; i < a->send.active_count; i++)
		a->send.active[i]->wrote = 0;
}

/**
 * tbnet2_set_mtu() - follow a change of a rail's MTU
 * @a: the association
 * @now: the time
 * @rail: our id
 * @mtu: bytes; a larger one is proven before it is used
 *
 * Return: 0, -ENODEV, -ERANGE as tbnet2_add_rail().
 */
int tbnet2_set_mtu(struct tbnet2_association *a, s64 now, u8 rail, u32 mtu)
{
	struct tbnet2_send_rail *r = rail_of(a, rail);
	struct tbnet2_rail_config c;
	int err;

	if (!r)
		return -ENODEV;
	c = r->cfg;
	c.mtu = mtu;
	err = check_rail(&c);
	if (err)
		return err;
	r->cfg.mtu = mtu;
	if (r->mtu > mtu)
		tbnet2_rail_set_mtu(r, mtu);
	tbnet2_probe_restart(&r->probe, tbnet2_running(&a->send, now), mtu);
	a->send.due = min(a->send.due, now);
	return 0;
}

/**
 * tbnet2_send() - see tbnet2_sender_send()
 * @a: the association
 * @p: the packet
 */
int tbnet2_send(struct tbnet2_association *a, struct tbnet2_packet *p)
{
	return tbnet2_sender_send(&a->send, p);
}

/**
 * tbnet2_transmit() - see tbnet2_sender_transmit()
 * @a: the association
 * @now: the time
 * @b: takes the frames
 */
bool tbnet2_transmit(struct tbnet2_association *a, s64 now, struct tbnet2_burst *b)
{
	return tbnet2_sender_transmit(&a->send, now, b);
}

/**
 * tbnet2_unsent() - see tbnet2_sender_unsent()
 * @a: the association
 * @rail: our id
 * @b: the burst
 * @n: frames refused
 */
void tbnet2_unsent(struct tbnet2_association *a, u8 rail, struct tbnet2_burst *b, u32 n)
{
	tbnet2_sender_unsent(&a->send, rail, b, n);
}

/**
 * tbnet2_writable() - a rail's device takes frames again
 * @a: the association
 * @rail: our id
 */
void tbnet2_writable(struct tbnet2_association *a, u8 rail)
{
	struct tbnet2_send_rail *r = rail_of(a, rail);

	if (r)
		r->busy = false;
}

/**
 * tbnet2_receive() - take one frame that came on a rail
 * @a: the association
 * @now: the time
 * @rail: our id
 * @rx: the frame, valid until @in is reset
 * @in: takes what it brings
 */
void tbnet2_receive(struct tbnet2_association *a, s64 now, u8 rail, const struct tbnet2_rx *rx,
		    struct tbnet2_inbox *in)
{
	tbnet2_receiver_take(&a->recv, now, rail, rx, in);
}

/**
 * tbnet2_end_receive() - end a batch: what has to be acknowledged at once goes
 *	into the inbox
 * @a: the association
 * @now: the time
 * @in: of the batch
 */
void tbnet2_end_receive(struct tbnet2_association *a, s64 now, struct tbnet2_inbox *in)
{
	tbnet2_owe(&a->recv, now, in);
}

/**
 * tbnet2_consumed() - return window of a channel, with manual_consume
 * @a: the association
 * @ch: the channel
 * @n: bytes; told with the next end of a batch or tick
 */
void tbnet2_consumed(struct tbnet2_association *a, u8 ch, s64 n)
{
	tbnet2_consume(&a->recv, ch, n);
}

/**
 * tbnet2_apply() - hand what a batch brought to the send half; then transmit
 * @a: the association
 * @now: the time
 * @in: of the batch
 */
void tbnet2_apply(struct tbnet2_association *a, s64 now, struct tbnet2_inbox *in)
{
	tbnet2_sender_apply(&a->send, now, in);
}

/**
 * tbnet2_tick_receive() - do what time asks of the receive half; then tick the
 *	send half with the same inbox
 * @a: the association
 * @now: the time
 * @in: the inbox
 */
void tbnet2_tick_receive(struct tbnet2_association *a, s64 now, struct tbnet2_inbox *in)
{
	tbnet2_receiver_tick(&a->recv, now, in);
}

/**
 * tbnet2_tick_send() - do what time asks of the send half; then transmit
 * @a: the association
 * @now: the time
 * @in: that the receive half ticked with
 */
void tbnet2_tick_send(struct tbnet2_association *a, s64 now, struct tbnet2_inbox *in)
{
	s64 run;

	tbnet2_sender_apply(&a->send, now, in);
	tbnet2_sender_tick(&a->send, now, in->heard_here, in);
	run = tbnet2_running(&a->send, now);
	if (tbnet2_up_rails(a))
		a->alive_at = run;
	if (!a->dead && run - a->alive_at >= DEAD_AFTER) {
		struct tbnet2_event e = { .kind = TBNET2_ABOUT_DEAD };

		a->dead = true;
		tbnet2_inbox_event(in, e);
	}
}

/**
 * tbnet2_up_rails() - the rails that are up
 * @a: the association
 */
u64 tbnet2_up_rails(const struct tbnet2_association *a)
{
	u64 set = a->send.rail_set, up = 0;
	u8 id;

	tbnet2_for_each_rail(id, set)
		if (a->send.rails[id]->health.state == TBNET2_LIVE_UP)
			up |= tbnet2_bit(id);
	return up;
}

/**
 * tbnet2_close() - abort every packet; nothing may be sent or received afterwards
 * @a: the association
 */
void tbnet2_close(struct tbnet2_association *a)
{
	tbnet2_sender_close(&a->send);
	tbnet2_receiver_close(&a->recv);
}

/**
 * tbnet2_destroy() - close an association and give its memory back
 * @a: the association or NULL
 */
void tbnet2_destroy(struct tbnet2_association *a)
{
	u64 set;
	u8 id;

	if (!a)
		return;
	tbnet2_close(a);
	set = a->send.rail_set;
	tbnet2_for_each_rail(id, set)
		free_rail(a, id);
	tbnet2_free(a);
}
