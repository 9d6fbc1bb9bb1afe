// SPDX-License-Identifier: Apache-2.0
/*
 * A handshake and the host around it; script/greet.go is its mirror.
 */
#include <stdio.h>
#include <stdlib.h>
#include "../../../kmod/tbnet2/core/handshake.h"
#include "runner.h"

#define COUNTERS	(TBNET2_HS_DROPS + 2)
#define FRAME_MOST	4096

struct greeter {
	struct subject subject;
	struct tbnet2_handshake *h;
	u64 random;
	struct text frames;	/* to be written behind the changes */
	u64 counts[COUNTERS];
};

/* The next number of SplitMix64. */
static u64 draw(void *context)
{
	struct greeter *g = context;
	u64 z;

	g->random += 0x9e3779b97f4a7c15;
	z = g->random;
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return z ^ z >> 31;
}

static void add_hex(struct text *t, const u8 *b, u32 n)
{
	while (n--)
		text_add(t, "%02x", *b++);
}

static void add_greeting(struct text *t, const struct tbnet2_greeting *m)
{
	text_add(t, " nonce=0x%llx echo=0x%llx uuid=", (unsigned long long)m->nonce,
		 (unsigned long long)m->echo);
	add_hex(t, m->host, sizeof(m->host));
	text_add(t, " epoch=%llu own=%u service=%u versions=%u-%u", (unsigned long long)m->epoch,
		 m->index, m->service, m->version_low, m->version_high);
	if (m->has_rail)
		text_add(t, " rail=%u", m->rail);
	text_add(t, " group=%llu mtu=%u rate=%llu caps=%u slots=%u name=%.*s",
		 (unsigned long long)m->group, m->mtu, (unsigned long long)m->rate, m->caps,
		 m->slots, m->name_len, m->name);
}

/* Puts a frame of the handshake into words; false where it has none. */
static bool add_words(struct text *t, const u8 *frame, u32 len)
{
	static const char *const names[] = { "hello", "hello_ack", "confirm", "reset" };
	const u8 *body = frame + TBNET2_HEADER_LEN;
	struct tbnet2_greeting m;
	struct tbnet2_reset_of r;
	struct tbnet2_header h;

	if (tbnet2_get_header(frame, len, &h) || h.type > TBNET2_RESET)
		return false;
	if (h.type == TBNET2_RESET ? tbnet2_get_reset(body, h.length, &r) :
				     tbnet2_get_greeting(body, h.length, &m))
		return false;
	text_add(t, "%s index=%u", names[h.type], h.index);
	if (h.type == TBNET2_RESET)
		text_add(t, " of=%u reason=%u", r.index, r.reason);
	else
		add_greeting(t, &m);
	if (!(h.flags & TBNET2_F_CRC))
		return true;
	text_add(t, ~tbnet2_crc_begin(frame, TBNET2_HEADER_LEN + h.length) == h.crc ?
		 " crc" : " crc (wrong)");
	return true;
}

static void send_frame(void *context, u8 device, const u8 *to, const u8 *frame, u32 len)
{
	struct greeter *g = context;

	text_add(&g->frames, "send %u to=", device);
	add_hex(&g->frames, to, 6);
	text_add(&g->frames, " ");
	if (!add_words(&g->frames, frame, len)) {
		text_add(&g->frames, "raw=");
		add_hex(&g->frames, frame, len);
	}
	text_add(&g->frames, "\n");
}

static void add_rail(struct text *t, const struct tbnet2_rail_info *r)
{
	text_add(t, " id=%u peer=%u device=%u mac=", r->id, r->peer_id, r->device);
	add_hex(t, r->mac, 6);
	text_add(t, " mtu=%u peer_mtu=%u rate=%llu peer_rate=%llu group=%llu%s", r->mtu,
		 r->peer_mtu, (unsigned long long)r->rate, (unsigned long long)r->peer_rate,
		 (unsigned long long)r->group, r->no_crc ? " no_crc" : "");
}

static void add_association(struct text *t, const struct tbnet2_association_info *i)
{
	text_add(t, " name=%.*s epoch=%llu index=%u peer_index=%u slots=%u%s%s", i->name.len,
		 i->name.text, (unsigned long long)i->epoch, i->local_index, i->peer_index,
		 i->slots, i->retransmit ? " retransmit" : "", i->offload ? " offload" : "");
}

