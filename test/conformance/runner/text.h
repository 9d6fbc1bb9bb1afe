/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text that grows, and the words of scripts.
 */
#ifndef RUNNER_TEXT_H
#define RUNNER_TEXT_H

#include "../../../kmod/tbnet2/core/units.h"

/* Text that grows; all zero is empty. */
struct text {
	char *s;
	size_t n;
	size_t room;
};

void text_add(struct text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
void text_insert(struct text *t, size_t at, const char *s);
void text_rails(struct text *t, u64 set);
void text_time(struct text *t, s64 at);
void text_free(struct text *t);

#define WORDS_MOST	12
#define FIELDS_MOST	32
#define GROUPS_MOST	160

struct field {
	char *key;
	char *value;
};

/* One action or frame in words: bare words, key=value fields, [groups]. */
struct clause {
	char *words[WORDS_MOST];
	struct field fields[FIELDS_MOST];
	u32 word_count;
	u32 field_count;
	u32 group_count;
	struct clause *groups;	/* GROUPS_MOST of them; NULL in a group */
};

/* Ends the program: the scripts are ours, and this one is wrong. */
void fail(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));

void clause_parse(struct clause *c, char *line);
const char *clause_word(const struct clause *c, u32 i);
bool clause_has(const struct clause *c, const char *word);
const char *clause_text(const struct clause *c, const char *key, const char *otherwise);
s64 clause_num(const struct clause *c, const char *key, s64 otherwise);
s64 number(const char *s);
s64 time_of(const char *s);
u64 rails_of(const char *s);
u32 bytes_of(const char *hex, u8 *out, u32 most);

#endif /* RUNNER_TEXT_H */
