// SPDX-License-Identifier: GPL-2.0
/*
 * rds_info_core.c: the snapshots that the core can give: counters, connections, messages, sockets.
 *
 * The older codes show IPv4 only, the RDS6_ ones everything.  The core's tables are walked in
 * steps, and others may run between any two.
 */
#include "linux_net.h"

/* Once for each position of a snapshot (rds_core.h). */
#define for_each_step(pos) for (u64 pos = 0; pos != RDS_INFO_END; cond_resched())

/* ---- counters ---- */
static void add_counter(void *arg, const char *name, u64 value)
{
	struct rds_info_counter c = {};

	strscpy_pad((char *)c.name, name, sizeof(c.name));
	c.value = value;
	rds_info_add(arg, &c);
}

void rds_counters(struct net *net, void (*fn)(void *arg, const char *name, u64 value), void *arg)
{
	struct rds_stats __percpu *stats = rds_linux_net(net)->stats;
	unsigned int id;

	for (id = 0; id < RDS_STAT_COUNT; id++) {
		u64 sum = 0;
		int cpu;

		for_each_possible_cpu(cpu)
			sum += READ_ONCE(per_cpu_ptr(stats, cpu)->v[id]);
		fn(arg, rds_stat_name(id), sum);
		cond_resched();
	}
	rds_transport_stats(rds_os_net(net), fn, arg);
}

static void counters(struct net *net, struct rds_info_buf *b)
{
	rds_counters(net, add_counter, b);
}

/* ---- connections ---- */
static void add_conn(void *arg, const struct rds_conn_info *i)
{
	struct rds_info_connection c = {};

	if (!rds_addr_is_v4(&i->laddr))
		return;
	c.next_tx_seq = i->next_tx_seq;
	c.next_rx_seq = i->next_rx_seq;
	c.laddr = rds_addr_v4(&i->laddr);
	c.faddr = rds_addr_v4(&i->faddr);
	strscpy_pad((char *)c.transport, i->transport, sizeof(c.transport));
	c.flags = i->flags;
	c.tos = i->tos;
	rds_info_add(arg, &c);
}

static void add_conn6(void *arg, const struct rds_conn_info *i)
{
	struct rds6_info_connection c = {};

	c.next_tx_seq = i->next_tx_seq;
	c.next_rx_seq = i->next_rx_seq;
	c.laddr = rds_addr_in6(&i->laddr);
	c.faddr = rds_addr_in6(&i->faddr);
	strscpy_pad((char *)c.transport, i->transport, sizeof(c.transport));
	c.flags = i->flags;
	rds_info_add(arg, &c);
}

static void conns(struct net *net, struct rds_info_buf *b)
{
	for_each_step(pos) pos = rds_info_conns(rds_net_of(net), pos, add_conn, b);
}

static void conns6(struct net *net, struct rds_info_buf *b)
{
	for_each_step(pos) pos = rds_info_conns(rds_net_of(net), pos, add_conn6, b);
}

/* ---- messages ---- */
static bool shows(const struct rds_info_buf *b, const struct rds_msg_info *i)
{
	return rds_info_shows(b, i->owner ? rds_sk(i->owner) : NULL);
}

static void add_msg(void *arg, const struct rds_msg_info *i)
{
	struct rds_info_message m = {};

	if (!rds_addr_is_v4(&i->laddr) || !shows(arg, i))
		return;
	m.seq = i->seq;
	m.len = i->len;
	m.laddr = rds_addr_v4(&i->laddr);
	m.faddr = rds_addr_v4(&i->faddr);
	m.lport = htons(i->lport);
	m.fport = htons(i->fport);
	m.tos = i->tos;
	rds_info_add(arg, &m);
}

static void add_msg6(void *arg, const struct rds_msg_info *i)
{
	struct rds6_info_message m = {};

	if (!shows(arg, i))
		return;
	m.seq = i->seq;
	m.len = i->len;
	m.laddr = rds_addr_in6(&i->laddr);
	m.faddr = rds_addr_in6(&i->faddr);
	m.lport = htons(i->lport);
	m.fport = htons(i->fport);
	m.tos = i->tos;
	rds_info_add(arg, &m);
}

#define RDS_QUEUE_SOURCE(name, queue, add)                                                         \
	static void name(struct net *net, struct rds_info_buf *b)                                  \
	{                                                                                          \
		struct rds_socket *asks = rds_info_asks(b);                                        \
                                                                                                   \
		for_each_step(pos) pos =                                                           \
			rds_info_messages(rds_net_of(net), queue, asks, pos, add, b);              \
	}

RDS_QUEUE_SOURCE(send_msgs, RDS_QUEUE_SEND, add_msg)
RDS_QUEUE_SOURCE(retrans_msgs, RDS_QUEUE_RETRANS, add_msg)
RDS_QUEUE_SOURCE(recv_msgs, RDS_QUEUE_RECV, add_msg)
RDS_QUEUE_SOURCE(send_msgs6, RDS_QUEUE_SEND, add_msg6)
RDS_QUEUE_SOURCE(retrans_msgs6, RDS_QUEUE_RETRANS, add_msg6)
RDS_QUEUE_SOURCE(recv_msgs6, RDS_QUEUE_RECV, add_msg6)

