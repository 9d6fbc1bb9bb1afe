// SPDX-License-Identifier: Apache-2.0
/*
 * runner frames: reads frames in hex, a line each, and says what they hold.
 * runner scripts: reads scripts without expect lines, each ended by a line
 * with a dot; prints the lines that each step brings under a line "at", and
 * behind the last "end" or "end: what is wrong". The line "fail N" has every
 * N-th request for memory fail in the scripts behind it.
 */
#include <stdio.h>
#include <stdlib.h>
#include "runner.h"

static struct clause line_groups[GROUPS_MOST];

static void print_step(struct subject *s)
{
	printf("at\n");
	if (s->out.n)
		fwrite(s->out.s, 1, s->out.n, stdout);
	s->out.n = 0;
}

/* Does what one line asks for. */
static void play_line(struct subject **s, char *line, s64 *now, bool *open)
{
	struct clause c = { .groups = line_groups };
	bool next = !strncmp(line, "at ", 3);
	const char *verb;

	if (next && *open) {
		(*s)->end(*s, *now);
		print_step(*s);
	}
	clause_parse(&c, line);
	verb = clause_word(&c, 0);
	if (next || !strcmp(verb, "and")) {
		u32 skip = next ? 2 : 1;

		if (next)
			*now = time_of(clause_word(&c, 1));
		*open = true;
		c.word_count -= skip;
		memmove(c.words, c.words + skip, c.word_count * sizeof(c.words[0]));
		if (!strcmp(clause_word(&c, 0), "run"))
			(*s)->run_to(*s, *now);
		else
			(*s)->act(*s, &c, *now);
	} else if (!*s) {
		*s = strcmp(verb, "host") ? player_new(&c) : greeter_new(&c);
	} else {
		(*s)->set_up(*s, &c);
	}
}

static void finish(struct subject *s, s64 now, bool open)
{
	struct text wrong = { 0 };

	if (open) {
		s->end(s, now);
		print_step(s);
	}
	s->finish(s, &wrong);
	if (memory.out)
		text_add(&wrong, " %ld pieces of memory are left", memory.out);
	printf(wrong.n ? "end:%s\n" : "end\n", wrong.s);
	fflush(stdout);
	memory.out = 0;
	text_free(&wrong);
}

void play_scripts(void)
{
	struct subject *s = NULL;
	bool open = false;
	char *line = NULL;
	size_t room = 0;
	ssize_t n;
	s64 now = 0;

	while ((n = getline(&line, &room, stdin)) > 0) {
		if (line[n - 1] == '\n')
			line[n - 1] = 0;
		if (!strncmp(line, "fail ", 5)) {
			memory.fails_every = strtoul(line + 5, NULL, 10);
			memory.asked = 0;
		} else if (strcmp(line, ".")) {
			play_line(&s, line, &now, &open);
		} else {
			finish(s, now, open);
			s = NULL;
			open = false;
		}
	}
	free(line);
}

int main(int argc, char **argv)
{
	static char buffer[1 << 18];

	make_crc_table();
	setvbuf(stdout, buffer, _IOFBF, sizeof(buffer));
	if (argc == 2 && !strcmp(argv[1], "scripts"))
		play_scripts();
	else if (argc == 2 && !strcmp(argv[1], "frames"))
		play_frames();
	else
		fail("usage: runner frames|scripts");
	fflush(stdout);
	return 0;
}
