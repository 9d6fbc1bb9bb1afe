// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Peers, and their associations from the first HELLO to their end.
 */
#include "handshake_table.h"

/**
 * tbnet2_find_peer() - the peer of an id, or NULL
 * @h: the handshake
 * @id: the id
 */
struct tbnet2_peer *tbnet2_find_peer(const struct tbnet2_handshake *h,
				     const struct tbnet2_peer_id *id)
{
	u32 i;

	for (i = 0; i < h->peer_count; i++)
		if (tbnet2_same_peer(&h->peers[i]->id, id))
			return h->peers[i];
	return NULL;
}

/**
 * tbnet2_add_peer() - the peer of an id, new if need be
 * @h: the handshake
 * @id: the id
 *
 * Return: NULL when the table is full or there is no memory.
 */
struct tbnet2_peer *tbnet2_add_peer(struct tbnet2_handshake *h, const struct tbnet2_peer_id *id)
{
	struct tbnet2_peer *p = tbnet2_find_peer(h, id);

	if (p || h->peer_count == PEERS_MOST)
		return p;
	p = tbnet2_alloc(sizeof(*p));
	if (!p)
		return NULL;
	p->id = *id;
	h->peers[h->peer_count++] = p;
	return p;
}

/**
 * tbnet2_free_peer() - give the memory of a peer back
 * @p: the peer, out of the table
 */
void tbnet2_free_peer(struct tbnet2_peer *p)
{
	tbnet2_free_attempt(p->current_one);
	tbnet2_free_attempt(p->pending);
	tbnet2_free(p);
}

/**
 * tbnet2_is_dead_epoch() - whether an epoch of a peer is known to have ended
 * @p: the peer
 * @epoch: the epoch
 */
bool tbnet2_is_dead_epoch(const struct tbnet2_peer *p, u64 epoch)
{
	u32 i;

	for (i = 0; i < DEAD_EPOCHS; i++)
		if (epoch && p->dead[i] == epoch)
			return true;
	return false;
}

static void bury(struct tbnet2_peer *p, s64 now, u64 epoch)
{
	memmove(p->dead + 1, p->dead, (DEAD_EPOCHS - 1) * sizeof(p->dead[0]));
	p->dead[0] = epoch;
	p->replaced_at = now;
}

/**
 * tbnet2_new_attempt() - begin an association, in no peer yet
 * @h: the handshake
 * @epoch: the peer's
 *
 * Return: NULL where there is no memory.
 */
struct tbnet2_hs_association *tbnet2_new_attempt(struct tbnet2_handshake *h, u64 epoch)
{
	struct tbnet2_hs_association *a = tbnet2_alloc(sizeof(*a));

	if (!a)
		return NULL;
	a->epoch = epoch;
	a->index = tbnet2_new_index(h);
	a->last = TBNET2_RAILS_MAX - 1;
	return a;
}

/**
 * tbnet2_free_attempt() - give the memory of an association back
 * @a: the association, in no peer any more, or NULL
 */
void tbnet2_free_attempt(struct tbnet2_hs_association *a)
{
	u64 set;
	u8 id;

	if (!a)
		return;
	set = a->rail_set;
	tbnet2_for_each_rail(id, set)
		tbnet2_free(a->rails[id]);
	while (a->edge_count)
		tbnet2_free(a->edges[--a->edge_count]);
	tbnet2_free(a);
}

/**
 * tbnet2_attempt() - the association of an epoch of a peer: the current, or the
 *	pending one, new if need be
 * @h: the handshake
 * @p: the peer
 * @epoch: its epoch
 *
 * Return: NULL where there is no memory.
 */
struct tbnet2_hs_association *tbnet2_attempt(struct tbnet2_handshake *h, struct tbnet2_peer *p,
					     u64 epoch)
{
	struct tbnet2_hs_association *a;

	if (p->current_one && p->current_one->epoch == epoch)
		return p->current_one;
	if (p->pending && p->pending->epoch == epoch)
		return p->pending;
	a = tbnet2_new_attempt(h, epoch);
	if (!a)
		return NULL;
	tbnet2_free_attempt(p->pending);
	p->pending = a;
	return a;
}

