// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Sightings of remote devices, and rails, offered or made.
 */
#include "handshake_table.h"

/**
 * tbnet2_edge_of() - the sighting of a remote on a device, or NULL
 * @a: the association
 * @device: the device
 * @r: the remote
 */
struct tbnet2_edge *tbnet2_edge_of(const struct tbnet2_hs_association *a, u8 device,
				   const struct tbnet2_remote *r)
{
	u32 i;

	for (i = 0; i < a->edge_count; i++) {
		struct tbnet2_edge *e = a->edges[i];

		if (e->device == device && tbnet2_same_remote(&e->remote, r))
			return e;
	}
	return NULL;
}

/**
 * tbnet2_see() - note that a remote was seen on a device
 * @a: the association
 * @now: the time
 * @device: the device
 * @r: the remote
 *
 * Return: the sighting; NULL when the table is full or there is no memory.
 */
struct tbnet2_edge *tbnet2_see(struct tbnet2_hs_association *a, s64 now, u8 device,
			       const struct tbnet2_remote *r)
{
	struct tbnet2_edge *e = tbnet2_edge_of(a, device, r);

	if (!e) {
		if (a->edge_count == EDGES_MOST)
			return NULL;
		e = tbnet2_alloc(sizeof(*e));
		if (!e)
			return NULL;
		e->device = device;
		e->remote = *r;
		e->asked = TBNET2_NEVER;
		a->edges[a->edge_count++] = e;
	}
	e->seen_at = now;
	return e;
}

/**
 * tbnet2_drop_edge() - forget a sighting; the others keep their order
 * @a: the association
 * @i: its place
 */
void tbnet2_drop_edge(struct tbnet2_hs_association *a, u32 i)
{
	tbnet2_free(a->edges[i]);
	a->edge_count--;
	memmove(&a->edges[i], &a->edges[i + 1], (a->edge_count - i) * sizeof(a->edges[0]));
}

/**
 * tbnet2_rail_of() - the rail of a device and a remote, or NULL
 * @a: the association
 * @device: the device
 * @r: the remote
 */
struct tbnet2_hs_rail *tbnet2_rail_of(const struct tbnet2_hs_association *a, u8 device,
				      const struct tbnet2_remote *r)
{
	u64 set = a->rail_set;
	u8 id;

	tbnet2_for_each_rail(id, set) {
		struct tbnet2_hs_rail *rail = a->rails[id];

		if (rail->device == device && tbnet2_same_remote(&rail->remote, r))
			return rail;
	}
	return NULL;
}

/**
 * tbnet2_new_rail() - give a sighting a rail
 * @a: the association
 * @e: the sighting
 *
 * Return: NULL when all ids are in use or there is no memory.
 */
struct tbnet2_hs_rail *tbnet2_new_rail(struct tbnet2_hs_association *a,
				       const struct tbnet2_edge *e)
{
	struct tbnet2_hs_rail *r;
	u32 i;

	for (i = 1; i <= TBNET2_RAILS_MAX; i++) {
		u8 id = (u8)((a->last + i) % TBNET2_RAILS_MAX);

		if (tbnet2_has(a->rail_set, id))
			continue;
		r = tbnet2_alloc(sizeof(*r));
		if (!r)
			return NULL;
		r->id = id;
		r->device = e->device;
		r->remote = e->remote;
		a->rails[id] = r;
		a->rail_set |= tbnet2_bit(id);
		a->last = id;
		return r;
	}
	return NULL;
}

/**
 * tbnet2_free_rail() - take a rail out, telling nobody
 * @a: the association
 * @r: the rail
 */
void tbnet2_free_rail(struct tbnet2_hs_association *a, struct tbnet2_hs_rail *r)
{
	a->rails[r->id] = NULL;
	a->rail_set &= ~tbnet2_bit(r->id);
	tbnet2_free(r);
}

/**
 * tbnet2_drop_rail() - end a rail
 * @h: the handshake
 * @p: the peer
 * @a: the association
 * @r: the rail
 */
void tbnet2_drop_rail(struct tbnet2_handshake *h, struct tbnet2_peer *p,
		      struct tbnet2_hs_association *a, struct tbnet2_hs_rail *r)
{
	struct tbnet2_rail_info info = r->info;
	struct tbnet2_change c = { .kind = TBNET2_RAIL_GONE, .peer = &p->id, .rail = &info };
	bool made = r->made;

	tbnet2_free_rail(a, r);
	if (made)
		tbnet2_changed(h, &c);
}

/**
 * tbnet2_withdraw() - end the offers to remotes that are no longer seen
 * @h: the handshake
 * @p: the peer
 * @a: the association
 */
void tbnet2_withdraw(struct tbnet2_handshake *h, struct tbnet2_peer *p,
		     struct tbnet2_hs_association *a)
{
	u64 set = a->rail_set;
	u8 id;

	tbnet2_for_each_rail(id, set) {
		struct tbnet2_hs_rail *r = a->rails[id];

		if (!r->made && !tbnet2_edge_of(a, r->device, &r->remote))
			tbnet2_drop_rail(h, p, a, r);
	}
}

