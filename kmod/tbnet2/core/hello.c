// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * The body of HELLO, HELLO_ACK and CONFIRM: nonces and TLVs.
 */
#include "wire.h"

#define TLVS_REQUIRED	(BIT(TBNET2_TLV_HOST) | BIT(TBNET2_TLV_EPOCH) |		\
			 BIT(TBNET2_TLV_INDEX) | BIT(TBNET2_TLV_SERVICE) |	\
			 BIT(TBNET2_TLV_VERSIONS) | BIT(TBNET2_TLV_MTU) |	\
			 BIT(TBNET2_TLV_CAPS))
#define SLOTS_MOST	(1u << 16)

/* Lengths of the values; a name's varies. */
static const u8 tlv_lengths[] = {
	[TBNET2_TLV_HOST] = 16,
	[TBNET2_TLV_EPOCH] = 8,
	[TBNET2_TLV_INDEX] = 4,
	[TBNET2_TLV_SERVICE] = 1,
	[TBNET2_TLV_VERSIONS] = 2,
	[TBNET2_TLV_RAIL] = 1,
	[TBNET2_TLV_GROUP] = 8,
	[TBNET2_TLV_MTU] = 4,
	[TBNET2_TLV_RATE] = 8,
	[TBNET2_TLV_CAPS] = 4,
	[TBNET2_TLV_SLOTS] = 4,
	[TBNET2_TLV_NAME] = 0,
};

/*
 * Bytes of the UTF-8 character at b, 0 where there is none: RFC 3629, without
 * overlong forms and surrogates.
 */
static u32 utf8_char(const u8 *b, u32 len)
{
	u8 low = 0x80, high = 0xbf;
	u32 n, i;

	if (b[0] < 0x80)
		return 1;
	if (b[0] >= 0xc2 && b[0] <= 0xdf)
		n = 2;
	else if ((b[0] & 0xf0) == 0xe0)
		n = 3;
	else if (b[0] >= 0xf0 && b[0] <= 0xf4)
		n = 4;
	else
		return 0;
	if (b[0] == 0xe0)
		low = 0xa0;
	else if (b[0] == 0xed)
		high = 0x9f;
	else if (b[0] == 0xf0)
		low = 0x90;
	else if (b[0] == 0xf4)
		high = 0x8f;
	if (len < n || b[1] < low || b[1] > high)
		return 0;
	for (i = 2; i < n; i++)
		if ((b[i] & 0xc0) != 0x80)
			return 0;
	return n;
}

static bool utf8_valid(const u8 *b, u32 len)
{
	while (len) {
		u32 n = utf8_char(b, len);

		if (!n)
			return false;
		b += n;
		len -= n;
	}
	return true;
}

static enum tbnet2_wire_error set_name(struct tbnet2_greeting *g, const u8 *v, u8 len)
{
	if (len > TBNET2_HOST_NAME_MAX || !utf8_valid(v, len))
		return TBNET2_WIRE_TLV_VALUE;
	memcpy(g->name, v, len);
	g->name_len = len;
	return TBNET2_WIRE_OK;
}

/* Takes one TLV of a known type, of the right length, but for the name. */
static bool set_value(struct tbnet2_greeting *g, u8 kind, const u8 *v)
{
	switch (kind) {
	case TBNET2_TLV_HOST:
		memcpy(g->host, v, sizeof(g->host));
		return true;
	case TBNET2_TLV_EPOCH:
		g->epoch = tbnet2_get64(v);
		return true;
	case TBNET2_TLV_INDEX:
		g->index = tbnet2_get32(v);
		return g->index >> 8;
	case TBNET2_TLV_SERVICE:
		g->service = v[0];
		return true;
	case TBNET2_TLV_VERSIONS:
		g->version_low = v[0];
		g->version_high = v[1];
		return v[0] <= v[1];
	case TBNET2_TLV_RAIL:
		g->rail = v[0];
		g->has_rail = true;
		return v[0] < TBNET2_RAILS_MAX;
	case TBNET2_TLV_GROUP:
		g->group = tbnet2_get64(v);
		return true;
	case TBNET2_TLV_MTU:
		g->mtu = tbnet2_get32(v);
		return true;
	case TBNET2_TLV_RATE:
		g->rate = tbnet2_get64(v);
		return true;
	case TBNET2_TLV_CAPS:
		g->caps = tbnet2_get32(v);
		return true;
	default: /* TBNET2_TLV_SLOTS: a power of two */
		g->slots = tbnet2_get32(v);
		return g->slots && !(g->slots & (g->slots - 1)) && g->slots <= SLOTS_MOST;
	}
}

static enum tbnet2_wire_error get_tlv(struct tbnet2_greeting *g, u32 *seen, u8 type,
				      const u8 *v, u8 len)
{
	u8 kind = (u8)(type & ~TBNET2_TLV_CRITICAL);

	if (!kind || kind > TBNET2_TLV_NAME)
		return type & TBNET2_TLV_CRITICAL ? TBNET2_WIRE_TLV_CRITICAL : TBNET2_WIRE_OK;
	if (*seen & BIT(kind))
		return TBNET2_WIRE_TLV_TWICE;
	*seen |= BIT(kind);
	if (kind == TBNET2_TLV_NAME)
		return set_name(g, v, len);
	if (len != tlv_lengths[kind])
		return TBNET2_WIRE_TLV_LENGTH;
	return set_value(g, kind, v) ? TBNET2_WIRE_OK : TBNET2_WIRE_TLV_VALUE;
}

