// SPDX-License-Identifier: GPL-2.0-only
/* Ports and paths: what xdomain.c asks of the connection manager. One lane, no bonding. */
#include "tbsim.h"

bool tb_acpi_is_xdomain_allowed(void) { return true; }
void tb_service_debugfs_init(struct tb_service *svc) {}
void tb_service_debugfs_remove(struct tb_service *svc) {}
void tb_xdomain_debugfs_init(struct tb_xdomain *xd) {}
void tb_xdomain_debugfs_remove(struct tb_xdomain *xd) {}
int tb_port_disable(struct tb_port *port) { return 0; }
int tb_port_enable(struct tb_port *port) { return 0; }
int tb_port_get_link_speed(struct tb_port *port) { return 20; }
int tb_port_get_link_width(struct tb_port *port) { return 1; }
int tb_port_get_link_generation(struct tb_port *port) { return 3; }
void tb_port_lane_bonding_disable(struct tb_port *port) {}
int tb_port_lane_bonding_enable(struct tb_port *port) { return -EOPNOTSUPP; }
int tb_port_unlock(struct tb_port *port) { return 0; }
int tb_port_update_credits(struct tb_port *port) { return 0; }
int tb_wait_for_port(struct tb_port *port, bool wait_if_unplugged) { return 1; }
#ifdef TBSIM_CTL_INDEX
int tb_port_set_link_width(struct tb_port *port, enum tb_link_width width) { return 0; }
int tb_port_wait_for_link_width(struct tb_port *port, unsigned int width, int ms) { return 0; }
#else
int tb_port_set_link_width(struct tb_port *port, unsigned int width) { return 0; }
int tb_port_wait_for_link_width(struct tb_port *port, int width, int ms) { return 0; }
#endif

static struct tbsim_host *host_of(const struct tb *tb)
{
	return &tbsim_hosts[tb->index];
}

/* Looks every transmit ring's way up, so that frames need not. Under tbsim_lock. */
static void resolve(struct tbsim_host *h)
{
	int tx, rx;

	for (tx = 0; tx < TBSIM_RINGS; tx++) {
		h->target[tx] = -1;
		for (rx = 0; h->out[tx].xd && rx < TBSIM_RINGS; rx++)
			if (h->peer->in[rx].xd && h->peer->in[rx].hop == h->out[tx].hop)
				h->target[tx] = rx;
	}
}

int tb_domain_approve_xdomain_paths(struct tb *tb, struct tb_xdomain *xd, int transmit_path, int transmit_ring,
				    int receive_path, int receive_ring)
{
	struct tbsim_host *h = host_of(tb);
	unsigned long flags;

	if (transmit_ring >= TBSIM_RINGS || receive_ring >= TBSIM_RINGS)
		return -EINVAL;
	spin_lock_irqsave(&tbsim_lock, flags);
	if (transmit_ring > 0)
		h->out[transmit_ring] = (struct tbsim_path){ xd, transmit_path };
	if (receive_ring > 0)
		h->in[receive_ring] = (struct tbsim_path){ xd, receive_path };
	resolve(h);
	resolve(h->peer);
	spin_unlock_irqrestore(&tbsim_lock, flags);
	return 0;
}

static void forget(struct tbsim_path *paths, const struct tb_xdomain *xd, int hop, int ring)
{
	int i;

	for (i = 0; i < TBSIM_RINGS; i++)
		if (paths[i].xd == xd && (hop < 0 || paths[i].hop == hop) && (ring < 0 || i == ring))
			paths[i].xd = NULL;
}

int tb_domain_disconnect_xdomain_paths(struct tb *tb, struct tb_xdomain *xd, int transmit_path, int transmit_ring,
				       int receive_path, int receive_ring)
{
	struct tbsim_host *h = host_of(tb);
	unsigned long flags;

	spin_lock_irqsave(&tbsim_lock, flags);
	forget(h->out, xd, transmit_path, transmit_ring);
	forget(h->in, xd, receive_path, receive_ring);
	resolve(h);
	resolve(h->peer);
	spin_unlock_irqrestore(&tbsim_lock, flags);
	return 0;
}
