/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * The frames of one tbnet2_transmit(), by rail.
 */
#ifndef TBNET2_CORE_BURST_H
#define TBNET2_CORE_BURST_H

#include "packet.h"
#include "tuning.h"

#define BURST_FRAMES	256
#define BURST_ARENA	(BURST_FRAMES * (TBNET2_HEADER_LEN + TBNET2_DATA_LEN +	\
					 TBNET2_OFFLOAD_LEN) + 8 * STATE_BYTES)
#define BURST_NONE	0xffff	/* ends a chain of frames */

/**
 * struct tbnet2_burst_frame - one frame to be sent: @head, then content, then zeros
 * @head: begins the frame
 * @packet: whose bytes [@off, @off + @len) follow; NULL for control frames
 * @off: in @packet
 * @len: bytes of @packet
 * @head_len: bytes of @head
 * @pad: zeros behind it all
 * @next: in the order they must be sent, index in the burst
 * @prev: the other way
 */
struct tbnet2_burst_frame {
	u8 *head;
	struct tbnet2_packet *packet;
	u32 off;
	u32 len;
	u32 head_len;
	u32 pad;
	u16 next;
	u16 prev;
};

/**
 * struct tbnet2_burst - frames valid until tbnet2_burst_reset()
 * @rails: which rails have frames
 * @first: of each rail, BURST_NONE where there is none
 * @last: likewise
 * @frames: all of them
 * @count: of @frames
 * @used: bytes of @arena
 * @arena: holds the heads
 */
struct tbnet2_burst {
	u64 rails;
	u16 first[TBNET2_RAILS_MAX];
	u16 last[TBNET2_RAILS_MAX];
	u32 count;
	u32 used;
	struct tbnet2_burst_frame frames[BURST_FRAMES];
	u8 arena[BURST_ARENA];
};

void tbnet2_burst_reset(struct tbnet2_burst *b);
bool tbnet2_burst_room(const struct tbnet2_burst *b, u32 n);
u8 *tbnet2_burst_head(struct tbnet2_burst *b, u32 n);
void tbnet2_burst_add(struct tbnet2_burst *b, u8 rail, struct tbnet2_burst_frame f);
struct tbnet2_burst_frame *tbnet2_burst_pop(struct tbnet2_burst *b, u8 rail);

#endif /* TBNET2_CORE_BURST_H */
