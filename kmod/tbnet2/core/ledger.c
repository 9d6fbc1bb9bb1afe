// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * The ring of a ledger.
 */
#include "ledger.h"

/**
 * tbnet2_ledger_room() - make place for one more entry
 * @l: the ledger
 *
 * Return: false when there is none, or no memory for more.
 */
bool tbnet2_ledger_room(struct tbnet2_ledger *l)
{
	u32 n = tbnet2_ledger_len(l);
	struct tbnet2_entry *grown;
	u32 slots, seq;

	if (n < l->slots)
		return true;
	if (n >= LEDGER_MOST)
		return false;
	slots = max_t(u32, LEDGER_FIRST, 2 * l->slots);
	grown = tbnet2_alloc(slots * sizeof(*grown));
	if (!grown)
		return false;
	for (seq = l->una; seq != l->next; seq++)
		grown[seq & (slots - 1)] = *tbnet2_ledger_at(l, seq);
	tbnet2_free(l->ring);
	l->ring = grown;
	l->slots = slots;
	return true;
}

/**
 * tbnet2_ledger_push() - use up a sequence
 * @l: the ledger, which has room
 * @e: what went out under it
 */
void tbnet2_ledger_push(struct tbnet2_ledger *l, struct tbnet2_entry e)
{
	e.start = l->bytes;
	*tbnet2_ledger_at(l, l->next) = e;
	l->next++;
	l->bytes += (u64)e.size;
	l->in_flight += e.size;
	++*l->undecided;
}

/**
 * tbnet2_ledger_pop_newest() - take back the newest sequence, which was not sent
 * @l: the ledger, not empty
 */
struct tbnet2_entry tbnet2_ledger_pop_newest(struct tbnet2_ledger *l)
{
	struct tbnet2_entry e = *tbnet2_ledger_at(l, --l->next);

	l->bytes = e.start;
	l->in_flight -= e.size;
	--*l->undecided;
	return e;
}

/**
 * tbnet2_ledger_pop_oldest() - take the oldest sequence off
 * @l: the ledger, not empty
 */
struct tbnet2_entry tbnet2_ledger_pop_oldest(struct tbnet2_ledger *l)
{
	struct tbnet2_entry e = *tbnet2_ledger_at(l, l->una++);

	l->in_flight -= e.size;
	--*l->undecided;
	return e;
}
