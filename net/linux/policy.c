// SPDX-License-Identifier: GPL-2.0
/*
 * policy.c: what the administrator of a namespace lets its users do, and see of each other.
 *
 * The values are files of /proc/sys/net/rds (sysctl.c), one set for each network namespace; the
 * defaults allow what mainline does.  A namespace begins with what the first one says of
 * tables, and its own administrator may change that: it is about nobody but its users.
 */
#include <linux/cred.h>
#include <linux/fs.h>
#include <linux/uidgid.h>

#include "glue.h"

static struct rds_policy *policy_of(const struct net *net)
{
	return &rds_linux_net(net)->policy;
}

void rds_policy_init(struct net *net)
{
	struct rds_policy *p = policy_of(net);

	if (net_eq(net, &init_net))
		return;
	p->info_restrict = READ_ONCE(policy_of(&init_net)->info_restrict);
}

/* ---- tables ---- */

struct rds_viewer rds_viewer_of_call(struct net *net)
{
	struct rds_viewer v = {.uid = current_fsuid()};

	v.admin = ns_capable_noaudit(net->user_ns, CAP_NET_ADMIN);
	v.all = v.admin || !READ_ONCE(policy_of(net)->info_restrict);
	return v;
}

/* Its opener counts, not whoever it was passed on to. */
struct rds_viewer rds_viewer_of_file(struct net *net, const struct file *file)
{
	struct rds_viewer v = {.uid = file->f_cred->fsuid, .all = true};

	if (READ_ONCE(policy_of(net)->info_restrict))
		v.all = v.admin = file_ns_capable(file, net->user_ns, CAP_NET_ADMIN);
	return v;
}
