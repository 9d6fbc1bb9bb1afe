// SPDX-License-Identifier: Apache-2.0
/*
 * What the core asks of userspace: memory that is counted and may run out, and
 * CRC32C.
 */
#include <stdlib.h>
#include "runner.h"

struct memory memory;

void *tbnet2_alloc(size_t n)
{
	if (memory.fails_every && ++memory.asked % memory.fails_every == 0)
		return NULL;
	memory.out++;
	return calloc(1, n);
}

void tbnet2_free(const void *p)
{
	if (!p)
		return;
	memory.out--;
	free((void *)p);
}

/* Of each byte, for the reflected polynomial 0x82f63b78. */
static u32 crc_table[256];

void make_crc_table(void)
{
	u32 i, bit;

	for (i = 0; i < 256; i++) {
		u32 crc = i;

		for (bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78 : 0);
		crc_table[i] = crc;
	}
}

u32 tbnet2_crc(u32 crc, const void *data, size_t n)
{
	const u8 *b = data;

	while (n--)
		crc = crc >> 8 ^ crc_table[(crc ^ *b++) & 0xff];
	return crc;
}
