/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * A packet of which something has arrived and that is not done.
 */
#ifndef TBNET2_CORE_ASSEMBLY_H
#define TBNET2_CORE_ASSEMBLY_H

#include "packet.h"

/* 64-bit words that hold a bit for each unit of a packet. */
#define UNIT_WORDS	((TBNET2_PACKET_MAX / TBNET2_UNIT + 63) / 64)

/**
 * struct tbnet2_packet_assembly - a packet
 * @next: in the list of spare ones
 * @buffer: content; NULL in the reliable class
 * @total: bytes of the packet
 * @got: bytes that are there
 * @pieces: @have is in use
 * @has_desc: @desc holds
 * @desc: work left to do on the packet
 * @have: units that are there
 */
struct tbnet2_packet_assembly {
	struct tbnet2_packet_assembly *next;
	void *buffer;
	s32 total;
	s32 got;
	bool pieces;
	bool has_desc;
	struct tbnet2_desc desc;
	u64 have[UNIT_WORDS];
};

/* Bytes [from, to) of a packet, in a walk over the units [unit, end). */
struct tbnet2_run {
	s32 unit;
	s32 end;
	s32 from;
	s32 to;
};

static inline bool tbnet2_assembly_whole(const struct tbnet2_packet_assembly *a)
{
	return a->got == a->total;
}

void tbnet2_assembly_reset(struct tbnet2_packet_assembly *a);
void tbnet2_run_begin(struct tbnet2_packet_assembly *a, struct tbnet2_run *run, s32 off, s32 n);
bool tbnet2_run_next(struct tbnet2_packet_assembly *a, struct tbnet2_run *run);

#endif /* TBNET2_CORE_ASSEMBLY_H */
