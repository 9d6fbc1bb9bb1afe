// SPDX-License-Identifier: Apache-2.0
/*
 * Text that grows, and the words of scripts.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include "text.h"

void fail(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	fflush(stdout);
	vfprintf(stderr, format, args);
	fputc('\n', stderr);
	va_end(args);
	exit(2);
}

static void text_grow(struct text *t, size_t n)
{
	if (t->n + n + 1 <= t->room)
		return;
	t->room = 2 * (t->n + n + 1);
	t->s = realloc(t->s, t->room);
	if (!t->s)
		fail("no memory");
}

void text_add(struct text *t, const char *format, ...)
{
	va_list args;
	int n;

	text_grow(t, 128);
	va_start(args, format);
	n = vsnprintf(t->s + t->n, t->room - t->n, format, args);
	va_end(args);
	if (t->n + (size_t)n >= t->room) {
		text_grow(t, (size_t)n);
		va_start(args, format);
		vsnprintf(t->s + t->n, t->room - t->n, format, args);
		va_end(args);
	}
	t->n += (size_t)n;
}

void text_insert(struct text *t, size_t at, const char *s)
{
	size_t n = strlen(s);

	text_grow(t, n);
	memmove(t->s + at + n, t->s + at, t->n - at);
	memcpy(t->s + at, s, n);
	t->n += n;
	t->s[t->n] = 0;
}

void text_rails(struct text *t, u64 set)
{
	const char *comma = "";
	u8 id;

	if (!set)
		text_add(t, "-");
	tbnet2_for_each_rail(id, set) {
		text_add(t, "%s%u", comma, id);
		comma = ",";
	}
}

void text_time(struct text *t, s64 at)
{
	if (at % TBNET2_MS == 0)
		text_add(t, "%lldms", (long long)(at / TBNET2_MS));
	else if (at % TBNET2_US == 0)
		text_add(t, "%lldus", (long long)(at / TBNET2_US));
	else
		text_add(t, "%lldns", (long long)at);
}

void text_free(struct text *t)
{
	free(t->s);
	memset(t, 0, sizeof(*t));
}

/* Cuts the next token off a line: [ and ] are tokens of their own. */
static char *token(char **line, char *held)
{
	char *s = *line, *start;

	if (*held) { /* a bracket that ended the last token */
		static char brackets[2][2] = { "[", "]" };
		char *bracket = brackets[*held == ']'];

		*held = 0;
		return bracket;
	}
	while (*s == ' ')
		s++;
	if (!*s)
		return NULL;
	start = s;
	if (*s == '[' || *s == ']') {
		*line = s + 1;
		*held = *s;
		return token(line, held);
	}
	while (*s && *s != ' ' && *s != '[' && *s != ']')
		s++;
	*held = (*s == '[' || *s == ']') ? *s : 0;
	*line = *s ? s + 1 : s;
	*s = 0;
	return start;
}

static void clause_add(struct clause *c, char *t)
{
	char *value = strchr(t, '=');

	if (!value) {
		if (c->word_count == WORDS_MOST)
			fail("too many words");
		c->words[c->word_count++] = t;
		return;
	}
	if (c->field_count == FIELDS_MOST)
		fail("too many fields");
	*value = 0;
	c->fields[c->field_count].key = t;
	c->fields[c->field_count++].value = value + 1;
}

static void clause_reset(struct clause *c)
{
	c->word_count = 0;
	c->field_count = 0;
	c->group_count = 0;
}

/* Reads a line, which is cut up; c->groups has place. */
void clause_parse(struct clause *c, char *line)
{
	struct clause *inner = NULL;
	char held = 0, *t;

	clause_reset(c);
	while ((t = token(&line, &held))) {
		if (!strcmp(t, "[")) {
			if (inner || c->group_count == GROUPS_MOST)
				fail("[ cannot be here");
			inner = &c->groups[c->group_count++];
			clause_reset(inner);
		} else if (!strcmp(t, "]")) {
			if (!inner)
				fail("] without [");
			inner = NULL;
		} else {
			clause_add(inner ? inner : c, t);
		}
	}
}

const char *clause_word(const struct clause *c, u32 i)
{
	return i < c->word_count ? c->words[i] : "";
}

bool clause_has(const struct clause *c, const char *word)
{
	u32 i;

	for (i = 0; i < c->word_count; i++)
		if (!strcmp(c->words[i], word))
			return true;
	return false;
}

const char *clause_text(const struct clause *c, const char *key, const char *otherwise)
{
	u32 i;

	for (i = 0; i < c->field_count; i++)
		if (!strcmp(c->fields[i].key, key))
			return c->fields[i].value;
	return otherwise;
}

/* A number field; a value with a unit is a time, and stands for its stamp. */
s64 clause_num(const struct clause *c, const char *key, s64 otherwise)
{
	const char *v = clause_text(c, key, "");
	char *end;
	s64 n;

	if (!*v)
		return otherwise;
	n = *v == '-' ? (s64)strtoll(v, &end, 0) : (s64)strtoull(v, &end, 0);
	if (!*end)
		return n;
	return tbnet2_stamp(time_of(v));
}

s64 number(const char *s)
{
	char *end;
	s64 n = strtoll(s, &end, 10);

	if (!*s || *end)
		fail("\"%s\" is no number", s);
	return n;
}

s64 time_of(const char *s)
{
	char *unit;
	s64 n = strtoll(s, &unit, 10);

	if (!strcmp(unit, "ms"))
		return n * TBNET2_MS;
	if (!strcmp(unit, "us"))
		return n * TBNET2_US;
	if (!strcmp(unit, "ns"))
		return n;
	if (strcmp(unit, "s"))
		fail("\"%s\" is no time", s);
	return n * TBNET2_SEC;
}

/* Reads a set of rail ids: 0,2 or - for none. */
u64 rails_of(const char *s)
{
	u64 set = 0;

	while (*s && *s != '-') {
		char *end;
		unsigned long id = strtoul(s, &end, 10);

		if (end == s || id >= TBNET2_RAILS_MAX)
			fail("\"%s\" is no set of rails", s);
		set |= tbnet2_bit((u8)id);
		s = *end == ',' ? end + 1 : end;
	}
	return set;
}

static u8 digit(char c)
{
	if (c >= '0' && c <= '9')
		return (u8)(c - '0');
	if (c >= 'a' && c <= 'f')
		return (u8)(c - 'a' + 10);
	fail("'%c' is no digit", c);
}

/* Reads bytes in hex and gives their number. */
u32 bytes_of(const char *hex, u8 *out, u32 most)
{
	u32 n;

	for (n = 0; hex[0] && hex[1]; n++, hex += 2) {
		if (n == most)
			fail("too many bytes");
		out[n] = (u8)(digit(hex[0]) << 4 | digit(hex[1]));
	}
	return n;
}
