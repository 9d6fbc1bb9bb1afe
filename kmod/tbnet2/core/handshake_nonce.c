// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Nonces, and how often something may be answered.
 */
#include "handshake_table.h"

/**
 * tbnet2_nonce_draw() - make a fresh nonce the newest
 * @h: the handshake
 * @d: the device that sends it
 */
struct tbnet2_nonce tbnet2_nonce_draw(struct tbnet2_handshake *h, struct tbnet2_attached *d)
{
	u64 value;

	do {
		value = h->cfg.ops->random(h->cfg.context);
	} while (!value); /* 0 is the echo of a HELLO */
	memmove(d->nonces + 1, d->nonces, (NONCES_KEPT - 1) * sizeof(d->nonces[0]));
	d->nonces[0].value = value;
	d->nonces[0].serial = ++h->serial;
	return d->nonces[0];
}

/**
 * tbnet2_nonce_after() - the newest nonce if it is newer than a serial, else a
 *	fresh one
 * @h: the handshake
 * @d: the device
 * @serial: of another
 */
struct tbnet2_nonce tbnet2_nonce_after(struct tbnet2_handshake *h, struct tbnet2_attached *d,
				       u64 serial)
{
	if (d->nonces[0].serial > serial)
		return d->nonces[0];
	return tbnet2_nonce_draw(h, d);
}

/**
 * tbnet2_nonce_find() - the serial of an echoed nonce, or 0
 * @d: the device that has sent it
 * @echo: the nonce
 */
u64 tbnet2_nonce_find(const struct tbnet2_attached *d, u64 echo)
{
	u32 i;

	for (i = 0; i < NONCES_KEPT; i++)
		if (d->nonces[i].serial && d->nonces[i].value == echo)
			return d->nonces[i].serial;
	return 0;
}

/**
 * tbnet2_bucket_init() - begin full
 * @b: the bucket
 * @now: the time
 * @per_second: how many are allowed
 * @burst: at once
 */
void tbnet2_bucket_init(struct tbnet2_bucket *b, s64 now, u32 per_second, u32 burst)
{
	b->tokens = burst;
	b->burst = burst;
	b->each = div64_s64(TBNET2_SEC, per_second);
	b->at = now;
}

/**
 * tbnet2_bucket_take() - whether one more is allowed now
 * @b: the bucket
 * @now: the time
 */
bool tbnet2_bucket_take(struct tbnet2_bucket *b, s64 now)
{
	s64 fresh = div64_s64(now - b->at, b->each);

	b->at += fresh * b->each;
	b->tokens = (u32)min_t(s64, b->burst, b->tokens + fresh);
	if (!b->tokens)
		return false;
	b->tokens--;
	return true;
}
