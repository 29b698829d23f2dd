// SPDX-License-Identifier: GPL-2.0
/*
 * state_genl.c: generic netlink family "rds": paths, sockets and counters of a namespace
 * (include/uapi/linux/rds_state.h, docs/netlink/rds.yaml).
 *
 * A message of a dump takes rows up to the first for which it has no room, and notes where that is:
 * what is there all the time is told once, however tables grow between two messages.  Only of
 * counters a dump may say that it has to be asked for again (NLM_F_DUMP_INTR).
 */
#include <linux/sched/signal.h>

#include "linux_net.h"
#include "state.h"

/* The place of a dump: netlink_callback.ctx. */
struct state_dump {
	union {
		struct rds_path_place path;
		u64 pos; /* a socket's number, or how many counters were told */
	};
	kuid_t uid; /* of who asks */
	bool all;   /* sees the rows of all users */
};
static_assert(sizeof(struct state_dump) <= sizeof(((struct netlink_callback *)NULL)->ctx));
#define SOCKETS_END (1ull << 32) /* they are numbered by u32 */

/* One message of it. */
struct state_rows {
	struct sk_buff *skb;
	struct netlink_callback *cb;
	struct state_dump *d;
	u64 seen;  /* counters that were met */
	bool full; /* the last row had no room */
};

static struct state_dump *dump_of(struct netlink_callback *cb)
{
	return (struct state_dump *)cb->ctx;
}

static struct net *net_of(struct netlink_callback *cb)
{
	return sock_net(cb->skb->sk);
}

/* For every dump: who asks. */
static int rds_state_start(struct netlink_callback *cb)
{
	const struct rds_viewer v = rds_viewer_of_request(net_of(cb), cb->skb);

	*dump_of(cb) = (struct state_dump){.uid = v.uid, .all = v.all};
	return 0;
}

/* A row that was begun by genlmsg_put() ends: false, it had no room. */
static bool end_row(struct state_rows *r, void *hdr, int err)
{
	if (hdr && !err)
		genlmsg_end(r->skb, hdr);
	else if (hdr)
		genlmsg_cancel(r->skb, hdr);
	r->full = !hdr || err;
	return !r->full;
}

static void *begin_row(struct state_rows *r, u8 cmd)
{
	return genlmsg_put(r->skb, NETLINK_CB(r->cb->skb).portid, r->cb->nlh->nlmsg_seq,
			   &rds_state_family, NLM_F_MULTI, cmd);
}

/* A message of a dump returns this. */
static int rows_end(const struct state_rows *r)
{
	if (r->skb->len || !r->full)
		return r->skb->len;
	return -EMSGSIZE; /* one row is too long */
}

int rds_state_put_addr(struct sk_buff *skb, int attr, const struct rds_addr *addr)
{
	const u8 *bytes = (const u8 *)addr;
	bool v4 = rds_addr_is_v4(addr);

	return nla_put(skb, attr, v4 ? 4 : 16, v4 ? bytes + 12 : bytes);
}

static int put_flag(struct sk_buff *skb, int attr, bool is_set)
{
	return is_set ? nla_put_flag(skb, attr) : 0;
}

/* ---- paths ---- */

static int put_name(struct sk_buff *skb, const struct rds_path_facts *f)
{
	if (rds_state_put_addr(skb, RDS_PATH_A_LOCAL, &f->i.laddr) ||
	    rds_state_put_addr(skb, RDS_PATH_A_REMOTE, &f->i.faddr) ||
	    (f->scope && nla_put_u32(skb, RDS_PATH_A_SCOPE, f->scope)) ||
	    nla_put_u8(skb, RDS_PATH_A_TOS, f->i.tos) ||
	    nla_put_u8(skb, RDS_PATH_A_INDEX, f->i.index) ||
	    nla_put_string(skb, RDS_PATH_A_TRANSPORT, f->i.transport))
		return -EMSGSIZE;
	return 0;
}

