/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Frames in words, and back.
 */
#ifndef RUNNER_FRAME_H
#define RUNNER_FRAME_H

#include "../../../kmod/tbnet2/core/wire.h"
#include "text.h"

/* A frame and room for all that can be said of it. */
struct bytes {
	u8 *b;
	u32 n;
	u32 room;
};

u8 *bytes_add(struct bytes *f, u32 n);
void frame_build(struct bytes *f, const struct clause *c, u32 index);
void frame_seal(struct bytes *f);
void frame_mangle(struct bytes *f, const struct clause *c);
void frame_text(struct text *t, const u8 *frame, u32 len, u32 index);
void frame_content(u8 *b, u8 ch, u32 packet, u32 off, u32 n);
bool frame_is_content(const u8 *b, u8 ch, u32 packet, u32 off, u32 n);
void frame_desc(struct text *t, const struct tbnet2_desc *o);
struct tbnet2_desc desc_of(const char *s);

#endif /* RUNNER_FRAME_H */
