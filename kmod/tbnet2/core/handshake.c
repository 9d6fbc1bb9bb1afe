// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * The calls of a handshake but for frames: devices, time, the user's will.
 */
#include "handshake_table.h"

/**
 * tbnet2_handshake_new() - start without devices
 * @c: who this endpoint is; copied
 * @now: the time
 *
 * Return: NULL where there is no memory.
 */
struct tbnet2_handshake *tbnet2_handshake_new(const struct tbnet2_handshake_config *c, s64 now)
{
	struct tbnet2_handshake *h = tbnet2_alloc(sizeof(*h));

	if (!h)
		return NULL;
	h->cfg = *c;
	if (!h->cfg.slots)
		h->cfg.slots = SLOTS_DEFAULT;
	h->sweep_at = now + SWEEP_INTERVAL;
	h->hello_index = tbnet2_new_index(h);
	return h;
}

static void free_devices(struct tbnet2_handshake *h)
{
	u32 i;

	for (i = 0; i < DEVICES_MOST; i++) {
		tbnet2_free(h->devices[i]);
		h->devices[i] = NULL;
	}
}

/**
 * tbnet2_handshake_destroy() - give all memory back, telling nobody
 * @h: the handshake or NULL
 */
void tbnet2_handshake_destroy(struct tbnet2_handshake *h)
{
	if (!h)
		return;
	free_devices(h);
	while (h->peer_count)
		tbnet2_free_peer(h->peers[--h->peer_count]);
	tbnet2_free(h);
}

/**
 * tbnet2_handshake_add() - begin discovery on a device, with a HELLO at once
 * @h: the handshake
 * @now: the time
 * @device: the caller's number for it, below TBNET2_RAILS_MAX
 * @a: describes it
 *
 * Return: 0; -EINVAL: the number is out of range; -EEXIST: in use; -ENOMEM.
 */
int tbnet2_handshake_add(struct tbnet2_handshake *h, s64 now, u8 device,
			 const struct tbnet2_attachment *a)
{
	struct tbnet2_attached *d;

	if (device >= DEVICES_MOST)
		return -EINVAL;
	if (h->devices[device])
		return -EEXIST;
	d = tbnet2_alloc(sizeof(*d));
	if (!d)
		return -ENOMEM;
	d->a = *a;
	d->id = device;
	d->hello_at = now;
	d->last_at = now - HURRY_INTERVAL;
	tbnet2_bucket_init(&d->resets, now, RESETS_PER_SECOND, RESETS_PER_SECOND);
	tbnet2_bucket_init(&d->answers, now, ANSWERS_PER_SECOND, ANSWERS_BURST);
	h->devices[device] = d;
	return 0;
}

static bool same_attachment(const struct tbnet2_attachment *a, const struct tbnet2_attachment *b)
{
	return !strcmp(a->name, b->name) && !memcmp(a->mac, b->mac, sizeof(a->mac)) &&
	       a->carrier == b->carrier && a->crc == b->crc && a->mtu == b->mtu &&
	       a->rate == b->rate && a->group == b->group;
}

/**
 * tbnet2_handshake_set() - follow a change of a device
 * @h: the handshake
 * @now: the time
 * @device: which
 * @a: describes it
 *
 * A carrier that comes is answered by a HELLO at once; one that goes ends what
 * was seen there, not the rails.
 */
void tbnet2_handshake_set(struct tbnet2_handshake *h, s64 now, u8 device,
			  const struct tbnet2_attachment *a)
{
	struct tbnet2_attached *d = tbnet2_device(h, device);
	struct tbnet2_attachment was;

	if (!d)
		return;
	was = d->a;
	d->a = *a;
	if (was.carrier && !a->carrier)
		tbnet2_drop_device(h, device, false);
	else if (a->carrier && !same_attachment(&was, a))
		d->hello_at = now;
}

/**
 * tbnet2_handshake_remove() - end the rails of a device
 * @h: the handshake
 * @device: which
 */
void tbnet2_handshake_remove(struct tbnet2_handshake *h, u8 device)
{
	struct tbnet2_attached *d = tbnet2_device(h, device);

	if (!d)
		return;
	h->devices[device] = NULL;
	tbnet2_free(d);
	tbnet2_drop_device(h, device, false);
	tbnet2_drop_device(h, device, true);
}

/**
 * tbnet2_handshake_heard() - tell whether the peer is heard on a rail
 * @h: the handshake
 * @now: the time
 * @id: the peer
 * @rail: our id
 * @heard: while it is not, the rail's device keeps asking
 */
