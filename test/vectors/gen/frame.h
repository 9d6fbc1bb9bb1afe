/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Builds a frame through the structs of tbnet2_wire.h and, line by line, the
 * text that tells what it holds: begin(), the parts in their order, and then
 * end() for a good frame or seal_refuse() for one that must be refused.
 * Nothing here is shared with the cores, so that they are checked against an
 * independent hand, down to the CRC.
 */
#ifndef TBNET2_VECTORS_FRAME_H
#define TBNET2_VECTORS_FRAME_H

#include <endian.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tbnet2_wire.h"

/* The frame under construction: bytes, and the lines that describe them. */
static unsigned char frame[4096];
static size_t frame_len;
static char lines[16384];
static size_t lines_len;
static struct tbnet2_hdr hdr;
static const char *frame_name;

__attribute__((noreturn)) static void die(const char *why)
{
	fprintf(stderr, "frames: %s in frame %s\n", why, frame_name);
	exit(1);
}

__attribute__((format(printf, 1, 2))) static void line(const char *format, ...)
{
	size_t room = sizeof(lines) - lines_len;
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(lines + lines_len, room, format, args);
	va_end(args);
	if (n < 0 || (size_t)n >= room)
		die("too much text");
	lines_len += n;
}

static void append(const void *bytes, size_t n)
{
	if (n > sizeof(frame) - frame_len)
		die("too many bytes");
	memcpy(frame + frame_len, bytes, n);
	frame_len += n;
}

static void hex_line(const char *word, const unsigned char *bytes, size_t n)
{
	size_t i;

	line("%s ", word);
	for (i = 0; i < n; i++)
		line("%02x", bytes[i]);
	line("\n");
}

/* Bit by bit, unlike the tables and instructions that the cores use. */
static __u32 crc32c(const unsigned char *bytes, size_t n)
{
	__u32 crc = 0xffffffff;
	size_t i;
	int bit;

	for (i = 0; i < n; i++) {
		crc ^= bytes[i];
		for (bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78 : 0);
	}
	return ~crc;
}

static void begin(const char *name, int type, int flags, __u32 index, __u32 rail_seq)
{
	frame_name = name;
	frame_len = 0;
	lines_len = 0;
	memset(&hdr, 0, sizeof(hdr));
	hdr.version_type = TBNET2_VERSION << 4 | type;
	hdr.flags = flags;
	hdr.index = htole32(index);
	hdr.rail_seq = htole32(rail_seq);
	append(&hdr, sizeof(hdr));
}

static void data(__u8 channel, __u32 packet, __u32 offset, __u32 total, __u32 stamp)
{
	struct tbnet2_data d = {
		.packet = htole32(packet),
		.offset = htole16(offset / TBNET2_UNIT),
		.channel = channel,
		.total = htole32(total),
		.stamp = htole32(stamp),
	};

	append(&d, sizeof(d));
	line("data packet=%u offset=%u channel=%u total=%u stamp=%u\n", packet, offset / TBNET2_UNIT,
	     channel, total, stamp);
}

static void offload(__u8 flags, __u8 gso_type, __u16 hdr_len, __u16 gso_size, __u16 csum_start,
		    __u16 csum_offset)
{
	struct tbnet2_offload o = {
		.flags = flags,
		.gso_type = gso_type,
		.hdr_len = htole16(hdr_len),
		.gso_size = htole16(gso_size),
		.csum_start = htole16(csum_start),
		.csum_offset = htole16(csum_offset),
	};

	append(&o, sizeof(o));
	line("offload flags=%u gso_type=%u hdr_len=%u gso_size=%u csum_start=%u csum_offset=%u\n", flags,
	     gso_type, hdr_len, gso_size, csum_start, csum_offset);
}

static void payload(size_t n)
{
	size_t i, from = frame_len;

	for (i = 0; i < n; i++) {
		unsigned char byte = i * 7 + 3;

		append(&byte, 1);
	}
	hex_line("payload", frame + from, n);
}

static void state(__u32 stamp, __u32 echo, __u64 heard, __u32 generation, __u8 rails, __u8 channels)
{
	struct tbnet2_state s = {
		.stamp = htole32(stamp),
		.echo = htole32(echo),
		.heard = htole64(heard),
		.generation = htole32(generation),
		.rails = rails,
		.channels = channels,
	};

	append(&s, sizeof(s));
	line("state stamp=%u echo=%u heard=0x%llx generation=%u rails=%u channels=%u\n", stamp, echo,
	     (unsigned long long)heard, generation, rails, channels);
}

static void rail_ack(__u8 rail, __u8 gaps, __u16 depth, __u32 next, __u32 credit, __u32 delay)
{
	struct tbnet2_rail_ack a = {
		.rail = rail,
		.gaps = gaps,
		.depth = htole16(depth),
		.next = htole32(next),
		.credit = htole32(credit),
		.delay = htole32(delay),
	};

	append(&a, sizeof(a));
	line("rail_ack rail=%u gaps=%u depth=%u next=%u credit=%u delay=%u\n", rail, gaps, depth, next,
	     credit, delay);
}

