# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
# The core's objects, from the folder of the module that includes this.
tbnet2-core := \
	core/acked.o \
	core/assembly.o \
	core/association.o \
	core/burst.o \
	core/control.o \
	core/emit.o \
	core/estimate.o \
	core/handshake.o \
	core/handshake_frames.o \
	core/handshake_match.o \
	core/handshake_nonce.o \
	core/handshake_notice.o \
	core/handshake_peer.o \
	core/handshake_rail.o \
	core/health.o \
	core/hello.o \
	core/inbox.o \
	core/ledger.o \
	core/owe.o \
	core/position.o \
	core/probe.o \
	core/proof.o \
	core/ranges.o \
	core/receiver.o \
	core/recv_channel.o \
	core/recv_rail.o \
	core/resequence.o \
	core/schedule.o \
	core/send_channel.o \
	core/send_rail.o \
	core/sender.o \
	core/skip.o \
	core/tick.o \
	core/turn.o \
	core/wire.o \
	core/wire_state.o
