// SPDX-License-Identifier: GPL-2.0-only
/* The Thunderbolt bus: the part of the kernel's domain.c that services need. */
#include <linux/module.h>
#include "tbsim.h"

static const struct tb_service_id *match_id(struct device *dev, const struct device_driver *drv)
{
	const struct tb_service_driver *driver = container_of(drv, struct tb_service_driver, driver);
	const struct tb_service *svc = tb_to_service(dev);
	const struct tb_service_id *id = svc ? driver->id_table : NULL;

	for (; id && id->match_flags; id++) {
		if ((id->match_flags & TBSVC_MATCH_PROTOCOL_KEY) && strcmp(id->protocol_key, svc->key))
			continue;
		if ((id->match_flags & TBSVC_MATCH_PROTOCOL_ID) && id->protocol_id != svc->prtcid)
			continue;
		return id;
	}
	return NULL;
}

static int match(struct device *dev, TBSIM_CONST struct device_driver *drv)
{
	return !!match_id(dev, drv);
}

static int probe(struct device *dev)
{
	struct tb_service_driver *driver = container_of(dev->driver, struct tb_service_driver, driver);

	return driver->probe(tb_to_service(dev), match_id(dev, dev->driver));
}

static void remove(struct device *dev)
{
	struct tb_service_driver *driver = container_of(dev->driver, struct tb_service_driver, driver);

	if (driver->remove)
		driver->remove(tb_to_service(dev));
}

TBSIM_CONST struct bus_type tb_bus_type = {
	.name = "thunderbolt", .match = match, .probe = probe, .remove = remove,
};
