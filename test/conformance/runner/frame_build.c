// SPDX-License-Identifier: Apache-2.0
/*
 * The bytes of a frame in words.
 */
#include <stdio.h>
#include <stdlib.h>
#include "frame.h"

/* Adds n zero bytes and gives them. */
u8 *bytes_add(struct bytes *f, u32 n)
{
	u8 *at;

	if (f->n + n > f->room) {
		f->room = 2 * (f->n + n);
		f->b = realloc(f->b, f->room);
		if (!f->b)
			fail("no memory");
	}
	at = f->b + f->n;
	f->n += n;
	memset(at, 0, n);
	return at;
}

/* Byte i of a packet in a channel: what every script carries. */
static u8 content_at(u8 ch, u32 packet, u32 i)
{
	return (u8)(((u64)i + 31 * (u64)packet + 101 * (u64)ch) % 251);
}

void frame_content(u8 *b, u8 ch, u32 packet, u32 off, u32 n)
{
	u8 v = content_at(ch, packet, off);
	u32 i;

	for (i = 0; i < n; i++) {
		b[i] = v;
		v = v == 250 ? 0 : v + 1;
	}
}

bool frame_is_content(const u8 *b, u8 ch, u32 packet, u32 off, u32 n)
{
	u8 v = content_at(ch, packet, off);
	u32 i;

	for (i = 0; i < n; i++) {
		if (b[i] != v)
			return false;
		v = v == 250 ? 0 : v + 1;
	}
	return true;
}

static u8 type_of(const char *name)
{
	static const struct { const char *name; u8 type; } types[] = {
		{ "ping", TBNET2_PING }, { "pong", TBNET2_PONG }, { "ack", TBNET2_ACK },
		{ "railset", TBNET2_RAILSET }, { "position", TBNET2_POSITION },
		{ "skip", TBNET2_SKIP }, { "data", TBNET2_DATA }, { "hello", TBNET2_HELLO },
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(types); i++)
		if (!strcmp(types[i].name, name))
			return types[i].type;
	fail("\"%s\" is no frame type", name);
}

struct tbnet2_desc desc_of(const char *s)
{
	struct tbnet2_desc o;
	unsigned int v[6];

	if (sscanf(s, "%u/%u/%u/%u/%u/%u", &v[0], &v[1], &v[2], &v[3], &v[4], &v[5]) != 6)
		fail("\"%s\" is no offload", s);
	o.flags = (u8)v[0];
	o.gso_type = (u8)v[1];
	o.hdr_len = (u16)v[2];
	o.gso_size = (u16)v[3];
	o.csum_start = (u16)v[4];
	o.csum_offset = (u16)v[5];
	return o;
}

static void build_data(struct bytes *f, const struct clause *c, struct tbnet2_header *h)
{
	u32 off = (u32)clause_num(c, "offset", 0), n = (u32)clause_num(c, "length", 0);
	const char *offload = clause_text(c, "offload", "");
	struct tbnet2_data_head d = {
		.packet = (u32)clause_num(c, "packet", 0),
		.offset = (u16)(off / TBNET2_UNIT),
		.channel = (u8)clause_num(c, "ch", 0),
		.total = (u32)clause_num(c, "total", (s64)off + n),
		.stamp = (u32)clause_num(c, "stamp", 0),
	};

	tbnet2_put_data(bytes_add(f, TBNET2_DATA_LEN), &d);
	if (*offload) {
		struct tbnet2_desc o = desc_of(offload);

		h->flags |= TBNET2_F_OFFLOAD;
		tbnet2_put_desc(bytes_add(f, TBNET2_OFFLOAD_LEN), &o);
	}
	frame_content(bytes_add(f, n), d.channel, d.packet, off, n);
}

static void build_rail(struct bytes *f, const struct clause *g)
{
	const char *gaps = clause_text(g, "gaps", "");
	struct tbnet2_rail_block a = {
		.rail = (u8)number(clause_word(g, 1)),
		.next = (u32)clause_num(g, "next", 0),
		.credit = (u32)clause_num(g, "credit", 0),
		.delay = (u32)clause_num(g, "delay", 0),
	};

	a.depth = (u16)clause_num(g, "depth", a.next);
	while (*gaps) {
		unsigned int back, count;
		int used;

		if (a.count == TBNET2_GAPS_MAX || sscanf(gaps, "%ux%u%n", &back, &count, &used) != 2)
			fail("\"%s\" are no gaps", gaps);
		a.gaps[a.count].back = (u16)back;
		a.gaps[a.count++].count = (u16)count;
		gaps += used;
		gaps += *gaps == ',';
	}
	tbnet2_put_rail_block(bytes_add(f, TBNET2_RAIL_ACK_LEN + a.count * TBNET2_GAP_LEN), &a);
}

