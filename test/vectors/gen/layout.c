/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Prints the sizes, offsets and numbers of tbnet2_wire.h as JSON, for mirrors
 * of the header in other languages. wire/layout_test.go also reads the header
 * as text and fails when something in it is missing here.
 */
#include <stdio.h>

#include "tbnet2_wire.h"

struct constant {
	const char *name;
	unsigned long value;
};

#define CONSTANT(name) { #name, name }

static const struct constant constants[] = {
	CONSTANT(TBNET2_ETHERTYPE),
	CONSTANT(TBNET2_VERSION),
	CONSTANT(TBNET2_UNIT),
	CONSTANT(TBNET2_PACKET_MAX),
	CONSTANT(TBNET2_CHANNELS),
	CONSTANT(TBNET2_RAILS_MAX),
	CONSTANT(TBNET2_HOST_NAME_MAX),
	CONSTANT(TBNET2_GAPS_MAX),
	CONSTANT(TBNET2_HELLO),
	CONSTANT(TBNET2_HELLO_ACK),
	CONSTANT(TBNET2_CONFIRM),
	CONSTANT(TBNET2_RESET),
	CONSTANT(TBNET2_PING),
	CONSTANT(TBNET2_PONG),
	CONSTANT(TBNET2_ACK),
	CONSTANT(TBNET2_RAILSET),
	CONSTANT(TBNET2_POSITION),
	CONSTANT(TBNET2_SKIP),
	CONSTANT(TBNET2_DATA),
	CONSTANT(TBNET2_F_CRC),
	CONSTANT(TBNET2_F_OFFLOAD),
	CONSTANT(TBNET2_F_RESENT),
	CONSTANT(TBNET2_F_ACK),
	CONSTANT(TBNET2_RESET_UNKNOWN),
	CONSTANT(TBNET2_RESET_CLOSING),
	CONSTANT(TBNET2_TLV_CRITICAL),
	CONSTANT(TBNET2_TLV_HOST),
	CONSTANT(TBNET2_TLV_EPOCH),
	CONSTANT(TBNET2_TLV_INDEX),
	CONSTANT(TBNET2_TLV_SERVICE),
	CONSTANT(TBNET2_TLV_VERSIONS),
	CONSTANT(TBNET2_TLV_RAIL),
	CONSTANT(TBNET2_TLV_GROUP),
	CONSTANT(TBNET2_TLV_MTU),
	CONSTANT(TBNET2_TLV_RATE),
	CONSTANT(TBNET2_TLV_CAPS),
	CONSTANT(TBNET2_TLV_SLOTS),
	CONSTANT(TBNET2_TLV_NAME),
	CONSTANT(TBNET2_TLV_MAC),
	CONSTANT(TBNET2_SERVICE_ETHERNET),
	CONSTANT(TBNET2_SERVICE_VERBS),
	CONSTANT(TBNET2_SERVICE_TEST),
	CONSTANT(TBNET2_CAP_RETRANSMIT),
	CONSTANT(TBNET2_CAP_CRC),
	CONSTANT(TBNET2_CAP_OFFLOAD),
};

struct field {
	const char *in;
	const char *name;
	size_t offset;
	size_t size;
};

#define FIELD(in, name) \
	{ #in, #name, offsetof(struct tbnet2_##in, name), sizeof(((struct tbnet2_##in *)0)->name) }

static const struct field fields[] = {
	FIELD(hdr, version_type),
	FIELD(hdr, flags),
	FIELD(hdr, length),
	FIELD(hdr, index),
	FIELD(hdr, rail_seq),
	FIELD(hdr, crc),
	FIELD(data, packet),
	FIELD(data, offset),
	FIELD(data, channel),
	FIELD(data, reserved),
	FIELD(data, total),
	FIELD(data, stamp),
	FIELD(offload, flags),
	FIELD(offload, gso_type),
	FIELD(offload, hdr_len),
	FIELD(offload, gso_size),
	FIELD(offload, csum_start),
	FIELD(offload, csum_offset),
	FIELD(offload, reserved),
	FIELD(state, stamp),
	FIELD(state, echo),
	FIELD(state, heard),
	FIELD(state, generation),
	FIELD(state, rails),
	FIELD(state, channels),
	FIELD(state, reserved),
	FIELD(rail_ack, rail),
	FIELD(rail_ack, gaps),
	FIELD(rail_ack, depth),
	FIELD(rail_ack, next),
	FIELD(rail_ack, credit),
	FIELD(rail_ack, delay),
	FIELD(gap, back),
	FIELD(gap, count),
	FIELD(channel_ack, channel),
	FIELD(channel_ack, reserved),
	FIELD(channel_ack, next),
	FIELD(channel_ack, window),
	FIELD(railset, generation),
	FIELD(railset, reserved),
	FIELD(railset, rails),
	FIELD(mark, channel),
	FIELD(mark, reserved),
	FIELD(mark, packet),
	FIELD(hello, nonce),
	FIELD(hello, echo),
	FIELD(reset, index),
	FIELD(reset, reason),
	FIELD(reset, reserved),
	FIELD(tlv, type),
	FIELD(tlv, length),
};

struct size {
	const char *of;
	size_t size;
};

#define SIZE(of) { #of, sizeof(struct tbnet2_##of) }

static const struct size sizes[] = {
	SIZE(hdr),
	SIZE(data),
	SIZE(offload),
	SIZE(state),
	SIZE(rail_ack),
	SIZE(gap),
	SIZE(channel_ack),
	SIZE(railset),
	SIZE(mark),
	SIZE(hello),
	SIZE(reset),
	SIZE(tlv),
};

static const unsigned char hello_mac[] = TBNET2_HELLO_MAC;

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* The separator behind element i of n. */
static const char *comma(size_t i, size_t n)
{
	return i + 1 < n ? "," : "";
}

static void print_constants(void)
{
	size_t i;

	printf("  \"constants\": {\n");
	for (i = 0; i < COUNT(constants); i++)
		printf("    \"%s\": %lu%s\n", constants[i].name, constants[i].value,
		       comma(i, COUNT(constants)));
	printf("  },\n");
}

static void print_mac(void)
{
	size_t i;

	printf("  \"hello_mac\": [");
	for (i = 0; i < sizeof(hello_mac); i++)
		printf("%u%s", hello_mac[i], comma(i, sizeof(hello_mac)));
	printf("],\n");
}

static void print_sizes(void)
{
	size_t i;

	printf("  \"sizes\": {\n");
	for (i = 0; i < COUNT(sizes); i++)
		printf("    \"%s\": %zu%s\n", sizes[i].of, sizes[i].size, comma(i, COUNT(sizes)));
	printf("  },\n");
}

static void print_fields(void)
{
	size_t i;

	printf("  \"fields\": [\n");
	for (i = 0; i < COUNT(fields); i++)
		printf("    {\"struct\": \"%s\", \"field\": \"%s\", \"offset\": %zu, \"size\": %zu}%s\n",
		       fields[i].in, fields[i].name, fields[i].offset, fields[i].size,
		       comma(i, COUNT(fields)));
	printf("  ]\n");
}

int main(void)
{
	printf("{\n");
	printf("  \"license\": \"GPL-2.0-only OR BSD-3-Clause\",\n");
	printf("  \"generated_by\": \"test/vectors/gen/layout.c; make vectors\",\n");
	print_constants();
	print_mac();
	print_sizes();
	print_fields();
	printf("}\n");
	return 0;
}
