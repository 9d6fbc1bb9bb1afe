/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Finds the speakers on the other ends of the local devices, and agrees with
 * each on an association and its rails [7]. No clock and no lock: one caller
 * at a time passes frames and the time; what is to be sent and what has
 * changed goes out by the calls of struct tbnet2_handshake_ops.
 */
#ifndef TBNET2_CORE_HANDSHAKE_H
#define TBNET2_CORE_HANDSHAKE_H

#include "tuning.h"
#include "wire.h"

#define DEVICE_NAME_MAX	15	/* bytes, as IFNAMSIZ without its terminator */

/* A host name, without terminator. */
struct tbnet2_name {
	u8 len;
	char text[TBNET2_HOST_NAME_MAX];
};

/* Names a speaker: an endpoint on a host. */
struct tbnet2_peer_id {
	u8 host[16];	/* UUID */
	u8 endpoint;
};

/**
 * struct tbnet2_attachment - describes a local device
 * @name: for notices, terminated
 * @mac: its address
 * @carrier: it has one
 * @crc: frames to it must carry a CRC
 * @mtu: bytes of one frame after the Ethernet header
 * @rate: bits per second, 0 unknown
 * @group: equal for devices of one cable or switch segment
 */
struct tbnet2_attachment {
	char name[DEVICE_NAME_MAX + 1];
	u8 mac[6];
	bool carrier;
	bool crc;
	u32 mtu;
	u64 rate;
	u64 group;
};

/* Why an association has ended. */
enum tbnet2_gone {
	TBNET2_GONE_REPLACED,	/* the peer has begun anew */
	TBNET2_GONE_RESET,	/* the peer does not know the association */
	TBNET2_GONE_CLOSED,	/* the peer has closed it */
	TBNET2_GONE_FORGOTTEN,	/* it was ended here */
};

/* What keeps two hosts apart. */
enum tbnet2_notice_kind {
	TBNET2_NOTICE_SERVICE,	/* the other host serves nothing we do */
	TBNET2_NOTICE_VERSION,	/* no common protocol version */
	TBNET2_NOTICE_CONFLICT,	/* two machines have one UUID */
};

/* Something a user must know: why no association forms. */
struct tbnet2_notice {
	enum tbnet2_notice_kind kind;
	struct tbnet2_peer_id peer;
	struct tbnet2_name name;		/* of the other host */
	char device[DEVICE_NAME_MAX + 1];	/* ours */
	u8 mac[6];				/* of the other host's device */
	s64 first;				/* when it was first so */
	s64 last;				/* and last */
	bool told;				/* passed on as a change */
};

/* What two ends have agreed on. */
struct tbnet2_association_info {
	struct tbnet2_name name;	/* of the peer's host */
	u64 epoch;			/* the peer's */
	u32 local_index;		/* that frames to us carry */
	u32 peer_index;			/* that frames to the peer carry */
	u32 slots;			/* the peer's; 0: not told */
	bool retransmit;		/* in force: both ask for it */
	bool offload;			/* the peer takes offload descriptors */
};

/* What two ends have agreed on for a rail. */
struct tbnet2_rail_info {
	u8 id;			/* ours */
	u8 peer_id;		/* the peer's for the same rail */
	u8 device;
	u8 mac[6];		/* of the peer's device */
	bool no_crc;		/* the peer asks for none in frames to it */
	u32 mtu;		/* the smaller of both ends */
	u32 peer_mtu;		/* the peer's */
	u64 rate;		/* bits per second, 0 unknown: the smaller */
	u64 peer_rate;		/* the peer's */
	u64 group;
};

enum tbnet2_change_kind {
	TBNET2_PEER_MADE,	/* an association is agreed; its rails follow */
	TBNET2_PEER_GONE,	/* the association and all its rails have ended */
	TBNET2_RAIL_MADE,	/* a rail is agreed */
	TBNET2_RAIL_INFO,	/* what both ends say of a rail has changed */
	TBNET2_RAIL_GONE,	/* a rail has ended */
	TBNET2_NOTICED,		/* something a user must know */
};

/* A step that the caller follows. */
struct tbnet2_change {
	enum tbnet2_change_kind kind;
	const struct tbnet2_peer_id *peer;
	const struct tbnet2_association_info *association;	/* TBNET2_PEER_MADE */
	const struct tbnet2_rail_info *rail;			/* TBNET2_RAIL_ */
	const struct tbnet2_notice *notice;			/* TBNET2_NOTICED */
	enum tbnet2_gone reason;				/* TBNET2_PEER_GONE */
};

