// SPDX-License-Identifier: GPL-2.0
/*
 * loop_linux.c: rds_loop.ko comes and goes.  All of loopback is in loop.cc.
 */
#include <linux/init.h>
#include <linux/module.h>

#include "../../net/linux/rds_linux.h"
#include "loop.h"

static const struct rds_transport *loop;

static int __init rds_loop_module_init(void)
{
	loop = rds_loop_init(rds_module(THIS_MODULE));
	return rds_transport_register(loop);
}
module_init(rds_loop_module_init);

static void __exit rds_loop_module_exit(void)
{
	rds_transport_unregister(loop);
}
module_exit(rds_loop_module_exit);

MODULE_DESCRIPTION("Reliable Datagram Sockets: both ends on this host");
MODULE_LICENSE("GPL");
RDS_TRANSPORT_MODULE;
