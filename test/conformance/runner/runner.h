/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The runner: plays scripts against the C core, for comparison with Go's.
 */
#ifndef RUNNER_RUNNER_H
#define RUNNER_RUNNER_H

#include "frame.h"

/* Memory of the core: how many pieces are out, and which requests fail. */
struct memory {
	long out;
	unsigned long asked;
	unsigned long fails_every;	/* 0: none does */
};

extern struct memory memory;

/* What a script drives; one of a kind is made by its first line. */
struct subject {
	/* A further line that sets up. */
	void (*set_up)(struct subject *s, const struct clause *c);
	/* Does one action. */
	void (*act)(struct subject *s, const struct clause *c, s64 now);
	/* Ends the actions of one moment. */
	void (*end)(struct subject *s, s64 now);
	/* Ticks at every deadline up to and at a time. */
	void (*run_to)(struct subject *s, s64 at);
	/* Ends it all; adds what is left over that should not be. */
	void (*finish)(struct subject *s, struct text *wrong);
	struct text out;	/* lines of the step */
};

struct subject *player_new(const struct clause *c);
struct subject *greeter_new(const struct clause *c);
void make_crc_table(void);
void play_scripts(void);
void play_frames(void);

#endif /* RUNNER_RUNNER_H */
