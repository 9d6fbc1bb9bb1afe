// SPDX-License-Identifier: Apache-2.0
/*
 * An association and the host around it; script/player.go is its mirror.
 */
#include <stdio.h>
#include <stdlib.h>
#include "../../../kmod/tbnet2/core/association.h"
#include "runner.h"

#define FRAMES_MOST	4096	/* received in one step */
#define COUNTERS	(TBNET2_DROPS + 12)

/* A received frame, kept until the inbox is reset. */
struct kept {
	struct bytes bytes;
	struct tbnet2_rx rx;
};

struct player {
	struct subject subject;
	struct tbnet2_config cfg;
	struct tbnet2_association *a;
	struct tbnet2_inbox in;
	struct tbnet2_burst *burst;
	s64 now;
	s64 room[TBNET2_RAILS_MAX];	/* frames that a device still takes; -1: any number */
	u32 next[TBNET2_CHANNELS];
	long open;
	long buffers;
	s64 held;			/* bytes of them */
	s64 limit;			/* of what may wait ahead of its turn; 0: any */
	bool received;			/* a batch has to be ended */
	struct text done;
	struct kept *kept[FRAMES_MOST];
	u32 kept_count;
	u64 counts[COUNTERS];
};

/* A packet of the application's. */
struct sending {
	struct tbnet2_packet packet;
	u32 number;
	u8 body[];
};

/* A buffer for received bytes. */
struct buffer {
	u32 size;
	u8 data[];
};

static void *get_buffer(void *context, u32 size)
{
	struct player *p = context;
	struct buffer *b;

	if (memory.fails_every && ++memory.asked % memory.fails_every == 0)
		return NULL;
	b = malloc(sizeof(*b) + size);
	if (!b)
		fail("no memory");
	b->size = size;
	p->buffers++;
	p->held += size;
	return b->data;
}

static void put_buffer(void *context, void *buffer)
{
	struct buffer *b = (struct buffer *)((u8 *)buffer - offsetof(struct buffer, data));
	struct player *p = context;

	p->buffers--;
	p->held -= b->size;
	free(b);
}

static s64 room(void *context)
{
	const struct player *p = context;

	return p->limit ? p->limit - p->held : 1LL << 40;
}

static void copy(void *context, void *buffer, u32 to, const struct tbnet2_rx *rx, u32 from, u32 n)
{
	const struct kept *k = rx->frame;

	(void)context;
	memcpy((u8 *)buffer + to, k->bytes.b + from, n);
}

static u32 rx_crc(void *context, u32 crc, const struct tbnet2_rx *rx, u32 from, u32 n)
{
	const struct kept *k = rx->frame;

	(void)context;
	return tbnet2_crc(crc, k->bytes.b + from, n);
}

static u32 packet_crc(void *context, u32 crc, const struct tbnet2_packet *p, u32 off, u32 n)
{
	(void)context;
	return tbnet2_crc(crc, ((const struct sending *)p)->body + off, n);
}

static void done(void *context, struct tbnet2_packet *packet, enum tbnet2_outcome outcome)
{
	static const char *const names[] = { "acknowledged", "sent", "given_up", "aborted" };
	struct sending *q = (struct sending *)packet;
	struct player *p = context;

	p->open--;
	text_add(&p->done, "done ch=%u packet=%u %s\n", packet->channel, q->number,
		 names[outcome]);
	free(q);
}

static const struct tbnet2_ops ops = {
	.get_buffer = get_buffer,
	.put_buffer = put_buffer,
	.room = room,
	.copy = copy,
	.rx_crc = rx_crc,
	.packet_crc = packet_crc,
	.done = done,
};

static u8 rail_of(const struct clause *c)
{
	s64 id = number(clause_word(c, 1));

	if (id < 0 || id >= TBNET2_RAILS_MAX)
		fail("%lld is no rail", (long long)id);
	return (u8)id;
}

/* Keeps a frame: what is linear in memory of its own, so that a read behind it is seen. */
static void receive(struct player *p, const struct clause *c)
{
	struct kept *k = calloc(1, sizeof(*k));
	u8 *head;

	if (!k || p->kept_count == FRAMES_MOST)
		fail("too many frames");
	frame_build(&k->bytes, c, p->cfg.local_index);
	k->rx.len = k->bytes.n;
	k->rx.linear = k->bytes.n;
	if (k->bytes.n && (k->bytes.b[0] & 0x0f) == TBNET2_DATA)
		k->rx.linear = min_t(u32, k->bytes.n, 48);
	head = malloc(k->rx.linear ? k->rx.linear : 1);
	if (!head)
		fail("no memory");
	memcpy(head, k->bytes.b, k->rx.linear);
	k->rx.head = head;
	k->rx.frame = k;
	p->kept[p->kept_count++] = k;
	tbnet2_receive(p->a, p->now, rail_of(c), &k->rx, &p->in);
	p->received = true;
}

