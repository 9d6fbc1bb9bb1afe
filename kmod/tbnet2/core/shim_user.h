/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * The kernel's words that the core uses, in userspace. min() and max() are as
 * strict about types as the kernel's, so that what builds here builds there.
 */
#ifndef TBNET2_CORE_SHIM_USER_H
#define TBNET2_CORE_SHIM_USER_H

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <linux/types.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int16_t s16;
typedef int32_t s32;
typedef int64_t s64;

#define S64_MAX		INT64_MAX
#define U32_MAX		UINT32_MAX
#define U64_MAX		UINT64_MAX
#define BIT(n)		(1UL << (n))
#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))
#define sizeof_field(type, field) sizeof(((type *)0)->field)

#define TBNET2_CHOOSE(x, y, op) ({		\
	__typeof__(x) _x = (x);			\
	__typeof__(y) _y = (y);			\
	(void)(&_x == &_y);			\
	_x op _y ? _x : _y; })
#define min(x, y)		TBNET2_CHOOSE(x, y, <)
#define max(x, y)		TBNET2_CHOOSE(x, y, >)
#define min_t(type, x, y)	TBNET2_CHOOSE((type)(x), (type)(y), <)
#define max_t(type, x, y)	TBNET2_CHOOSE((type)(x), (type)(y), >)

/* The user of the core provides these; see tbnet2_alloc in shim.h. */
void *tbnet2_alloc(size_t n);
void tbnet2_free(const void *p);
u32 tbnet2_crc(u32 crc, const void *data, size_t n);

static inline unsigned long __ffs64(u64 word)
{
	return (unsigned long)__builtin_ctzll(word);
}

static inline unsigned int hweight64(u64 word)
{
	return (unsigned int)__builtin_popcountll(word);
}

static inline u64 div64_u64(u64 n, u64 d)
{
	return n / d;
}

static inline s64 div64_s64(s64 n, s64 d)
{
	return n / d;
}

#endif /* TBNET2_CORE_SHIM_USER_H */
