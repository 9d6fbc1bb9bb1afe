// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Which pairs of devices become rails: each device and each remote is in one
 * at most, and as many are used as can be.
 */
#include "handshake_table.h"

/**
 * tbnet2_same_remote() - whether two remotes are one
 * @a: a remote
 * @b: another
 */
bool tbnet2_same_remote(const struct tbnet2_remote *a, const struct tbnet2_remote *b)
{
	return a->group == b->group && !memcmp(a->mac, b->mac, sizeof(a->mac));
}

/* Whether edge a comes before edge b: by device, MAC and group. */
static bool comes_before(const struct tbnet2_edge *a, const struct tbnet2_edge *b)
{
	int mac = memcmp(a->remote.mac, b->remote.mac, sizeof(a->remote.mac));

	if (a->device != b->device)
		return a->device < b->device;
	if (mac)
		return mac < 0;
	return a->remote.group < b->remote.group;
}

/* Nearly sorted most of the time; no two edges are equal. */
static void sort_edges(struct tbnet2_hs_association *a)
{
	u32 i, k;

	for (i = 1; i < a->edge_count; i++) {
		struct tbnet2_edge *e = a->edges[i];

		for (k = i; k && comes_before(e, a->edges[k - 1]); k--)
			a->edges[k] = a->edges[k - 1];
		a->edges[k] = e;
	}
}

static void choose(struct tbnet2_matching *m, u16 i)
{
	m->devices[m->device[i]] = (s16)i;
	m->remotes[m->remote[i]] = (s16)i;
}

/* One device on the way to a free remote, and the pair it would take. */
struct way {
	u16 device;
	u16 pair;
	bool free;	/* looks at free remotes; else at those whose device may move */
};

/*
 * The next pair that a device could take; -1 when there is none: first those
 * with a free remote, then the others.
 */
static int next_pair(struct tbnet2_matching *m, struct way *w, bool doubtful)
{
	for (;;) {
		for (; w->pair < m->count; w->pair++) {
			u16 r = m->remote[w->pair];
			bool is_free = m->remotes[r] < 0;

			if (m->device[w->pair] != w->device || m->visited[r] ||
			    (m->doubtful[w->pair] && !doubtful) || w->free != is_free)
				continue;
			return w->pair;
		}
		if (!w->free)
			return -1;
		w->free = false;
		w->pair = 0;
	}
}

static void begin_way(struct way *w, u16 device)
{
	w->device = device;
	w->pair = 0;
	w->free = true;
}

/*
 * Finds a remote for a device: a free one, or one whose own device can be
 * moved. Each step visits a remote whose device is not on the way yet, so that
 * there are no more steps than devices.
 */
static void augment(struct tbnet2_matching *m, u16 device, bool doubtful)
{
	struct way ways[DEVICES_MOST + 1];
	u32 n = 1;

	memset(m->visited, 0, sizeof(m->visited));
	begin_way(&ways[0], device);
	while (n) {
		struct way *w = &ways[n - 1];
		int pair = next_pair(m, w, doubtful);
		u16 r;

		if (pair < 0) {
			n--;
			if (n)
				ways[n - 1].pair++; /* that remote's device cannot move */
			continue;
		}
		r = m->remote[pair];
		m->visited[r] = true;
		if (!w->free) {
			begin_way(&ways[n++], m->device[m->remotes[r]]);
			continue;
		}
		while (n)
			choose(m, ways[--n].pair);
		return;
	}
}

static void begin_matching(struct tbnet2_handshake *h, s64 now,
			   const struct tbnet2_hs_association *a)
{
	struct tbnet2_matching *m = &h->matching;
	u32 i, k;

	m->count = a->edge_count;
	for (i = 0; i < m->count; i++) {
		const struct tbnet2_edge *e = a->edges[i];
		const struct tbnet2_hs_rail *r = tbnet2_rail_of(a, e->device, &e->remote);

		m->devices[i] = -1;
		m->remotes[i] = -1;
		m->doubtful[i] = now < e->doubtful;
		m->held[i] = r && ((r->made && r->heard) || now >= e->doubtful);
		for (k = 0; a->edges[k]->device != e->device; k++)
			;
		m->device[i] = (u16)k;
		for (k = 0; !tbnet2_same_remote(&a->edges[k]->remote, &e->remote); k++)
			;
		m->remote[i] = (u16)k;
	}
}

/*
 * What is held stays where that costs nothing; the rest is by order of device
 * and remote, doubtful pairs last.
 */
static void match_pairs(struct tbnet2_matching *m)
{
	u32 doubtful;
	u16 i;

	for (i = 0; i < m->count; i++)
		if (m->held[i] && m->devices[m->device[i]] < 0 && m->remotes[m->remote[i]] < 0)
			choose(m, i);
	for (doubtful = 0; doubtful < 2; doubtful++)
		for (i = 0; i < m->count; i++)
			if (m->device[i] == i && m->devices[i] < 0)
				augment(m, i, doubtful);
}

/**
 * tbnet2_match() - choose the rails of an association that is ours to decide
 * @h: the handshake
 * @now: the time
 * @a: the association
 *
 * What is newly chosen gets a rail, offered until it is confirmed, and an
 * offer that is no longer chosen is withdrawn.
 */
void tbnet2_match(struct tbnet2_handshake *h, s64 now, struct tbnet2_hs_association *a)
{
	const struct tbnet2_matching *m = &h->matching;
	u32 i;

	sort_edges(a);
	begin_matching(h, now, a);
	match_pairs(&h->matching);
	for (i = 0; i < m->count; i++) {
		const struct tbnet2_edge *e = a->edges[i];
		struct tbnet2_hs_rail *r = tbnet2_rail_of(a, e->device, &e->remote);
		bool chosen = m->devices[m->device[i]] == (s16)i;

		if (chosen && !r)
			tbnet2_new_rail(a, e);
		else if (!chosen && r && !r->made)
			tbnet2_free_rail(a, r);
	}
}
