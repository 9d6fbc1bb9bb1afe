// SPDX-License-Identifier: GPL-2.0-only
/* The ring engine: copies frames from transmit to receive rings, as DMA would. */
#include <linux/crc32.h>
#include <linux/io.h>
#include "tbsim.h"

DEFINE_SPINLOCK(tbsim_lock);

#define BUDGET 64	/* frames a run, which bounds the time with interrupts off */

static struct ring_desc *descriptors(struct tbsim_host *h, u32 base)
{
	u64 phys = tbsim_reg(h, base) | (u64)tbsim_reg(h, base + 4) << 32;

	return phys ? phys_to_virt(phys) : NULL;
}

/* A control packet arrives with the route back to its sender, marked by the top bit. */
static void turn_route(u8 *frame, u32 size, u32 port)
{
	__be32 *word = (__be32 *)frame;

	word[0] = cpu_to_be32(BIT(31));
	word[1] = cpu_to_be32(port);
	*(__be32 *)(frame + size - 4) = cpu_to_be32(~__crc32c_le(~0, frame, size - 4));
}

/* 0: delivered, -EAGAIN: no descriptor yet, -EINVAL: not wanted, lost */
static int deliver(struct tbsim_host *h, int ring, const struct ring_desc *from, u32 port)
{
	u32 base = REG_RX_RING_BASE + ring * 16, options = REG_RX_OPTIONS_BASE + ring * 32;
	u32 count = tbsim_reg(h, base + 12) & 0xffff, size = from->length ?: 4096;
	u32 enabled = tbsim_reg(h, options), mask = tbsim_reg(h, options + 4);
	struct ring_desc *to = descriptors(h, base);

	if (!(enabled & RING_FLAG_ENABLE) || !to || !count)
		return -EINVAL;
	if (!(enabled & RING_FLAG_RAW) && (!(mask >> 16 & BIT(from->sof)) || !(mask & BIT(from->eof))))
		return -EINVAL;
	if (h->rx_pos[ring] == (tbsim_reg(h, base + 8) & 0xffff))
		return -EAGAIN;
	to += h->rx_pos[ring];
	memcpy(phys_to_virt(to->phys), phys_to_virt(from->phys), size);
	if (port)
		turn_route(phys_to_virt(to->phys), size, port);
	to->length = from->length;
	to->eof = from->eof;
	to->sof = from->sof;
	smp_wmb(); /* the frame before its flag */
	to->flags = RING_DESC_COMPLETED;
	h->rx_pos[ring] = (h->rx_pos[ring] + 1) % count;
	set_bit(TBSIM_RINGS + ring, &h->pending);
	return 0;
}

static int forward(struct tbsim_host *h, int ring, const struct ring_desc *from)
{
	u32 port;

	if (ring)
		return h->target[ring] < 0 ? -EINVAL : deliver(h->peer, h->target[ring], from, 0);
	port = be32_to_cpu(((__be32 *)phys_to_virt(from->phys))[1]);
	return port == 1 ? deliver(h->peer, 0, from, port) : -EINVAL;
}

/* Sends what a ring has; returns what is left of the budget. */
static int drain(struct tbsim_host *h, int ring, int budget)
{
	u32 base = REG_TX_RING_BASE + ring * 16;
	u32 count = tbsim_reg(h, base + 12) & 0xffff;
	struct ring_desc *first = descriptors(h, base), *from;

	if (!(tbsim_reg(h, REG_TX_OPTIONS_BASE + ring * 32) & RING_FLAG_ENABLE) || !first || !count)
		return budget;
	for (; budget && h->tx_pos[ring] != tbsim_reg(h, base + 8) >> 16; budget--) {
		from = first + h->tx_pos[ring];
		if (forward(h, ring, from) == -EAGAIN)
			break;
		from->flags |= RING_DESC_COMPLETED;
		h->tx_pos[ring] = (h->tx_pos[ring] + 1) % count;
		set_bit(ring, &h->pending);
	}
	return budget;
}

static void raise_interrupts(struct tbsim_host *h)
{
	int bit;

	for_each_set_bit(bit, &h->pending, 2 * TBSIM_RINGS)
		if (tbsim_reg(h, REG_RING_INTERRUPT_BASE) & BIT(bit)) {
			clear_bit(bit, &h->pending);
			tbsim_interrupt(h, bit);
		}
}

void tbsim_engine_run(struct tasklet_struct *t)
{
	struct tbsim_host *h = from_tasklet(h, t, engine);
	int ring, budget = BUDGET;
	unsigned long flags;

	spin_lock_irqsave(&tbsim_lock, flags);
	for (ring = 0; ring < TBSIM_RINGS; ring++)
		budget = drain(h, ring, budget);
	spin_unlock_irqrestore(&tbsim_lock, flags);
	raise_interrupts(h);
	raise_interrupts(h->peer);
	if (!budget)
		tasklet_schedule(t);
}