static void forget_frames(struct player *p)
{
	while (p->kept_count) {
		struct kept *k = p->kept[--p->kept_count];

		free((void *)k->rx.head);
		free(k->bytes.b);
		free(k);
	}
}

static const char *refusal(int err)
{
	switch (err) {
	case -EAGAIN:
		return "queue is full";
	case -EINVAL:
		return "packet is empty, too long, on no channel or its offload does not fit";
	case -ESHUTDOWN:
		return "association is closed";
	default:
		return "no memory";
	}
}

static void send_packet(struct player *p, const struct clause *c)
{
	u32 length = (u32)clause_num(c, "length", 0);
	const char *offload = clause_text(c, "offload", "");
	struct sending *q = calloc(1, sizeof(*q) + length);
	int err;

	if (!q)
		fail("no memory");
	q->packet.channel = (u8)clause_num(c, "ch", 0);
	q->packet.length = length;
	if (q->packet.channel < TBNET2_CHANNELS)
		q->number = p->next[q->packet.channel];
	frame_content(q->body, q->packet.channel, q->number, 0, length);
	if (*offload) {
		q->packet.has_desc = true;
		q->packet.desc = desc_of(offload);
	}
	err = tbnet2_send(p->a, &q->packet);
	if (err) {
		text_add(&p->subject.out, "refused %s\n", refusal(err));
		free(q);
		return;
	}
	p->next[q->packet.channel]++;
	p->open++;
}

static void add_rail(struct player *p, const struct clause *c)
{
	struct tbnet2_rail_config r = {
		.id = rail_of(c),
		.peer_id = (u8)clause_num(c, "peer", 0),
		.mtu = (u32)clause_num(c, "mtu", 1500),
		.rate = (u64)clause_num(c, "rate", 0),
		.weight = (u32)clause_num(c, "weight", 0),
		.ring = (u32)clause_num(c, "ring", 65536),
		.no_crc = clause_has(c, "no_crc"),
		.trust_link = clause_has(c, "trust_link"),
	};
	int err = tbnet2_add_rail(p->a, p->now, &r);

	if (err && err != -ENOMEM)
		fail("rail %u cannot be added: %d", r.id, err);
}

static void tick(struct player *p)
{
	tbnet2_tick_receive(p->a, p->now, &p->in);
	tbnet2_tick_send(p->a, p->now, &p->in);
}

/* Actions that configure a rail; false if the verb is none. */
static bool configure(struct player *p, const char *verb, const struct clause *c)
{
	const char *how = clause_word(c, 2);

	if (!strcmp(verb, "carrier")) {
		tbnet2_set_carrier(p->a, p->now, rail_of(c), !strcmp(how, "up"), &p->in);
	} else if (!strcmp(verb, "enable")) {
		tbnet2_set_enabled(p->a, p->now, rail_of(c), !strcmp(how, "on"), &p->in);
	} else if (!strcmp(verb, "use")) {
		tbnet2_set_use(p->a, p->now, rails_of(clause_word(c, 1)));
	} else if (!strcmp(verb, "weight")) {
		tbnet2_set_weight(p->a, rail_of(c), (u32)number(how));
	} else if (!strcmp(verb, "mtu")) {
		int err = tbnet2_set_mtu(p->a, p->now, rail_of(c), (u32)number(how));

		if (err && !memory.fails_every)
			fail("mtu: %d", err);
	} else if (!strcmp(verb, "add")) {
		add_rail(p, c);
	} else if (!strcmp(verb, "remove")) {
		tbnet2_remove_rail(p->a, p->now, rail_of(c), &p->in);
	} else if (!strcmp(verb, "room")) {
		p->room[rail_of(c)] = number(how);
	} else if (!strcmp(verb, "writable")) {
		p->room[rail_of(c)] = -1;
		tbnet2_writable(p->a, rail_of(c));
	} else {
		return false;
	}
	return true;
}

static void act(struct subject *s, const struct clause *c, s64 now)
{
	struct player *p = (struct player *)s;
	const char *verb = clause_word(c, 0);
	s64 n;

	p->now = now;
	if (!strcmp(verb, "receive")) {
		receive(p, c);
	} else if (!strcmp(verb, "send")) {
		for (n = clause_num(c, "count", 1); n > 0; n--)
			send_packet(p, c);
	} else if (!strcmp(verb, "consume")) {
		tbnet2_consumed(p->a, (u8)clause_num(c, "ch", 0), clause_num(c, "bytes", 0));
		p->received = true;
	} else if (!strcmp(verb, "tick")) {
		tick(p);
	} else if (!configure(p, verb, c)) {
		fail("\"%s\" is no action", verb);
	}
}