static int put_state(struct sk_buff *skb, const struct rds_path_facts *f)
{
	BUILD_BUG_ON((int)RDS_FACT_PEER_OTHER != (int)RDS_PATH_PEER_OTHER ||
		     (int)RDS_FACT_PEER_OURS != (int)RDS_PATH_PEER_PF_RDS);
	if (nla_put_u8(skb, RDS_PATH_A_STATE, f->state) ||
	    nla_put_u8(skb, RDS_PATH_A_PEER, f->peer) ||
	    (f->state_ns &&
	     nla_put_u64_64bit(skb, RDS_PATH_A_STATE_MS, div_u64(f->state_ns, NSEC_PER_MSEC),
			       RDS_PATH_A_PAD)) ||
	    nla_put_string(skb, RDS_PATH_A_LAST_REASON, f->i.last_reason) ||
	    nla_put_u32(skb, RDS_PATH_A_ATTEMPTS, f->i.attempts) ||
	    nla_put_u32(skb, RDS_PATH_A_RESETS, f->i.resets))
		return -EMSGSIZE;
	return 0;
}

static int put_queue(struct sk_buff *skb, const struct rds_path_facts *f)
{
	const int listed = min_t(u32, f->congested, RDS_FACT_PORTS);

	if (nla_put_u64_64bit(skb, RDS_PATH_A_NEXT_TX, f->i.next_tx_seq, RDS_PATH_A_PAD) ||
	    nla_put_u64_64bit(skb, RDS_PATH_A_NEXT_RX, f->i.next_rx_seq, RDS_PATH_A_PAD) ||
	    nla_put_u64_64bit(skb, RDS_PATH_A_UNACKED, f->unacked, RDS_PATH_A_PAD) ||
	    (f->waits && nla_put_u32(skb, RDS_PATH_A_WAITS_MS, f->waits_ms)) ||
	    (f->ack_us && nla_put_u32(skb, RDS_PATH_A_ACK_US, f->ack_us)) ||
	    nla_put_u32(skb, RDS_PATH_A_UNSENT_BYTES, f->unsent_bytes) ||
	    put_flag(skb, RDS_PATH_A_HOLDS, f->holds) ||
	    nla_put_u32(skb, RDS_PATH_A_CONGESTED, f->congested) ||
	    (listed &&
	     (nla_put(skb, RDS_PATH_A_CONGESTED_PORTS, listed * sizeof(f->ports[0]), f->ports) ||
	      nla_put_u32(skb, RDS_PATH_A_CONGESTED_MS, f->congested_ms))) ||
	    nla_put_u32(skb, RDS_PATH_A_REFUSED, f->refused) ||
	    put_flag(skb, RDS_PATH_A_REFUSES, f->refuses))
		return -EMSGSIZE;
	return 0;
}

static int put_refused(struct sk_buff *skb, const struct rds_path_facts *f)
{
	const int listed = min_t(u32, f->refused, RDS_FACT_PORTS);
	int i;

	for (i = 0; i < listed; i++) {
		struct nlattr *nest = nla_nest_start(skb, RDS_PATH_A_REFUSED_PORTS);

		if (!nest || nla_put_u16(skb, RDS_PORT_A_PORT, f->refused_ports[i].port) ||
		    nla_put_u32(skb, RDS_PORT_A_REFUSED_MS, f->refused_ports[i].ms))
			return -EMSGSIZE;
		nla_nest_end(skb, nest);
	}
	return 0;
}

static int put_link(struct sk_buff *skb, const struct rds_link_facts *l)
{
	if (!l->known)
		return 0;
	if ((l->rtt_us && nla_put_u32(skb, RDS_PATH_A_RTT_US, l->rtt_us)) ||
	    nla_put_u32(skb, RDS_PATH_A_HEARD_MS, l->heard_ms) ||
	    nla_put_u64_64bit(skb, RDS_PATH_A_TX_BYTES, l->tx_bytes, RDS_PATH_A_PAD) ||
	    nla_put_u64_64bit(skb, RDS_PATH_A_RX_BYTES, l->rx_bytes, RDS_PATH_A_PAD) ||
	    nla_put_u8(skb, RDS_PATH_A_SIGNED, l->signed_by))
		return -EMSGSIZE;
	return 0;
}

