/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * tbnet2 host-to-host frames: the one source of the wire format.
 *
 * docs/protocol.md says what the fields mean and when they are sent; the
 * numbers in brackets are its sections. wire/ is the Go mirror, and
 * test/vectors holds the layout and sample frames generated from this file.
 *
 * Every integer is little-endian. Every frame begins with struct tbnet2_hdr,
 * directly after the Ethernet header on an Ethernet rail.
 */
#ifndef TBNET2_WIRE_H
#define TBNET2_WIRE_H

#ifdef __KERNEL__
#include <linux/types.h>
#include <linux/build_bug.h>
#define TBNET2_ASSERT(expr) static_assert(expr, #expr)
#else
#include <stddef.h>
#include <stdint.h>
#include <linux/types.h>
#define TBNET2_ASSERT(expr) _Static_assert(expr, #expr)
#endif

#define TBNET2_ETHERTYPE	0x88B5	/* IEEE 802 local experimental 1 */
#define TBNET2_VERSION		1
#define TBNET2_UNIT		64	/* bytes; packets are cut at multiples of this [3] */
#define TBNET2_PACKET_MAX	65600	/* bytes; a 65535 B IP packet and its Ethernet header [3] */
#define TBNET2_CHANNELS		16	/* sequence spaces in an association [3] */
#define TBNET2_RAILS_MAX	64	/* rails in an association: bits of a rail bitmap [2] */
#define TBNET2_HOST_NAME_MAX	63	/* bytes, no terminator */
#define TBNET2_GAPS_MAX		32	/* gaps told per rail in one state [5] */

/* The multicast address that HELLO goes to on an Ethernet device. */
#define TBNET2_HELLO_MAC	{ 0x03, 0x74, 0x62, 0x6e, 0x65, 0x74 }

/* Low four bits of tbnet2_hdr.version_type; the high four are the version. */
enum tbnet2_type {
	TBNET2_HELLO		= 0,	/* [7] */
	TBNET2_HELLO_ACK	= 1,
	TBNET2_CONFIRM		= 2,
	TBNET2_RESET		= 3,
	TBNET2_PING		= 4,	/* [8] */
	TBNET2_PONG		= 5,
	TBNET2_ACK		= 6,	/* [5] */
	TBNET2_RAILSET		= 7,	/* [4] */
	TBNET2_POSITION		= 8,
	TBNET2_SKIP		= 9,
	TBNET2_DATA		= 10,	/* [3] */
};

enum tbnet2_flag {
	TBNET2_F_CRC		= 1 << 0,	/* hdr.crc holds a CRC32C */
	TBNET2_F_OFFLOAD	= 1 << 1,	/* struct tbnet2_offload follows struct tbnet2_data */
	TBNET2_F_RESENT		= 1 << 2,	/* not the first sending of these bytes */
	TBNET2_F_ACK		= 1 << 3,	/* acknowledge at once [5] */
};

/* Begins every frame. */
struct tbnet2_hdr {
	__u8	version_type;
	__u8	flags;
	__le16	length;		/* bytes after this header that belong to the frame (Ethernet pads) */
	__le32	index;		/* the receiver's index: low 8 bits its endpoint; 0 where none is known */
	__le32	rail_seq;	/* of this frame; of the next one for types that use none up [4] */
	__le32	crc;		/* CRC32C of header with crc = 0 and all `length` bytes; 0 without F_CRC */
};

/* DATA: hdr, data, [offload], payload. */
struct tbnet2_data {
	__le32	packet;		/* packet number in the channel */
	__le16	offset;		/* of the payload in the packet, in TBNET2_UNIT */
	__u8	channel;
	__u8	reserved;
	__le32	total;		/* length of the whole packet in bytes */
	__le32	stamp;		/* sender's clock when the batch was cut, in 1024 ns [6] */
};