static u8 build_channels(struct bytes *f, const struct clause *g)
{
	unsigned int first, last;
	int n = sscanf(clause_word(g, 1), "%u-%u", &first, &last);
	u32 ch;

	if (n < 1)
		fail("no channel");
	if (n < 2)
		last = first;
	for (ch = first; ch <= last; ch++) {
		struct tbnet2_channel_block a = {
			.channel = (u8)ch,
			.next = (u32)clause_num(g, "next", 0),
			.window = (u32)clause_num(g, "window", 0),
		};

		tbnet2_put_channel_block(bytes_add(f, TBNET2_CHANNEL_ACK_LEN), &a);
	}
	return (u8)(last - first + 1);
}

/* Rail blocks come before channel blocks, however they are written. */
static void build_state(struct bytes *f, const struct clause *c)
{
	struct tbnet2_state_head st = {
		.stamp = (u32)clause_num(c, "stamp", 0),
		.echo = (u32)clause_num(c, "echo", 0),
		.heard = rails_of(clause_text(c, "heard", "-")),
		.generation = (u32)clause_num(c, "generation", 0),
	};
	u32 i;

	bytes_add(f, TBNET2_STATE_LEN);
	for (i = 0; i < c->group_count; i++)
		if (!strcmp(clause_word(&c->groups[i], 0), "rail")) {
			build_rail(f, &c->groups[i]);
			st.rails++;
		}
	for (i = 0; i < c->group_count; i++)
		if (strcmp(clause_word(&c->groups[i], 0), "rail"))
			st.channels = (u8)(st.channels + build_channels(f, &c->groups[i]));
	tbnet2_put_state(f->b + TBNET2_HEADER_LEN, &st);
}

static void build_body(struct bytes *f, const struct clause *c, struct tbnet2_header *h)
{
	struct tbnet2_set set;
	u32 i;

	switch (h->type) {
	case TBNET2_DATA:
		build_data(f, c, h);
		break;
	case TBNET2_POSITION:
	case TBNET2_SKIP:
		for (i = 0; i < c->group_count; i++) {
			const struct clause *g = &c->groups[i];
			struct tbnet2_mark_at m = { (u8)number(clause_word(g, 1)),
						    (u32)clause_num(g, "packet", 0) };

			tbnet2_put_mark(bytes_add(f, TBNET2_MARK_LEN), &m);
		}
		break;
	case TBNET2_RAILSET:
		set.generation = (u32)clause_num(c, "generation", 0);
		set.rails = rails_of(clause_text(c, "rails", "-"));
		tbnet2_put_set(bytes_add(f, TBNET2_RAILSET_LEN), &set);
		break;
	case TBNET2_HELLO:
		tbnet2_put64((u64)clause_num(c, "nonce", 0), bytes_add(f, 8));
		break;
	default:
		build_state(f, c);
	}
}

/* Sets the CRC of a finished frame. */
void frame_seal(struct bytes *f)
{
	f->b[1] |= TBNET2_F_CRC;
	tbnet2_put32(~tbnet2_crc_begin(f->b, f->n), f->b + offsetof(struct tbnet2_hdr, crc));
}

/* Damages a finished frame as the clause says. */
void frame_mangle(struct bytes *f, const struct clause *c)
{
	s64 v = clause_num(c, "flip", -1);

	if (v >= 0 && v < f->n)
		f->b[v] ^= 1;
	v = clause_num(c, "version", -1);
	if (v >= 0)
		f->b[0] = (u8)((f->b[0] & 0x0f) | v << 4);
	v = clause_num(c, "type", -1);
	if (v >= 0)
		f->b[0] = (u8)((f->b[0] & 0xf0) | v);
	v = clause_num(c, "cut", -1);
	if (v >= 0 && v < f->n)
		f->n = (u32)v;
	bytes_add(f, (u32)clause_num(c, "pad", 0));
}

/* Makes the bytes of a frame in words; index is the default one. */
void frame_build(struct bytes *f, const struct clause *c, u32 index)
{
	struct tbnet2_header h = {
		.type = type_of(clause_word(c, 2)),
		.index = (u32)clause_num(c, "index", index),
		.rail_seq = (u32)clause_num(c, "seq", 0),
	};
	u32 size = (u32)clause_num(c, "size", 0);

	if (clause_has(c, "resent"))
		h.flags |= TBNET2_F_RESENT;
	if (clause_has(c, "ack_now"))
		h.flags |= TBNET2_F_ACK;
	bytes_add(f, TBNET2_HEADER_LEN);
	build_body(f, c, &h);
	if (size > f->n)
		bytes_add(f, size - f->n);
	h.length = (u16)(f->n - TBNET2_HEADER_LEN);
	tbnet2_put_header(f->b, &h);
	if (clause_has(c, "crc"))
		frame_seal(f);
	frame_mangle(f, c);
}
