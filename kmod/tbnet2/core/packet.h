/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Packets that are sent, frames that come in, and what the core asks of their
 * owner. The core never looks at the content of a packet itself.
 */
#ifndef TBNET2_CORE_PACKET_H
#define TBNET2_CORE_PACKET_H

#include "units.h"
#include "wire.h"

/* What became of a packet. */
enum tbnet2_outcome {
	TBNET2_ACKNOWLEDGED,	/* every byte arrived */
	TBNET2_SENT,		/* every byte was sent once; no more is promised */
	TBNET2_GIVEN_UP,	/* too old; the receiver was told to skip it */
	TBNET2_ABORTED,		/* the association ended */
	TBNET2_OUTCOMES,
};

/**
 * struct tbnet2_packet - one unit that the transport carries whole
 * @length: bytes of content, at most TBNET2_PACKET_MAX
 * @channel: below TBNET2_CHANNELS; packets of one flow share one
 * @has_desc: @desc goes with the packet
 * @desc: work left to do on it
 *
 * The owner embeds it, fills these in, and keeps them and the content
 * unchanged from tbnet2_send() until the done call. The rest is the sender's.
 */
struct tbnet2_packet {
	u32 length;
	u8 channel;
	bool has_desc;
	struct tbnet2_desc desc;

	/* private: of the sender */
	u32 number;
	s32 cut;		/* bytes sent or queued to be sent again */
	s32 refs;		/* ledger entries and spans that name the packet */
	bool given_up;
	bool displaced;		/* some of it was lost, or sent in vain */
	u8 outcome;
	s64 first_sent;		/* by the usable clock */
	struct tbnet2_packet *next;
};

/**
 * struct tbnet2_rx - a received frame
 * @head: its first bytes
 * @linear: how many; all but of DATA, of which 48 do
 * @len: bytes of the frame, with the padding behind it
 * @frame: the owner's name for it, kept in deliveries
 */
struct tbnet2_rx {
	const u8 *head;
	u32 linear;
	u32 len;
	void *frame;
};

/**
 * struct tbnet2_ops - what the core asks of its user, with its context
 * @get_buffer: memory for a packet of so many bytes; NULL drops the frame
 * @put_buffer: gives it back
 * @room: how many bytes more may be held of packets that wait for earlier ones.
 *	What is next in turn is held without asking, so that a hole can always be
 *	closed
 * @copy: copies bytes [from, from + n) of a frame to a place in a buffer
 * @rx_crc: runs a CRC over bytes of a frame behind its linear part
 * @packet_crc: runs a CRC over bytes of a packet
 * @done: a packet is no longer needed; must not call the core
 */
struct tbnet2_ops {
	void *(*get_buffer)(void *context, u32 size);
	void (*put_buffer)(void *context, void *buffer);
	s64 (*room)(void *context);
	void (*copy)(void *context, void *buffer, u32 to, const struct tbnet2_rx *rx, u32 from,
		     u32 n);
	u32 (*rx_crc)(void *context, u32 crc, const struct tbnet2_rx *rx, u32 from, u32 n);
	u32 (*packet_crc)(void *context, u32 crc, const struct tbnet2_packet *p, u32 off, u32 n);
	void (*done)(void *context, struct tbnet2_packet *p, enum tbnet2_outcome outcome);
};

#endif /* TBNET2_CORE_PACKET_H */
