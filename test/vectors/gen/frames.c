/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Prints sample frames of every type, their fields as text and their bytes as
 * hex, and behind them frames that must be refused, each with the reason.
 * ../README.md tells the form.
 */
#include "frame.h"

static void data_frames(void)
{
	begin("data_small", TBNET2_DATA, 0, 0x00123401, 0);
	data(0, 0, 0, 60, 1);
	payload(60);
	end();

	begin("data_crc", TBNET2_DATA, TBNET2_F_CRC, 0x00123401, 7);
	data(15, 0xffffffff, 0, 64, 0xfffffffe);
	payload(64);
	end();

	begin("data_offload_tcp4", TBNET2_DATA, TBNET2_F_CRC | TBNET2_F_OFFLOAD | TBNET2_F_ACK, 0xdeadbe02,
	      0x80000000);
	data(3, 70000, 0, 65000, 123456789);
	offload(1, 1, 66, 1448, 34, 16);
	payload(128);
	end();

	begin("data_offload_tcp6_ecn", TBNET2_DATA, TBNET2_F_OFFLOAD, 0xdeadbe02, 9);
	data(3, 70001, 0, 65549, 123456790);
	offload(1, 0x84, 86, 8928, 54, 16);
	payload(64);
	end();

	begin("data_valid", TBNET2_DATA, TBNET2_F_OFFLOAD, 0xdeadbe02, 10);
	data(3, 70002, 0, 60, 123456791);
	offload(2, 0, 0, 0, 0, 0);
	payload(60);
	end();

	begin("data_resent_tail", TBNET2_DATA, TBNET2_F_CRC | TBNET2_F_RESENT, 0xdeadbe02, 0xffffffff);
	data(3, 70000, 65536, 65600, 4294967295u);
	payload(64);
	end();
}

static void state_frames(void)
{
	begin("ping_new", TBNET2_PING, TBNET2_F_CRC, 0x00123401, 0);
	state(1000, 0, 0, 0, 0, 0);
	padding(1460);
	end();

	begin("pong", TBNET2_PONG, 0, 0x00123401, 12);
	state(2000, 1000, 0x8000000000000001ull, 3, 1, 1);
	rail_ack(63, 0, 500, 501, 262144, 0);
	channel_ack(0, 77, 1 << 20);
	end();

	begin("ack_gaps", TBNET2_ACK, TBNET2_F_CRC, 0x00123401, 4096);
	state(0xffffffff, 0, 0xf, 0x80000001, 3, 2);
	rail_ack(0, 2, 1000, 5000, 65536, 1500000);
	gap(1000, 1);
	gap(400, 399);
	rail_ack(1, 0, 0, 0xffffffff, 0, 0xffffffff);
	rail_ack(2, 1, 65535, 3, 4096, 7);
	gap(65535, 65535);
	channel_ack(0, 0xfffffff0, 0);
	channel_ack(15, 1, 0xffffffff);
	end();
}

static void most_gaps(void)
{
	int i;

	begin("ack_most_gaps", TBNET2_ACK, 0, 0x00123401, 1);
	state(5, 0, 2, 1, 1, 0);
	rail_ack(1, TBNET2_GAPS_MAX, 64, 64, 1, 2);
	for (i = 0; i < TBNET2_GAPS_MAX; i++)
		gap(64 - 2 * i, 1);
	end();
}

static void small_frames(void)
{
	begin("railset", TBNET2_RAILSET, TBNET2_F_CRC, 0x00123401, 44);
	railset(2, 0xffffffffffffffffull);
	end();

	begin("position", TBNET2_POSITION, TBNET2_F_CRC, 0x00123401, 45);
	mark(0, 1);
	end();

	begin("position_all", TBNET2_POSITION, 0, 0x00123401, 46);
	mark(0, 0xffffffff);
	mark(7, 12);
	mark(15, 0);
	end();

	begin("skip", TBNET2_SKIP, TBNET2_F_CRC, 0x00123401, 46);
	mark(9, 123456);
	end();

	begin("reset_unknown", TBNET2_RESET, 0, 0, 0);
	reset(0x55667788, TBNET2_RESET_UNKNOWN);
	end();

	begin("reset_closing", TBNET2_RESET, TBNET2_F_CRC, 0, 0);
	reset(0x00000101, TBNET2_RESET_CLOSING);
	end();
}

