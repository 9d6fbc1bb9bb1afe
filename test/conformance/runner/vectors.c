// SPDX-License-Identifier: Apache-2.0
/*
 * Frames in hex: what they hold in the words of test/vectors/frames.txt, and
 * the bytes that the core writes again.
 */
#include <stdio.h>
#include <stdlib.h>
#include "runner.h"

#define BYTES_MOST (1 << 17)

/* A frame that is read, what it says, and its body written again. */
struct vector {
	struct tbnet2_header h;
	struct text said;
	struct bytes again;
};

static enum tbnet2_wire_error say_data(struct vector *v, const u8 *body)
{
	struct tbnet2_data_head d;
	struct tbnet2_desc o;
	enum tbnet2_wire_error err;
	u32 used, i;

	err = tbnet2_get_data(v->h.flags, body, v->h.length, &d, &o, &used);
	if (err)
		return err;
	text_add(&v->said, "data packet=%u offset=%u channel=%u total=%u stamp=%u\n", d.packet,
		 d.offset, d.channel, d.total, d.stamp);
	tbnet2_put_data(bytes_add(&v->again, TBNET2_DATA_LEN), &d);
	if (v->h.flags & TBNET2_F_OFFLOAD) {
		if (!tbnet2_check_desc(&o, d.total))
			return TBNET2_WIRE_OFFLOAD;
		text_add(&v->said, "offload flags=%u gso_type=%u hdr_len=%u gso_size=%u csum_start=%u csum_offset=%u\n",
			 o.flags, o.gso_type, o.hdr_len, o.gso_size, o.csum_start, o.csum_offset);
		tbnet2_put_desc(bytes_add(&v->again, TBNET2_OFFLOAD_LEN), &o);
	}
	text_add(&v->said, "payload ");
	for (i = used; i < v->h.length; i++)
		text_add(&v->said, "%02x", body[i]);
	text_add(&v->said, "\n");
	memcpy(bytes_add(&v->again, v->h.length - used), body + used, v->h.length - used);
	return TBNET2_WIRE_OK;
}

static enum tbnet2_wire_error say_rail(struct vector *v, struct tbnet2_cursor *c)
{
	struct tbnet2_rail_block a;
	enum tbnet2_wire_error err = tbnet2_get_rail_block(c, &a);
	u32 i;

	if (err)
		return err;
	text_add(&v->said, "rail_ack rail=%u gaps=%u depth=%u next=%u credit=%u delay=%u\n", a.rail,
		 a.count, a.depth, a.next, a.credit, a.delay);
	for (i = 0; i < a.count; i++)
		text_add(&v->said, "gap back=%u count=%u\n", a.gaps[i].back, a.gaps[i].count);
	tbnet2_put_rail_block(bytes_add(&v->again, TBNET2_RAIL_ACK_LEN + a.count * TBNET2_GAP_LEN),
			      &a);
	return TBNET2_WIRE_OK;
}

static enum tbnet2_wire_error say_channel(struct vector *v, struct tbnet2_cursor *c)
{
	struct tbnet2_channel_block a;
	enum tbnet2_wire_error err = tbnet2_get_channel_block(c, &a);

	if (err)
		return err;
	text_add(&v->said, "channel_ack channel=%u next=%u window=%u\n", a.channel, a.next,
		 a.window);
	tbnet2_put_channel_block(bytes_add(&v->again, TBNET2_CHANNEL_ACK_LEN), &a);
	return TBNET2_WIRE_OK;
}

static enum tbnet2_wire_error say_state(struct vector *v, struct tbnet2_cursor *c)
{
	struct tbnet2_state_head s;
	enum tbnet2_wire_error err = tbnet2_get_state(c, &s);
	u32 i;

