// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * The sizes that a rail is tried with.
 */
#include "probe.h"

/* Tried below the rail's MTU. */
static const u32 probe_sizes[] = { 16384, 9000, 4096, PROBE_BASE };

static void begin(struct tbnet2_probe *p, u32 size, s64 wait, s64 due)
{
	memset(p, 0, sizeof(*p));
	p->size = size;
	p->wait = wait;
	p->due = due;
}

/**
 * tbnet2_probe_restart() - try a size, as on a rail whose MTU has changed
 * @p: the probe
 * @run: running clock
 * @mtu: the size
 */
void tbnet2_probe_restart(struct tbnet2_probe *p, s64 run, u32 mtu)
{
	begin(p, mtu, PROBE_INTERVAL, run);
}

/**
 * tbnet2_probe_init() - try a new rail with what every path passes
 * @p: the probe
 * @run: running clock
 * @mtu: of the rail
 */
void tbnet2_probe_init(struct tbnet2_probe *p, s64 run, u32 mtu)
{
	begin(p, min_t(u32, mtu, PROBE_BASE), PROBE_INTERVAL, run);
}

/**
 * tbnet2_probe_suspect() - try a size that has passed before
 * @p: the probe
 * @run: running clock
 * @mtu: the size
 */
void tbnet2_probe_suspect(struct tbnet2_probe *p, s64 run, u32 mtu)
{
	begin(p, mtu, SUSPECT_PING, run);
	p->down = true;
}

/**
 * tbnet2_probe_sent() - note a PING of p->size
 * @p: the probe
 * @run: running clock
 * @stamp: of the PING
 */
void tbnet2_probe_sent(struct tbnet2_probe *p, s64 run, u32 stamp)
{
	if (!p->tries)
		p->first = stamp;
	p->tries++;
	p->due = run + p->wait;
	p->wait = min_t(s64, 2 * p->wait, PING_INTERVAL);
	if (p->down)
		p->wait = SUSPECT_PING;
}

static u32 next_size(u32 size)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(probe_sizes); i++)
		if (probe_sizes[i] < size)
			return probe_sizes[i];
	return PROBE_BASE;
}

/**
 * tbnet2_probe_expire() - turn to the next smaller size when one has been tried
 *	enough
 * @p: the probe
 * @run: running clock
 * @proven: the size that is known to pass
 */
void tbnet2_probe_expire(struct tbnet2_probe *p, s64 run, u32 proven)
{
	bool down = p->down;
	u32 next;

	if (!p->size || p->tries <= PROBE_TRIES || run < p->due)
		return;
	next = next_size(p->size);
	if (p->size <= PROBE_BASE) {
		p->tries = 1; /* goes on for ever; any answer from now on counts */
	} else if (!down && next <= proven) {
		begin(p, 0, 0, run + PROBE_REST);
	} else {
		begin(p, next, PROBE_INTERVAL, run);
		p->down = down;
		p->fell = true;
	}
}

/**
 * tbnet2_probe_answers() - whether a PONG answers the size being tried
 * @p: the probe
 * @echo: of the PONG
 */
bool tbnet2_probe_answers(const struct tbnet2_probe *p, u32 echo)
{
	return p->size && p->tries && (s32)(echo - p->first) >= 0;
}

/**
 * tbnet2_probe_answered() - take a PONG for a PING of p->size, set the next size
 * @p: the probe
 * @run: running clock
 * @mtu: of the rail
 */
void tbnet2_probe_answered(struct tbnet2_probe *p, s64 run, u32 mtu)
{
	if (p->size >= mtu)
		begin(p, 0, 0, 0);
	else if (p->fell)
		begin(p, 0, 0, run + PROBE_REST);
	else
		begin(p, mtu, PROBE_INTERVAL, run);
}

/**
 * tbnet2_probe_retry() - start again from the top after a rest
 * @p: the probe
 * @run: running clock
 * @proven: the size that is known to pass
 * @mtu: of the rail
 */
void tbnet2_probe_retry(struct tbnet2_probe *p, s64 run, u32 proven, u32 mtu)
{
	if (!p->size && proven < mtu && run >= p->due)
		begin(p, mtu, PROBE_INTERVAL, run);
}