/* Why a frame had no effect; each that is not taken counts under one. */
enum tbnet2_handshake_drop {
	TBNET2_HS_MALFORMED,	/* not a frame of the handshake, or its fields cannot be */
	TBNET2_HS_VERSION,
	TBNET2_HS_CRC,
	TBNET2_HS_OWN,		/* our own, come back */
	TBNET2_HS_MISMATCH,	/* of a host that serves nothing we do, or has our UUID */
	TBNET2_HS_STALE,	/* its echo is none of our last nonces, or that was used */
	TBNET2_HS_OLD_EPOCH,	/* of an epoch that has ended */
	TBNET2_HS_WRONG_ROLE,	/* an answer that the peer is not to give */
	TBNET2_HS_WRONG_INDEX,	/* for an index that we do not have */
	TBNET2_HS_NOT_CHOSEN,	/* of a pair of devices that is no rail */
	TBNET2_HS_FULL,		/* a table is full, or there is no memory */
	TBNET2_HS_RATE,		/* too many to answer */
	TBNET2_HS_NO_DEVICE,	/* on a device that has been removed */
	TBNET2_HS_DROPS,
};

/* Totals: frames are taken and all drops. */
struct tbnet2_handshake_stats {
	u64 frames;
	u64 taken;
	u64 drops[TBNET2_HS_DROPS];
	u64 resets_held;	/* RESETs not sent for their rate */
	u64 notes_full;		/* notices not kept for want of room */
};

/**
 * struct tbnet2_handshake_ops - what the handshake asks of its user
 * @random: 64 unpredictable bits
 * @send: send a frame on a device; it is valid only during the call
 * @change: follow a step; what it points to is valid only during the call
 *
 * They must not call the handshake.
 */
struct tbnet2_handshake_ops {
	u64 (*random)(void *context);
	void (*send)(void *context, u8 device, const u8 *to, const u8 *frame, u32 len);
	void (*change)(void *context, const struct tbnet2_change *c);
};

/**
 * struct tbnet2_handshake_config - who this endpoint is, for its life
 * @host: UUID
 * @endpoint: on the host
 * @name: of the host; only what a peer takes of it is sent
 * @service: enum tbnet2_service
 * @epoch: drawn when the endpoint starts
 * @caps: of the host; TBNET2_CAP_CRC is each device's own
 * @slots: packets per channel that a peer may have open; 0: default
 * @ops: what the handshake asks of its user
 * @context: for @ops
 */
struct tbnet2_handshake_config {
	u8 host[16];
	u8 endpoint;
	struct tbnet2_name name;
	u8 service;
	u64 epoch;
	u32 caps;
	u32 slots;
	const struct tbnet2_handshake_ops *ops;
	void *context;
};

struct tbnet2_handshake;

struct tbnet2_handshake *tbnet2_handshake_new(const struct tbnet2_handshake_config *c, s64 now);
void tbnet2_handshake_destroy(struct tbnet2_handshake *h);
int tbnet2_handshake_add(struct tbnet2_handshake *h, s64 now, u8 device,
			 const struct tbnet2_attachment *a);
void tbnet2_handshake_set(struct tbnet2_handshake *h, s64 now, u8 device,
			  const struct tbnet2_attachment *a);
void tbnet2_handshake_remove(struct tbnet2_handshake *h, u8 device);
void tbnet2_handshake_receive(struct tbnet2_handshake *h, s64 now, u8 device, const u8 *from,
			      const u8 *frame, u32 len);
void tbnet2_handshake_unknown(struct tbnet2_handshake *h, s64 now, u8 device, const u8 *from,
			      u32 index);
void tbnet2_handshake_heard(struct tbnet2_handshake *h, s64 now, const struct tbnet2_peer_id *id,
			    u8 rail, bool heard);
void tbnet2_handshake_forget(struct tbnet2_handshake *h, s64 now,
			     const struct tbnet2_peer_id *id);
void tbnet2_handshake_close(struct tbnet2_handshake *h, s64 now);
void tbnet2_handshake_tick(struct tbnet2_handshake *h, s64 now);
s64 tbnet2_handshake_deadline(const struct tbnet2_handshake *h);
const struct tbnet2_handshake_stats *tbnet2_handshake_stats(const struct tbnet2_handshake *h);

/* Whether a frame is one for tbnet2_handshake_receive(), by its first byte. */
static inline bool tbnet2_is_handshake(u8 version_type)
{
	return (version_type & 0x0f) <= TBNET2_RESET;
}

#endif /* TBNET2_CORE_HANDSHAKE_H */
