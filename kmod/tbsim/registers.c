// SPDX-License-Identifier: GPL-2.0-only
/*
 * The fake register file under the kernel's own nhi.c. nhi.c is included, not
 * linked, so that its accessors come here and its PCI driver is not registered.
 * Before it include only what it includes itself: more changes symbol CRCs.
 */
#include <linux/pm_runtime.h>
#include <linux/slab.h>
#include <linux/errno.h>
#include <linux/pci.h>
#include <linux/dma-mapping.h>
#include <linux/interrupt.h>
#include <linux/iommu.h>
#include <linux/module.h>
#include <linux/delay.h>
#include <linux/property.h>
#include <linux/string_helpers.h>

static u32 tbsim_read(const void __iomem *address);
static void tbsim_write(u32 value, void __iomem *address);
#undef ioread32
#undef iowrite32
#define ioread32(address) tbsim_read(address)
#define iowrite32(value, address) tbsim_write(value, address)
#undef MODULE_DEVICE_TABLE
#define MODULE_DEVICE_TABLE(type, name)
#undef rootfs_initcall
#define rootfs_initcall(function)
#undef module_exit
#define module_exit(function)
#pragma GCC diagnostic ignored "-Wunused-function"
#pragma GCC diagnostic ignored "-Wunused-variable"
#include "nhi.c"
#include <linux/vmalloc.h>
#include "tbsim.h"

static u32 tbsim_read(const void __iomem *address)
{
	return READ_ONCE(*(u32 *)(__force void *)address);
}

static struct tbsim_host *host_of(const void __iomem *address)
{
	const u8 *a = (__force const u8 *)address;
	struct tbsim_host *h = tbsim_hosts;

	return a >= h->regs && a < h->regs + TBSIM_REGS ? h : h + 1;
}

/* A ring's options are written when it starts and, as 0, when it stops. */
static void options_written(struct tbsim_host *h, u32 offset, u32 value)
{
	bool tx = offset < REG_RX_OPTIONS_BASE;
	u32 ring = (offset - (tx ? REG_TX_OPTIONS_BASE : REG_RX_OPTIONS_BASE)) / 32;
	unsigned long flags;

	/* The engine runs under the lock: once we have it, it has left the ring's memory. */
	spin_lock_irqsave(&tbsim_lock, flags);
	WRITE_ONCE(*(u32 *)(h->regs + offset), value);
	if (!value && tx)
		h->tx_pos[ring] = 0;
	if (!value && !tx)
		h->rx_pos[ring] = 0;
	spin_unlock_irqrestore(&tbsim_lock, flags);
}

static bool is_options(u32 offset)
{
	return (offset >= REG_TX_OPTIONS_BASE && offset < REG_TX_OPTIONS_BASE + TBSIM_RINGS * 32 && !(offset & 31)) ||
	       (offset >= REG_RX_OPTIONS_BASE && offset < REG_RX_OPTIONS_BASE + TBSIM_RINGS * 32 &&
		!((offset - REG_RX_OPTIONS_BASE) & 31));
}

/* Runs under the ring's lock: it only wakes the engine. */
static void tbsim_write(u32 value, void __iomem *address)
{
	struct tbsim_host *h = host_of(address);
	u32 offset = (__force u8 *)address - h->regs;

	if (is_options(offset)) {
		options_written(h, offset, value);
		return;
	}
	if (offset == REG_RING_INTERRUPT_MASK_CLEAR_BASE) {
		*(u32 *)(h->regs + REG_RING_INTERRUPT_BASE) &= ~value;
		return;
	}
	WRITE_ONCE(*(u32 *)(h->regs + offset), value);
	smp_mb(); /* the value before the engine looks */
	if (offset < TBSIM_RINGS * 16 || offset == REG_RING_INTERRUPT_BASE)
		tasklet_schedule(&h->engine);
	else if (offset >= REG_RX_RING_BASE && offset < REG_RX_RING_BASE + TBSIM_RINGS * 16)
		tasklet_schedule(&h->peer->engine);
}

/* Raises a ring's interrupt; nhi->lock keeps the ring from being freed. */
void tbsim_interrupt(struct tbsim_host *h, int bit)
{
	struct tb_ring *ring;
	unsigned long flags;

	spin_lock_irqsave(&h->nhi.lock, flags);
	ring = bit < TBSIM_RINGS ? h->nhi.tx_rings[bit] : h->nhi.rx_rings[bit - TBSIM_RINGS];
	if (ring) {
		spin_lock(&ring->lock);
		__ring_interrupt(ring);
		spin_unlock(&ring->lock);
	}
	spin_unlock_irqrestore(&h->nhi.lock, flags);
}

static void pdev_release(struct device *dev)
{
	kfree(to_pci_dev(dev));
}

static u64 dma_mask = DMA_BIT_MASK(64);

int tbsim_nhi_init(struct tbsim_host *h)
{
	struct tb_nhi *nhi = &h->nhi;
	int ret = -ENOMEM;

	h->pdev = kzalloc(sizeof(*h->pdev), GFP_KERNEL);
	if (!h->pdev)
		return ret;
	h->pdev->dev.dma_mask = &dma_mask;
	h->pdev->dev.coherent_dma_mask = DMA_BIT_MASK(64);
	h->pdev->dev.release = pdev_release;
	dev_set_name(&h->pdev->dev, "tbsim-nhi%d", h->id);
	ret = device_register(&h->pdev->dev);
	if (ret) {
		put_device(&h->pdev->dev);
		return ret;
	}
	h->regs = vzalloc(TBSIM_REGS);
	nhi->tx_rings = kcalloc(TBSIM_RINGS, sizeof(*nhi->tx_rings), GFP_KERNEL);
	nhi->rx_rings = kcalloc(TBSIM_RINGS, sizeof(*nhi->rx_rings), GFP_KERNEL);
	spin_lock_init(&nhi->lock);
	nhi->pdev = h->pdev;
	nhi->iobase = (void __iomem *)h->regs;
	nhi->hop_count = TBSIM_RINGS;
	ida_init(&nhi->msix_ida);
	tasklet_setup(&h->engine, tbsim_engine_run);
	if (h->regs && nhi->tx_rings && nhi->rx_rings)
		return 0;
	tbsim_nhi_exit(h);
	return -ENOMEM;
}

void tbsim_nhi_exit(struct tbsim_host *h)
{
	tasklet_kill(&h->engine);
	kfree(h->nhi.tx_rings);
	kfree(h->nhi.rx_rings);
	vfree(h->regs);
	device_unregister(&h->pdev->dev);
}
