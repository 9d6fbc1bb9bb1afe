/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Prints one frame of every type: its name and bytes, and what its fields
 * hold, one a line. The CRC is computed bit by bit, apart from any library.
 */
#include <endian.h>
#include <stdio.h>
#include <string.h>

#include "tbnet2_wire.h"

struct frame {
	unsigned char bytes[512];
	size_t len;
};

static __u32 crc32c(const unsigned char *p, size_t n)
{
	__u32 crc = 0xffffffff;

	while (n--) {
		crc ^= *p++;
		for (int bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78 : 0);
	}
	return ~crc;
}

static void add(struct frame *f, const void *p, size_t n)
{
	memcpy(f->bytes + f->len, p, n);
	f->len += n;
}

static void begin(struct frame *f, int type, int flags, __u32 index, __u32 rail_seq)
{
	struct tbnet2_hdr h = {
		.version_type = TBNET2_VERSION << 4 | type,
		.flags = flags,
		.index = htole32(index),
		.rail_seq = htole32(rail_seq),
	};

	f->len = 0;
	add(f, &h, sizeof(h));
	printf("type %d\nflags %d\nindex %u\nrail_seq %u\n", type, flags, index, rail_seq);
}

/* Sets length and, where the flag is set, the CRC; prints the bytes. */
static void end(struct frame *f)
{
	struct tbnet2_hdr h;

	memcpy(&h, f->bytes, sizeof(h));
	h.length = htole16(f->len - sizeof(h));
	memcpy(f->bytes, &h, sizeof(h));
	if (h.flags & TBNET2_F_CRC) {
		h.crc = htole32(crc32c(f->bytes, f->len));
		memcpy(f->bytes, &h, sizeof(h));
	}
	printf("length %zu\ncrc %u\nhex ", f->len - sizeof(h), le32toh(h.crc));
	for (size_t i = 0; i < f->len; i++)
		printf("%02x", f->bytes[i]);
	printf("\n\n");
}

static void tlv(struct frame *f, int type, const void *p, size_t n)
{
	struct tbnet2_tlv t = { .type = type, .length = n };

	add(f, &t, sizeof(t));
	add(f, p, n);
}

static void hello(const char *name, int type, __u32 index, __u64 nonce, __u64 echo, int rail)
{
	static const unsigned char host[16] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16 };
	static const unsigned char versions[2] = { 1, 3 };
	struct tbnet2_hello h = { .nonce = htole64(nonce), .echo = htole64(echo) };
	__le64 epoch = htole64(0x1122334455667788), group = htole64(77), rate = htole64(20000000000);
	__le32 own = htole32(0xabcdef05), mtu = htole32(4084), slots = htole32(1024);
	__le32 caps = htole32(TBNET2_CAP_RETRANSMIT | TBNET2_CAP_CRC);
	unsigned char service = TBNET2_SERVICE_ETHERNET, id = rail;
	struct frame f;

	printf("frame %s\n", name);
	begin(&f, type, TBNET2_F_CRC, index, 0);
	printf("nonce %llu\necho %llu\nown_index %u\nmtu 4084\nrate 20000000000\n", (unsigned long long)nonce,
	       (unsigned long long)echo, 0xabcdef05u);
	add(&f, &h, sizeof(h));
	tlv(&f, TBNET2_TLV_HOST, host, sizeof(host));
	tlv(&f, TBNET2_TLV_EPOCH, &epoch, sizeof(epoch));
	tlv(&f, TBNET2_TLV_INDEX, &own, sizeof(own));
	tlv(&f, TBNET2_TLV_SERVICE, &service, 1);
	tlv(&f, TBNET2_TLV_VERSIONS, versions, sizeof(versions));
	if (rail >= 0) {
		printf("rail %d\n", rail);
		tlv(&f, TBNET2_TLV_RAIL, &id, 1);
	}
	tlv(&f, TBNET2_TLV_GROUP, &group, sizeof(group));
	tlv(&f, TBNET2_TLV_MTU, &mtu, sizeof(mtu));
	tlv(&f, TBNET2_TLV_RATE, &rate, sizeof(rate));
	tlv(&f, TBNET2_TLV_CAPS, &caps, sizeof(caps));
	tlv(&f, TBNET2_TLV_SLOTS, &slots, sizeof(slots));
	tlv(&f, TBNET2_TLV_NAME, "node2", 5);
	end(&f);
}

static void reset(void)
{
	struct tbnet2_reset r = { .index = htole32(0x00112233), .reason = TBNET2_RESET_CLOSING };
	struct frame f;

	printf("frame reset\n");
	begin(&f, TBNET2_RESET, TBNET2_F_CRC, 0, 0);
	printf("reset_index %u\nreason %d\n", 0x00112233u, TBNET2_RESET_CLOSING);
	add(&f, &r, sizeof(r));
	end(&f);
}

