// SPDX-License-Identifier: GPL-2.0
/*
 * policy.c: what the administrator of a namespace lets its users do, and see of each other.
 *
 * The values are files of /proc/sys/net/rds (sysctl.c), one set for each network namespace; the
 * defaults allow what mainline does, but that any user may have modules loaded.
 *
 * A namespace begins with what the first one says of ports and
 * tables, and its own administrator may change both: they are about nobody but its users.  Who may
 * have sockets at all is another matter, for any user may make a namespace to be root of: there the
 * first one's groups hold too, and a namespace's own can only make them fewer.
 */
#include <linux/cred.h>
#include <linux/fs.h>
#include <linux/netlink.h>
#include <linux/uidgid.h>
#include <linux/user_namespace.h>

#include "linux_net.h"

static bool rds_autoload;
module_param_named(autoload, rds_autoload, bool, 0644);
MODULE_PARM_DESC(autoload, "any user's SO_RDS_TRANSPORT may load a transport's module (N)");

static struct rds_policy *policy_of(const struct net *net)
{
	return &rds_linux_net(net)->policy;
}

void rds_policy_init(struct net *net)
{
	struct rds_policy *p = policy_of(net);

	seqlock_init(&p->lock);
	p->first_group = GLOBAL_ROOT_GID;
	p->last_group = KGIDT_INIT(RDS_LAST_GROUP);
	if (net_eq(net, &init_net))
		return;
	p->info_restrict = READ_ONCE(policy_of(&init_net)->info_restrict);
	rds_net_tunables(rds_net_of(net))->unprivileged_port_start =
		READ_ONCE(rds_net_tunables(rds_net_of(&init_net))->unprivileged_port_start);
}

/* ---- sockets ---- */

void rds_policy_groups(struct rds_policy *p, kgid_t *first, kgid_t *last)
{
	unsigned int seq;

	do {
		seq = read_seqbegin(&p->lock);
		*first = p->first_group;
		*last = p->last_group;
	} while (read_seqretry(&p->lock, seq));
}

void rds_policy_set_groups(struct rds_policy *p, kgid_t first, kgid_t last)
{
	write_seqlock(&p->lock);
	p->first_group = first;
	p->last_group = last;
	write_sequnlock(&p->lock);
}

/* Is the caller in one of the groups? */
static bool caller_is_in(struct rds_policy *p)
{
	const struct group_info *groups = current_cred()->group_info;
	kgid_t first, last, gid = current_egid();
	int i = 0;

	rds_policy_groups(p, &first, &last);
	for (;;) {
		if (gid_lte(first, gid) && gid_lte(gid, last))
			return true;
		if (i == groups->ngroups)
			return false;
		gid = groups->gid[i++];
	}
}

int rds_may_open(const struct net *net)
{
	return caller_is_in(policy_of(net)) && caller_is_in(policy_of(&init_net)) ? 0 : -EACCES;
}

/*
 * In a user namespace one user may be as many as it likes: all in one that another than @net's has
 * made count as whoever made it.
 */
u32 rds_user_of_call(const struct net *net)
{
	const struct user_namespace *ns = current_user_ns();
	kuid_t uid = current_uid();

	for (; ns != net->user_ns && ns->parent; ns = ns->parent)
		uid = ns->owner;
	return __kuid_val(uid);
}

int rds_may_bind(struct net *net, u16 port)
{
	const struct rds_tunables *tun = rds_net_tunables(rds_net_of(net));

	if (!port || port >= READ_ONCE(tun->unprivileged_port_start) ||
	    ns_capable(net->user_ns, CAP_NET_BIND_SERVICE))
		return 0;
	return -EACCES;
}

/* The kernel loads any module for whoever has this right: a network device's, say. */
bool rds_may_load_modules(void)
{
	return READ_ONCE(rds_autoload) || capable(CAP_NET_ADMIN);
}

/* ---- tables ---- */

bool rds_viewer_sees(const struct rds_viewer *v, const struct sock *sk)
{
	return v->all || (sk && uid_eq(READ_ONCE(sk->sk_uid), v->uid));
}

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

struct rds_viewer rds_viewer_of_request(struct net *net, struct sk_buff *skb)
{
	struct rds_viewer v = {.uid = READ_ONCE(NETLINK_CB(skb).sk->sk_uid), .all = true};

	if (READ_ONCE(policy_of(net)->info_restrict))
		v.all = v.admin = netlink_ns_capable(skb, net->user_ns, CAP_NET_ADMIN);
	return v;
}
