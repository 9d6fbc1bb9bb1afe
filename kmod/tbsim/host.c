// SPDX-License-Identifier: GPL-2.0-only
/* A host: domain, control channel and host router of one NHI. */
#include <linux/slab.h>
#include "tbsim.h"

struct tbsim_host tbsim_hosts[TBSIM_HOSTS];

static void domain_release(struct device *dev)
{
	kfree(container_of(dev, struct tb, dev));
}

static void switch_release(struct device *dev)
{
	struct tb_switch *sw = container_of(dev, struct tb_switch, dev);

	kfree(sw->ports);
	kfree(sw->uuid);
	kfree(sw);
}

TBSIM_CONST struct device_type tb_domain_type = { .name = "thunderbolt_domain", .release = domain_release };
TBSIM_CONST struct device_type tb_switch_type = { .name = "thunderbolt_device", .release = switch_release };

static bool event(void *data, enum tb_cfg_pkg_type type, const void *buf, size_t size)
{
	if (type == TB_CFG_PKG_XDOMAIN_REQ || type == TB_CFG_PKG_XDOMAIN_RESP)
		return tb_xdomain_handle_request(data, type, buf, size);
	return true;
}

static int domain_init(struct tbsim_host *h)
{
	struct tb *tb = kzalloc(sizeof(*tb), GFP_KERNEL);
	int ret;

	if (!tb)
		return -ENOMEM;
	tb->nhi = &h->nhi;
	tb->index = h->id;
	mutex_init(&tb->lock);
	tb->dev.parent = &h->pdev->dev;
	tb->dev.bus = &tb_bus_type;
	tb->dev.type = &tb_domain_type;
	dev_set_name(&tb->dev, "domain%d", h->id);
	h->tb = tb;
	ret = device_register(&tb->dev);
	if (ret) {
		put_device(&tb->dev);
		return ret;
	}
	tb->wq = alloc_ordered_workqueue("tbsim%d", 0, h->id);
#ifdef TBSIM_CTL_INDEX
	tb->ctl = tb_ctl_alloc(&h->nhi, h->id, 100, event, tb);
#else
	tb->ctl = tb_ctl_alloc(&h->nhi, 100, event, tb);
#endif
	if (tb->wq && tb->ctl)
		return 0;
	if (tb->wq)
		destroy_workqueue(tb->wq);
	if (tb->ctl)
		tb_ctl_free(tb->ctl);
	device_unregister(&tb->dev);
	return -ENOMEM;
}

static void domain_exit(struct tbsim_host *h)
{
	tb_ctl_free(h->tb->ctl);
	destroy_workqueue(h->tb->wq);
	device_unregister(&h->tb->dev);
}

static int switch_init(struct tbsim_host *h)
{
	struct tb_switch *sw = kzalloc(sizeof(*sw), GFP_KERNEL);
	int i, ret;

	if (!sw)
		return -ENOMEM;
	sw->tb = h->tb;
	sw->config.max_port_number = TBSIM_PORTS;
	sw->dev.parent = &h->tb->dev;
	sw->dev.bus = &tb_bus_type;
	sw->dev.type = &tb_switch_type;
	device_initialize(&sw->dev);
	dev_set_name(&sw->dev, "%d-0", h->id);
	ret = -ENOMEM;
	sw->uuid = kzalloc(sizeof(*sw->uuid), GFP_KERNEL);
	sw->ports = kcalloc(TBSIM_PORTS + 1, sizeof(*sw->ports), GFP_KERNEL);
	if (!sw->uuid || !sw->ports)
		goto put;
	uuid_gen(sw->uuid);
	for (i = 0; i <= TBSIM_PORTS; i++) {
		sw->ports[i].sw = sw;
		sw->ports[i].port = i;
		sw->ports[i].config.max_in_hop_id = 15;
		sw->ports[i].config.max_out_hop_id = 15;
	}
	ret = device_add(&sw->dev);
	if (ret)
		goto put;
	h->sw = sw;
	h->tb->root_switch = sw;
	return 0;
put:
	put_device(&sw->dev);
	return ret;
}

int tbsim_host_init(struct tbsim_host *h, int id)
{
	int i, ret;

	h->id = id;
	h->peer = &tbsim_hosts[!id];
	for (i = 0; i < TBSIM_RINGS; i++)
		h->target[i] = -1;
	ret = tbsim_nhi_init(h);
	if (ret)
		return ret;
	ret = domain_init(h);
	if (ret)
		goto nhi;
	ret = switch_init(h);
	if (!ret)
		return 0;
	domain_exit(h);
nhi:
	tbsim_nhi_exit(h);
	return ret;
}

void tbsim_host_exit(struct tbsim_host *h)
{
	h->tb->root_switch = NULL;
	device_unregister(&h->sw->dev);
	domain_exit(h);
	tbsim_nhi_exit(h);
}

void tbsim_host_plug(struct tbsim_host *h)
{
	struct tb_port *port = &h->sw->ports[1];

	mutex_lock(&h->tb->lock);
	port->xdomain = tb_xdomain_alloc(h->tb, &h->sw->dev, 1, h->sw->uuid, NULL);
	if (port->xdomain)
		tb_xdomain_add(port->xdomain);
	mutex_unlock(&h->tb->lock);
}

void tbsim_host_unplug(struct tbsim_host *h)
{
	struct tb_port *port = &h->sw->ports[1];
	struct tb_xdomain *xd;

	mutex_lock(&h->tb->lock);
	xd = port->xdomain;
	if (xd) {
		tb_xdomain_get(xd);
		xd->is_unplugged = true;
		tb_xdomain_remove(xd);
		port->xdomain = NULL;
		tb_domain_disconnect_xdomain_paths(h->tb, xd, -1, -1, -1, -1);
		tb_xdomain_put(xd);
	}
	mutex_unlock(&h->tb->lock);
}
