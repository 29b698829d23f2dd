// SPDX-License-Identifier: GPL-2.0
/*
 * sysctl.c: /proc/sys/net/rds, one set for each network namespace.
 *
 * Both spellings of the reconnect delays are there: mainline's (reconnect_min_delay_ms) and the
 * documents' (reconnect_delay_min_ms); they are the same value.  pf_rds and sol_rds tell programs
 * the numbers of the family and the option level.  What the values of policy.c mean is said there.
 *
 * Times that make this host work have a floor for whoever administers the namespace and not the
 * host: the work is done by threads that all namespaces share, and that no cgroup of his pays for.
 * A shorter time that he writes becomes the floor, and is read back as that.
 */
#include <linux/capability.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include <linux/socket.h>
#include <linux/sysctl.h>

#include "linux_net.h"

/* A host that is not there is called twice in this time, in the long run: the default, ms. */
#define RDS_DELAY_FLOOR_MS 1000
/* All connections of a namespace are looked at four times in this time, ms. */
#define RDS_IDLE_FLOOR_MS 10000
/* Connections that nobody here has asked for are the host's memory: the default. */
#define RDS_PASSIVE_CEILING 4096

static const unsigned int delay_least = 1, delay_most = 3600000;
static const unsigned int off = 0, on = 1, last_port = 65535;
static const unsigned int most_spill = RDS_RECV_SPILL_BYTES;
static const unsigned int pf_rds = PF_RDS, sol_rds = SOL_RDS;

/* The entries, in order; the table of a namespace is a copy with .data filled in. */
enum {
	ENTRY_MIN,
	ENTRY_MIN_ALIAS,
	ENTRY_MAX,
	ENTRY_MAX_ALIAS,
	ENTRY_PACKETS,
	ENTRY_BYTES,
	ENTRY_PING,
	ENTRY_PASSIVE,
	ENTRY_IDLE,
	ENTRY_SPILL,
	ENTRY_GROUPS,
	ENTRY_PORTS,
	ENTRY_INFO,
	ENTRY_USER_SOCKETS,
	ENTRY_USER_CONNS,
	ENTRY_PF,
	ENTRY_SOL,
	ENTRY_END
};

#define RDS_ENTRY(name, handler)                                                                   \
	{                                                                                          \
		.procname = name, .maxlen = sizeof(unsigned int), .mode = 0644,                    \
		.proc_handler = handler                                                            \
	}

/*
 * Two groups, in the numbers of the writer's user namespace.  As with ping sockets' range, none is
 * meant when the second is the smaller one.
 */
static int group_range(rds_ctl_table *table, int write, void *buffer, size_t *lenp, loff_t *ppos)
{
	static const unsigned long least = 0, most = RDS_LAST_GROUP;
	struct rds_policy *p = table->data;
	struct user_namespace *user_ns = current_user_ns();
	unsigned long pair[2];
	struct ctl_table both = {.data = pair,
				 .maxlen = sizeof(pair),
				 .mode = table->mode,
				 .extra1 = (void *)&least,
				 .extra2 = (void *)&most};
	kgid_t first, last;
	int err;

	rds_policy_groups(p, &first, &last);
	pair[0] = from_kgid_munged(user_ns, first);
	pair[1] = from_kgid_munged(user_ns, last);
	err = proc_doulongvec_minmax(&both, write, buffer, lenp, ppos);
	if (err || !write)
		return err;
	first = KGIDT_INIT(1);
	last = GLOBAL_ROOT_GID;
	if (pair[0] <= pair[1]) {
		first = make_kgid(user_ns, pair[0]);
		last = make_kgid(user_ns, pair[1]);
		if (!gid_valid(first) || !gid_valid(last))
			return -EINVAL;
	}
	rds_policy_set_groups(p, first, last);
	return 0;
}

/* A value that is between @least and @most, or 0, unless an administrator of the host writes it. */
static int within(unsigned int least, unsigned int most, rds_ctl_table *table, int write,
		  void *buffer, size_t *lenp, loff_t *ppos)
{
	unsigned int value = READ_ONCE(*(unsigned int *)table->data);
	struct ctl_table copy = {.data = &value,
				 .maxlen = sizeof(value),
				 .mode = table->mode,
				 .extra1 = table->extra1,
				 .extra2 = table->extra2};
	int err = proc_douintvec_minmax(&copy, write, buffer, lenp, ppos);

	if (err || !write)
		return err;
	if (value && (value < least || value > most) && !capable(CAP_NET_ADMIN))
		value = clamp(value, least, most);
	WRITE_ONCE(*(unsigned int *)table->data, value);
	return 0;
}

/* Each delay is compared with the other one, which must not be written meanwhile. */
static DEFINE_MUTEX(rds_delays);

static int shortest_delay(rds_ctl_table *table, int write, void *buffer, size_t *lenp, loff_t *ppos)
{
	int err;

	mutex_lock(&rds_delays);
	err = proc_douintvec_minmax(table, write, buffer, lenp, ppos);
	mutex_unlock(&rds_delays);
	return err;
}

static int longest_delay(rds_ctl_table *table, int write, void *buffer, size_t *lenp, loff_t *ppos)
{
	int err;

	mutex_lock(&rds_delays);
	err = within(RDS_DELAY_FLOOR_MS, UINT_MAX, table, write, buffer, lenp, ppos);
	mutex_unlock(&rds_delays);
	return err;
}

