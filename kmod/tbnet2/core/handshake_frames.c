// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * HELLO, HELLO_ACK, CONFIRM and RESET: what they change, and their answers.
 */
#include "handshake_table.h"

/* A greeting in hand. */
struct greeting {
	s64 now;
	struct tbnet2_attached *d;
	struct tbnet2_remote remote;
	struct tbnet2_peer_id id;
	struct tbnet2_header hd;
	struct tbnet2_greeting m;
};

/**
 * tbnet2_handshake_dropped() - count the frame in hand under its first reason
 * @h: the handshake
 * @why: the reason
 */
void tbnet2_handshake_dropped(struct tbnet2_handshake *h, enum tbnet2_handshake_drop why)
{
	if (h->refused)
		return;
	h->refused = true;
	h->stats.drops[why]++;
}

/* Sends a frame; its body stands behind room for the header. */
static void send_frame(struct tbnet2_handshake *h, const struct tbnet2_attached *d, u8 type,
		       const u8 *to, u32 index, u8 *frame, u32 len)
{
	struct tbnet2_header hd = {
		.type = type,
		.flags = TBNET2_F_CRC,
		.length = (u16)(len - TBNET2_HEADER_LEN),
		.index = index,
	};

	tbnet2_put_header(frame, &hd);
	tbnet2_put32(~tbnet2_crc_begin(frame, len), frame + offsetof(struct tbnet2_hdr, crc));
	h->cfg.ops->send(h->cfg.context, d->id, to, frame, len);
}

/* Who a greeting goes to, and what is of this one alone. */
struct answer {
	const u8 *to;
	u32 index;	/* the receiver's */
	u32 local;	/* ours */
	u64 nonce;
	u64 echo;
	const struct tbnet2_hs_rail *rail;	/* NULL: none */
};

static void send_greeting(struct tbnet2_handshake *h, const struct tbnet2_attached *d, u8 type,
			  const struct answer *a)
{
	u8 frame[sizeof(struct tbnet2_hdr) + TBNET2_GREETING_MOST];
	struct tbnet2_greeting m = {
		.nonce = a->nonce,
		.echo = a->echo,
		.epoch = h->cfg.epoch,
		.index = a->local,
		.service = h->cfg.service,
		.version_low = TBNET2_VERSION,
		.version_high = TBNET2_VERSION,
		.group = d->a.group,
		.mtu = d->a.mtu,
		.rate = d->a.rate,
		.caps = h->cfg.caps | (d->a.crc ? TBNET2_CAP_CRC : 0),
		.slots = h->cfg.slots,
		.name_len = h->cfg.name.len,
	};
	u32 len;

	memcpy(m.host, h->cfg.host, sizeof(m.host));
	memcpy(m.name, h->cfg.name.text, m.name_len);
	if (a->rail) {
		m.rail = a->rail->id;
		m.has_rail = true;
	}
	len = TBNET2_HEADER_LEN + tbnet2_put_greeting(frame + TBNET2_HEADER_LEN, &m);
	send_frame(h, d, type, a->to, a->index, frame, len);
}

/* Says that we have no association of that index. */
static void send_reset(struct tbnet2_handshake *h, const struct tbnet2_attached *d, const u8 *to,
		       u32 index, u8 reason)
{
	u8 frame[sizeof(struct tbnet2_hdr) + sizeof(struct tbnet2_reset)];
	struct tbnet2_reset_of r = { .index = index, .reason = reason };

	tbnet2_put_reset(frame + TBNET2_HEADER_LEN, &r);
	send_frame(h, d, TBNET2_RESET, to, 0, frame, sizeof(frame));
}

/**
 * tbnet2_send_hello() - ask who is there
 * @h: the handshake
 * @now: the time
 * @d: the device
 */
void tbnet2_send_hello(struct tbnet2_handshake *h, s64 now, struct tbnet2_attached *d)
{
	static const u8 hello_mac[6] = TBNET2_HELLO_MAC;
	struct answer a = { .to = hello_mac, .local = h->hello_index };

	d->last_at = now;
	d->hello_at = now + (tbnet2_rail_missing(h, d->id) ? HELLO_INTERVAL : HELLO_IDLE);
	a.nonce = tbnet2_nonce_draw(h, d).value;
	send_greeting(h, d, TBNET2_HELLO, &a);
}

