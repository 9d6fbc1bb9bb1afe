/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * What a handshake keeps: local devices, peers, and what was seen where.
 */
#ifndef TBNET2_CORE_HANDSHAKE_TABLE_H
#define TBNET2_CORE_HANDSHAKE_TABLE_H

#include "handshake.h"

/* Numbers of docs/protocol.md 7. */
#define HELLO_INTERVAL	(100 * TBNET2_MS)	/* while a rail is missing */
#define HELLO_IDLE	(1 * TBNET2_SEC)	/* else */
#define HURRY_INTERVAL	(50 * TBNET2_MS)	/* tuning: between HELLOs asked for */
#define EDGE_LIFE	(3500 * TBNET2_MS) /* tuning: three idle HELLOs may be lost */
#define OFFER_PATIENCE	(1 * TBNET2_SEC)	/* tuning: an offer unanswered gives way */
#define DOUBT_TIME	(5 * TBNET2_SEC)	/* tuning: to other pairs, for so long */
#define SWEEP_INTERVAL	(500 * TBNET2_MS)	/* tuning */
#define GHOST_TIME	(2 * TBNET2_SEC) /* tuning: an ended epoch lives elsewhere */
#define NOTICE_DELAY	(1 * TBNET2_SEC) /* tuning: another endpoint may yet serve us */
#define NOTICE_LIFE	(10 * TBNET2_SEC)	/* tuning */
#define RESETS_PER_SECOND	10		/* per device */
#define ANSWERS_PER_SECOND	1000		/* tuning: HELLO_ACK and CONFIRM per device */
#define ANSWERS_BURST	64			/* tuning */
#define NONCES_KEPT	4
#define DEAD_EPOCHS	4	/* tuning: epochs per peer known to have ended */
#define PEERS_MOST	256	/* bound of the table */
#define EDGES_MOST	256	/* per association */
#define NOTICES_MOST	64
#define DEVICES_MOST	TBNET2_RAILS_MAX

/* One we have sent. Serials rise over all devices; 0: none. */
struct tbnet2_nonce {
	u64 value;
	u64 serial;
};

/* Limits a rate. */
struct tbnet2_bucket {
	u32 tokens;
	u32 burst;
	s64 each;	/* per token */
	s64 at;		/* up to which tokens were given */
};

/* A local device. */
struct tbnet2_attached {
	struct tbnet2_attachment a;
	u8 id;
	struct tbnet2_nonce nonces[NONCES_KEPT];	/* the newest first */
	s64 hello_at;			/* when the next HELLO is due */
	s64 last_at;			/* when the last was sent */
	struct tbnet2_bucket resets;
	struct tbnet2_bucket answers;
};

/* A device of another host. Two may have one MAC; their groups differ then. */
struct tbnet2_remote {
	u8 mac[6];
	u64 group;
};

/* A remote device seen on a local one: a rail that could be. */
struct tbnet2_edge {
	u8 device;
	struct tbnet2_remote remote;
	u64 nonce;		/* of its last HELLO */
	u32 hello_index;	/* that a HELLO_ACK carries */
	s64 seen_at;
	u64 used;		/* serial of the nonce that made the last change */
	s64 asked;		/* of the first HELLO_ACK not confirmed; TBNET2_NEVER */
	s64 doubtful;		/* until then other pairs go first */
};

/* A rail, offered or made. */
struct tbnet2_hs_rail {
	u8 id;
	u8 peer_id;
	u8 device;
	struct tbnet2_remote remote;
	bool made;
	bool heard;
	struct tbnet2_rail_info info;
};

/* One that is made or being made. */
struct tbnet2_hs_association {
	u64 epoch;		/* the peer's */
	u32 index;		/* ours */
	u32 peer_index;		/* 0 until made */
	struct tbnet2_hs_rail *rails[TBNET2_RAILS_MAX];
	u64 rail_set;
	u8 last;		/* id given out: ids come back as late as can be */
	struct tbnet2_edge *edges[EDGES_MOST];
	u32 edge_count;
};