static void deliver(struct player *p, const struct tbnet2_delivery *d)
{
	struct text *t = &p->subject.out;
	const struct kept *k = d->frame;
	const u8 *data = d->buffer;

	if (!data)
		data = k->bytes.b + d->from;
	text_add(t, "deliver ch=%u packet=%u", d->channel, d->packet);
	if (p->cfg.class == TBNET2_RELIABLE)
		text_add(t, " offset=%u length=%u total=%u", d->offset, d->len, d->total);
	else
		text_add(t, " length=%u", d->len);
	if (d->has_desc)
		frame_desc(t, &d->desc);
	if (!frame_is_content(data, d->channel, d->packet, d->offset, d->len))
		text_add(t, " (content differs)");
	text_add(t, "\n");
	if (d->buffer)
		put_buffer(p, d->buffer);
}

static void tell(struct player *p, const struct tbnet2_event *e)
{
	static const char *const states[] = { "down", "probing", "up", "suspect" };
	static const char *const reasons[] = { "", " new", " no_carrier", " silent",
		" unheard_by_peer", " unacknowledged", " disabled" };
	struct text *t = &p->subject.out;

	if (e->kind == TBNET2_ABOUT_DEAD)
		text_add(t, "event dead\n");
	else if (e->kind == TBNET2_ABOUT_MTU)
		text_add(t, "event rail %u mtu %u\n", e->rail, e->mtu);
	else
		text_add(t, "event rail %u %s%s\n", e->rail, states[e->state], reasons[e->reason]);
}

static void count(struct player *p, u32 i, const char *kind, const char *name, u64 n)
{
	if (n == p->counts[i])
		return;
	text_add(&p->subject.out, "%s %s %llu\n", kind, name,
		 (unsigned long long)(n - p->counts[i]));
	p->counts[i] = n;
}

/* Writes down the counters that have moved. */
static void count_all(struct player *p)
{
	static const char *const drops[] = { "short", "version", "type", "crc", "no_crc", "rail_seq",
		"field", "contradiction", "window", "bad_offload", "duplicate", "late", "memory" };
	const struct tbnet2_recv_stats *rs = &p->a->recv.stats;
	const struct tbnet2_send_stats *ss = &p->a->send.stats;
	const struct { const char *name; u64 n; } moved[] = {
		{ "gaps", rs->gaps }, { "rail_lost", rs->lost_frames },
		{ "rail_reordered", rs->rail_reordered }, { "out_of_order", rs->out_of_order },
		{ "skipped", rs->skipped }, { "proven_lost", rs->proven_lost },
		{ "hole_timeout", rs->hole_timeouts }, { "lost", ss->lost },
		{ "moved", ss->suspected }, { "refused", ss->refused },
		{ "bad_states", ss->bad_states }, { "stale_acks", ss->stale_acks },
	};
	u32 i;

	for (i = 0; i < TBNET2_DROPS; i++)
		count(p, i, "drop", drops[i], rs->drops[i]);
	for (i = 0; i < ARRAY_SIZE(moved); i++)
		count(p, TBNET2_DROPS + i, "count", moved[i].name, moved[i].n);
}

/* Hands a rail's frames to its device. */
static void transmit(struct player *p, u8 id)
{
	struct tbnet2_burst *b = p->burst;
	u32 n = 0;
	u16 i;

	for (i = b->first[id]; i != BURST_NONE; i = b->frames[i].next)
		n++;
	if (p->room[id] >= 0 && n > p->room[id])
		tbnet2_unsent(p->a, id, b, n - (u32)p->room[id]);
	for (i = b->first[id]; i != BURST_NONE; i = b->frames[i].next) {
		const struct tbnet2_burst_frame *f = &b->frames[i];
		struct bytes whole = { 0 };

		memcpy(bytes_add(&whole, f->head_len), f->head, f->head_len);
		if (f->packet)
			memcpy(bytes_add(&whole, f->len),
			       ((struct sending *)f->packet)->body + f->off, f->len);
		bytes_add(&whole, f->pad);
		text_add(&p->subject.out, "send %u ", id);
		frame_text(&p->subject.out, whole.b, whole.n, p->cfg.peer_index);
		text_add(&p->subject.out, "\n");
		free(whole.b);
		if (p->room[id] > 0)
			p->room[id]--;
	}
}