/**
 * tbnet2_send_closing() - tell a peer on all rails that the association has ended
 * @h: the handshake
 * @p: the peer, with a current association
 */
void tbnet2_send_closing(struct tbnet2_handshake *h, const struct tbnet2_peer *p)
{
	const struct tbnet2_hs_association *a = p->current_one;
	u64 set = a->rail_set;
	u8 id;

	tbnet2_for_each_rail(id, set) {
		const struct tbnet2_hs_rail *r = a->rails[id];

		if (r->made)
			send_reset(h, h->devices[r->device], r->remote.mac, a->index,
				   TBNET2_RESET_CLOSING);
	}
}

/* Whether this host chooses the rails to a peer. */
static bool decides(const struct tbnet2_handshake *h, const struct tbnet2_peer_id *id)
{
	return memcmp(h->cfg.host, id->host, sizeof(id->host)) < 0;
}

/* Answers a HELLO, if the pair is chosen. */
static void offer(struct tbnet2_handshake *h, const struct greeting *g, struct tbnet2_peer *p,
		  struct tbnet2_hs_association *a, struct tbnet2_edge *e)
{
	struct answer o = { .to = e->remote.mac, .index = e->hello_index, .local = a->index };
	u64 used = e->used;

	if (g->now - e->asked > OFFER_PATIENCE) {
		e->doubtful = g->now + DOUBT_TIME;
		e->asked = TBNET2_NEVER;
	}
	tbnet2_match(h, g->now, a);
	o.rail = tbnet2_rail_of(a, e->device, &e->remote);
	if (!o.rail) {
		tbnet2_handshake_dropped(h, TBNET2_HS_NOT_CHOSEN);
		return;
	}
	if (!tbnet2_bucket_take(&g->d->answers, g->now)) {
		tbnet2_handshake_dropped(h, TBNET2_HS_RATE);
		return;
	}
	e->asked = min(e->asked, g->now);
	if (a == p->pending)
		used = max(used, p->floor);
	o.nonce = tbnet2_nonce_after(h, g->d, used).value;
	o.echo = e->nonce;
	send_greeting(h, g->d, TBNET2_HELLO_ACK, &o);
}

/*
 * Notes who is there. The host that decides offers a rail if the pair is
 * chosen; the other makes sure to be heard.
 */
static void take_hello(struct tbnet2_handshake *h, const struct greeting *g)
{
	struct tbnet2_peer *p = tbnet2_add_peer(h, &g->id);
	struct tbnet2_hs_association *a = NULL;
	const struct tbnet2_hs_rail *rail;
	struct tbnet2_edge *e = NULL;

	if (p) {
		p->name = tbnet2_name_of(&g->m);
		a = tbnet2_attempt(h, p, g->m.epoch);
	}
	if (a)
		e = tbnet2_see(a, g->now, g->d->id, &g->remote);
	if (!e) {
		tbnet2_handshake_dropped(h, TBNET2_HS_FULL);
		return;
	}
	e->nonce = g->m.nonce;
	e->hello_index = g->m.index;
	if (decides(h, &g->id)) {
		offer(h, g, p, a, e);
		return;
	}
	rail = tbnet2_rail_of(a, g->d->id, &g->remote);
	if (!rail || !rail->heard)
		tbnet2_hurry(g->d, g->now);
}

/*
 * Makes the rail that a HELLO_ACK offers, and its association if need be;
 * NULL if the frame was dropped.
 */