/* ---- sockets ---- */
static void add_socket(void *b, const struct rds_sock *rs)
{
	const struct rds_socket *s = rds_core(&rs->sk);
	struct rds_info_socket i = {};
	struct rds_endpoint bound, peer;

	if (!rds_socket_bound(s, &bound) || !rds_addr_is_v4(&bound.addr) ||
	    !rds_info_shows(b, &rs->sk))
		return;
	i.bound_addr = rds_addr_v4(&bound.addr);
	i.bound_port = htons(bound.port);
	if (rds_socket_peer(s, &peer)) {
		i.connected_addr = rds_addr_is_v4(&peer.addr) ? rds_addr_v4(&peer.addr) : 0;
		i.connected_port = htons(peer.port);
	}
	i.sndbuf = rds_socket_sndbuf(s);
	i.rcvbuf = rds_socket_rcvbuf(s);
	i.inum = sock_i_ino((struct sock *)&rs->sk);
	rds_info_add(b, &i);
}

static void add_socket6(void *b, const struct rds_sock *rs)
{
	const struct rds_socket *s = rds_core(&rs->sk);
	struct rds6_info_socket i = {};
	struct rds_endpoint ep;

	if (!rds_info_shows(b, &rs->sk))
		return;
	if (rds_socket_bound(s, &ep)) {
		i.bound_addr = rds_addr_in6(&ep.addr);
		i.bound_port = htons(ep.port);
	}
	if (rds_socket_peer(s, &ep)) {
		i.connected_addr = rds_addr_in6(&ep.addr);
		i.connected_port = htons(ep.port);
	}
	i.sndbuf = rds_socket_sndbuf(s);
	i.rcvbuf = rds_socket_rcvbuf(s);
	i.inum = sock_i_ino((struct sock *)&rs->sk);
	rds_info_add(b, &i);
}

static void each_socket(struct net *net, void (*add)(void *b, const struct rds_sock *rs), void *b)
{
	struct rds_sock *rs;
	unsigned long id;

	rcu_read_lock();
	xa_for_each(&rds_linux_net(net)->socks, id, rs)
	{
		add(b, rs);
		if (need_resched()) {
			rcu_read_unlock();
			cond_resched();
			rcu_read_lock();
		}
	}
	rcu_read_unlock();
}

static void sockets(struct net *net, struct rds_info_buf *b)
{
	each_socket(net, add_socket, b);
}

static void sockets6(struct net *net, struct rds_info_buf *b)
{
	each_socket(net, add_socket6, b);
}

/* ---- registration ---- */
static const struct {
	int optname;
	unsigned int each;
	unsigned int flags;
	void (*fn)(struct net *net, struct rds_info_buf *b);
} core_sources[] = {
	{RDS_INFO_COUNTERS, sizeof(struct rds_info_counter), RDS_TABLE_WHOLE, counters},
	{RDS_INFO_CONNECTIONS, sizeof(struct rds_info_connection), RDS_TABLE_OF_ALL, conns},
	{RDS_INFO_SEND_MESSAGES, sizeof(struct rds_info_message), 0, send_msgs},
	{RDS_INFO_RETRANS_MESSAGES, sizeof(struct rds_info_message), 0, retrans_msgs},
	{RDS_INFO_RECV_MESSAGES, sizeof(struct rds_info_message), 0, recv_msgs},
	{RDS_INFO_SOCKETS, sizeof(struct rds_info_socket), RDS_TABLE_WHOLE, sockets},
	{RDS6_INFO_CONNECTIONS, sizeof(struct rds6_info_connection), RDS_TABLE_OF_ALL, conns6},
	{RDS6_INFO_SEND_MESSAGES, sizeof(struct rds6_info_message), 0, send_msgs6},
	{RDS6_INFO_RETRANS_MESSAGES, sizeof(struct rds6_info_message), 0, retrans_msgs6},
	{RDS6_INFO_RECV_MESSAGES, sizeof(struct rds6_info_message), 0, recv_msgs6},
	{RDS6_INFO_SOCKETS, sizeof(struct rds6_info_socket), RDS_TABLE_WHOLE, sockets6},
};

/* Never fails after the first: the codes are ours alone. */
int rds_info_core_init(void)
{
	int i, err;

	for (i = 0; i < ARRAY_SIZE(core_sources); i++) {
		err = rds_info_register(core_sources[i].optname, core_sources[i].each,
					core_sources[i].flags, core_sources[i].fn);
		if (err)
			return err;
	}
	return 0;
}

void rds_info_core_exit(void)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(core_sources); i++)
		rds_info_unregister(core_sources[i].optname);
}
