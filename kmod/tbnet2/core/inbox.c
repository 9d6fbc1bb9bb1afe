// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * The memory of an inbox. What a frame may bring is reserved before it is
 * taken, so that nothing fails half way.
 */
#include "inbox.h"

#define ROOM_FIRST 16

/* Makes place for n more; the array stays as it is where there is no memory. */
static bool grow(void **array, struct tbnet2_list *l, u32 n, size_t size)
{
	u32 room = max_t(u32, ROOM_FIRST, l->room);
	void *grown;

	if (l->count + n <= l->room)
		return true;
	while (room < l->count + n)
		room *= 2;
	grown = tbnet2_alloc(room * size);
	if (!grown)
		return false;
	if (*array)
		memcpy(grown, *array, l->count * size);
	tbnet2_free(*array);
	*array = grown;
	l->room = room;
	return true;
}

/**
 * tbnet2_inbox_reserve() - make place for what one frame may bring
 * @in: the inbox
 * @deliveries: how many it may bring
 *
 * Return: false when there is no memory.
 */
bool tbnet2_inbox_reserve(struct tbnet2_inbox *in, u32 deliveries)
{
	return grow((void **)&in->deliveries, &in->delivered, deliveries,
		    sizeof(*in->deliveries)) &&
	       grow((void **)&in->states, &in->stated, 1, sizeof(*in->states)) &&
	       grow((void **)&in->pings, &in->pinged, 1, sizeof(*in->pings));
}

/**
 * tbnet2_inbox_event() - add an event
 * @in: the inbox
 * @e: the event; counted and lost where there is no memory, for the states
 *     that events tell of can be asked for
 */
void tbnet2_inbox_event(struct tbnet2_inbox *in, struct tbnet2_event e)
{
	if (!grow((void **)&in->events, &in->told, 1, sizeof(*in->events))) {
		in->events_lost++;
		return;
	}
	in->events[in->told.count++] = e;
}

/**
 * tbnet2_inbox_reset() - empty an inbox
 * @in: the inbox; deliveries with a buffer must have been taken
 */
void tbnet2_inbox_reset(struct tbnet2_inbox *in)
{
	in->delivered.count = 0;
	in->told.count = 0;
	in->stated.count = 0;
	in->pinged.count = 0;
	in->heard_here = 0;
	in->ack = false;
	in->state_len = 0;
}

/**
 * tbnet2_inbox_free() - give back the memory of an inbox
 * @in: the inbox; may be used again afterwards
 */
void tbnet2_inbox_free(struct tbnet2_inbox *in)
{
	tbnet2_free(in->deliveries);
	tbnet2_free(in->events);
	tbnet2_free(in->states);
	tbnet2_free(in->pings);
	memset(in, 0, sizeof(*in));
}