static struct tbnet2_hs_rail *accept_rail(struct tbnet2_handshake *h, const struct greeting *g,
					  struct tbnet2_peer *p, struct tbnet2_hs_association *a,
					  u64 serial)
{
	struct tbnet2_edge *e = tbnet2_see(a, g->now, g->d->id, &g->remote);
	struct tbnet2_hs_rail *rail;

	if (!e) {
		tbnet2_handshake_dropped(h, TBNET2_HS_FULL);
		return NULL;
	}
	rail = tbnet2_rail_of(a, g->d->id, &g->remote);
	if (rail && rail->made && rail->peer_id == g->m.rail) {
		if (serial > e->used)
			tbnet2_refresh_rail(h, p, rail, &g->m);
		return rail;
	}
	if (serial <= e->used) {
		tbnet2_handshake_dropped(h, TBNET2_HS_STALE);
		return NULL;
	}
	tbnet2_drop_rivals(h, p, a, g->d->id, &g->remote);
	if (a != p->current_one)
		tbnet2_make_association(h, g->now, p, a, &g->m);
	rail = tbnet2_new_rail(a, e);
	if (!rail) {
		tbnet2_handshake_dropped(h, TBNET2_HS_FULL);
		return NULL;
	}
	e->used = serial;
	tbnet2_make_rail(h, p, a, rail, &g->m);
	return rail;
}

/* Accepts what a HELLO_ACK offers, and confirms it. */
static void accept_offer(struct tbnet2_handshake *h, const struct greeting *g,
			 struct tbnet2_peer *p, u64 serial)
{
	struct tbnet2_hs_association *a = p->current_one;
	struct answer o = {
		.to = g->remote.mac,
		.index = g->m.index,
		.nonce = g->d->nonces[0].value,
		.echo = g->m.nonce,
	};

	if (!a || a->epoch != g->m.epoch || a->peer_index != g->m.index) {
		if (serial <= p->floor) {
			tbnet2_handshake_dropped(h, TBNET2_HS_STALE);
			return;
		}
		a = tbnet2_new_attempt(h, g->m.epoch);
		if (!a) {
			tbnet2_handshake_dropped(h, TBNET2_HS_FULL);
			return;
		}
	}
	o.rail = accept_rail(h, g, p, a, serial);
	if (o.rail) {
		o.local = a->index;
		send_greeting(h, g->d, TBNET2_CONFIRM, &o);
	}
	if (a != p->current_one)
		tbnet2_free_attempt(a);
}

/* Takes a rail as made: the peer has chosen it, and has heard us. */
static void take_hello_ack(struct tbnet2_handshake *h, const struct greeting *g)
{
	u64 serial = tbnet2_nonce_find(g->d, g->m.echo);
	struct tbnet2_peer *p;

	if (g->hd.index != h->hello_index) {
		tbnet2_handshake_dropped(h, TBNET2_HS_WRONG_INDEX);
		return;
	}
	if (!serial) {
		tbnet2_handshake_dropped(h, TBNET2_HS_STALE);
		return;
	}
	if (!tbnet2_bucket_take(&g->d->answers, g->now)) {
		tbnet2_handshake_dropped(h, TBNET2_HS_RATE);
		return;
	}
	p = tbnet2_add_peer(h, &g->id);
	if (!p) {
		tbnet2_handshake_dropped(h, TBNET2_HS_FULL);
		return;
	}
	p->name = tbnet2_name_of(&g->m);
	accept_offer(h, g, p, serial);
}

/* Takes what was offered as made, where that is still right. */
static void confirmed(struct tbnet2_handshake *h, const struct greeting *g,
		      struct tbnet2_peer *p, struct tbnet2_hs_association *a, u64 serial)
{
	struct tbnet2_edge *e = tbnet2_edge_of(a, g->d->id, &g->remote);
	struct tbnet2_hs_rail *rail = e ? tbnet2_rail_of(a, e->device, &e->remote) : NULL;
	bool same = a == p->current_one && a->peer_index == g->m.index;

	if (!rail) {
		tbnet2_handshake_dropped(h, TBNET2_HS_NOT_CHOSEN);
		return;
	}
	e->asked = TBNET2_NEVER;
	e->doubtful = 0;
	if (rail->made && same && rail->peer_id == g->m.rail) {
		if (serial > e->used)
			tbnet2_refresh_rail(h, p, rail, &g->m);
		return;
	}
	if (serial <= e->used) {
		tbnet2_handshake_dropped(h, TBNET2_HS_STALE);
		return;
	}
	e->used = serial;
	if (a == p->current_one && !same) {
		/*
		 * The peer has begun a new association under our old index: frames
		 * of both could not be told apart, so neither is kept.
		 */
		send_reset(h, g->d, e->remote.mac, a->index, TBNET2_RESET_UNKNOWN);
		tbnet2_end_association(h, g->now, p, TBNET2_GONE_REPLACED);
		return;
	}
	if (rail->made) {
		/* The peer has the rail anew: so must we, under another id. */
		tbnet2_drop_rail(h, p, a, rail);
		return;
	}
	if (a == p->pending)
		tbnet2_make_association(h, g->now, p, a, &g->m);
	tbnet2_make_rail(h, p, a, rail, &g->m);
}