static void state(const char *name, int type, __u32 echo, size_t padding)
{
	static const unsigned char zero[64];
	struct tbnet2_state s = {
		.stamp = htole32(123456), .echo = htole32(echo), .heard = htole64(0x8000000000000003),
		.generation = htole32(9), .rails = 2, .channels = 1,
	};
	struct tbnet2_rail_ack a = { .rail = 1, .gaps = 2, .depth = htole16(300), .next = htole32(7),
				     .credit = htole32(1 << 20), .delay = htole32(45000) };
	struct tbnet2_gap g[2] = { { htole16(20), htole16(3) }, { htole16(4), htole16(1) } };
	struct tbnet2_rail_ack b = { .rail = 63, .next = htole32(0xffffffff) };
	struct tbnet2_channel_ack c = { .channel = 15, .next = htole32(1000), .window = htole32(8 << 20) };
	struct frame f;

	printf("frame %s\n", name);
	begin(&f, type, 0, 0x01020304, 0xfffffffe);
	printf("stamp 123456\necho %u\nheard %llu\ngeneration 9\n", echo, 0x8000000000000003ull);
	printf("rail0 1 300 7 %u 45000 20/3 4/1\nrail1 63 0 4294967295 0 0\nchannel0 15 1000 %u\n", 1 << 20, 8 << 20);
	add(&f, &s, sizeof(s));
	add(&f, &a, sizeof(a));
	add(&f, g, sizeof(g));
	add(&f, &b, sizeof(b));
	add(&f, &c, sizeof(c));
	add(&f, zero, padding);
	end(&f);
}

static void railset(void)
{
	struct tbnet2_railset r = { .generation = htole32(4), .rails = htole64(0xf0) };
	struct frame f;

	printf("frame railset\n");
	begin(&f, TBNET2_RAILSET, 0, 0x01020304, 5);
	printf("generation 4\nrails 240\n");
	add(&f, &r, sizeof(r));
	end(&f);
}

static void marks(const char *name, int type)
{
	struct tbnet2_mark m[2] = { { .channel = 0, .packet = htole32(17) }, { .channel = 15, .packet = htole32(0xffffffff) } };
	struct frame f;

	printf("frame %s\n", name);
	begin(&f, type, TBNET2_F_CRC, 0x01020304, 6);
	printf("mark0 0 17\nmark1 15 4294967295\n");
	add(&f, m, sizeof(m));
	end(&f);
}

static void data(const char *name, int flags, __u32 offset, __u32 total, size_t n)
{
	struct tbnet2_data d = { .packet = htole32(0xfffffff0), .offset = htole16(offset / TBNET2_UNIT),
				 .channel = 3, .total = htole32(total), .stamp = htole32(0xdeadbeef) };
	struct tbnet2_offload o = { .flags = 1, .gso_type = 4, .hdr_len = htole16(74), .gso_size = htole16(1428),
				    .csum_start = htole16(54), .csum_offset = htole16(16) };
	unsigned char payload[256];
	struct frame f;

	printf("frame %s\n", name);
	begin(&f, TBNET2_DATA, flags, 0x01020304, 0xffffffff);
	printf("packet %u\noffset %u\nchannel 3\ntotal %u\nstamp %u\npayload %zu\n", 0xfffffff0u, offset, total, 0xdeadbeefu, n);
	add(&f, &d, sizeof(d));
	if (flags & TBNET2_F_OFFLOAD) {
		printf("offload 1 4 74 1428 54 16\n");
		add(&f, &o, sizeof(o));
	}
	for (size_t i = 0; i < n; i++)
		payload[i] = i * 7;
	add(&f, payload, n);
	end(&f);
}

int main(void)
{
	hello("hello", TBNET2_HELLO, 0, 0x0102030405060708, 0, -1);
	hello("hello_ack", TBNET2_HELLO_ACK, 0x55aa5507, 0x1112131415161718, 0x0102030405060708, 0);
	hello("confirm", TBNET2_CONFIRM, 0xabcdef05, 0x2122232425262728, 0x1112131415161718, 63);
	reset();
	state("ping", TBNET2_PING, 0, 48);
	state("pong", TBNET2_PONG, 99, 0);
	state("ack", TBNET2_ACK, 0, 0);
	railset();
	marks("position", TBNET2_POSITION);
	marks("skip", TBNET2_SKIP);
	data("data_whole", 0, 0, 200, 200);
	data("data_offload", TBNET2_F_CRC | TBNET2_F_OFFLOAD | TBNET2_F_ACK, 0, 40000, 128);
	data("data_last", TBNET2_F_CRC | TBNET2_F_RESENT, 4032, 4035, 3);
	return 0;
}