static void change(void *context, const struct tbnet2_change *c)
{
	static const char *const kinds[] = { "peer_made", "peer_gone", "rail_made", "rail_info",
		"rail_gone", "notice" };
	static const char *const reasons[] = { "restarted", "reset", "closed_by_peer",
		"closed_here" };
	static const char *const notices[] = { "service_mismatch", "version_mismatch",
		"uuid_conflict" };
	struct greeter *g = context;
	struct text *t = &g->subject.out;

	text_add(t, "%s ", kinds[c->kind]);
	add_hex(t, c->peer->host, sizeof(c->peer->host));
	text_add(t, "/%u", c->peer->endpoint);
	switch (c->kind) {
	case TBNET2_PEER_MADE:
		add_association(t, c->association);
		break;
	case TBNET2_PEER_GONE:
		text_add(t, " %s", reasons[c->reason]);
		break;
	case TBNET2_NOTICED:
		text_add(t, " %s name=%.*s device=%s mac=", notices[c->notice->kind],
			 c->notice->name.len, c->notice->name.text, c->notice->device);
		add_hex(t, c->notice->mac, 6);
		break;
	default:
		add_rail(t, c->rail);
	}
	text_add(t, "\n");
}

static const struct tbnet2_handshake_ops ops = {
	.random = draw,
	.send = send_frame,
	.change = change,
};

static void exact_bytes(const char *hex, u8 *out, u32 n)
{
	if (bytes_of(hex, out, n) != n)
		fail("\"%s\" are not %u bytes in hex", hex, n);
}

static struct tbnet2_peer_id peer_of(const char *s)
{
	struct tbnet2_peer_id id;
	char uuid[33];

	if (strlen(s) < 34 || s[32] != '/')
		fail("\"%s\" is no peer", s);
	memcpy(uuid, s, 32);
	uuid[32] = 0;
	exact_bytes(uuid, id.host, sizeof(id.host));
	id.endpoint = (u8)number(s + 33);
	return id;
}

static struct tbnet2_attachment attachment_of(const struct clause *c)
{
	struct tbnet2_attachment a = {
		.carrier = !clause_has(c, "no_carrier"),
		.crc = clause_has(c, "crc"),
		.mtu = (u32)clause_num(c, "mtu", 1500),
		.rate = (u64)clause_num(c, "rate", 0),
		.group = (u64)clause_num(c, "group", 0),
	};
	const char *name = clause_text(c, "name", "");

	if (*name)
		snprintf(a.name, sizeof(a.name), "%s", name);
	else
		snprintf(a.name, sizeof(a.name), "dev%.4s", clause_word(c, 1));
	exact_bytes(clause_text(c, "mac", "020000000000"), a.mac, sizeof(a.mac));
	return a;
}

static void build_greeting(struct bytes *f, const struct clause *c)
{
	const char *name = clause_text(c, "name", "");
	unsigned int low, high;
	s64 rail = clause_num(c, "rail", -1);
	struct tbnet2_greeting m = {
		.nonce = (u64)clause_num(c, "nonce", 0),
		.echo = (u64)clause_num(c, "echo", 0),
		.epoch = (u64)clause_num(c, "epoch", 0),
		.index = (u32)clause_num(c, "own", 256),
		.service = (u8)clause_num(c, "service", 1),
		.group = (u64)clause_num(c, "group", 0),
		.mtu = (u32)clause_num(c, "mtu", 1500),
		.rate = (u64)clause_num(c, "rate", 0),
		.caps = (u32)clause_num(c, "caps", 0),
		.slots = (u32)clause_num(c, "slots", 0),
		.rail = (u8)rail,
		.has_rail = rail >= 0,
	};
	u8 body[TBNET2_GREETING_MOST];
	u32 n;

	if (sscanf(clause_text(c, "versions", "1"), "%u-%u", &low, &high) < 2)
		high = low;
	m.version_low = (u8)low;
	m.version_high = (u8)high;
	exact_bytes(clause_text(c, "uuid", ""), m.host, sizeof(m.host));
	tbnet2_set_name(&m, (const u8 *)name, (u32)strlen(name));
	n = tbnet2_put_greeting(body, &m);
	memcpy(bytes_add(f, n), body, n);
}