static int add_path(void *arg, const struct rds_path_facts *f)
{
	struct state_rows *r = arg;
	void *hdr = begin_row(r, RDS_STATE_CMD_PATH_GET);

	return end_row(r, hdr,
		       !hdr || put_name(r->skb, f) || put_state(r->skb, f) ||
			       put_queue(r->skb, f) || put_refused(r->skb, f) ||
			       put_link(r->skb, &f->link));
}

static int rds_state_paths(struct sk_buff *skb, struct netlink_callback *cb)
{
	struct state_dump *d = dump_of(cb);
	struct state_rows r = {.skb = skb, .cb = cb, .d = d};
	struct rds_net *net = rds_net_of(net_of(cb));

	/* Here and not before it starts: 6.1 has no place for words then. */
	if (!d->all) {
		NL_SET_ERR_MSG(cb->extack, "net.rds.info_restrict is set: CAP_NET_ADMIN is needed");
		return -EPERM;
	}
	/* A large table may be empty. */
	while (rds_info_path_facts(net, &d->path, add_path, &r) && !fatal_signal_pending(current))
		cond_resched();
	return rows_end(&r);
}

/* ---- sockets ---- */

static int put_ends(struct sk_buff *skb, const struct rds_socket *s)
{
	struct rds_endpoint ep;

	if (rds_socket_bound(s, &ep) &&
	    (rds_state_put_addr(skb, RDS_SOCKET_A_LOCAL, &ep.addr) ||
	     nla_put_u16(skb, RDS_SOCKET_A_LOCAL_PORT, ep.port) ||
	     (ep.scope && nla_put_u32(skb, RDS_SOCKET_A_SCOPE, ep.scope))))
		return -EMSGSIZE;
	if (rds_socket_peer(s, &ep) && (rds_state_put_addr(skb, RDS_SOCKET_A_REMOTE, &ep.addr) ||
					nla_put_u16(skb, RDS_SOCKET_A_REMOTE_PORT, ep.port)))
		return -EMSGSIZE;
	return 0;
}

static int put_fill(struct sk_buff *skb, const struct rds_socket *s)
{
	struct rds_socket_fill f;

	rds_socket_fill(s, &f);
	if (nla_put_u32(skb, RDS_SOCKET_A_SNDBUF, rds_socket_sndbuf(s)) ||
	    nla_put_u32(skb, RDS_SOCKET_A_RCVBUF, rds_socket_rcvbuf(s)) ||
	    nla_put_u32(skb, RDS_SOCKET_A_UNACKED, f.unacked) ||
	    nla_put_u64_64bit(skb, RDS_SOCKET_A_UNREAD, f.unread, RDS_SOCKET_A_PAD) ||
	    (f.waits && nla_put_u32(skb, RDS_SOCKET_A_UNREAD_MS, f.unread_ms)) ||
	    put_flag(skb, RDS_SOCKET_A_CONGESTED, f.congested) ||
	    (f.congested && nla_put_u32(skb, RDS_SOCKET_A_CONGESTED_MS, f.congested_ms)))
		return -EMSGSIZE;
	return 0;
}

static int put_owner(struct state_rows *r, struct sock *sk)
{
	const int transport = rds_socket_transport(rds_core(sk));
	struct user_namespace *ns = sk_user_ns(NETLINK_CB(r->cb->skb).sk);

	if ((transport >= 0 && nla_put_u8(r->skb, RDS_SOCKET_A_TRANSPORT, transport)) ||
	    nla_put_u8(r->skb, RDS_SOCKET_A_TOS, rds_socket_tos(rds_core(sk))) ||
	    nla_put_u64_64bit(r->skb, RDS_SOCKET_A_INODE, sock_i_ino(sk), RDS_SOCKET_A_PAD) ||
	    nla_put_u32(r->skb, RDS_SOCKET_A_UID, from_kuid_munged(ns, READ_ONCE(sk->sk_uid))))
		return -EMSGSIZE;
	return 0;
}