/* As virtio_net_hdr, little-endian; only where offset is 0. */
struct tbnet2_offload {
	__u8	flags;		/* 1: needs checksum, 2: data valid */
	__u8	gso_type;	/* 0 none, 1 TCPv4, 4 TCPv6, | 0x80 ECN */
	__le16	hdr_len;
	__le16	gso_size;
	__le16	csum_start;
	__le16	csum_offset;
	__u8	reserved[6];
};

/*
 * PING, PONG and ACK: hdr, state, rails, channels, zero padding up to length.
 * Each rail is a tbnet2_rail_ack with its gaps behind it.
 */
struct tbnet2_state {
	__le32	stamp;		/* sender's clock, in 1024 ns */
	__le32	echo;		/* PONG: stamp of the PING; else 0 */
	__le64	heard;		/* bit n: the receiver's rail n has been heard lately */
	__le32	generation;	/* newest RAILSET seen */
	__u8	rails;		/* how many tbnet2_rail_ack follow */
	__u8	channels;	/* how many tbnet2_channel_ack follow them */
	__le16	reserved;
};

struct tbnet2_rail_ack {
	__u8	rail;		/* rail id of the host this frame goes to */
	__u8	gaps;		/* how many tbnet2_gap follow */
	__le16	depth;		/* rail sequences before `next` that this block speaks for */
	__le32	next;		/* rail sequence expected next */
	__le32	credit;		/* bytes of receive ring free, counted from `next` */
	__le32	delay;		/* (arrival - stamp) less the bundle's smallest, ns */
};

struct tbnet2_gap {
	__le16	back;		/* first lost rail sequence is next - back */
	__le16	count;
};

struct tbnet2_channel_ack {
	__u8	channel;
	__u8	reserved[3];
	__le32	next;		/* every packet before this is done with */
	__le32	window;		/* bytes of packets that may be sent, counted from `next` */
};

/* RAILSET: hdr, railset. */
struct tbnet2_railset {
	__le32	generation;
	__le32	reserved;
	__le64	rails;		/* bitmap of the sender's rail ids in use */
};

/* POSITION and SKIP: hdr, then one or more of these. */
struct tbnet2_mark {
	__u8	channel;
	__u8	reserved[3];
	__le32	packet;		/* POSITION: next on this rail; SKIP: first not given up */
};

/* HELLO, HELLO_ACK, CONFIRM: hdr, hello, TLVs. */
struct tbnet2_hello {
	__le64	nonce;		/* the sender's */
	__le64	echo;		/* the receiver's, 0 in HELLO */
};

/* RESET: hdr (index 0), reset. */
struct tbnet2_reset {
	__le32	index;		/* the index that the receiver of this frame has used */
	__u8	reason;		/* enum tbnet2_reset_reason */
	__u8	reserved[3];
};

enum tbnet2_reset_reason {
	TBNET2_RESET_UNKNOWN	= 1,	/* no association has this index */
	TBNET2_RESET_CLOSING	= 2,	/* the association was closed */
};

/* A TLV: type, length of the value in bytes, value. Not aligned. */
struct tbnet2_tlv {
	__u8	type;		/* enum tbnet2_tlv_type | TBNET2_TLV_CRITICAL */
	__u8	length;
};

#define TBNET2_TLV_CRITICAL	0x80	/* who does not know this type must not answer */