/* Makes the bytes of a frame of the handshake in words. */
static void build(struct bytes *f, const struct clause *c)
{
	const char *raw = clause_text(c, "raw", ""), *kind = clause_word(c, 2);
	struct tbnet2_header h = {
		.index = (u32)clause_num(c, "index", 0),
		.rail_seq = (u32)clause_num(c, "seq", 0),
	};

	if (*raw) {
		bytes_add(f, FRAME_MOST);
		f->n = bytes_of(raw, f->b, FRAME_MOST);
		return;
	}
	bytes_add(f, TBNET2_HEADER_LEN);
	if (!strcmp(kind, "reset")) {
		struct tbnet2_reset_of r = {
			.index = (u32)clause_num(c, "of", 0),
			.reason = (u8)clause_num(c, "reason", TBNET2_RESET_UNKNOWN),
		};

		h.type = TBNET2_RESET;
		tbnet2_put_reset(bytes_add(f, TBNET2_RESET_LEN), &r);
	} else {
		h.type = TBNET2_HELLO;
		if (!strcmp(kind, "hello_ack"))
			h.type = TBNET2_HELLO_ACK;
		else if (!strcmp(kind, "confirm"))
			h.type = TBNET2_CONFIRM;
		build_greeting(f, c);
	}
	h.length = (u16)(f->n - TBNET2_HEADER_LEN);
	tbnet2_put_header(f->b, &h);
	if (clause_has(c, "crc"))
		frame_seal(f);
	frame_mangle(f, c);
}

static void receive(struct greeter *g, const struct clause *c, s64 now, u8 device, const u8 *from)
{
	struct bytes f = { 0 };
	u8 *exact; /* so that a read behind its end is seen */

	build(&f, c);
	exact = malloc(f.n ? f.n : 1);
	if (!exact)
		fail("no memory");
	if (f.n)
		memcpy(exact, f.b, f.n);
	tbnet2_handshake_receive(g->h, now, device, from, exact, f.n);
	free(exact);
	free(f.b);
}

/* Actions that name a device. */
static void act_device(struct greeter *g, const char *verb, const struct clause *c, s64 now)
{
	u8 device = (u8)number(clause_word(c, 1)), from[6];
	struct tbnet2_attachment a;

	if (!strcmp(verb, "device") || !strcmp(verb, "set")) {
		a = attachment_of(c);
		if (*verb == 's')
			tbnet2_handshake_set(g->h, now, device, &a);
		else if (tbnet2_handshake_add(g->h, now, device, &a) && !memory.fails_every)
			fail("device %u cannot be added", device);
		return;
	}
	if (!strcmp(verb, "unplug")) {
		tbnet2_handshake_remove(g->h, device);
		return;
	}
	exact_bytes(clause_text(c, "from", ""), from, sizeof(from));
	if (!strcmp(verb, "receive"))
		receive(g, c, now, device, from);
	else if (!strcmp(verb, "unknown"))
		tbnet2_handshake_unknown(g->h, now, device, from,
					 (u32)clause_num(c, "index", 0));
	else
		fail("\"%s\" is no action", verb);
}

static void act(struct subject *s, const struct clause *c, s64 now)
{
	struct greeter *g = (struct greeter *)s;
	const char *verb = clause_word(c, 0);
	struct tbnet2_peer_id id;

	if (!strcmp(verb, "tick")) {
		tbnet2_handshake_tick(g->h, now);
	} else if (!strcmp(verb, "close")) {
		tbnet2_handshake_close(g->h, now);
	} else if (!strcmp(verb, "forget")) {
		id = peer_of(clause_word(c, 1));
		tbnet2_handshake_forget(g->h, now, &id);
	} else if (!strcmp(verb, "heard")) {
		id = peer_of(clause_word(c, 1));
		tbnet2_handshake_heard(g->h, now, &id, (u8)(number(clause_word(c, 2)) & 63),
				       !strcmp(clause_word(c, 3), "on"));
	} else {
		act_device(g, verb, c, now);
	}
}

