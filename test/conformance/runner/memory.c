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

u32 tbnet2_crc(u32 crc, const void *data, size_t n)
{
	/* Of each four bits, for the reflected polynomial 0x82f63b78. */
	static const u32 table[16] = {
		0x00000000, 0x105ec76f, 0x20bd8ede, 0x30e349b1, 0x417b1dbc, 0x5125dad3,
		0x61c69362, 0x7198540d, 0x82f63b78, 0x92a8fc17, 0xa24bb5a6, 0xb21572c9,
		0xc38d26c4, 0xd3d3e1ab, 0xe330a81a, 0xf36e6f75,
	};
	const u8 *b = data;

	while (n--) {
		crc ^= *b++;
		crc = crc >> 4 ^ table[crc & 15];
		crc = crc >> 4 ^ table[crc & 15];
	}
	return crc;
}