/* The association of a peer that a CONFIRM is for. */
static struct tbnet2_hs_association *addressed(const struct tbnet2_peer *p,
					       const struct greeting *g)
{
	struct tbnet2_hs_association *all[] = { p->pending, p->current_one };
	u32 i;

	for (i = 0; i < ARRAY_SIZE(all); i++)
		if (all[i] && all[i]->index == g->hd.index && all[i]->epoch == g->m.epoch)
			return all[i];
	return NULL;
}

/* Takes an offered rail as made. */
static void take_confirm(struct tbnet2_handshake *h, const struct greeting *g)
{
	struct tbnet2_peer *p = tbnet2_find_peer(h, &g->id);
	struct tbnet2_hs_association *a = p ? addressed(p, g) : NULL;
	u64 serial = tbnet2_nonce_find(g->d, g->m.echo);

	if (!a)
		tbnet2_handshake_dropped(h, TBNET2_HS_WRONG_INDEX);
	else if (!serial || (a == p->pending && serial <= p->floor))
		tbnet2_handshake_dropped(h, TBNET2_HS_STALE);
	else
		confirmed(h, g, p, a, serial);
}

/* Takes HELLO, HELLO_ACK or CONFIRM. */
static void take_greeting(struct tbnet2_handshake *h, struct greeting *g, const u8 *from,
			  const u8 *body)
{
	if (tbnet2_get_greeting(body, g->hd.length, &g->m)) {
		tbnet2_handshake_dropped(h, TBNET2_HS_MALFORMED);
		return;
	}
	if (!tbnet2_acceptable(h, g->now, g->d, from, &g->m))
		return;
	g->id = tbnet2_peer_of(&g->m);
	memcpy(g->remote.mac, from, sizeof(g->remote.mac));
	g->remote.group = g->m.group;
	if (g->hd.type == TBNET2_HELLO)
		take_hello(h, g);
	else if (!g->m.has_rail)
		tbnet2_handshake_dropped(h, TBNET2_HS_MALFORMED);
	else if (decides(h, &g->id) != (g->hd.type == TBNET2_CONFIRM))
		tbnet2_handshake_dropped(h, TBNET2_HS_WRONG_ROLE);
	else if (g->hd.type == TBNET2_HELLO_ACK)
		take_hello_ack(h, g);
	else
		take_confirm(h, g);
}

/* Whether a peer's current association has a made rail to that address. */
static bool has_rail(const struct tbnet2_hs_association *a, u8 device, const u8 *from)
{
	u64 set = a->rail_set;
	u8 id;

	tbnet2_for_each_rail(id, set) {
		const struct tbnet2_hs_rail *r = a->rails[id];

		if (r->made && r->device == device && !memcmp(r->remote.mac, from, 6))
			return true;
	}
	return false;
}

/*
 * Ends the association that a peer says it does not have, if that is really
 * the one in use there.
 */
static void take_reset(struct tbnet2_handshake *h, const struct greeting *g, const u8 *from,
		       const u8 *body)
{
	struct tbnet2_reset_of m;
	u32 i;

	if (tbnet2_get_reset(body, g->hd.length, &m)) {
		tbnet2_handshake_dropped(h, TBNET2_HS_MALFORMED);
		return;
	}
	for (i = 0; i < h->peer_count; i++) {
		struct tbnet2_peer *p = h->peers[i];

		if (!p->current_one || p->current_one->peer_index != m.index ||
		    !has_rail(p->current_one, g->d->id, from))
			continue;
		tbnet2_end_association(h, g->now, p, m.reason == TBNET2_RESET_CLOSING ?
				       TBNET2_GONE_CLOSED : TBNET2_GONE_RESET);
		return;
	}
	tbnet2_handshake_dropped(h, TBNET2_HS_WRONG_INDEX);
}

