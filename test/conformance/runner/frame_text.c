// SPDX-License-Identifier: Apache-2.0
/*
 * The words of a frame in bytes.
 */
#include "frame.h"

static const char *error_text(enum tbnet2_wire_error err)
{
	switch (err) {
	case TBNET2_WIRE_SHORT:
		return "wire: frame is shorter than its headers or length say";
	case TBNET2_WIRE_VERSION:
		return "wire: frame is of another version";
	case TBNET2_WIRE_TYPE:
		return "wire: frame type is unknown";
	case TBNET2_WIRE_RESERVED:
		return "wire: reserved bits are set";
	default:
		return "wire: frame cannot be";
	}
}

void frame_desc(struct text *t, const struct tbnet2_desc *o)
{
	text_add(t, " offload=%u/%u/%u/%u/%u/%u", o->flags, o->gso_type, o->hdr_len, o->gso_size,
		 o->csum_start, o->csum_offset);
}

static enum tbnet2_wire_error data_text(struct text *t, const struct tbnet2_header *h,
					const u8 *body)
{
	struct tbnet2_data_head d;
	struct tbnet2_desc o;
	enum tbnet2_wire_error err;
	u32 used, off, n;

	err = tbnet2_get_data(h->flags, body, h->length, &d, &o, &used);
	if (err)
		return err;
	off = (u32)d.offset * TBNET2_UNIT;
	n = h->length - used;
	text_add(t, " ch=%u packet=%u offset=%u length=%u total=%u stamp=%u", d.channel, d.packet,
		 off, n, d.total, d.stamp);
	if (h->flags & TBNET2_F_OFFLOAD)
		frame_desc(t, &o);
	if (!frame_is_content(body + used, d.channel, d.packet, off, n))
		text_add(t, " (content differs)");
	return TBNET2_WIRE_OK;
}

static void rail_text(struct text *t, const struct tbnet2_rail_block *a)
{
	u32 i;

	text_add(t, " [rail %u next=%u depth=%u credit=%u delay=%u", a->rail, a->next, a->depth,
		 a->credit, a->delay);
	for (i = 0; i < a->count; i++)
		text_add(t, "%s%ux%u", i ? "," : " gaps=", a->gaps[i].back, a->gaps[i].count);
	text_add(t, "]");
}

/* Neighbours that say the same are one. */
static enum tbnet2_wire_error channels_text(struct text *t, struct tbnet2_cursor *c, u32 count)
{
	struct tbnet2_channel_block first, last;
	u32 n = 0;

	while (count--) {
		struct tbnet2_channel_block a;
		enum tbnet2_wire_error err = tbnet2_get_channel_block(c, &a);

		if (err)
			return err;
		if (n && (last.channel + 1 != a.channel || last.next != a.next ||
			  last.window != a.window)) {
			if (last.channel != first.channel)
				text_add(t, " [channel %u-%u next=%u window=%u]", first.channel,
					 last.channel, first.next, first.window);
			else
				text_add(t, " [channel %u next=%u window=%u]", first.channel,
					 first.next, first.window);
			n = 0;
		}
		if (!n++)
			first = a;
		last = a;
	}
	if (n && last.channel != first.channel)
		text_add(t, " [channel %u-%u next=%u window=%u]", first.channel, last.channel,
			 first.next, first.window);
	else if (n)
		text_add(t, " [channel %u next=%u window=%u]", first.channel, first.next,
			 first.window);
	return TBNET2_WIRE_OK;
}

static enum tbnet2_wire_error state_text(struct text *t, struct tbnet2_cursor *c)
{
	u32 size = c->left + TBNET2_HEADER_LEN, i;
	struct tbnet2_state_head st;
	enum tbnet2_wire_error err = tbnet2_get_state(c, &st);

	if (err)
		return err;
	text_add(t, " size=%u stamp=%u echo=%u heard=", size, st.stamp, st.echo);
	text_rails(t, st.heard);
	text_add(t, " generation=%u", st.generation);
	for (i = 0; i < st.rails; i++) {
		struct tbnet2_rail_block a;

		err = tbnet2_get_rail_block(c, &a);
		if (err)
			return err;
		rail_text(t, &a);
	}
	err = channels_text(t, c, st.channels);
	if (err)
		return err;
	for (; c->left; c->left--, c->at++) {
		if (*c->at) {
			text_add(t, " (padding is not zero)");
			break;
		}
	}
	return TBNET2_WIRE_OK;
}

static enum tbnet2_wire_error marks_text(struct text *t, struct tbnet2_cursor *c)
{
	while (c->left) {
		struct tbnet2_mark_at m;
		enum tbnet2_wire_error err = tbnet2_get_mark(c, &m);

		if (err)
			return err;
		text_add(t, " [channel %u packet=%u]", m.channel, m.packet);
	}
	return TBNET2_WIRE_OK;
}

static enum tbnet2_wire_error body_text(struct text *t, const struct tbnet2_header *h,
					const u8 *body)
{
	struct tbnet2_cursor c = { body, h->length };
	enum tbnet2_wire_error err;
	struct tbnet2_set set;

	switch (h->type) {
	case TBNET2_DATA:
		return data_text(t, h, body);
	case TBNET2_POSITION:
	case TBNET2_SKIP:
		return marks_text(t, &c);
	case TBNET2_RAILSET:
		err = tbnet2_get_set(body, h->length, &set);
		if (err)
			return err;
		text_add(t, " generation=%u rails=", set.generation);
		text_rails(t, set.rails);
		return TBNET2_WIRE_OK;
	default:
		return state_text(t, &c);
	}
}

/* Puts the bytes of a frame into words. */
void frame_text(struct text *t, const u8 *frame, u32 len, u32 index)
{
	static const char *const names[] = { "hello", "hello_ack", "confirm", "reset", "ping",
		"pong", "ack", "railset", "position", "skip", "data" };
	struct tbnet2_header h;
	enum tbnet2_wire_error err = tbnet2_get_header(frame, len, &h);

	if (err) {
		text_add(t, "%s", error_text(err));
		return;
	}
	text_add(t, "%s seq=%u", names[h.type], h.rail_seq);
	if (h.index != index)
		text_add(t, " index=%u", h.index);
	err = body_text(t, &h, frame + TBNET2_HEADER_LEN);
	if (err)
		text_add(t, " %s", error_text(err));
	if (h.flags & TBNET2_F_RESENT)
		text_add(t, " resent");
	if (h.flags & TBNET2_F_ACK)
		text_add(t, " ack_now");
	if (h.flags & TBNET2_F_CRC) {
		text_add(t, " crc");
		if (~tbnet2_crc_begin(frame, TBNET2_HEADER_LEN + h.length) != h.crc)
			text_add(t, " (wrong)");
	}
}