/* Forgets what was seen on a device. */
static void drop_edges(struct tbnet2_handshake *h, struct tbnet2_peer *p,
		       struct tbnet2_hs_association *a, u8 device)
{
	u32 i = 0;

	while (i < a->edge_count) {
		if (a->edges[i]->device == device)
			tbnet2_drop_edge(a, i);
		else
			i++;
	}
	tbnet2_withdraw(h, p, a);
}

static void drop_rails(struct tbnet2_handshake *h, struct tbnet2_peer *p,
		       struct tbnet2_hs_association *a, u8 device)
{
	u64 set = a->rail_set;
	u8 id;

	tbnet2_for_each_rail(id, set)
		if (a->rails[id]->device == device)
			tbnet2_drop_rail(h, p, a, a->rails[id]);
}

/**
 * tbnet2_drop_device() - forget what was seen on a device, or end its rails
 * @h: the handshake
 * @device: the device
 * @rails: end its rails
 */
void tbnet2_drop_device(struct tbnet2_handshake *h, u8 device, bool rails)
{
	u32 i, k;

	for (i = 0; i < h->peer_count; i++) {
		struct tbnet2_peer *p = h->peers[i];
		struct tbnet2_hs_association *all[] = { p->current_one, p->pending };

		for (k = 0; k < ARRAY_SIZE(all); k++) {
			if (all[k] && rails)
				drop_rails(h, p, all[k], device);
			else if (all[k])
				drop_edges(h, p, all[k], device);
		}
	}
}

/**
 * tbnet2_drop_rivals() - end the rails that have a device or a remote
 * @h: the handshake
 * @p: the peer
 * @a: the association
 * @device: the device
 * @r: the remote
 */
void tbnet2_drop_rivals(struct tbnet2_handshake *h, struct tbnet2_peer *p,
			struct tbnet2_hs_association *a, u8 device,
			const struct tbnet2_remote *r)
{
	u64 set = a->rail_set;
	u8 id;

	tbnet2_for_each_rail(id, set) {
		struct tbnet2_hs_rail *o = a->rails[id];

		if (o->device == device || tbnet2_same_remote(&o->remote, r))
			tbnet2_drop_rail(h, p, a, o);
	}
}

/* Joins what both ends say of a rail. */
static struct tbnet2_rail_info describe(const struct tbnet2_handshake *h,
					const struct tbnet2_hs_rail *r,
					const struct tbnet2_greeting *m)
{
	const struct tbnet2_attachment *d = &h->devices[r->device]->a;
	struct tbnet2_rail_info i;

	memset(&i, 0, sizeof(i)); /* compared as bytes */
	i.id = r->id;
	i.peer_id = m->rail;
	i.device = r->device;
	memcpy(i.mac, r->remote.mac, sizeof(i.mac));
	i.no_crc = !(m->caps & TBNET2_CAP_CRC);
	i.peer_mtu = min_t(u32, m->mtu, MTU_MOST);
	i.mtu = min(d->mtu, i.peer_mtu);
	i.rate = d->rate;
	if (!i.rate || (m->rate && m->rate < i.rate))
		i.rate = m->rate;
	i.peer_rate = m->rate;
	i.group = d->group;
	return i;
}

/**
 * tbnet2_make_rail() - take a rail as made, in the place of all that have its
 *	device, its remote or the peer's id for it
 * @h: the handshake
 * @p: the peer
 * @a: the association
 * @r: the rail
 * @m: what the peer says
 */
void tbnet2_make_rail(struct tbnet2_handshake *h, struct tbnet2_peer *p,
		      struct tbnet2_hs_association *a, struct tbnet2_hs_rail *r,
		      const struct tbnet2_greeting *m)
{
	struct tbnet2_change c = { .kind = TBNET2_RAIL_MADE, .peer = &p->id, .rail = &r->info };
	u64 set = a->rail_set;
	u8 id;

	tbnet2_for_each_rail(id, set) {
		struct tbnet2_hs_rail *o = a->rails[id];

		if (o != r && (o->device == r->device ||
			       tbnet2_same_remote(&o->remote, &r->remote) ||
			       (o->made && o->peer_id == m->rail)))
			tbnet2_drop_rail(h, p, a, o);
	}
	r->made = true;
	r->peer_id = m->rail;
	r->info = describe(h, r, m);
	tbnet2_changed(h, &c);
}

/**
 * tbnet2_refresh_rail() - follow what a peer says of a rail that is made
 * @h: the handshake
 * @p: the peer
 * @r: the rail
 * @m: what the peer says
 */
void tbnet2_refresh_rail(struct tbnet2_handshake *h, struct tbnet2_peer *p,
			 struct tbnet2_hs_rail *r, const struct tbnet2_greeting *m)
{
	struct tbnet2_change c = { .kind = TBNET2_RAIL_INFO, .peer = &p->id, .rail = &r->info };
	struct tbnet2_rail_info info = describe(h, r, m);

	if (!memcmp(&info, &r->info, sizeof(info)))
		return;
	memcpy(&r->info, &info, sizeof(info));
	tbnet2_changed(h, &c);
}