	if (err)
		return err;
	text_add(&v->said, "state stamp=%u echo=%u heard=0x%llx generation=%u rails=%u channels=%u\n",
		 s.stamp, s.echo, (unsigned long long)s.heard, s.generation, s.rails, s.channels);
	tbnet2_put_state(bytes_add(&v->again, TBNET2_STATE_LEN), &s);
	for (i = 0; i < s.rails && !err; i++)
		err = say_rail(v, c);
	for (i = 0; i < s.channels && !err; i++)
		err = say_channel(v, c);
	if (err)
		return err;
	if (c->left) {
		text_add(&v->said, "padding %u\n", c->left);
		memcpy(bytes_add(&v->again, c->left), c->at, c->left);
	}
	return TBNET2_WIRE_OK;
}

static enum tbnet2_wire_error say_marks(struct vector *v, struct tbnet2_cursor *c)
{
	struct tbnet2_mark_at m;

	while (c->left) {
		enum tbnet2_wire_error err = tbnet2_get_mark(c, &m);

		if (err)
			return err;
		text_add(&v->said, "mark channel=%u packet=%u\n", m.channel, m.packet);
		tbnet2_put_mark(bytes_add(&v->again, TBNET2_MARK_LEN), &m);
	}
	return TBNET2_WIRE_OK;
}

static void say_hex(struct text *t, const u8 *b, u32 n)
{
	while (n--)
		text_add(t, "%02x", *b++);
	text_add(t, "\n");
}

/* One TLV, by what the core made of it where it is known. */
static void say_tlv(struct vector *v, const struct tbnet2_greeting *g, const u8 *b)
{
	struct text *t = &v->said;

	switch (b[0] & ~TBNET2_TLV_CRITICAL) {
	case TBNET2_TLV_HOST:
		text_add(t, "tlv host ");
		say_hex(t, g->host, sizeof(g->host));
		break;
	case TBNET2_TLV_EPOCH:
		text_add(t, "tlv epoch %llu\n", (unsigned long long)g->epoch);
		break;
	case TBNET2_TLV_INDEX:
		text_add(t, "tlv index %u\n", g->index);
		break;
	case TBNET2_TLV_SERVICE:
		text_add(t, "tlv service %u\n", g->service);
		break;
	case TBNET2_TLV_VERSIONS:
		text_add(t, "tlv versions %u %u\n", g->version_low, g->version_high);
		break;
	case TBNET2_TLV_RAIL:
		text_add(t, "tlv rail %u\n", g->rail);
		break;
	case TBNET2_TLV_GROUP:
		text_add(t, "tlv group %llu\n", (unsigned long long)g->group);
		break;
	case TBNET2_TLV_MTU:
		text_add(t, "tlv mtu %u\n", g->mtu);
		break;
	case TBNET2_TLV_RATE:
		text_add(t, "tlv rate %llu\n", (unsigned long long)g->rate);
		break;
	case TBNET2_TLV_CAPS:
		text_add(t, "tlv caps %u\n", g->caps);
		break;
	case TBNET2_TLV_SLOTS:
		text_add(t, "tlv slots %u\n", g->slots);
		break;
	case TBNET2_TLV_NAME:
		text_add(t, "tlv name %.*s\n", g->name_len, g->name);
		break;
	default:
		text_add(t, "tlv 0x%02x ", b[0]);
		say_hex(t, b + TBNET2_TLV_LEN, b[1]);
	}
}

static enum tbnet2_wire_error say_greeting(struct vector *v, const u8 *body, u32 len)
{
	struct tbnet2_greeting g;
	enum tbnet2_wire_error err = tbnet2_get_greeting(body, len, &g);
	u8 again[TBNET2_GREETING_MOST];
	u32 n;

	if (err)
		return err;
	text_add(&v->said, "hello nonce=0x%llx echo=0x%llx\n", (unsigned long long)g.nonce,
		 (unsigned long long)g.echo);
	for (n = TBNET2_HELLO_LEN; n < len; n += TBNET2_TLV_LEN + body[n + 1])
		say_tlv(v, &g, body + n);
	n = tbnet2_put_greeting(again, &g);
	memcpy(bytes_add(&v->again, n), again, n);
	return TBNET2_WIRE_OK;
}