static void count(struct greeter *g, u32 i, const char *name, u64 n)
{
	if (n == g->counts[i])
		return;
	text_add(&g->subject.out, "%s %llu\n", name, (unsigned long long)(n - g->counts[i]));
	g->counts[i] = n;
}

/* Writes down what is to be sent, and the counters that have moved. */
static void collect(struct greeter *g)
{
	static const char *const drops[] = { "malformed", "version", "crc", "own", "mismatch",
		"stale", "old_epoch", "wrong_role", "wrong_index", "not_chosen", "full", "rate",
		"no_device" };
	const struct tbnet2_handshake_stats *st = tbnet2_handshake_stats(g->h);
	char name[32];
	u32 i;

	if (g->frames.n)
		text_add(&g->subject.out, "%s", g->frames.s);
	g->frames.n = 0;
	for (i = 0; i < TBNET2_HS_DROPS; i++) {
		snprintf(name, sizeof(name), "drop %s", drops[i]);
		count(g, i, name, st->drops[i]);
	}
	count(g, TBNET2_HS_DROPS, "count resets_held", st->resets_held);
	count(g, TBNET2_HS_DROPS + 1, "count notes_full", st->notes_full);
}

static void end(struct subject *s, s64 now)
{
	(void)now;
	collect((struct greeter *)s);
}

static void run_to(struct subject *s, s64 at)
{
	struct greeter *g = (struct greeter *)s;
	s64 last = 0;
	u32 i;

	for (i = 0; i < 100000; i++) {
		s64 due = max(last, tbnet2_handshake_deadline(g->h));
		struct text line = { 0 };
		size_t before = s->out.n;

		if (due > at)
			return;
		last = due;
		tbnet2_handshake_tick(g->h, due);
		collect(g);
		if (s->out.n == before)
			continue;
		text_add(&line, "tick ");
		text_time(&line, due);
		text_add(&line, "\n");
		text_insert(&s->out, before, line.s);
		text_free(&line);
	}
	fail("ticks without end at %lld ns", (long long)at);
}

static void set_up(struct subject *s, const struct clause *c)
{
	(void)s;
	fail("\"%s\" cannot be set up here", clause_word(c, 0));
}

static void finish(struct subject *s, struct text *wrong)
{
	struct greeter *g = (struct greeter *)s;
	const struct tbnet2_handshake_stats *st = tbnet2_handshake_stats(g->h);
	u64 dropped = 0;
	u32 i;

	for (i = 0; i < TBNET2_HS_DROPS; i++)
		dropped += st->drops[i];
	if (st->frames != st->taken + dropped)
		text_add(wrong, " frames are neither taken nor dropped");
	tbnet2_handshake_destroy(g->h);
	text_free(&g->frames);
	text_free(&s->out);
	free(g);
}

struct subject *greeter_new(const struct clause *c)
{
	struct greeter *g = calloc(1, sizeof(*g));
	struct tbnet2_handshake_config cfg = {
		.endpoint = (u8)clause_num(c, "endpoint", 1),
		.service = (u8)clause_num(c, "service", 1),
		.epoch = (u64)clause_num(c, "epoch", 1),
		.caps = (u32)clause_num(c, "caps", 0),
		.slots = (u32)clause_num(c, "slots", 16),
		.ops = &ops,
		.context = g,
	};
	const char *name = clause_text(c, "name", "host");
	unsigned long fails = memory.fails_every;
	struct tbnet2_greeting m;

	if (!g)
		fail("no memory");
	g->random = (u64)clause_num(c, "seed", 1);
	exact_bytes(clause_text(c, "uuid", ""), cfg.host, sizeof(cfg.host));
	tbnet2_set_name(&m, (const u8 *)name, (u32)strlen(name));
	cfg.name.len = m.name_len;
	memcpy(cfg.name.text, m.name, m.name_len);
	g->subject.set_up = set_up;
	g->subject.act = act;
	g->subject.end = end;
	g->subject.run_to = run_to;
	g->subject.finish = finish;
	memory.fails_every = 0;
	g->h = tbnet2_handshake_new(&cfg, 0);
	memory.fails_every = fails;
	if (!g->h)
		fail("no memory");
	return &g->subject;
}