/* Writes down all that has come, in a fixed order. */
static void collect(struct player *p)
{
	bool more = true;
	u32 i;

	for (i = 0; i < p->in.delivered.count; i++)
		deliver(p, &p->in.deliveries[i]);
	for (i = 0; i < p->in.told.count; i++)
		tell(p, &p->in.events[i]);
	tbnet2_inbox_reset(&p->in);
	forget_frames(p);
	while (more) {
		u64 set;
		u8 id;

		tbnet2_burst_reset(p->burst);
		more = tbnet2_transmit(p->a, p->now, p->burst);
		set = p->burst->rails;
		tbnet2_for_each_rail(id, set)
			transmit(p, id);
	}
	if (p->done.n)
		text_add(&p->subject.out, "%s", p->done.s);
	p->done.n = 0;
	count_all(p);
}

static void end(struct subject *s, s64 now)
{
	struct player *p = (struct player *)s;

	p->now = now;
	if (p->received) {
		tbnet2_end_receive(p->a, now, &p->in);
		tbnet2_apply(p->a, now, &p->in);
	}
	p->received = false;
	collect(p);
}

static void run_to(struct subject *s, s64 at)
{
	struct player *p = (struct player *)s;
	u32 i;

	for (i = 0; i < 100000; i++) {
		s64 due = max(p->now, min(p->a->recv.due, p->a->send.due));
		struct text line = { 0 };
		size_t before = s->out.n;

		if (due > at) {
			p->now = at;
			return;
		}
		p->now = due;
		tick(p);
		collect(p);
		if (s->out.n == before)
			continue;
		text_add(&line, "tick ");
		text_time(&line, due);
		text_add(&line, "\n");
		text_insert(&s->out, before, line.s);
		text_free(&line);
	}
	fail("ticks without end at %lld ns", (long long)p->now);
}

static void set_up(struct subject *s, const struct clause *c)
{
	if (strcmp(clause_word(c, 0), "rail"))
		fail("\"%s\" cannot be set up here", clause_word(c, 0));
	add_rail((struct player *)s, c);
}

static void finish(struct subject *s, struct text *wrong)
{
	struct player *p = (struct player *)s;
	const struct tbnet2_recv_stats *rs = &p->a->recv.stats;
	u64 dropped = 0;
	u32 i;

	for (i = 0; i < TBNET2_DROPS; i++)
		dropped += rs->drops[i];
	if (rs->frames != rs->taken + dropped)
		text_add(wrong, " frames are neither taken nor dropped");
	if ((s64)rs->parked_bytes_most > TBNET2_CHANNELS * p->cfg.window)
		text_add(wrong, " too much was parked");
	tbnet2_destroy(p->a);
	tbnet2_inbox_free(&p->in);
	if (p->buffers || p->open)
		text_add(wrong, " %ld buffers and %ld packets are left", p->buffers, p->open);
	free(p->burst);
	text_free(&p->done);
	text_free(&s->out);
	free(p);
}

static enum tbnet2_policy policy_of(const char *name)
{
	if (!strcmp(name, "round_robin"))
		return TBNET2_ROUND_ROBIN;
	return strcmp(name, "flow_hash") ? TBNET2_SHORTEST : TBNET2_FLOW_HASH;
}

static struct tbnet2_config config_of(const struct clause *c, struct player *p)
{
	struct tbnet2_config cfg = {
		.class = strcmp(clause_text(c, "class", "ordered"), "reliable") ? TBNET2_ORDERED
										 : TBNET2_RELIABLE,
		.policy = policy_of(clause_text(c, "policy", "shortest")),
		.retransmit = clause_has(c, "retransmit"),
		.send_crc = clause_has(c, "send_crc"),
		.require_crc = clause_has(c, "require_crc"),
		.unordered = clause_has(c, "unordered"),
		.manual_consume = clause_has(c, "manual_consume"),
		.local_index = (u32)clause_num(c, "index", 257),
		.peer_index = (u32)clause_num(c, "peer_index", 513),
		.slots = (u32)clause_num(c, "slots", 16),
		.local_slots = (u32)clause_num(c, "local_slots", 16),
		.window = clause_num(c, "window", 262144),
		.queue_bytes = clause_num(c, "queue", 1 << 20),
		.ops = &ops,
		.context = p,
	};

	return cfg;
}

struct subject *player_new(const struct clause *c)
{
	struct player *p = calloc(1, sizeof(*p));
	unsigned long fails = memory.fails_every;
	u32 i;

	if (!p)
		fail("no memory");
	p->burst = malloc(sizeof(*p->burst));
	p->subject.set_up = set_up;
	p->subject.act = act;
	p->subject.end = end;
	p->subject.run_to = run_to;
	p->subject.finish = finish;
	for (i = 0; i < TBNET2_RAILS_MAX; i++)
		p->room[i] = -1;
	p->cfg = config_of(c, p);
	p->limit = clause_num(c, "memory", 0);
	memory.fails_every = 0; /* an association there is */
	p->a = tbnet2_new(&p->cfg, 0);
	memory.fails_every = fails;
	if (!p->a || !p->burst)
		fail("no memory");
	return &p->subject;
}