/* A speaker that was heard of. */
struct tbnet2_peer {
	struct tbnet2_peer_id id;
	struct tbnet2_name name;
	struct tbnet2_hs_association *current_one;	/* NULL: none */
	struct tbnet2_hs_association *pending;		/* being made; NULL: none */
	u64 floor;		/* nonces up to this serial make no other association */
	u64 dead[DEAD_EPOCHS];
	s64 replaced_at;
};

/* The work of a match: which pair each device and each remote is in. */
struct tbnet2_matching {
	u32 count;
	u16 device[EDGES_MOST];		/* first pair with the device of each pair */
	u16 remote[EDGES_MOST];		/* likewise */
	s16 devices[EDGES_MOST];	/* pair of a device; -1 none */
	s16 remotes[EDGES_MOST];	/* pair of a remote; -1 none */
	bool held[EDGES_MOST];		/* kept unless moving it gives one more rail */
	bool doubtful[EDGES_MOST];	/* only where nothing else is */
	bool visited[EDGES_MOST];
};

struct tbnet2_handshake {
	struct tbnet2_handshake_config cfg;
	u32 hello_index;	/* in HELLO; of our endpoint, of no association */
	u64 serial;		/* of the newest nonce */
	struct tbnet2_attached *devices[DEVICES_MOST];
	struct tbnet2_peer *peers[PEERS_MOST];	/* in the order they were found */
	u32 peer_count;
	struct tbnet2_notice notices[NOTICES_MOST];
	u32 notice_count;
	s64 sweep_at;
	struct tbnet2_handshake_stats stats;
	bool refused;		/* the frame in hand counts under a drop */
	struct tbnet2_matching matching;
};

/* handshake.c */
void tbnet2_hurry(struct tbnet2_attached *d, s64 now);
bool tbnet2_rail_missing(const struct tbnet2_handshake *h, u8 device);
u32 tbnet2_new_index(struct tbnet2_handshake *h);
bool tbnet2_knows_index(const struct tbnet2_handshake *h, u32 index);

/* handshake_nonce.c */
struct tbnet2_nonce tbnet2_nonce_draw(struct tbnet2_handshake *h, struct tbnet2_attached *d);
struct tbnet2_nonce tbnet2_nonce_after(struct tbnet2_handshake *h, struct tbnet2_attached *d,
				       u64 serial);
u64 tbnet2_nonce_find(const struct tbnet2_attached *d, u64 echo);
void tbnet2_bucket_init(struct tbnet2_bucket *b, s64 now, u32 per_second, u32 burst);
bool tbnet2_bucket_take(struct tbnet2_bucket *b, s64 now);

/* handshake_frames.c */
void tbnet2_handshake_dropped(struct tbnet2_handshake *h, enum tbnet2_handshake_drop why);
void tbnet2_send_hello(struct tbnet2_handshake *h, s64 now, struct tbnet2_attached *d);
void tbnet2_send_closing(struct tbnet2_handshake *h, const struct tbnet2_peer *p);

/* handshake_match.c */
void tbnet2_match(struct tbnet2_handshake *h, s64 now, struct tbnet2_hs_association *a);
bool tbnet2_same_remote(const struct tbnet2_remote *a, const struct tbnet2_remote *b);

/* handshake_peer.c */
struct tbnet2_peer *tbnet2_find_peer(const struct tbnet2_handshake *h,
				     const struct tbnet2_peer_id *id);
struct tbnet2_peer *tbnet2_add_peer(struct tbnet2_handshake *h, const struct tbnet2_peer_id *id);
void tbnet2_free_peer(struct tbnet2_peer *p);
bool tbnet2_is_dead_epoch(const struct tbnet2_peer *p, u64 epoch);
struct tbnet2_hs_association *tbnet2_attempt(struct tbnet2_handshake *h, struct tbnet2_peer *p,
					     u64 epoch);