/* The TLVs that must be there, without HOST. */
static void required_but_host(void)
{
	tlv_u64(TBNET2_TLV_EPOCH, "epoch", 0xfedcba9876543210ull);
	tlv_u32(TBNET2_TLV_INDEX, "index", 0xabcdef05);
	tlv_u8(TBNET2_TLV_SERVICE, "service", TBNET2_SERVICE_ETHERNET);
	tlv_versions(1, 3);
	tlv_u32(TBNET2_TLV_MTU, "mtu", 65520);
	tlv_u32(TBNET2_TLV_CAPS, "caps", TBNET2_CAP_RETRANSMIT | TBNET2_CAP_OFFLOAD);
}

/* All TLVs in the order in which our cores send them. */
static void all_tlvs(int rail, const char *name)
{
	tlv_host();
	tlv_u64(TBNET2_TLV_EPOCH, "epoch", 1);
	tlv_u32(TBNET2_TLV_INDEX, "index", 0x00000100);
	tlv_u8(TBNET2_TLV_SERVICE, "service", TBNET2_SERVICE_VERBS);
	tlv_versions(1, 1);
	if (rail >= 0)
		tlv_u8(TBNET2_TLV_RAIL, "rail", rail);
	tlv_u64(TBNET2_TLV_GROUP, "group", 0xffffffffffffffffull);
	tlv_u32(TBNET2_TLV_MTU, "mtu", 1500);
	tlv_u64(TBNET2_TLV_RATE, "rate", 40000000000ull);
	tlv_u32(TBNET2_TLV_CAPS, "caps", TBNET2_CAP_RETRANSMIT | TBNET2_CAP_CRC | TBNET2_CAP_OFFLOAD);
	tlv_u32(TBNET2_TLV_SLOTS, "slots", 1024);
	tlv_name(name);
}

static void hello_frames(void)
{
	static const unsigned char some[] = { 1, 2, 3 };

	begin("hello", TBNET2_HELLO, TBNET2_F_CRC, 0, 0);
	hello(0x0123456789abcdefull, 0);
	all_tlvs(-1, "node-a");
	end();

	begin("hello_ack", TBNET2_HELLO_ACK, TBNET2_F_CRC, 0, 0);
	hello(2, 0x0123456789abcdefull);
	all_tlvs(63, "n\xc3\xb6rdlich");
	end();

	begin("confirm_longest_name", TBNET2_CONFIRM, 0, 0, 0);
	hello(0xffffffffffffffffull, 2);
	all_tlvs(0, "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz-0123456789");
	end();

	begin("hello_required_only", TBNET2_HELLO, 0, 0, 0);
	hello(4, 0);
	tlv_host();
	required_but_host();
	end();

	begin("hello_any_order_and_unknown", TBNET2_HELLO, 0, 0, 0);
	hello(5, 0);
	tlv_other(0x40, some, sizeof(some));
	tlv_other(TBNET2_TLV_MAC, some, 0);
	tlv_name("b");
	required_but_host();
	tlv_other(0x40, some, 1);
	tlv_host();
	end();
}

static void refused_headers(void)
{
	begin("short_header", TBNET2_POSITION, 0, 0x101, 0);
	frame_len = sizeof(hdr) - 1;
	refuse("short");

	begin("length_beyond_frame", TBNET2_POSITION, 0, 0x101, 0);
	mark(0, 1);
	seal();
	frame_len--;
	refuse("short");

	begin("another_version", TBNET2_POSITION, 0, 0x101, 0);
	mark(0, 1);
	hdr.version_type = (TBNET2_VERSION + 1) << 4 | TBNET2_POSITION;
	seal_refuse("version");

	begin("unknown_type", TBNET2_DATA + 1, 0, 0x101, 0);
	mark(0, 1);
	seal_refuse("type");

	begin("unknown_flag", TBNET2_POSITION, 1 << 4, 0x101, 0);
	mark(0, 1);
	seal_refuse("reserved");

	begin("crc_of_other_bytes", TBNET2_POSITION, TBNET2_F_CRC, 0x101, 0);
	mark(0, 1);
	seal();
	frame[frame_len - 1] ^= 1;
	refuse("crc");

	begin("crc_of_another_header", TBNET2_POSITION, TBNET2_F_CRC, 0x101, 0);
	mark(0, 1);
	seal();
	frame[offsetof(struct tbnet2_hdr, rail_seq)] ^= 0x80;
	refuse("crc");
}

