// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * DATA frames: how much goes into one, and what it says.
 */
#include "sender.h"

/**
 * tbnet2_head_len() - the length of the head of a fragment
 * @p: its packet
 * @off: its place
 */
u32 tbnet2_head_len(const struct tbnet2_packet *p, s32 off)
{
	u32 n = TBNET2_HEADER_LEN + TBNET2_DATA_LEN;

	return !off && p->has_desc ? n + TBNET2_OFFLOAD_LEN : n;
}

/**
 * tbnet2_cut_len() - how many bytes go into one frame: all that is left, or as
 *	many whole units as fit
 * @n: what is to go
 * @r: the rail
 */
s32 tbnet2_cut_len(struct tbnet2_need n, const struct tbnet2_send_rail *r)
{
	s32 room = (s32)(r->mtu - n.head);

	return n.left <= room ? n.left : room & ~(TBNET2_UNIT - 1);
}

static void put_data(struct tbnet2_sender *s, u8 *head, u32 head_len,
		     const struct tbnet2_packet *p, s32 off, const struct tbnet2_header *h)
{
	struct tbnet2_data_head d = {
		.packet = p->number,
		.offset = (u16)(off / TBNET2_UNIT),
		.channel = p->channel,
		.total = p->length,
		.stamp = s->cut_stamp,
	};

	tbnet2_put_header(head, h);
	tbnet2_put_data(head + TBNET2_HEADER_LEN, &d);
	if (head_len > TBNET2_HEADER_LEN + TBNET2_DATA_LEN)
		tbnet2_put_desc(head + TBNET2_HEADER_LEN + TBNET2_DATA_LEN, &p->desc);
}

/* Writes a frame into the books of its rail. */
static void note(struct tbnet2_sender *s, struct tbnet2_send_rail *r, struct tbnet2_packet *p,
		 const struct tbnet2_entry *e)
{
	if (!s->cfg.retransmit && !(e->flags & ENTRY_RESENT))
		tbnet2_note_position(s, r, p);
	tbnet2_ledger_push(&r->ledger, *e);
	tbnet2_rail_load(r, s->cut_at, (u32)e->size);
	r->wrote += (u64)e->size;
	r->stats.tx_frames++;
	r->stats.tx_bytes += (u64)e->size;
	s->stats.frames++;
}

/**
 * tbnet2_emit() - add one DATA frame to the burst and the ledger
 * @s: the send half
 * @b: the burst, which has room
 * @r: the rail, which admits it
 * @p: the packet, with a reference for the ledger
 * @off: place of the fragment
 * @n: bytes of it
 * @flags: ENTRY_RESENT or 0
 */
void tbnet2_emit(struct tbnet2_sender *s, struct tbnet2_burst *b, struct tbnet2_send_rail *r,
		 struct tbnet2_packet *p, s32 off, s32 n, u8 flags)
{
	u32 head_len = tbnet2_head_len(p, off);
	u32 size = head_len + (u32)n;
	struct tbnet2_burst_frame f = {
		.head = tbnet2_burst_head(b, head_len),
		.head_len = head_len,
		.packet = p,
		.off = (u32)off,
		.len = (u32)n,
	};
	struct tbnet2_header h = {
		.type = TBNET2_DATA,
		.length = (u16)(size - TBNET2_HEADER_LEN),
		.index = s->cfg.peer_index,
		.rail_seq = r->ledger.next,
	};
	struct tbnet2_entry e = {
		.packet = p,
		.off = off,
		.n = n,
		.size = (s32)size,
		.sent_at = s->cut_at,
	};

	if (flags & ENTRY_RESENT)
		h.flags |= TBNET2_F_RESENT;
	if (head_len > TBNET2_HEADER_LEN + TBNET2_DATA_LEN)
		h.flags |= TBNET2_F_OFFLOAD;
	if (tbnet2_rail_wants_ack(r, size)) {
		h.flags |= TBNET2_F_ACK;
		flags |= ENTRY_ACK_NOW;
		r->unflagged = 0;
	}
	put_data(s, f.head, head_len, p, off, &h);
	e.flags = flags;
	note(s, r, p, &e);
	tbnet2_burst_add(b, r->cfg.id, f);
}

/**
 * tbnet2_ask_for_acks() - flag the last DATA frame of every rail whose window has
 *	no room for another, so that the answer comes as soon as it can
 * @s: the send half
 * @b: the burst
 */
void tbnet2_ask_for_acks(struct tbnet2_sender *s, struct tbnet2_burst *b)
{
	u64 set = b->rails;
	u8 id;

	tbnet2_for_each_rail(id, set) {
		struct tbnet2_send_rail *r = s->rails[id];
		struct tbnet2_burst_frame *last;

		if (!r || !tbnet2_ledger_len(&r->ledger))
			continue;
		if (tbnet2_rail_has_window(r, r->mtu) && tbnet2_rail_has_credit(r, r->mtu))
			continue;
		last = &b->frames[b->last[id]];
		if (!last->packet)
			continue;
		last->head[1] |= TBNET2_F_ACK;
		tbnet2_ledger_at(&r->ledger, r->ledger.next - 1)->flags |= ENTRY_ACK_NOW;
		r->unflagged = 0;
	}
}

/* Sets the CRC of a frame. */
static void seal(const struct tbnet2_sender *s, struct tbnet2_burst_frame *f)
{
	static const u8 zeros[64];
	u32 pad = f->pad;
	u32 crc;

	f->head[1] |= TBNET2_F_CRC;
	crc = tbnet2_crc_begin(f->head, f->head_len);
	if (f->packet)
		crc = s->cfg.ops->packet_crc(s->cfg.context, crc, f->packet, f->off, f->len);
	while (pad) {
		u32 n = min_t(u32, pad, sizeof(zeros));

		crc = tbnet2_crc(crc, zeros, n);
		pad -= n;
	}
	tbnet2_put32(~crc, f->head + offsetof(struct tbnet2_hdr, crc));
}

/**
 * tbnet2_seal_all() - set the CRC of every frame whose receiver wants one
 * @s: the send half
 * @b: the burst
 */
void tbnet2_seal_all(struct tbnet2_sender *s, struct tbnet2_burst *b)
{
	u64 set = b->rails;
	u8 id;

	if (!s->cfg.send_crc)
		return;
	tbnet2_for_each_rail(id, set) {
		struct tbnet2_send_rail *r = s->rails[id];
		u16 i;

		if (r && r->cfg.no_crc)
			continue;
		for (i = b->first[id]; i != BURST_NONE; i = b->frames[i].next)
			seal(s, &b->frames[i]);
	}
}
