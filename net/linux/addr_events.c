// SPDX-License-Identifier: GPL-2.0
/*
 * addr_events.c: addresses that come to a namespace and go: tells its core
 * (net/rds/conn/conn_addrs.cc).  Devices count, too: one that is down may have no addresses.
 *
 * A namespace's devices end before its part of rds.ko, and come after it.
 */
#include <linux/inetdevice.h>
#include <linux/netdevice.h>
#include <net/addrconf.h>
#include <net/if_inet6.h>

#include "glue.h"

static int rds_addr_event(unsigned long event, const struct net_device *dev)
{
	if (event == NETDEV_UP || event == NETDEV_DOWN)
		rds_net_addrs_changed(rds_net_of(dev_net(dev)));
	return NOTIFY_DONE;
}

static int rds_inetaddr_event(struct notifier_block *nb, unsigned long event, void *ifa)
{
	return rds_addr_event(event, ((const struct in_ifaddr *)ifa)->ifa_dev->dev);
}

/* Softirq, too: a router has told of a prefix. */
static int rds_inet6addr_event(struct notifier_block *nb, unsigned long event, void *ifa)
{
	return rds_addr_event(event, ((const struct inet6_ifaddr *)ifa)->idev->dev);
}

static int rds_netdev_event(struct notifier_block *nb, unsigned long event, void *info)
{
	return rds_addr_event(event, netdev_notifier_info_to_dev(info));
}

static struct notifier_block rds_inetaddr_block = {.notifier_call = rds_inetaddr_event};
static struct notifier_block rds_inet6addr_block = {.notifier_call = rds_inet6addr_event};
static struct notifier_block rds_netdev_block = {.notifier_call = rds_netdev_event};

int rds_addr_events_start(void)
{
	int err = register_inetaddr_notifier(&rds_inetaddr_block);

	if (err)
		return err;
	if (IS_ENABLED(CONFIG_IPV6))
		err = register_inet6addr_notifier(&rds_inet6addr_block);
	if (err)
		goto stop_inet;
	err = register_netdevice_notifier(&rds_netdev_block);
	if (err)
		goto stop_inet6;
	return 0;

stop_inet6:
	if (IS_ENABLED(CONFIG_IPV6))
		unregister_inet6addr_notifier(&rds_inet6addr_block);
stop_inet:
	unregister_inetaddr_notifier(&rds_inetaddr_block);
	return err;
}

void rds_addr_events_stop(void)
{
	unregister_netdevice_notifier(&rds_netdev_block);
	if (IS_ENABLED(CONFIG_IPV6))
		unregister_inet6addr_notifier(&rds_inet6addr_block);
	unregister_inetaddr_notifier(&rds_inetaddr_block);
}