/*
 * Names the host that speaks another version, as far as its HELLO can be read.
 */
static void take_other_version(struct tbnet2_handshake *h, struct greeting *g, const u8 *from,
			       const u8 *frame, u32 len)
{
	u8 head[sizeof(struct tbnet2_hdr)];

	tbnet2_handshake_dropped(h, TBNET2_HS_VERSION);
	if ((frame[0] & 0x0f) != TBNET2_HELLO)
		return;
	memcpy(head, frame, sizeof(head));
	head[0] = TBNET2_VERSION << 4 | TBNET2_HELLO;
	if (tbnet2_get_header(head, len, &g->hd) ||
	    tbnet2_get_greeting(frame + TBNET2_HEADER_LEN, g->hd.length, &g->m))
		return;
	if (g->m.version_low > TBNET2_VERSION || g->m.version_high < TBNET2_VERSION)
		tbnet2_acceptable(h, g->now, g->d, from, &g->m);
}

static bool is_intact(const struct greeting *g, const u8 *frame)
{
	if (g->hd.flags & TBNET2_F_CRC)
		return ~tbnet2_crc_begin(frame, TBNET2_HEADER_LEN + g->hd.length) == g->hd.crc;
	return !g->d->a.crc || (g->hd.type != TBNET2_HELLO_ACK && g->hd.type != TBNET2_CONFIRM);
}

static void dispatch(struct tbnet2_handshake *h, struct greeting *g, const u8 *from,
		     const u8 *frame, u32 len)
{
	enum tbnet2_wire_error err = tbnet2_get_header(frame, len, &g->hd);
	const u8 *body = frame + TBNET2_HEADER_LEN;

	if (err == TBNET2_WIRE_VERSION)
		take_other_version(h, g, from, frame, len);
	else if (err)
		tbnet2_handshake_dropped(h, TBNET2_HS_MALFORMED);
	else if (!is_intact(g, frame))
		tbnet2_handshake_dropped(h, TBNET2_HS_CRC);
	else if (g->hd.type == TBNET2_RESET)
		take_reset(h, g, from, body);
	else if (g->hd.type <= TBNET2_CONFIRM)
		take_greeting(h, g, from, body);
	else
		tbnet2_handshake_dropped(h, TBNET2_HS_MALFORMED);
}

/**
 * tbnet2_handshake_receive() - take one frame of the handshake
 * @h: the handshake
 * @now: the time
 * @device: that it came on
 * @from: the sender's address
 * @frame: all of it, after the Ethernet header
 * @len: its bytes
 */
void tbnet2_handshake_receive(struct tbnet2_handshake *h, s64 now, u8 device, const u8 *from,
			      const u8 *frame, u32 len)
{
	struct greeting g = { .now = now, .d = tbnet2_device(h, device) };

	h->stats.frames++;
	h->refused = false;
	if (g.d)
		dispatch(h, &g, from, frame, len);
	else
		tbnet2_handshake_dropped(h, TBNET2_HS_NO_DEVICE);
	if (!h->refused)
		h->stats.taken++;
}

/**
 * tbnet2_handshake_unknown() - answer a frame whose index no association has with
 *	a RESET, if it was meant for this endpoint
 * @h: the handshake
 * @now: the time
 * @device: that the frame came on
 * @from: the sender's address
 * @index: of the frame
 */
void tbnet2_handshake_unknown(struct tbnet2_handshake *h, s64 now, u8 device, const u8 *from,
			      u32 index)
{
	struct tbnet2_attached *d = tbnet2_device(h, device);

	if (!d || (u8)index != h->cfg.endpoint || tbnet2_knows_index(h, index))
		return;
	if (!tbnet2_bucket_take(&d->resets, now)) {
		h->stats.resets_held++;
		return;
	}
	send_reset(h, d, from, index, TBNET2_RESET_UNKNOWN);
}
