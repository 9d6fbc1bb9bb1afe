// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Headers and bodies of frames but for states (wire_state.c) and greetings
 * (hello.c).
 */
#include "wire.h"

#define GET16(b, type, field)	tbnet2_get16((b) + offsetof(struct type, field))
#define GET32(b, type, field)	tbnet2_get32((b) + offsetof(struct type, field))
#define GET64(b, type, field)	tbnet2_get64((b) + offsetof(struct type, field))
#define PUT16(v, b, type, field) tbnet2_put16(v, (b) + offsetof(struct type, field))
#define PUT32(v, b, type, field) tbnet2_put32(v, (b) + offsetof(struct type, field))
#define PUT64(v, b, type, field) tbnet2_put64(v, (b) + offsetof(struct type, field))

/* Bits of the flags in a descriptor and its gso types, as in virtio_net_hdr. */
enum {
	NEEDS_CSUM	= 1,
	DATA_VALID	= 2,
	GSO_NONE	= 0,
	GSO_TCPV4	= 1,
	GSO_TCPV6	= 4,
	GSO_ECN		= 0x80,
};

#define FLAGS_KNOWN (TBNET2_F_CRC | TBNET2_F_OFFLOAD | TBNET2_F_RESENT | TBNET2_F_ACK)

/**
 * tbnet2_get_header() - read the header of a frame
 * @frame: the first bytes of the frame, at least its header if @len says so
 * @len: bytes of the frame, with the padding behind it
 * @h: filled in
 *
 * The body is the @h->length bytes behind the header.
 */
enum tbnet2_wire_error tbnet2_get_header(const u8 *frame, u32 len, struct tbnet2_header *h)
{
	if (len < TBNET2_HEADER_LEN)
		return TBNET2_WIRE_SHORT;
	if (frame[0] >> 4 != TBNET2_VERSION)
		return TBNET2_WIRE_VERSION;
	h->type = frame[0] & 0x0f;
	if (h->type > TBNET2_DATA)
		return TBNET2_WIRE_TYPE;
	h->flags = frame[1];
	if (h->flags & ~FLAGS_KNOWN)
		return TBNET2_WIRE_RESERVED;
	h->length = GET16(frame, tbnet2_hdr, length);
	h->index = GET32(frame, tbnet2_hdr, index);
	h->rail_seq = GET32(frame, tbnet2_hdr, rail_seq);
	h->crc = GET32(frame, tbnet2_hdr, crc);
	if (len - TBNET2_HEADER_LEN < h->length)
		return TBNET2_WIRE_SHORT;
	return TBNET2_WIRE_OK;
}

/**
 * tbnet2_put_header() - write a header
 * @b: TBNET2_HEADER_LEN bytes
 * @h: what they shall say
 */
void tbnet2_put_header(u8 *b, const struct tbnet2_header *h)
{
	b[0] = (u8)(TBNET2_VERSION << 4 | h->type);
	b[1] = h->flags;
	PUT16(h->length, b, tbnet2_hdr, length);
	PUT32(h->index, b, tbnet2_hdr, index);
	PUT32(h->rail_seq, b, tbnet2_hdr, rail_seq);
	PUT32(h->crc, b, tbnet2_hdr, crc);
}

static enum tbnet2_wire_error get_desc(const u8 *b, struct tbnet2_desc *o)
{
	static const u8 zero[sizeof_field(struct tbnet2_offload, reserved)];

	o->flags = b[0];
	o->gso_type = b[1];
	o->hdr_len = GET16(b, tbnet2_offload, hdr_len);
	o->gso_size = GET16(b, tbnet2_offload, gso_size);
	o->csum_start = GET16(b, tbnet2_offload, csum_start);
	o->csum_offset = GET16(b, tbnet2_offload, csum_offset);
	if (memcmp(b + offsetof(struct tbnet2_offload, reserved), zero, sizeof(zero)))
		return TBNET2_WIRE_RESERVED;
	return TBNET2_WIRE_OK;
}

/**
 * tbnet2_get_data() - read what stands before the payload of a DATA frame
 * @flags: of the header
 * @body: what follows the header; only the first 32 bytes are looked at
 * @len: bytes of the whole body
 * @d: filled in
 * @o: filled in when @flags say that a descriptor is there
 * @used: set to the bytes before the payload
 */
enum tbnet2_wire_error tbnet2_get_data(u8 flags, const u8 *body, u32 len,
				       struct tbnet2_data_head *d, struct tbnet2_desc *o,
				       u32 *used)
{
	if (len < TBNET2_DATA_LEN)
		return TBNET2_WIRE_SHORT;
	d->packet = GET32(body, tbnet2_data, packet);
	d->offset = GET16(body, tbnet2_data, offset);
	d->channel = body[offsetof(struct tbnet2_data, channel)];
	if (body[offsetof(struct tbnet2_data, reserved)])
		return TBNET2_WIRE_RESERVED;
	d->total = GET32(body, tbnet2_data, total);
	d->stamp = GET32(body, tbnet2_data, stamp);
	*used = TBNET2_DATA_LEN;
	if (!(flags & TBNET2_F_OFFLOAD))
		return TBNET2_WIRE_OK;
	if (len < TBNET2_DATA_LEN + TBNET2_OFFLOAD_LEN)
		return TBNET2_WIRE_SHORT;
	*used += TBNET2_OFFLOAD_LEN;
	return get_desc(body + TBNET2_DATA_LEN, o);
}

/**
 * tbnet2_put_data() - write what follows the header of a DATA frame
 * @b: TBNET2_DATA_LEN bytes
 * @d: what they shall say
 */