static void gap(__u16 back, __u16 count)
{
	struct tbnet2_gap g = { .back = htole16(back), .count = htole16(count) };

	append(&g, sizeof(g));
	line("gap back=%u count=%u\n", back, count);
}

static void channel_ack(__u8 channel, __u32 next, __u32 window)
{
	struct tbnet2_channel_ack a = {
		.channel = channel,
		.next = htole32(next),
		.window = htole32(window),
	};

	append(&a, sizeof(a));
	line("channel_ack channel=%u next=%u window=%u\n", channel, next, window);
}

/* Zeros up to length, which belong to the frame. */
static void padding(size_t n)
{
	unsigned char zero = 0;
	size_t i;

	for (i = 0; i < n; i++)
		append(&zero, 1);
	line("padding %zu\n", n);
}

static void railset(__u32 generation, __u64 rails)
{
	struct tbnet2_railset s = { .generation = htole32(generation), .rails = htole64(rails) };

	append(&s, sizeof(s));
	line("railset generation=%u rails=0x%llx\n", generation, (unsigned long long)rails);
}

static void mark(__u8 channel, __u32 packet)
{
	struct tbnet2_mark m = { .channel = channel, .packet = htole32(packet) };

	append(&m, sizeof(m));
	line("mark channel=%u packet=%u\n", channel, packet);
}

static void reset(__u32 index, __u8 reason)
{
	struct tbnet2_reset r = { .index = htole32(index), .reason = reason };

	append(&r, sizeof(r));
	line("reset index=0x%x reason=%u\n", index, reason);
}

static void hello(__u64 nonce, __u64 echo)
{
	struct tbnet2_hello h = { .nonce = htole64(nonce), .echo = htole64(echo) };

	append(&h, sizeof(h));
	line("hello nonce=0x%llx echo=0x%llx\n", (unsigned long long)nonce, (unsigned long long)echo);
}

static void tlv(__u8 type, const void *value, __u8 n)
{
	struct tbnet2_tlv t = { .type = type, .length = n };

	append(&t, sizeof(t));
	append(value, n);
}

static void tlv_host(void)
{
	static const unsigned char uuid[16] = { 0x0a, 0x1b, 0x2c, 0x3d, 0x4e, 0x5f, 0x40, 0x61,
						0x82, 0x93, 0xa4, 0xb5, 0xc6, 0xd7, 0xe8, 0xf9 };

	tlv(TBNET2_TLV_HOST, uuid, sizeof(uuid));
	hex_line("tlv host", uuid, sizeof(uuid));
}

static void tlv_u64(__u8 type, const char *name, __u64 value)
{
	__le64 v = htole64(value);

	tlv(type, &v, sizeof(v));
	line("tlv %s %llu\n", name, (unsigned long long)value);
}

static void tlv_u32(__u8 type, const char *name, __u32 value)
{
	__le32 v = htole32(value);

	tlv(type, &v, sizeof(v));
	line("tlv %s %u\n", name, value);
}

static void tlv_u8(__u8 type, const char *name, __u8 value)
{
	tlv(type, &value, sizeof(value));
	line("tlv %s %u\n", name, value);
}

static void tlv_versions(__u8 low, __u8 high)
{
	unsigned char v[2] = { low, high };

	tlv(TBNET2_TLV_VERSIONS, v, sizeof(v));
	line("tlv versions %u %u\n", low, high);
}

static void tlv_name(const char *name)
{
	tlv(TBNET2_TLV_NAME, name, strlen(name));
	line("tlv name %s\n", name);
}

static void tlv_other(__u8 type, const unsigned char *value, __u8 n)
{
	char word[16];

	tlv(type, value, n);
	snprintf(word, sizeof(word), "tlv 0x%02x", type);
	hex_line(word, value, n);
}

/* Fills in length and, if the flags say so, the CRC. */
static void seal(void)
{
	hdr.length = htole16(frame_len - sizeof(hdr));
	hdr.crc = 0;
	memcpy(frame, &hdr, sizeof(hdr));
	if (hdr.flags & TBNET2_F_CRC)
		hdr.crc = htole32(crc32c(frame, frame_len));
	memcpy(frame, &hdr, sizeof(hdr));
}

static void print_bytes(void)
{
	size_t i;

	printf("bytes ");
	for (i = 0; i < frame_len; i++)
		printf("%02x", frame[i]);
	printf("\n\n");
}

/* Ends a good frame. */
static void end(void)
{
	seal();
	printf("frame %s\n", frame_name);
	printf("hdr version=%u type=%u flags=%u length=%u index=0x%x rail_seq=%u crc=0x%08x\n",
	       hdr.version_type >> 4, hdr.version_type & 0x0f, hdr.flags, le16toh(hdr.length),
	       le32toh(hdr.index), le32toh(hdr.rail_seq), le32toh(hdr.crc));
	fwrite(lines, 1, lines_len, stdout);
	print_bytes();
}

/* Ends a frame that must be refused. */
static void refuse(const char *reason)
{
	printf("frame %s\nrefuse %s\n", frame_name, reason);
	print_bytes();
}

/* Ends a frame that must be refused though length and CRC are right. */
static void seal_refuse(const char *reason)
{
	seal();
	refuse(reason);
}

#endif /* TBNET2_VECTORS_FRAME_H */
