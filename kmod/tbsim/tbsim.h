/* SPDX-License-Identifier: GPL-2.0-only */
/* What the files of the simulator share: two hosts, one cable between their ports. */
#ifndef TBSIM_H
#define TBSIM_H

#include <linux/interrupt.h>
#include <linux/thunderbolt.h>
#include "tb.h"
#include "ctl.h"
#include "nhi_regs.h"

#ifndef TBSIM_CONST
#define TBSIM_CONST
#endif

#define TBSIM_HOSTS	2
#define TBSIM_RINGS	12		/* rings each way and NHI; interrupt bits then fit one register */
#define TBSIM_PORTS	2		/* lane adapters of the one cable */
#define TBSIM_REGS	0x40000		/* bytes of the register file */

/**
 * struct tbsim_path - what enable_paths() has programmed for a ring
 * @xd: XDomain the path goes to, NULL when unused
 * @hop: HopID on the cable
 */
struct tbsim_path {
	const struct tb_xdomain *xd;
	int hop;
};

/**
 * struct tbsim_host - one simulated host with one NHI
 * @peer: the host at the cable's other end
 * @out: transmit paths by ring, @in: receive paths by ring (tbsim_lock)
 * @target: receiving ring of the peer by transmit ring, -1 for none (tbsim_lock)
 * @tx_pos: next descriptor to send, @rx_pos: next to fill (tbsim_lock)
 * @pending: interrupts to raise, bit numbers as in the mask register
 */
struct tbsim_host {
	int id;
	struct tbsim_host *peer;
	struct pci_dev *pdev;
	struct tb_nhi nhi;
	u8 *regs;
	struct tb *tb;
	struct tb_switch *sw;
	struct tasklet_struct engine;
	struct tbsim_path out[TBSIM_RINGS], in[TBSIM_RINGS];
	int target[TBSIM_RINGS];
	u16 tx_pos[TBSIM_RINGS], rx_pos[TBSIM_RINGS];
	unsigned long pending;
};

extern struct tbsim_host tbsim_hosts[TBSIM_HOSTS];
extern spinlock_t tbsim_lock;	/* inside ring and NHI locks; nothing is taken inside it */
extern TBSIM_CONST struct device_type tb_domain_type;

static inline u32 tbsim_reg(struct tbsim_host *h, u32 offset)
{
	return READ_ONCE(*(u32 *)(h->regs + offset));
}

int tbsim_nhi_init(struct tbsim_host *h);
void tbsim_nhi_exit(struct tbsim_host *h);
void tbsim_engine_run(struct tasklet_struct *t);
void tbsim_interrupt(struct tbsim_host *h, int bit);
int tbsim_host_init(struct tbsim_host *h, int id);
void tbsim_host_exit(struct tbsim_host *h);
void tbsim_host_plug(struct tbsim_host *h);
void tbsim_host_unplug(struct tbsim_host *h);

#endif
