/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Frames in the host's byte order, and the functions that read and write
 * them. Bytes are checked once, here; what these give is within its bounds.
 * The Go mirror is wire/.
 */
#ifndef TBNET2_CORE_WIRE_H
#define TBNET2_CORE_WIRE_H

#include "shim.h"

#define TBNET2_HEADER_LEN	((u32)sizeof(struct tbnet2_hdr))
#define TBNET2_DATA_LEN		((u32)sizeof(struct tbnet2_data))
#define TBNET2_OFFLOAD_LEN	((u32)sizeof(struct tbnet2_offload))
#define TBNET2_STATE_LEN	((u32)sizeof(struct tbnet2_state))
#define TBNET2_RAIL_ACK_LEN	((u32)sizeof(struct tbnet2_rail_ack))
#define TBNET2_GAP_LEN		((u32)sizeof(struct tbnet2_gap))
#define TBNET2_CHANNEL_ACK_LEN	((u32)sizeof(struct tbnet2_channel_ack))
#define TBNET2_RAILSET_LEN	((u32)sizeof(struct tbnet2_railset))
#define TBNET2_MARK_LEN		((u32)sizeof(struct tbnet2_mark))
#define TBNET2_HELLO_LEN	((u32)sizeof(struct tbnet2_hello))
#define TBNET2_RESET_LEN	((u32)sizeof(struct tbnet2_reset))
#define TBNET2_TLV_LEN		((u32)sizeof(struct tbnet2_tlv))

/* Longest body that tbnet2_put_greeting() writes, bytes. */
#define TBNET2_GREETING_MOST	256

/* Why bytes are no frame; callers count by it. */
enum tbnet2_wire_error {
	TBNET2_WIRE_OK = 0,
	TBNET2_WIRE_SHORT,		/* shorter than its headers or length say */
	TBNET2_WIRE_VERSION,
	TBNET2_WIRE_TYPE,
	TBNET2_WIRE_RESERVED,		/* a reserved bit, or a number that cannot be */
	TBNET2_WIRE_OFFLOAD,		/* descriptor does not fit its packet */
	TBNET2_WIRE_TLV_LENGTH,
	TBNET2_WIRE_TLV_TWICE,
	TBNET2_WIRE_TLV_MISSING,
	TBNET2_WIRE_TLV_CRITICAL,
	TBNET2_WIRE_TLV_VALUE,
};

/* Bytes not read yet. */
struct tbnet2_cursor {
	const u8 *at;
	u32 left;
};

struct tbnet2_header {
	u8 type;
	u8 flags;
	u16 length;	/* bytes after the header */
	u32 index;
	u32 rail_seq;
	u32 crc;
};

struct tbnet2_data_head {
	u32 packet;
	u16 offset;	/* in TBNET2_UNIT */
	u8 channel;
	u32 total;	/* bytes */
	u32 stamp;	/* 1024 ns */
};

/* Work left to do on a packet; positions count from its start. */
struct tbnet2_desc {
	u8 flags;
	u8 gso_type;
	u16 hdr_len;
	u16 gso_size;
	u16 csum_start;
	u16 csum_offset;
};

struct tbnet2_state_head {
	u32 stamp;
	u32 echo;
	u64 heard;
	u32 generation;
	u8 rails;
	u8 channels;
};

struct tbnet2_lost {
	u16 back;	/* next of the block less the first of them */
	u16 count;
};

struct tbnet2_rail_block {
	u8 rail;
	u8 count;	/* of gaps */
	u16 depth;
	u32 next;
	u32 credit;	/* bytes */
	u32 delay;	/* ns */
	struct tbnet2_lost gaps[TBNET2_GAPS_MAX];
};

struct tbnet2_channel_block {
	u8 channel;
	u32 next;
	u32 window;	/* bytes */
};

struct tbnet2_mark_at {
	u8 channel;
	u32 packet;
};

struct tbnet2_set {
	u32 generation;
	u64 rails;
};

struct tbnet2_reset_of {
	u32 index;
	u8 reason;
};

/* Body of HELLO, HELLO_ACK and CONFIRM. */
struct tbnet2_greeting {
	u64 nonce;
	u64 echo;
	u8 host[16];	/* UUID */
	u64 epoch;
	u32 index;	/* that frames to the sender carry */
	u8 service;
	u8 version_low;
	u8 version_high;
	u8 rail;	/* the sender's id for the rail, if has_rail */
	bool has_rail;
	u64 group;
	u32 mtu;	/* bytes of a frame after the Ethernet header */
	u64 rate;	/* bits per second, 0 unknown */
	u32 caps;
	u32 slots;	/* packets per channel that may be open; 0: not told */
	u8 name_len;
	char name[TBNET2_HOST_NAME_MAX];	/* UTF-8, no terminator */
};

static inline bool tbnet2_is_ledgered(u8 type)
{
	return type == TBNET2_DATA || type == TBNET2_POSITION;
}

enum tbnet2_wire_error tbnet2_get_header(const u8 *frame, u32 len, struct tbnet2_header *h);
void tbnet2_put_header(u8 *b, const struct tbnet2_header *h);
enum tbnet2_wire_error tbnet2_get_data(u8 flags, const u8 *body, u32 len,
				       struct tbnet2_data_head *d, struct tbnet2_desc *o,
				       u32 *used);
void tbnet2_put_data(u8 *b, const struct tbnet2_data_head *d);
void tbnet2_put_desc(u8 *b, const struct tbnet2_desc *o);
bool tbnet2_check_desc(const struct tbnet2_desc *o, u32 total);
enum tbnet2_wire_error tbnet2_get_state(struct tbnet2_cursor *c, struct tbnet2_state_head *s);
void tbnet2_put_state(u8 *b, const struct tbnet2_state_head *s);
enum tbnet2_wire_error tbnet2_get_rail_block(struct tbnet2_cursor *c, struct tbnet2_rail_block *a);
u32 tbnet2_put_rail_block(u8 *b, const struct tbnet2_rail_block *a);
enum tbnet2_wire_error tbnet2_get_channel_block(struct tbnet2_cursor *c,
						struct tbnet2_channel_block *a);
void tbnet2_put_channel_block(u8 *b, const struct tbnet2_channel_block *a);
enum tbnet2_wire_error tbnet2_get_mark(struct tbnet2_cursor *c, struct tbnet2_mark_at *m);
void tbnet2_put_mark(u8 *b, const struct tbnet2_mark_at *m);
enum tbnet2_wire_error tbnet2_get_set(const u8 *body, u32 len, struct tbnet2_set *s);
void tbnet2_put_set(u8 *b, const struct tbnet2_set *s);
enum tbnet2_wire_error tbnet2_get_reset(const u8 *body, u32 len, struct tbnet2_reset_of *r);
void tbnet2_put_reset(u8 *b, const struct tbnet2_reset_of *r);
enum tbnet2_wire_error tbnet2_get_greeting(const u8 *body, u32 len, struct tbnet2_greeting *g);
u32 tbnet2_put_greeting(u8 *b, const struct tbnet2_greeting *g);
void tbnet2_set_name(struct tbnet2_greeting *g, const u8 *name, u32 len);
u32 tbnet2_crc_begin(const u8 *head, u32 len);

#endif /* TBNET2_CORE_WIRE_H */