/**
 * tbnet2_get_greeting() - read the body of HELLO, HELLO_ACK or CONFIRM
 * @body: the body
 * @len: its bytes
 * @g: filled in; on error nothing of it holds
 *
 * Versions and services are left for the caller to compare.
 */
enum tbnet2_wire_error tbnet2_get_greeting(const u8 *body, u32 len, struct tbnet2_greeting *g)
{
	u32 seen = 0;

	memset(g, 0, sizeof(*g));
	if (len < TBNET2_HELLO_LEN)
		return TBNET2_WIRE_SHORT;
	g->nonce = tbnet2_get64(body);
	g->echo = tbnet2_get64(body + offsetof(struct tbnet2_hello, echo));
	body += TBNET2_HELLO_LEN;
	len -= TBNET2_HELLO_LEN;
	while (len) {
		enum tbnet2_wire_error err;
		u32 n;

		if (len < TBNET2_TLV_LEN || len < TBNET2_TLV_LEN + body[1])
			return TBNET2_WIRE_SHORT;
		n = TBNET2_TLV_LEN + body[1];
		err = get_tlv(g, &seen, body[0], body + TBNET2_TLV_LEN, body[1]);
		if (err)
			return err;
		body += n;
		len -= n;
	}
	return TLVS_REQUIRED & ~seen ? TBNET2_WIRE_TLV_MISSING : TBNET2_WIRE_OK;
}

/**
 * tbnet2_set_name() - take of a host name what a peer takes: valid UTF-8, cut
 *	between characters at TBNET2_HOST_NAME_MAX bytes
 * @g: gets the name
 * @name: the name
 * @len: its bytes; each run of those that are no character becomes a '?'
 */
void tbnet2_set_name(struct tbnet2_greeting *g, const u8 *name, u32 len)
{
	bool bad = false;

	g->name_len = 0;
	while (len) {
		u32 n = utf8_char(name, len);
		const u8 *from = n ? name : (const u8 *)"?";
		u32 out = n ? n : !bad;

		if (g->name_len + out > TBNET2_HOST_NAME_MAX)
			return;
		memcpy(g->name + g->name_len, from, out);
		g->name_len = (u8)(g->name_len + out);
		bad = !n;
		name += n ? n : 1;
		len -= n ? n : 1;
	}
}

static u8 *put_tlv(u8 *b, u8 type, u8 len)
{
	*b++ = type;
	*b++ = len;
	return b;
}

static u8 *put_u8(u8 *b, u8 type, u8 v)
{
	b = put_tlv(b, type, 1);
	*b = v;
	return b + 1;
}

static u8 *put_u32(u8 *b, u8 type, u32 v)
{
	b = put_tlv(b, type, 4);
	tbnet2_put32(v, b);
	return b + 4;
}

static u8 *put_u64(u8 *b, u8 type, u64 v)
{
	b = put_tlv(b, type, 8);
	tbnet2_put64(v, b);
	return b + 8;
}

/**
 * tbnet2_put_greeting() - write the body of HELLO, HELLO_ACK or CONFIRM
 * @b: TBNET2_GREETING_MOST bytes
 * @g: what they shall say; its name is valid UTF-8
 *
 * Return: the bytes written.
 */
u32 tbnet2_put_greeting(u8 *b, const struct tbnet2_greeting *g)
{
	u8 *start = b;

	tbnet2_put64(g->nonce, b);
	tbnet2_put64(g->echo, b + offsetof(struct tbnet2_hello, echo));
	b = put_tlv(b + TBNET2_HELLO_LEN, TBNET2_TLV_HOST, sizeof(g->host));
	memcpy(b, g->host, sizeof(g->host));
	b = put_u64(b + sizeof(g->host), TBNET2_TLV_EPOCH, g->epoch);
	b = put_u32(b, TBNET2_TLV_INDEX, g->index);
	b = put_u8(b, TBNET2_TLV_SERVICE, g->service);
	b = put_tlv(b, TBNET2_TLV_VERSIONS, 2);
	*b++ = g->version_low;
	*b++ = g->version_high;
	if (g->has_rail)
		b = put_u8(b, TBNET2_TLV_RAIL, g->rail);
	b = put_u64(b, TBNET2_TLV_GROUP, g->group);
	b = put_u32(b, TBNET2_TLV_MTU, g->mtu);
	b = put_u64(b, TBNET2_TLV_RATE, g->rate);
	b = put_u32(b, TBNET2_TLV_CAPS, g->caps);
	if (g->slots)
		b = put_u32(b, TBNET2_TLV_SLOTS, g->slots);
	b = put_tlv(b, TBNET2_TLV_NAME, g->name_len);
	memcpy(b, g->name, g->name_len);
	return (u32)(b + g->name_len - start);
}