static int idle_timeout(rds_ctl_table *table, int write, void *buffer, size_t *lenp, loff_t *ppos)
{
	return within(RDS_IDLE_FLOOR_MS, UINT_MAX, table, write, buffer, lenp, ppos);
}

static int passive(rds_ctl_table *table, int write, void *buffer, size_t *lenp, loff_t *ppos)
{
	return within(0, RDS_PASSIVE_CEILING, table, write, buffer, lenp, ppos);
}

static const struct ctl_table rds_sysctl_template[ENTRY_END + 1] = {
	[ENTRY_MIN] = RDS_ENTRY("reconnect_min_delay_ms", shortest_delay),
	[ENTRY_MIN_ALIAS] = RDS_ENTRY("reconnect_delay_min_ms", shortest_delay),
	[ENTRY_MAX] = RDS_ENTRY("reconnect_max_delay_ms", longest_delay),
	[ENTRY_MAX_ALIAS] = RDS_ENTRY("reconnect_delay_max_ms", longest_delay),
	[ENTRY_PACKETS] = RDS_ENTRY("max_unacked_packets", proc_douintvec),
	[ENTRY_BYTES] = RDS_ENTRY("max_unacked_bytes", proc_douintvec),
	[ENTRY_PING] = RDS_ENTRY("ping_enable", proc_douintvec),
	[ENTRY_PASSIVE] = RDS_ENTRY("max_passive_connections", passive),
	[ENTRY_IDLE] = RDS_ENTRY("idle_timeout_ms", idle_timeout),
	[ENTRY_SPILL] = RDS_ENTRY("recv_spill", proc_douintvec_minmax),
	[ENTRY_GROUPS] = RDS_ENTRY("group_range", group_range),
	[ENTRY_PORTS] = RDS_ENTRY("unprivileged_port_start", proc_douintvec_minmax),
	[ENTRY_INFO] = RDS_ENTRY("info_restrict", proc_douintvec_minmax),
	[ENTRY_USER_SOCKETS] = RDS_ENTRY("max_user_sockets", proc_douintvec),
	[ENTRY_USER_CONNS] = RDS_ENTRY("max_user_connections", proc_douintvec),
	[ENTRY_PF] = {.procname = "pf_rds",
		      .data = (void *)&pf_rds,
		      .maxlen = sizeof(int),
		      .mode = 0444,
		      .proc_handler = proc_douintvec},
	[ENTRY_SOL] = {.procname = "sol_rds",
		       .data = (void *)&sol_rds,
		       .maxlen = sizeof(int),
		       .mode = 0444,
		       .proc_handler = proc_douintvec},
};

static void fill(struct ctl_table *t, struct rds_tunables *tun, struct rds_policy *policy)
{
	int i;

	/* The shortest delay is never above the longest: each is the other's bound. */
	for (i = ENTRY_MIN; i <= ENTRY_MIN_ALIAS; i++) {
		t[i].data = &tun->reconnect_min_ms;
		t[i].extra1 = (void *)&delay_least;
		t[i].extra2 = &tun->reconnect_max_ms;
	}
	for (i = ENTRY_MAX; i <= ENTRY_MAX_ALIAS; i++) {
		t[i].data = &tun->reconnect_max_ms;
		t[i].extra1 = &tun->reconnect_min_ms;
		t[i].extra2 = (void *)&delay_most;
	}
	t[ENTRY_PACKETS].data = &tun->max_unacked_packets;
	t[ENTRY_BYTES].data = &tun->max_unacked_bytes;
	t[ENTRY_PING].data = &tun->ping_enable;
	t[ENTRY_PASSIVE].data = &tun->max_passive;
	t[ENTRY_IDLE].data = &tun->idle_timeout_ms;
	t[ENTRY_SPILL].data = &tun->recv_spill_bytes;
	t[ENTRY_SPILL].extra1 = (void *)&off;
	t[ENTRY_SPILL].extra2 = (void *)&most_spill;
	t[ENTRY_GROUPS].data = policy;
	t[ENTRY_PORTS].data = &tun->unprivileged_port_start;
	t[ENTRY_PORTS].extra1 = (void *)&off;
	t[ENTRY_PORTS].extra2 = (void *)&last_port;
	t[ENTRY_USER_SOCKETS].data = &tun->max_user_sockets;
	t[ENTRY_USER_CONNS].data = &tun->max_user_conns;
	t[ENTRY_INFO].data = &policy->info_restrict;
	t[ENTRY_INFO].extra1 = (void *)&off;
	t[ENTRY_INFO].extra2 = (void *)&on;
}

int rds_sysctl_net_init(struct net *net, struct rds_linux_net *rn)
{
	rn->sysctl_table =
		kmemdup(rds_sysctl_template, sizeof(rds_sysctl_template), GFP_KERNEL_ACCOUNT);
	if (!rn->sysctl_table)
		return -ENOMEM;
	fill(rn->sysctl_table, rds_net_tunables(rn->core), &rn->policy);
	rn->sysctl = rds_register_sysctl(net, "net/rds", rn->sysctl_table, ENTRY_END);
	if (!rn->sysctl) {
		kfree(rn->sysctl_table);
		return -ENOMEM;
	}
	return 0;
}

void rds_sysctl_net_exit(struct rds_linux_net *rn)
{
	unregister_net_sysctl_table(rn->sysctl);
	kfree(rn->sysctl_table);
}
