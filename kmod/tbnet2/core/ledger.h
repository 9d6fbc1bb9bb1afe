/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * The rail sequences that were used up and are not yet decided.
 */
#ifndef TBNET2_CORE_LEDGER_H
#define TBNET2_CORE_LEDGER_H

#include "packet.h"
#include "tuning.h"

#define ENTRY_ACK_NOW	1	/* asked for an ack at once: its round trip is a true one */
#define ENTRY_RESENT	2

/**
 * struct tbnet2_entry - one rail sequence
 * @packet: NULL where nothing is to be sent again
 * @off: of its range
 * @n: bytes of it
 * @size: frame bytes
 * @flags: ENTRY_
 * @marks: channels whose POSITION it carries
 * @sent_at: running clock
 * @start: bytes sent on the rail before it
 */
struct tbnet2_entry {
	struct tbnet2_packet *packet;
	s32 off;
	s32 n;
	s32 size;
	u8 flags;
	u16 marks;
	s64 sent_at;
	u64 start;
};

/**
 * struct tbnet2_ledger - a ring of the sequences [una, next)
 * @ring: entries
 * @slots: of @ring, a power of two or 0
 * @una: the oldest undecided
 * @next: the next to be used
 * @bytes: sent on the rail, ever
 * @in_flight: bytes of undecided entries
 * @undecided: counts the entries of all rails, see tbnet2_spans_room()
 */
struct tbnet2_ledger {
	struct tbnet2_entry *ring;
	u32 slots;
	u32 una;
	u32 next;
	u64 bytes;
	s64 in_flight;
	u32 *undecided;
};

static inline u32 tbnet2_ledger_len(const struct tbnet2_ledger *l)
{
	return l->next - l->una;
}

static inline struct tbnet2_entry *tbnet2_ledger_at(const struct tbnet2_ledger *l, u32 seq)
{
	return &l->ring[seq & (l->slots - 1)];
}

/* Bytes sent on the rail before sequence seq, which is in [una, next]. */
static inline u64 tbnet2_ledger_start(const struct tbnet2_ledger *l, u32 seq)
{
	return seq == l->next ? l->bytes : tbnet2_ledger_at(l, seq)->start;
}

bool tbnet2_ledger_room(struct tbnet2_ledger *l);
void tbnet2_ledger_push(struct tbnet2_ledger *l, struct tbnet2_entry e);
struct tbnet2_entry tbnet2_ledger_pop_newest(struct tbnet2_ledger *l);
struct tbnet2_entry tbnet2_ledger_pop_oldest(struct tbnet2_ledger *l);

#endif /* TBNET2_CORE_LEDGER_H */
