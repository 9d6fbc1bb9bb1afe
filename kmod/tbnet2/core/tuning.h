/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Numbers of docs/protocol.md, by section. Those marked tuning may differ
 * between peers; transport/tuning.go has the same.
 */
#ifndef TBNET2_CORE_TUNING_H
#define TBNET2_CORE_TUNING_H

#include "units.h"

#define PING_INTERVAL	(100 * TBNET2_MS)	/* 8 */
#define DOWN_AFTER	(300 * TBNET2_MS)	/* 8: silence that takes a rail down */
#define SUSPECT_LEAST	(10 * TBNET2_MS)	/* 8 */
#define SUSPECT_PING	(10 * TBNET2_MS)	/* 8 */
#define OWN_STALL	(50 * TBNET2_MS)	/* 8: a later tick was our own fault */
#define DEAD_AFTER	(60 * TBNET2_SEC)	/* 8: without any up rail */
#define GIVE_UP_LEAST	(50 * TBNET2_MS)	/* 4 */
#define SKIP_INTERVAL	(10 * TBNET2_MS)	/* 4, tuning */
#define POSITION_DELAY	(1 * TBNET2_MS)		/* 4, tuning */
#define HOLE_TIMEOUT	(2 * TBNET2_SEC)	/* 4, tuning: last resort */
#define RAILSET_INTERVAL (10 * TBNET2_MS)	/* 4, tuning */
#define ACK_DELAY	(1 * TBNET2_MS)		/* 5, tuning */
#define ACK_FRAMES	64			/* 5, tuning */
#define ACKS_PER_WINDOW	4			/* 5, tuning */
#define ACK_DETOUR	4	/* 5, tuning: every which ack takes another rail */
#define STATE_BYTES	1400			/* 5 */
#define BUSY_TICK	(1 * TBNET2_MS)		/* tuning: while anything is under way */

#define RATES_KEPT	8			/* 6, tuning */
#define ROUND_LEAST	(1 * TBNET2_MS)	/* 6, tuning: shorter rounds measure bursts */
#define QUEUE_TARGET	(1 * TBNET2_MS)	/* 6, tuning: queueing that a window may cause */
#define SKEW_MOST	(2 * TBNET2_MS)	/* 6, tuning: of it a quicker rail may queue */
#define RTT_WINDOW	(2 * TBNET2_SEC) /* 6, tuning: least round trips last one to two */
#define FLOOR_ROUNDS	8	/* 6, tuning: at the least window and slow: a new path */
#define WINDOW_FRAMES	4			/* 6, tuning: least window */
#define WINDOW_FIRST	(64 << 10)		/* 6, tuning: bytes */
#define WINDOW_MOST	(64 << 20)		/* 6, tuning: bytes */
#define RATE_FIRST	131072ULL	/* 6, tuning: 1 Gb/s until told or measured */
#define DELAY_WINDOW	(500 * TBNET2_MS) /* 6, tuning: least one-way times, likewise */
#define WEIGHT_SLACK	(128ULL << 10)	/* 6, tuning: bytes a weighted rail may be ahead */
#define QUANTUM		(16 << 10)	/* 6, tuning: bytes a channel sends in its turn */
#define SMALL_PACKET	2048		/* tuning: bytes up to which one has the reserve */
#define SMALL_RESERVE	(256 << 10)		/* tuning: bytes of it */
#define PROBE_TRIES	3			/* 8, tuning */
#define PROBE_INTERVAL	(20 * TBNET2_MS)	/* 8, tuning */
#define PROBE_REST	(10 * TBNET2_SEC)	/* 8, tuning: before larger sizes again */
#define PROBE_BASE	1500			/* 8 */
#define LEDGER_FIRST	256		/* frames in flight on a rail, at first */
#define LEDGER_MOST	16384		/* and at most; below 2^16, the range of a gap */
#define SEQ_JUMP_MOST	65535		/* 4: a frame further ahead is garbage */
#define PONGS_MOST	256		/* PINGs that wait for an answer */
#define MTU_LEAST	576		/* holds every control frame; RFC 791's least */
#define MTU_MOST	65535
#define SLOTS_DEFAULT	1024
#define WINDOW_DEFAULT	(8 << 20)		/* bytes */
#define QUEUE_DEFAULT	(4 << 20)		/* bytes */
#define SPARES_MOST	64		/* assemblies kept for the next packets */

#endif /* TBNET2_CORE_TUNING_H */
