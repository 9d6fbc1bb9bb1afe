/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Finds the largest frame that passes a rail: PINGs padded to a size are
 * answered or not [8]. Times are on the running clock.
 */
#ifndef TBNET2_CORE_PROBE_H
#define TBNET2_CORE_PROBE_H

#include "tuning.h"

/**
 * struct tbnet2_probe - of a rail's MTU
 * @size: being tried; 0: nothing
 * @tries: PINGs of it
 * @first: stamp of the first of them
 * @wait: until the next try
 * @due: when that is
 * @down: from a size that passed before: smaller ones follow
 * @fell: a larger size did not pass
 */
struct tbnet2_probe {
	u32 size;
	u32 tries;
	u32 first;
	s64 wait;
	s64 due;
	bool down;
	bool fell;
};

void tbnet2_probe_init(struct tbnet2_probe *p, s64 run, u32 mtu);
void tbnet2_probe_restart(struct tbnet2_probe *p, s64 run, u32 mtu);
void tbnet2_probe_suspect(struct tbnet2_probe *p, s64 run, u32 mtu);
void tbnet2_probe_sent(struct tbnet2_probe *p, s64 run, u32 stamp);
void tbnet2_probe_expire(struct tbnet2_probe *p, s64 run, u32 proven);
bool tbnet2_probe_answers(const struct tbnet2_probe *p, u32 echo);
void tbnet2_probe_answered(struct tbnet2_probe *p, s64 run, u32 mtu);
void tbnet2_probe_retry(struct tbnet2_probe *p, s64 run, u32 proven, u32 mtu);

#endif /* TBNET2_CORE_PROBE_H */
