// SPDX-License-Identifier: GPL-2.0-only
/* Init and exit: two hosts, one cable, plugged. */
#include <linux/module.h>
#include "tbsim.h"

static int __init tbsim_init(void)
{
	int ret, i;

	ret = bus_register(&tb_bus_type);
	if (ret)
		return ret;
	ret = tb_xdomain_init();
	if (ret)
		goto bus;
	for (i = 0; i < TBSIM_HOSTS; i++) {
		ret = tbsim_host_init(&tbsim_hosts[i], i);
		if (ret)
			goto hosts;
	}
	for (i = 0; i < TBSIM_HOSTS; i++)
		tb_ctl_start(tbsim_hosts[i].tb->ctl);
	for (i = 0; i < TBSIM_HOSTS; i++)
		tbsim_host_plug(&tbsim_hosts[i]);
	return 0;
hosts:
	while (i--)
		tbsim_host_exit(&tbsim_hosts[i]);
	tb_xdomain_exit();
bus:
	bus_unregister(&tb_bus_type);
	return ret;
}

static void __exit tbsim_exit(void)
{
	int i;

	for (i = 0; i < TBSIM_HOSTS; i++)
		tbsim_host_unplug(&tbsim_hosts[i]);
	for (i = 0; i < TBSIM_HOSTS; i++)
		tb_ctl_stop(tbsim_hosts[i].tb->ctl);
	for (i = 0; i < TBSIM_HOSTS; i++)
		tasklet_kill(&tbsim_hosts[i].engine); /* either may run the other's rings */
	for (i = 0; i < TBSIM_HOSTS; i++)
		tbsim_host_exit(&tbsim_hosts[i]);
	tb_xdomain_exit();
	bus_unregister(&tb_bus_type);
}

module_init(tbsim_init);
module_exit(tbsim_exit);
MODULE_LICENSE("GPL");