enum tbnet2_tlv_type {
	TBNET2_TLV_HOST		= 1,	/* 16 B UUID */
	TBNET2_TLV_EPOCH	= 2,	/* u64, drawn when the endpoint starts */
	TBNET2_TLV_INDEX	= 3,	/* u32 that frames to this association carry */
	TBNET2_TLV_SERVICE	= 4,	/* u8, enum tbnet2_service */
	TBNET2_TLV_VERSIONS	= 5,	/* u8 lowest, u8 highest */
	TBNET2_TLV_RAIL		= 6,	/* u8 rail id of the sender */
	TBNET2_TLV_GROUP	= 7,	/* u64, equal for rails of one cable or switch segment */
	TBNET2_TLV_MTU		= 8,	/* u32, bytes of hdr and all after it in one frame */
	TBNET2_TLV_RATE		= 9,	/* u64, bits per second, 0 unknown */
	TBNET2_TLV_CAPS		= 10,	/* u32, enum tbnet2_cap */
	TBNET2_TLV_SLOTS	= 11,	/* u32, packets per channel that may be open at once */
	TBNET2_TLV_NAME		= 12,	/* host name, at most TBNET2_HOST_NAME_MAX bytes */
	TBNET2_TLV_MAC		= 13,	/* reserved: keyed MAC over all before it */
};

enum tbnet2_service {
	TBNET2_SERVICE_ETHERNET	= 1,	/* ordered delivery */
	TBNET2_SERVICE_VERBS	= 2,	/* reliable, unordered delivery */
	TBNET2_SERVICE_TEST	= 3,
};

enum tbnet2_cap {
	TBNET2_CAP_RETRANSMIT	= 1 << 0,	/* lost frames are sent again; in force if both say so */
	TBNET2_CAP_CRC		= 1 << 1,	/* frames to me must carry a CRC */
	TBNET2_CAP_OFFLOAD	= 1 << 2,	/* I take offload descriptors */
};

TBNET2_ASSERT(sizeof(struct tbnet2_hdr) == 16);
TBNET2_ASSERT(offsetof(struct tbnet2_hdr, length) == 2);
TBNET2_ASSERT(offsetof(struct tbnet2_hdr, index) == 4);
TBNET2_ASSERT(offsetof(struct tbnet2_hdr, rail_seq) == 8);
TBNET2_ASSERT(offsetof(struct tbnet2_hdr, crc) == 12);
TBNET2_ASSERT(sizeof(struct tbnet2_data) == 16);
TBNET2_ASSERT(offsetof(struct tbnet2_data, offset) == 4);
TBNET2_ASSERT(offsetof(struct tbnet2_data, channel) == 6);
TBNET2_ASSERT(offsetof(struct tbnet2_data, total) == 8);
TBNET2_ASSERT(offsetof(struct tbnet2_data, stamp) == 12);
TBNET2_ASSERT(sizeof(struct tbnet2_offload) == 16);
TBNET2_ASSERT(offsetof(struct tbnet2_offload, csum_offset) == 8);
TBNET2_ASSERT(sizeof(struct tbnet2_state) == 24);
TBNET2_ASSERT(offsetof(struct tbnet2_state, heard) == 8);
TBNET2_ASSERT(offsetof(struct tbnet2_state, rails) == 20);
TBNET2_ASSERT(sizeof(struct tbnet2_rail_ack) == 16);
TBNET2_ASSERT(offsetof(struct tbnet2_rail_ack, next) == 4);
TBNET2_ASSERT(offsetof(struct tbnet2_rail_ack, delay) == 12);
TBNET2_ASSERT(sizeof(struct tbnet2_gap) == 4);
TBNET2_ASSERT(sizeof(struct tbnet2_channel_ack) == 12);
TBNET2_ASSERT(offsetof(struct tbnet2_channel_ack, window) == 8);
TBNET2_ASSERT(sizeof(struct tbnet2_railset) == 16);
TBNET2_ASSERT(offsetof(struct tbnet2_railset, rails) == 8);
TBNET2_ASSERT(sizeof(struct tbnet2_mark) == 8);
TBNET2_ASSERT(offsetof(struct tbnet2_mark, packet) == 4);
TBNET2_ASSERT(sizeof(struct tbnet2_hello) == 16);
TBNET2_ASSERT(sizeof(struct tbnet2_reset) == 8);
TBNET2_ASSERT(sizeof(struct tbnet2_tlv) == 2);

#endif /* TBNET2_WIRE_H */