/* Has every device look for peers at once, with fresh nonces. */
static void hurry_all(struct tbnet2_handshake *h, s64 now)
{
	u32 i;

	for (i = 0; i < DEVICES_MOST; i++)
		if (h->devices[i])
			tbnet2_hurry(h->devices[i], now);
}

/**
 * tbnet2_make_association() - put an association in the place of what was there
 * @h: the handshake
 * @now: the time
 * @p: the peer
 * @a: the association, pending or in no peer; the peer's now
 * @m: what the peer says
 */
void tbnet2_make_association(struct tbnet2_handshake *h, s64 now, struct tbnet2_peer *p,
			     struct tbnet2_hs_association *a, const struct tbnet2_greeting *m)
{
	struct tbnet2_association_info info = {
		.name = tbnet2_name_of(m),
		.epoch = a->epoch,
		.local_index = a->index,
		.peer_index = m->index,
		.slots = m->slots,
		.retransmit = m->caps & h->cfg.caps & TBNET2_CAP_RETRANSMIT,
		.offload = m->caps & TBNET2_CAP_OFFLOAD,
	};
	struct tbnet2_change gone = {
		.kind = TBNET2_PEER_GONE,
		.peer = &p->id,
		.reason = TBNET2_GONE_REPLACED,
	};
	struct tbnet2_change made = {
		.kind = TBNET2_PEER_MADE,
		.peer = &p->id,
		.association = &info,
	};

	if (p->current_one) {
		if (p->current_one->epoch != a->epoch)
			bury(p, now, p->current_one->epoch);
		tbnet2_free_attempt(p->current_one);
		p->current_one = NULL;
		tbnet2_changed(h, &gone);
	}
	a->peer_index = m->index;
	if (p->pending != a)
		tbnet2_free_attempt(p->pending);
	p->pending = NULL;
	p->current_one = a;
	p->floor = h->serial;
	tbnet2_changed(h, &made);
	hurry_all(h, now);
}

/**
 * tbnet2_end_association() - end the current association of a peer
 * @h: the handshake
 * @now: the time
 * @p: the peer
 * @why: the reason
 */
void tbnet2_end_association(struct tbnet2_handshake *h, s64 now, struct tbnet2_peer *p,
			    enum tbnet2_gone why)
{
	struct tbnet2_change gone = { .kind = TBNET2_PEER_GONE, .peer = &p->id, .reason = why };

	tbnet2_free_attempt(p->current_one);
	p->current_one = NULL;
	p->floor = h->serial;
	tbnet2_changed(h, &gone);
	hurry_all(h, now);
}

/* Forgets the remotes that were not seen for long. */
static void sweep_edges(struct tbnet2_handshake *h, s64 now, struct tbnet2_peer *p,
			struct tbnet2_hs_association *a)
{
	u32 i = 0;

	while (i < a->edge_count) {
		const struct tbnet2_edge *e = a->edges[i];
		const struct tbnet2_hs_rail *r = tbnet2_rail_of(a, e->device, &e->remote);

		if (now - e->seen_at > EDGE_LIFE && (!r || !r->heard))
			tbnet2_drop_edge(a, i);
		else
			i++;
	}
	tbnet2_withdraw(h, p, a);
}

/**
 * tbnet2_sweep() - forget what was not heard of for long
 * @h: the handshake
 * @now: the time
 */
void tbnet2_sweep(struct tbnet2_handshake *h, s64 now)
{
	u32 i, kept = 0;

	for (i = 0; i < h->peer_count; i++) {
		struct tbnet2_peer *p = h->peers[i];

		if (p->current_one)
			sweep_edges(h, now, p, p->current_one);
		if (p->pending)
			sweep_edges(h, now, p, p->pending);
		if (p->pending && !p->pending->edge_count) {
			tbnet2_free_attempt(p->pending);
			p->pending = NULL;
		}
		if (!p->current_one && !p->pending && now - p->replaced_at > EDGE_LIFE)
			tbnet2_free_peer(p);
		else
			h->peers[kept++] = p;
	}
	h->peer_count = kept;
	tbnet2_sweep_notices(h, now);
}