static void refused_bodies(void)
{
	begin("data_short", TBNET2_DATA, TBNET2_F_CRC, 0x101, 0);
	mark(0, 1);
	seal_refuse("short");

	begin("data_reserved", TBNET2_DATA, TBNET2_F_CRC, 0x101, 0);
	data(0, 0, 0, 64, 0);
	payload(64);
	frame[sizeof(hdr) + offsetof(struct tbnet2_data, reserved)] = 1;
	seal_refuse("reserved");

	begin("offload_short", TBNET2_DATA, TBNET2_F_CRC | TBNET2_F_OFFLOAD, 0x101, 0);
	data(0, 0, 0, 8, 0);
	payload(8);
	seal_refuse("short");

	begin("offload_reserved", TBNET2_DATA, TBNET2_F_CRC | TBNET2_F_OFFLOAD, 0x101, 0);
	data(0, 0, 0, 64, 0);
	offload(0, 0, 0, 0, 0, 0);
	payload(64);
	frame[sizeof(hdr) + sizeof(struct tbnet2_data) + sizeof(struct tbnet2_offload) - 1] = 1;
	seal_refuse("reserved");

	begin("offload_checksum_outside", TBNET2_DATA, TBNET2_F_CRC | TBNET2_F_OFFLOAD, 0x101, 0);
	data(0, 0, 0, 64, 0);
	offload(1, 0, 0, 0, 47, 16);
	payload(64);
	seal_refuse("offload");

	begin("offload_segments_of_zero", TBNET2_DATA, TBNET2_F_CRC | TBNET2_F_OFFLOAD, 0x101, 0);
	data(0, 0, 0, 64, 0);
	offload(1, 1, 54, 0, 34, 16);
	payload(64);
	seal_refuse("offload");

	begin("offload_unknown_type", TBNET2_DATA, TBNET2_F_CRC | TBNET2_F_OFFLOAD, 0x101, 0);
	data(0, 0, 0, 64, 0);
	offload(1, 3, 42, 8, 34, 6);
	payload(64);
	seal_refuse("offload");

	begin("railset_short", TBNET2_RAILSET, TBNET2_F_CRC, 0x101, 0);
	mark(0, 1);
	seal_refuse("short");

	begin("mark_reserved", TBNET2_SKIP, TBNET2_F_CRC, 0x101, 0);
	mark(0, 1);
	frame[sizeof(hdr) + offsetof(struct tbnet2_mark, reserved) + 2] = 1;
	seal_refuse("reserved");

	begin("mark_cut", TBNET2_POSITION, TBNET2_F_CRC, 0x101, 0);
	mark(0, 1);
	mark(1, 1);
	frame_len--;
	seal_refuse("short");

	begin("reset_short", TBNET2_RESET, TBNET2_F_CRC, 0, 0);
	reset(0x101, TBNET2_RESET_UNKNOWN);
	frame_len--;
	seal_refuse("short");
}