void tbnet2_handshake_heard(struct tbnet2_handshake *h, s64 now, const struct tbnet2_peer_id *id,
			    u8 rail, bool heard)
{
	struct tbnet2_peer *p = tbnet2_find_peer(h, id);
	struct tbnet2_attached *d;
	struct tbnet2_hs_rail *r;

	if (!p || !p->current_one || rail >= TBNET2_RAILS_MAX || !p->current_one->rails[rail])
		return;
	r = p->current_one->rails[rail];
	d = h->devices[r->device];
	if (r->heard && !heard && d)
		d->hello_at = min_t(s64, d->hello_at, now + HELLO_INTERVAL);
	r->heard = heard;
}

static void forget(struct tbnet2_handshake *h, s64 now, struct tbnet2_peer *p)
{
	if (!p->current_one)
		return;
	tbnet2_send_closing(h, p);
	tbnet2_end_association(h, now, p, TBNET2_GONE_FORGOTTEN);
}

/**
 * tbnet2_handshake_forget() - end an association, telling the peer; its devices
 *	look for the peer anew
 * @h: the handshake
 * @now: the time
 * @id: the peer
 */
void tbnet2_handshake_forget(struct tbnet2_handshake *h, s64 now, const struct tbnet2_peer_id *id)
{
	struct tbnet2_peer *p = tbnet2_find_peer(h, id);

	if (p)
		forget(h, now, p);
}

/**
 * tbnet2_handshake_close() - tell all peers that their associations have ended
 * @h: the handshake, without devices afterwards
 * @now: the time
 */
void tbnet2_handshake_close(struct tbnet2_handshake *h, s64 now)
{
	u32 i;

	for (i = 0; i < h->peer_count; i++)
		forget(h, now, h->peers[i]);
	free_devices(h);
}

/**
 * tbnet2_handshake_tick() - do what time asks for
 * @h: the handshake
 * @now: the time
 */
void tbnet2_handshake_tick(struct tbnet2_handshake *h, s64 now)
{
	u32 i;

	if (now >= h->sweep_at) {
		tbnet2_sweep(h, now);
		h->sweep_at = now + SWEEP_INTERVAL;
	}
	for (i = 0; i < DEVICES_MOST; i++) {
		struct tbnet2_attached *d = h->devices[i];

		if (d && d->a.carrier && now >= d->hello_at)
			tbnet2_send_hello(h, now, d);
	}
}

/**
 * tbnet2_handshake_deadline() - when a tick is due next
 * @h: the handshake
 */
s64 tbnet2_handshake_deadline(const struct tbnet2_handshake *h)
{
	s64 next = h->sweep_at;
	u32 i;

	for (i = 0; i < DEVICES_MOST; i++) {
		const struct tbnet2_attached *d = h->devices[i];

		if (d && d->a.carrier)
			next = min(next, d->hello_at);
	}
	return next;
}

/**
 * tbnet2_handshake_stats() - the totals
 * @h: the handshake
 */
const struct tbnet2_handshake_stats *tbnet2_handshake_stats(const struct tbnet2_handshake *h)
{
	return &h->stats;
}

/**
 * tbnet2_hurry() - have a device send a HELLO soon, not more often than the quick
 *	pace
 * @d: the device
 * @now: the time
 */
void tbnet2_hurry(struct tbnet2_attached *d, s64 now)
{
	d->hello_at = min_t(s64, d->hello_at, max_t(s64, now, d->last_at + HURRY_INTERVAL));
}

/**
 * tbnet2_rail_missing() - whether a device has no rail on which a peer is heard
 * @h: the handshake
 * @device: which
 */
bool tbnet2_rail_missing(const struct tbnet2_handshake *h, u8 device)
{
	u32 i;

	for (i = 0; i < h->peer_count; i++) {
		const struct tbnet2_hs_association *a = h->peers[i]->current_one;
		u64 set = a ? a->rail_set : 0;
		u8 id;

		tbnet2_for_each_rail(id, set) {
			const struct tbnet2_hs_rail *r = a->rails[id];

			if (r->device == device && r->made && r->heard)
				return false;
		}
	}
	return true;
}

/**
 * tbnet2_knows_index() - whether an association has an index, made or being made
 * @h: the handshake
 * @index: the index
 */
bool tbnet2_knows_index(const struct tbnet2_handshake *h, u32 index)
{
	u32 i;

	for (i = 0; i < h->peer_count; i++) {
		const struct tbnet2_peer *p = h->peers[i];

		if (p->current_one && p->current_one->index == index)
			return true;
		if (p->pending && p->pending->index == index)
			return true;
	}
	return false;
}

/**
 * tbnet2_new_index() - draw an index that no association of ours has
 * @h: the handshake
 */
u32 tbnet2_new_index(struct tbnet2_handshake *h)
{
	u32 index;

	do {
		index = (u32)h->cfg.ops->random(h->cfg.context);
		index = (index & ~0xffu) | h->cfg.endpoint;
	} while (!(index >> 8) || index == h->hello_index || tbnet2_knows_index(h, index));
	return index;
}
