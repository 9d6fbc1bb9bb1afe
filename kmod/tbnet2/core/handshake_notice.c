// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Why no association forms with a host, for its user; and whether one may.
 */
#include "handshake_table.h"

static bool same_name(const struct tbnet2_name *a, const struct tbnet2_name *b)
{
	return a->len == b->len && !memcmp(a->text, b->text, a->len);
}

static void tell(struct tbnet2_handshake *h, struct tbnet2_notice *n)
{
	struct tbnet2_change c = { .kind = TBNET2_NOTICED, .peer = &n->peer, .notice = n };

	if (n->told)
		return;
	n->told = true;
	tbnet2_changed(h, &c);
}

static struct tbnet2_notice *find(struct tbnet2_handshake *h, enum tbnet2_notice_kind kind,
				  const struct tbnet2_peer_id *id, const u8 *from)
{
	u32 i;

	for (i = 0; i < h->notice_count; i++) {
		struct tbnet2_notice *n = &h->notices[i];

		if (n->kind == kind && tbnet2_same_peer(&n->peer, id) &&
		    !memcmp(n->mac, from, sizeof(n->mac)))
			return n;
	}
	return NULL;
}

/* Keeps a notice. Those that may yet pass are told later, by a sweep. */
static void note(struct tbnet2_handshake *h, s64 now, enum tbnet2_notice_kind kind,
		 const struct tbnet2_attached *d, const u8 *from, const struct tbnet2_greeting *m)
{
	const struct tbnet2_peer_id id = tbnet2_peer_of(m);
	struct tbnet2_notice *n = find(h, kind, &id, from);

	if (!n) {
		if (h->notice_count == NOTICES_MOST) {
			h->stats.notes_full++;
			return;
		}
		n = &h->notices[h->notice_count++];
		memset(n, 0, sizeof(*n));
		n->kind = kind;
		n->peer = id;
		memcpy(n->mac, from, sizeof(n->mac));
		n->first = now;
	}
	n->name = tbnet2_name_of(m);
	memcpy(n->device, d->a.name, sizeof(n->device));
	n->last = now;
	if (kind != TBNET2_NOTICE_SERVICE)
		tell(h, n);
}

/* Whether some endpoint of a host serves what we do. */
static bool is_served(const struct tbnet2_handshake *h, const u8 *host)
{
	u32 i;

	for (i = 0; i < h->peer_count; i++)
		if (!memcmp(h->peers[i]->id.host, host, sizeof(h->peers[i]->id.host)))
			return true;
	return false;
}

/**
 * tbnet2_sweep_notices() - tell what has held for long enough and forget what no
 *	longer does
 * @h: the handshake
 * @now: the time
 */
void tbnet2_sweep_notices(struct tbnet2_handshake *h, s64 now)
{
	u32 i, kept = 0;

	for (i = 0; i < h->notice_count; i++) {
		const struct tbnet2_notice *n = &h->notices[i];

		if (now - n->last > NOTICE_LIFE ||
		    (n->kind == TBNET2_NOTICE_SERVICE && is_served(h, n->peer.host)))
			continue;
		if (kept != i)
			h->notices[kept] = *n;
		kept++;
	}
	h->notice_count = kept;
	for (i = 0; i < h->notice_count; i++)
		if (now - h->notices[i].first >= NOTICE_DELAY)
			tell(h, &h->notices[i]);
}

static bool is_our_mac(const struct tbnet2_handshake *h, const u8 *from)
{
	u32 i;

	for (i = 0; i < DEVICES_MOST; i++)
		if (h->devices[i] && !memcmp(h->devices[i]->a.mac, from, 6))
			return true;
	return false;
}

/* Tells our own frames from those of another machine with our UUID. */
static void note_own_host(struct tbnet2_handshake *h, s64 now, const struct tbnet2_attached *d,
			  const u8 *from, const struct tbnet2_greeting *m)
{
	const struct tbnet2_name name = tbnet2_name_of(m);

	if (m->epoch == h->cfg.epoch || is_our_mac(h, from) ||
	    (same_name(&name, &h->cfg.name) && (u8)m->index != h->cfg.endpoint)) {
		tbnet2_handshake_dropped(h, TBNET2_HS_OWN);
		return;
	}
	tbnet2_handshake_dropped(h, TBNET2_HS_MISMATCH);
	note(h, now, TBNET2_NOTICE_CONFLICT, d, from, m);
}

/* Refuses epochs that have ended. One that goes on is another machine. */
static bool is_living(struct tbnet2_handshake *h, s64 now, const struct tbnet2_attached *d,
		      const u8 *from, const struct tbnet2_greeting *m)
{
	const struct tbnet2_peer_id id = tbnet2_peer_of(m);
	const struct tbnet2_peer *p = tbnet2_find_peer(h, &id);

	if (!p || !tbnet2_is_dead_epoch(p, m->epoch))
		return true;
	tbnet2_handshake_dropped(h, TBNET2_HS_OLD_EPOCH);
	if (now - p->replaced_at > GHOST_TIME)
		note(h, now, TBNET2_NOTICE_CONFLICT, d, from, m);
	return false;
}

/**
 * tbnet2_acceptable() - whether a host may be spoken with; if not, why is counted
 *	and noted
 * @h: the handshake
 * @now: the time
 * @d: the device it was heard on
 * @from: its address
 * @m: what it says
 */
bool tbnet2_acceptable(struct tbnet2_handshake *h, s64 now, const struct tbnet2_attached *d,
		       const u8 *from, const struct tbnet2_greeting *m)
{
	if (!memcmp(m->host, h->cfg.host, sizeof(m->host))) {
		note_own_host(h, now, d, from, m);
		return false;
	}
	if (m->version_low > TBNET2_VERSION || m->version_high < TBNET2_VERSION) {
		tbnet2_handshake_dropped(h, TBNET2_HS_MISMATCH);
		note(h, now, TBNET2_NOTICE_VERSION, d, from, m);
		return false;
	}
	if (m->service != h->cfg.service) {
		tbnet2_handshake_dropped(h, TBNET2_HS_MISMATCH);
		note(h, now, TBNET2_NOTICE_SERVICE, d, from, m);
		return false;
	}
	return is_living(h, now, d, from, m);
}