/* RCU reader. */
static void add_socket(struct state_rows *r, struct sock *sk)
{
	void *hdr = begin_row(r, RDS_STATE_CMD_SOCKET_GET);

	end_row(r, hdr,
		!hdr || put_ends(r->skb, rds_core(sk)) || put_owner(r, sk) ||
			put_fill(r->skb, rds_core(sk)));
}

static int rds_state_sockets(struct sk_buff *skb, struct netlink_callback *cb)
{
	struct state_dump *d = dump_of(cb);
	struct state_rows r = {.skb = skb, .cb = cb, .d = d};
	const struct rds_viewer viewer = {.all = d->all, .uid = d->uid};
	struct xarray *socks = &rds_linux_net(net_of(cb))->socks;
	unsigned long id = d->pos;
	struct rds_sock *rs;

	rcu_read_lock();
	while (d->pos < SOCKETS_END && (rs = xa_find(socks, &id, U32_MAX, XA_PRESENT))) {
		d->pos = id;
		if (rds_viewer_sees(&viewer, &rs->sk))
			add_socket(&r, &rs->sk);
		if (r.full)
			break;
		id = ++d->pos;
		if (need_resched()) {
			rcu_read_unlock();
			cond_resched();
			rcu_read_lock();
		}
	}
	rcu_read_unlock();
	if (!r.full)
		d->pos = SOCKETS_END;
	return rows_end(&r);
}

/* ---- counters ---- */

/* Their places are not the same once a transport has come or gone: then the dump says that it was
 * interrupted. */
static void add_counter(void *arg, const char *name, u64 value)
{
	struct state_rows *r = arg;
	void *hdr;

	if (r->full || r->seen++ < r->d->pos)
		return;
	hdr = begin_row(r, RDS_STATE_CMD_COUNTER_GET);
	if (hdr)
		genl_dump_check_consistent(r->cb, hdr);
	if (end_row(r, hdr,
		    !hdr || nla_put_string(r->skb, RDS_COUNTER_A_NAME, name) ||
			    nla_put_u64_64bit(r->skb, RDS_COUNTER_A_VALUE, value,
					      RDS_COUNTER_A_PAD)))
		r->d->pos++;
}

static int rds_state_counters(struct sk_buff *skb, struct netlink_callback *cb)
{
	struct state_rows r = {.skb = skb, .cb = cb, .d = dump_of(cb)};

	cb->seq = rds_transports_stamp();
	rds_counters(net_of(cb), add_counter, &r);
	cb->seq = rds_transports_stamp(); /* it may have happened meanwhile */
	return rows_end(&r);
}

/* ---- the family ---- */

/* An operation without a policy takes no attribute. */
static const struct genl_ops rds_state_ops[] = {
	{
		.cmd = RDS_STATE_CMD_PATH_GET,
		.start = rds_state_start,
		.dumpit = rds_state_paths,
	},
	{
		.cmd = RDS_STATE_CMD_SOCKET_GET,
		.start = rds_state_start,
		.dumpit = rds_state_sockets,
	},
	{
		.cmd = RDS_STATE_CMD_COUNTER_GET,
		.start = rds_state_start,
		.dumpit = rds_state_counters,
	},
};

static const struct genl_multicast_group rds_state_groups[] = {
	[RDS_STATE_EVENTS] = {.name = RDS_STATE_MCGRP_EVENTS, .flags = GENL_MCAST_CAP_NET_ADMIN},
};

/* No alias asks for the module by the family's name: anybody may ask for families. */
struct genl_family rds_state_family __ro_after_init = {
	.name = RDS_STATE_FAMILY_NAME,
	.version = RDS_STATE_FAMILY_VERSION,
	.netnsok = true,
	.parallel_ops = true, /* each dump has its own place, and takes what locks it needs */
	.module = THIS_MODULE,
	.ops = rds_state_ops,
	.n_ops = ARRAY_SIZE(rds_state_ops),
	.mcgrps = rds_state_groups,
	.n_mcgrps = ARRAY_SIZE(rds_state_groups),
};

int rds_state_genl_start(void)
{
	return genl_register_family(&rds_state_family);
}

void rds_state_genl_stop(void)
{
	genl_unregister_family(&rds_state_family);
}