struct tbnet2_hs_association *tbnet2_new_attempt(struct tbnet2_handshake *h, u64 epoch);
void tbnet2_free_attempt(struct tbnet2_hs_association *a);
void tbnet2_make_association(struct tbnet2_handshake *h, s64 now, struct tbnet2_peer *p,
			     struct tbnet2_hs_association *a, const struct tbnet2_greeting *m);
void tbnet2_end_association(struct tbnet2_handshake *h, s64 now, struct tbnet2_peer *p,
			    enum tbnet2_gone why);
void tbnet2_sweep(struct tbnet2_handshake *h, s64 now);

/* handshake_rail.c */
struct tbnet2_edge *tbnet2_see(struct tbnet2_hs_association *a, s64 now, u8 device,
			       const struct tbnet2_remote *r);
struct tbnet2_edge *tbnet2_edge_of(const struct tbnet2_hs_association *a, u8 device,
				   const struct tbnet2_remote *r);
void tbnet2_drop_edge(struct tbnet2_hs_association *a, u32 i);
void tbnet2_withdraw(struct tbnet2_handshake *h, struct tbnet2_peer *p,
		     struct tbnet2_hs_association *a);
struct tbnet2_hs_rail *tbnet2_rail_of(const struct tbnet2_hs_association *a, u8 device,
				      const struct tbnet2_remote *r);
struct tbnet2_hs_rail *tbnet2_new_rail(struct tbnet2_hs_association *a,
				       const struct tbnet2_edge *e);
void tbnet2_free_rail(struct tbnet2_hs_association *a, struct tbnet2_hs_rail *r);
void tbnet2_drop_rail(struct tbnet2_handshake *h, struct tbnet2_peer *p,
		      struct tbnet2_hs_association *a, struct tbnet2_hs_rail *r);
void tbnet2_drop_device(struct tbnet2_handshake *h, u8 device, bool rails);
void tbnet2_drop_rivals(struct tbnet2_handshake *h, struct tbnet2_peer *p,
			struct tbnet2_hs_association *a, u8 device,
			const struct tbnet2_remote *r);
void tbnet2_make_rail(struct tbnet2_handshake *h, struct tbnet2_peer *p,
		      struct tbnet2_hs_association *a, struct tbnet2_hs_rail *r,
		      const struct tbnet2_greeting *m);
void tbnet2_refresh_rail(struct tbnet2_handshake *h, struct tbnet2_peer *p,
			 struct tbnet2_hs_rail *r, const struct tbnet2_greeting *m);

/* handshake_notice.c */
bool tbnet2_acceptable(struct tbnet2_handshake *h, s64 now, const struct tbnet2_attached *d,
		       const u8 *from, const struct tbnet2_greeting *m);
void tbnet2_sweep_notices(struct tbnet2_handshake *h, s64 now);

static inline struct tbnet2_attached *tbnet2_device(const struct tbnet2_handshake *h, u8 id)
{
	return id < DEVICES_MOST ? h->devices[id] : NULL;
}

static inline void tbnet2_changed(struct tbnet2_handshake *h, const struct tbnet2_change *c)
{
	h->cfg.ops->change(h->cfg.context, c);
}

static inline bool tbnet2_same_peer(const struct tbnet2_peer_id *a,
				    const struct tbnet2_peer_id *b)
{
	return a->endpoint == b->endpoint && !memcmp(a->host, b->host, sizeof(a->host));
}

static inline struct tbnet2_peer_id tbnet2_peer_of(const struct tbnet2_greeting *m)
{
	struct tbnet2_peer_id id;

	memcpy(id.host, m->host, sizeof(id.host));
	id.endpoint = (u8)m->index;
	return id;
}

static inline struct tbnet2_name tbnet2_name_of(const struct tbnet2_greeting *m)
{
	struct tbnet2_name name = { .len = m->name_len };

	memcpy(name.text, m->name, m->name_len);
	return name;
}

#endif /* TBNET2_CORE_HANDSHAKE_TABLE_H */