static enum tbnet2_wire_error say_body(struct vector *v, const u8 *body)
{
	struct tbnet2_cursor c = { body, v->h.length };
	enum tbnet2_wire_error err;
	struct tbnet2_reset_of r;
	struct tbnet2_set s;

	switch (v->h.type) {
	case TBNET2_HELLO:
	case TBNET2_HELLO_ACK:
	case TBNET2_CONFIRM:
		return say_greeting(v, body, v->h.length);
	case TBNET2_RESET:
		err = tbnet2_get_reset(body, v->h.length, &r);
		if (err)
			return err;
		text_add(&v->said, "reset index=0x%x reason=%u\n", r.index, r.reason);
		tbnet2_put_reset(bytes_add(&v->again, TBNET2_RESET_LEN), &r);
		return TBNET2_WIRE_OK;
	case TBNET2_RAILSET:
		err = tbnet2_get_set(body, v->h.length, &s);
		if (err)
			return err;
		text_add(&v->said, "railset generation=%u rails=0x%llx\n", s.generation,
			 (unsigned long long)s.rails);
		tbnet2_put_set(bytes_add(&v->again, TBNET2_RAILSET_LEN), &s);
		return TBNET2_WIRE_OK;
	case TBNET2_POSITION:
	case TBNET2_SKIP:
		return say_marks(v, &c);
	case TBNET2_DATA:
		return say_data(v, body);
	default:
		return say_state(v, &c);
	}
}

/* Reads a frame as a receiver does; gives the reason to refuse it, or NULL. */
static const char *refuse(struct vector *v, const u8 *frame, u32 len)
{
	static const char *const reasons[] = { NULL, "short", "version", "type", "reserved",
		"offload", "tlv_length", "tlv_twice", "tlv_missing", "tlv_critical", "tlv_value" };
	enum tbnet2_wire_error err = tbnet2_get_header(frame, len, &v->h);

	if (err)
		return reasons[err];
	if (v->h.flags & TBNET2_F_CRC &&
	    ~tbnet2_crc_begin(frame, TBNET2_HEADER_LEN + v->h.length) != v->h.crc)
		return "crc";
	text_add(&v->said, "hdr version=%u type=%u flags=%u length=%u index=0x%x rail_seq=%u crc=0x%08x\n",
		 TBNET2_VERSION, v->h.type, v->h.flags, v->h.length, v->h.index, v->h.rail_seq,
		 v->h.crc);
	bytes_add(&v->again, TBNET2_HEADER_LEN);
	return reasons[say_body(v, frame + TBNET2_HEADER_LEN)];
}

/* Says what one frame holds, then "again" and its bytes; or why it is none. */
static void play_frame(const u8 *frame, u32 len)
{
	struct vector v = { 0 };
	const char *reason = refuse(&v, frame, len);

	if (reason) {
		printf("refuse %s\n", reason);
	} else {
		v.h.length = (u16)(v.again.n - TBNET2_HEADER_LEN);
		tbnet2_put_header(v.again.b, &v.h);
		text_add(&v.said, "again ");
		say_hex(&v.said, v.again.b, v.again.n);
		fwrite(v.said.s, 1, v.said.n, stdout);
	}
	printf(".\n");
	text_free(&v.said);
	free(v.again.b);
}

void play_frames(void)
{
	u8 *frame = malloc(BYTES_MOST);
	char *line = NULL;
	size_t room = 0;
	ssize_t n;

	if (!frame)
		fail("no memory");
	while ((n = getline(&line, &room, stdin)) > 0) {
		u32 len;
		u8 *exact;

		line[strcspn(line, "\n")] = 0;
		len = bytes_of(line, frame, BYTES_MOST);
		exact = malloc(len ? len : 1); /* so that a read behind its end is seen */
		if (!exact)
			fail("no memory");
		memcpy(exact, frame, len);
		play_frame(exact, len);
		free(exact);
	}
	free(line);
	free(frame);
}
