/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * What a batch of received frames brought: deliveries for the consumer,
 * events, and what the receive half has for the send half. One inbox goes
 * through tbnet2_receive() any number of times, then tbnet2_apply(), then
 * tbnet2_inbox_reset(). States lie in the received frames until then.
 */
#ifndef TBNET2_CORE_INBOX_H
#define TBNET2_CORE_INBOX_H

#include "packet.h"
#include "tuning.h"

/* Where a rail stands [8]. */
enum tbnet2_liveness {
	TBNET2_LIVE_DOWN,
	TBNET2_LIVE_PROBING,
	TBNET2_LIVE_UP,
	TBNET2_LIVE_SUSPECT,
};

/* Why a rail is not up. */
enum tbnet2_reason {
	TBNET2_REASON_NONE,
	TBNET2_REASON_NEW,		/* has never been up */
	TBNET2_REASON_NO_CARRIER,
	TBNET2_REASON_SILENT,		/* nothing is heard from the peer */
	TBNET2_REASON_UNHEARD,		/* the peer does not hear us */
	TBNET2_REASON_UNANSWERED,	/* frames are not acknowledged */
	TBNET2_REASON_DISABLED,		/* taken out of use here */
};

enum tbnet2_event_about {
	TBNET2_ABOUT_RAIL,	/* a rail changed its state */
	TBNET2_ABOUT_MTU,	/* what a rail is proven to pass changed */
	TBNET2_ABOUT_DEAD,	/* the association has ended */
};

/* A change worth telling. */
struct tbnet2_event {
	u8 kind;
	u8 rail;
	u8 state;
	u8 reason;
	u32 mtu;
};

/**
 * struct tbnet2_delivery - received content for the consumer
 * @packet: its number in @channel
 * @offset: of the content in the packet; 0 in the ordered class
 * @total: the packet's length
 * @len: bytes of content; all of the packet in the ordered class
 * @buffer: holds it and is the consumer's now; NULL: it lies in @frame
 * @frame: the received frame, valid only as long as that is
 * @from: place of the content in @frame
 * @channel: of the packet
 * @has_desc: @desc holds
 * @desc: work left to do on the packet
 */
struct tbnet2_delivery {
	u32 packet;
	u32 offset;
	u32 total;
	u32 len;
	void *buffer;
	void *frame;
	u32 from;
	u8 channel;
	bool has_desc;
	struct tbnet2_desc desc;
};

/* A PING, PONG or ACK on its way to the send half. */
struct tbnet2_state_frame {
	struct tbnet2_cursor body;
	u8 rail;
	u8 type;
};

/* A PING to be answered. */
struct tbnet2_ping {
	u32 stamp;
	u8 rail;
};

/* An array that grows. */
struct tbnet2_list {
	u32 count;
	u32 room;
};

struct tbnet2_inbox {
	struct tbnet2_delivery *deliveries;
	struct tbnet2_event *events;
	struct tbnet2_list delivered;	/* of deliveries */
	struct tbnet2_list told;	/* of events */
	u64 events_lost;		/* for want of memory */

	/* private: from the receive half to the send half */
	struct tbnet2_state_frame *states;
	struct tbnet2_ping *pings;
	struct tbnet2_list stated;	/* of states */
	struct tbnet2_list pinged;	/* of pings */
	u64 heard_here;			/* the peer's frames have come on these lately */
	bool ack;			/* the state is due as an ACK */
	u32 state_len;			/* 0: nothing is owed */
	u8 state[STATE_BYTES];
};

void tbnet2_inbox_reset(struct tbnet2_inbox *in);
void tbnet2_inbox_free(struct tbnet2_inbox *in);
bool tbnet2_inbox_reserve(struct tbnet2_inbox *in, u32 deliveries);
void tbnet2_inbox_event(struct tbnet2_inbox *in, struct tbnet2_event e);

#endif /* TBNET2_CORE_INBOX_H */
