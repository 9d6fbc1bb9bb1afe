/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * What the core asks of its surroundings: integers, memory, bits, divisions
 * and CRC32C. Everything else in this folder is plain C; this header and
 * shim_user.h are the only places that know where it is built.
 */
#ifndef TBNET2_CORE_SHIM_H
#define TBNET2_CORE_SHIM_H

#ifdef __KERNEL__

#include <linux/bitops.h>
#include <linux/crc32c.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/limits.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/types.h>

/* Zeroed memory or NULL. The core runs under the callers' locks. */
static inline void *tbnet2_alloc(size_t n)
{
	return kzalloc(n, GFP_ATOMIC | __GFP_NOWARN);
}

static inline void tbnet2_free(const void *p)
{
	kfree(p);
}

/* Running CRC32C: begins with ~0 and is inverted at the end. */
static inline u32 tbnet2_crc(u32 crc, const void *data, size_t n)
{
	return crc32c(crc, data, n);
}

#else
#include "shim_user.h"
#endif

#include "../uapi/tbnet2_wire.h"

/* Little-endian numbers at any address. */
static inline u16 tbnet2_get16(const void *p)
{
	const u8 *b = p;

	return (u16)(b[0] | b[1] << 8);
}

static inline u32 tbnet2_get32(const void *p)
{
	const u8 *b = p;

	return tbnet2_get16(b) | (u32)tbnet2_get16(b + 2) << 16;
}

static inline u64 tbnet2_get64(const void *p)
{
	const u8 *b = p;

	return tbnet2_get32(b) | (u64)tbnet2_get32(b + 4) << 32;
}

static inline void tbnet2_put16(u16 v, void *p)
{
	u8 *b = p;

	b[0] = (u8)v;
	b[1] = (u8)(v >> 8);
}

static inline void tbnet2_put32(u32 v, void *p)
{
	tbnet2_put16((u16)v, p);
	tbnet2_put16((u16)(v >> 16), (u8 *)p + 2);
}

static inline void tbnet2_put64(u64 v, void *p)
{
	tbnet2_put32((u32)v, p);
	tbnet2_put32((u32)(v >> 32), (u8 *)p + 4);
}

#endif /* TBNET2_CORE_SHIM_H */