void tbnet2_put_data(u8 *b, const struct tbnet2_data_head *d)
{
	PUT32(d->packet, b, tbnet2_data, packet);
	PUT16(d->offset, b, tbnet2_data, offset);
	b[offsetof(struct tbnet2_data, channel)] = d->channel;
	b[offsetof(struct tbnet2_data, reserved)] = 0;
	PUT32(d->total, b, tbnet2_data, total);
	PUT32(d->stamp, b, tbnet2_data, stamp);
}

/**
 * tbnet2_put_desc() - write an offload descriptor
 * @b: TBNET2_OFFLOAD_LEN bytes
 * @o: what they shall say
 */
void tbnet2_put_desc(u8 *b, const struct tbnet2_desc *o)
{
	memset(b, 0, TBNET2_OFFLOAD_LEN);
	b[0] = o->flags;
	b[1] = o->gso_type;
	PUT16(o->hdr_len, b, tbnet2_offload, hdr_len);
	PUT16(o->gso_size, b, tbnet2_offload, gso_size);
	PUT16(o->csum_start, b, tbnet2_offload, csum_start);
	PUT16(o->csum_offset, b, tbnet2_offload, csum_offset);
}

/**
 * tbnet2_check_desc() - whether a descriptor may be believed
 * @o: the descriptor
 * @total: bytes of its packet
 */
bool tbnet2_check_desc(const struct tbnet2_desc *o, u32 total)
{
	if (o->flags & ~(NEEDS_CSUM | DATA_VALID))
		return false;
	if (o->flags & NEEDS_CSUM && (u32)o->csum_start + o->csum_offset + 2 > total)
		return false;
	if (o->hdr_len > total)
		return false;
	switch (o->gso_type & ~GSO_ECN) {
	case GSO_NONE:
		return !o->gso_type && !o->gso_size;
	case GSO_TCPV4:
	case GSO_TCPV6:
		return o->gso_size && o->flags & NEEDS_CSUM;
	default:
		return false;
	}
}

/**
 * tbnet2_get_mark() - take the first mark off a POSITION or SKIP
 * @c: the body; moved behind the mark
 * @m: filled in
 */
enum tbnet2_wire_error tbnet2_get_mark(struct tbnet2_cursor *c, struct tbnet2_mark_at *m)
{
	const u8 *b = c->at;

	if (c->left < TBNET2_MARK_LEN)
		return TBNET2_WIRE_SHORT;
	if (b[1] | b[2] | b[3])
		return TBNET2_WIRE_RESERVED;
	m->channel = b[0];
	m->packet = GET32(b, tbnet2_mark, packet);
	c->at += TBNET2_MARK_LEN;
	c->left -= TBNET2_MARK_LEN;
	return TBNET2_WIRE_OK;
}

/**
 * tbnet2_put_mark() - write a mark
 * @b: TBNET2_MARK_LEN bytes
 * @m: what they shall say
 */
void tbnet2_put_mark(u8 *b, const struct tbnet2_mark_at *m)
{
	tbnet2_put32(m->channel, b);
	PUT32(m->packet, b, tbnet2_mark, packet);
}

/**
 * tbnet2_get_set() - read the body of a RAILSET
 * @body: the body
 * @len: its bytes
 * @s: filled in
 */
enum tbnet2_wire_error tbnet2_get_set(const u8 *body, u32 len, struct tbnet2_set *s)
{
	if (len != TBNET2_RAILSET_LEN)
		return TBNET2_WIRE_SHORT;
	if (GET32(body, tbnet2_railset, reserved))
		return TBNET2_WIRE_RESERVED;
	s->generation = GET32(body, tbnet2_railset, generation);
	s->rails = GET64(body, tbnet2_railset, rails);
	return TBNET2_WIRE_OK;
}

/**
 * tbnet2_put_set() - write the body of a RAILSET
 * @b: TBNET2_RAILSET_LEN bytes
 * @s: what they shall say
 */
void tbnet2_put_set(u8 *b, const struct tbnet2_set *s)
{
	PUT32(s->generation, b, tbnet2_railset, generation);
	PUT32(0, b, tbnet2_railset, reserved);
	PUT64(s->rails, b, tbnet2_railset, rails);
}

/**
 * tbnet2_get_reset() - read the body of a RESET
 * @body: the body
 * @len: its bytes
 * @r: filled in
 */
enum tbnet2_wire_error tbnet2_get_reset(const u8 *body, u32 len, struct tbnet2_reset_of *r)
{
	if (len != TBNET2_RESET_LEN)
		return TBNET2_WIRE_SHORT;
	if (body[5] | body[6] | body[7])
		return TBNET2_WIRE_RESERVED;
	r->index = GET32(body, tbnet2_reset, index);
	r->reason = body[offsetof(struct tbnet2_reset, reason)];
	return TBNET2_WIRE_OK;
}

/**
 * tbnet2_put_reset() - write the body of a RESET
 * @b: TBNET2_RESET_LEN bytes
 * @r: what they shall say
 */
void tbnet2_put_reset(u8 *b, const struct tbnet2_reset_of *r)
{
	PUT32(r->index, b, tbnet2_reset, index);
	tbnet2_put32(r->reason, b + offsetof(struct tbnet2_reset, reason));
}

/**
 * tbnet2_crc_begin() - begin the CRC of a frame
 * @head: the header, and what follows it in the same memory
 * @len: bytes of @head
 *
 * Return: the running CRC, the CRC field taken as zero; invert it at the end.
 */
u32 tbnet2_crc_begin(const u8 *head, u32 len)
{
	static const u8 zero[4];
	u32 crc = tbnet2_crc(~0u, head, offsetof(struct tbnet2_hdr, crc));

	crc = tbnet2_crc(crc, zero, sizeof(zero));
	return tbnet2_crc(crc, head + TBNET2_HEADER_LEN, len - TBNET2_HEADER_LEN);
}