static void refused_states(void)
{
	begin("state_short", TBNET2_PING, TBNET2_F_CRC, 0x101, 0);
	mark(0, 1);
	seal_refuse("short");

	begin("rails_missing", TBNET2_ACK, TBNET2_F_CRC, 0x101, 0);
	state(0, 0, 0, 0, 2, 0);
	rail_ack(0, 0, 0, 0, 0, 0);
	seal_refuse("short");

	begin("channels_missing", TBNET2_ACK, TBNET2_F_CRC, 0x101, 0);
	state(0, 0, 0, 0, 0, 1);
	seal_refuse("short");

	begin("gaps_missing", TBNET2_ACK, TBNET2_F_CRC, 0x101, 0);
	state(0, 0, 0, 0, 1, 0);
	rail_ack(0, 2, 10, 10, 0, 0);
	gap(10, 1);
	seal_refuse("short");

	begin("rail_beyond_most", TBNET2_ACK, TBNET2_F_CRC, 0x101, 0);
	state(0, 0, 0, 0, 1, 0);
	rail_ack(TBNET2_RAILS_MAX, 0, 0, 0, 0, 0);
	seal_refuse("reserved");

	begin("gap_beyond_depth", TBNET2_ACK, TBNET2_F_CRC, 0x101, 0);
	state(0, 0, 0, 0, 1, 0);
	rail_ack(0, 1, 10, 10, 0, 0);
	gap(11, 1);
	seal_refuse("reserved");

	begin("gap_into_next", TBNET2_ACK, TBNET2_F_CRC, 0x101, 0);
	state(0, 0, 0, 0, 1, 0);
	rail_ack(0, 1, 10, 10, 0, 0);
	gap(10, 11);
	seal_refuse("reserved");

	begin("gaps_overlap", TBNET2_ACK, TBNET2_F_CRC, 0x101, 0);
	state(0, 0, 0, 0, 1, 0);
	rail_ack(0, 2, 10, 10, 0, 0);
	gap(10, 5);
	gap(6, 1);
	seal_refuse("reserved");

	begin("channel_beyond_most", TBNET2_ACK, TBNET2_F_CRC, 0x101, 0);
	state(0, 0, 0, 0, 0, 1);
	channel_ack(TBNET2_CHANNELS, 0, 0);
	seal_refuse("reserved");
}

/* A HELLO with all that must be there, to which one fault is added. */
static void begin_hello(const char *name)
{
	begin(name, TBNET2_HELLO, TBNET2_F_CRC, 0, 0);
	hello(1, 0);
	tlv_host();
	required_but_host();
}

static void refused_hellos(void)
{
	static const unsigned char not_text[] = { 'a', 0xff };
	char long_name[TBNET2_HOST_NAME_MAX + 2] = { 0 };

	memset(long_name, 'a', TBNET2_HOST_NAME_MAX + 1);

	begin("hello_short", TBNET2_HELLO, TBNET2_F_CRC, 0, 0);
	mark(0, 1);
	seal_refuse("short");

	begin_hello("tlv_cut");
	tlv_u32(TBNET2_TLV_SLOTS, "slots", 64);
	frame_len--;
	seal_refuse("short");

	begin_hello("tlv_half_a_header");
	tlv_u32(TBNET2_TLV_SLOTS, "slots", 64);
	frame_len -= 5;
	seal_refuse("short");

	begin_hello("tlv_too_long");
	tlv_u64(TBNET2_TLV_SLOTS, "slots", 64);
	seal_refuse("tlv_length");

	begin_hello("tlv_twice");
	tlv_u8(TBNET2_TLV_SERVICE, "service", TBNET2_SERVICE_ETHERNET);
	seal_refuse("tlv_twice");

	begin_hello("tlv_critical");
	tlv_other(TBNET2_TLV_CRITICAL | 0x40, not_text, 1);
	seal_refuse("tlv_critical");

	begin("host_missing", TBNET2_HELLO, TBNET2_F_CRC, 0, 0);
	hello(1, 0);
	required_but_host();
	seal_refuse("tlv_missing");

	begin_hello("rail_id_beyond_most");
	tlv_u8(TBNET2_TLV_RAIL, "rail", TBNET2_RAILS_MAX);
	seal_refuse("tlv_value");

	begin_hello("slots_no_power_of_two");
	tlv_u32(TBNET2_TLV_SLOTS, "slots", 48);
	seal_refuse("tlv_value");

	begin_hello("name_not_utf8");
	tlv(TBNET2_TLV_NAME, not_text, sizeof(not_text));
	seal_refuse("tlv_value");

	begin_hello("name_too_long");
	tlv_name(long_name);
	seal_refuse("tlv_value");
}

int main(void)
{
	if (crc32c((const unsigned char *)"123456789", 9) != 0xe3069283) {
		frame_name = "none";
		die("CRC32C of the check string is wrong");
	}
	printf("# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause\n");
	printf("# Generated by test/vectors/gen/frames.c; make vectors. README.md tells the form.\n\n");
	data_frames();
	state_frames();
	most_gaps();
	small_frames();
	hello_frames();
	refused_headers();
	refused_bodies();
	refused_states();
	refused_hellos();
	return 0;
}
