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
#if __has_include(<linux/unaligned.h>)
#include <linux/unaligned.h>
#else
#include <asm/unaligned.h>
#endif

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

#endif /* TBNET2_CORE_SHIM_H */
