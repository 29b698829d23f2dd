// SPDX-License-Identifier: GPL-2.0
/*
 * proc.c: /proc/net/rds: sockets, connections and paths of a namespace, for people.
 *
 * The first line names the columns, every other one is a row; columns are separated by blanks, and
 * only the last may contain some.  rds-info reads paths by these names.
 *
 * A file is read in steps: position 0 is the first line, position n + 1 of a table its bucket n in
 * the order of HashTable::walk(), and of the sockets the one with the number n.  So one that is
 * there all the time is shown once, and nothing is locked for longer than a few rows.
 */
#include <linux/proc_fs.h>
#include <linux/seq_file.h>

#include "linux_net.h"

/* Wide enough for IPv4; longer ones push their row to the right. */
static void put_addr(struct seq_file *m, const struct rds_addr *addr)
{
	struct in6_addr in6 = rds_addr_in6(addr);

	if (rds_addr_is_v4(addr))
		seq_printf(m, "%-15pI4 ", &in6.s6_addr32[3]);
	else
		seq_printf(m, "%-15pI6c ", &in6);
}

static void put_endpoint(struct seq_file *m, const struct rds_endpoint *ep, bool there)
{
	if (!there) {
		seq_printf(m, "%-15s %5s ", "-", "-");
		return;
	}
	put_addr(m, &ep->addr);
	seq_printf(m, "%5u ", ep->port);
}

static void put_count(struct seq_file *m, u32 count)
{
	if (count == RDS_RECV_UNKNOWN)
		seq_printf(m, " %10s", "-");
	else
		seq_printf(m, " %10u", count);
}

/* ---- sockets ---- */

struct socket_rows {
	struct seq_net_private p; /* first */
	struct rds_viewer viewer;
	struct rds_recv_look look;
};

/* With a reference: whoever reads may be interrupted between any two rows. */
static void *socket_at(struct seq_file *m, loff_t *pos, unsigned long id)
{
	struct xarray *socks = &rds_linux_net(seq_file_net(m))->socks;
	struct rds_sock *rs = NULL;

	rcu_read_lock();
	for (; id <= U32_MAX; id++) {
		rs = xa_find(socks, &id, U32_MAX, XA_PRESENT);
		if (!rs || refcount_inc_not_zero(&rs->sk.sk_refcnt))
			break;
		rs = NULL;
	}
	rcu_read_unlock();
	*pos = rs ? id + 1 : (loff_t)U32_MAX + 2;
	return rs;
}

static void *sockets_start(struct seq_file *m, loff_t *pos)
{
	struct socket_rows *rows = m->private;

	rows->viewer = rds_viewer_of_file(seq_file_net(m), m->file);
	rds_recv_look(rds_net_of(seq_file_net(m)), &rows->look);
	return *pos ? socket_at(m, pos, *pos - 1) : SEQ_START_TOKEN;
}

static void put_row(void *v)
{
	struct rds_sock *rs = v;

	if (v && v != SEQ_START_TOKEN)
		sock_put(&rs->sk);
}

static void *sockets_next(struct seq_file *m, void *v, loff_t *pos)
{
	put_row(v);
	cond_resched();
	return socket_at(m, pos, *pos);
}

static void sockets_stop(struct seq_file *m, void *v)
{
	struct socket_rows *rows = m->private;

	put_row(v);
	rds_recv_look_end(&rows->look);
}

static int sockets_show(struct seq_file *m, void *v)
{
	struct rds_sock *rs = v;
	struct socket_rows *rows = m->private;
	struct rds_recv_counts held;
	struct rds_endpoint ep;
	struct rds_socket *s;

	if (v == SEQ_START_TOKEN) {
		seq_printf(m, "%-15s %5s %-15s %5s %10s %10s %8s %10s %10s\n", "BoundAddr", "BPort",
			   "ConnAddr", "CPort", "SndBuf", "RcvBuf", "Inode", "NBufs", "Span");
		return 0;
	}
	if (!rds_viewer_sees(&rows->viewer, &rs->sk))
		return 0;
	s = rds_core(&rs->sk);
	put_endpoint(m, &ep, rds_socket_bound(s, &ep));
	put_endpoint(m, &ep, rds_socket_peer(s, &ep));
	seq_printf(m, "%10u %10u %8llu", rds_socket_sndbuf(s), rds_socket_rcvbuf(s),
		   (u64)sock_i_ino(&rs->sk));
	rds_socket_recv_counts(s, &rows->look, &held);
	put_count(m, held.held);
	put_count(m, held.span);
	seq_putc(m, '\n');
	return 0;
}

static const struct seq_operations sockets_ops = {
	.start = sockets_start, .next = sockets_next, .stop = sockets_stop, .show = sockets_show};

/* ---- connections and paths ---- */

struct table_rows {
	struct seq_net_private p; /* first */
	u64 next;		  /* the position behind the one that was shown */
	bool all;		  /* the reader may see rows; as it was when this read began */
};

/* They are of all users together: of a restricted table others see the first line. */
static void *table_at(struct seq_file *m, loff_t *pos)
{
	const struct table_rows *rows = m->private;

	return rows->all && *pos - 1 < RDS_INFO_END ? pos : NULL;
}

static void *table_start(struct seq_file *m, loff_t *pos)
{
	struct table_rows *rows = m->private;

	rows->all = rds_viewer_of_file(seq_file_net(m), m->file).all;
	return *pos ? table_at(m, pos) : SEQ_START_TOKEN;
}

static void *table_next(struct seq_file *m, void *v, loff_t *pos)
{
	struct table_rows *rows = m->private;

	cond_resched(); /* a large table may be empty */
	*pos = v == SEQ_START_TOKEN ? 1 : rows->next + 1;
	return table_at(m, pos);
}

static void table_stop(struct seq_file *m, void *v)
{
}

static void put_conn(void *m, const struct rds_conn_info *i)
{
	put_addr(m, &i->laddr);
	put_addr(m, &i->faddr);
	seq_printf(m, "%3u %-10s %16llu %16llu %c%c%c\n", i->tos, i->transport, i->next_tx_seq,
		   i->next_rx_seq, i->flags & RDS_INFO_CONNECTION_FLAG_SENDING ? 's' : '-',
		   i->flags & RDS_INFO_CONNECTION_FLAG_CONNECTING ? 'c' : '-',
		   i->flags & RDS_INFO_CONNECTION_FLAG_CONNECTED ? 'C' : '-');
}

static int conns_show(struct seq_file *m, void *v)
{
	struct table_rows *rows = m->private;

	if (v == SEQ_START_TOKEN)
		seq_printf(m, "%-15s %-15s %3s %-10s %16s %16s %s\n", "LocalAddr", "RemoteAddr",
			   "Tos", "Transport", "NextTX", "NextRX", "Flg");
	else
		rows->next =
			rds_info_conns(rds_net_of(seq_file_net(m)), *(loff_t *)v - 1, put_conn, m);
	return 0;
}

static void put_path(void *m, const struct rds_path_info *i)
{
	put_addr(m, &i->laddr);
	put_addr(m, &i->faddr);
	seq_printf(m, "%3u %-10s %4u %-13s %16llu %16llu %8u %8u %s\n", i->tos, i->transport,
		   i->index, i->state, i->next_tx_seq, i->next_rx_seq, i->attempts, i->resets,
		   i->last_reason);
}

static int paths_show(struct seq_file *m, void *v)
{
	struct table_rows *rows = m->private;

	if (v == SEQ_START_TOKEN)
		seq_printf(m, "%-15s %-15s %3s %-10s %4s %-13s %16s %16s %8s %8s %s\n", "LocalAddr",
			   "RemoteAddr", "Tos", "Transport", "Path", "State", "NextTX", "NextRX",
			   "Attempts", "Resets", "LastReason");
	else
		rows->next =
			rds_info_paths(rds_net_of(seq_file_net(m)), *(loff_t *)v - 1, put_path, m);
	return 0;
}

static const struct seq_operations conns_ops = {
	.start = table_start, .next = table_next, .stop = table_stop, .show = conns_show};
static const struct seq_operations paths_ops = {
	.start = table_start, .next = table_next, .stop = table_stop, .show = paths_show};

int rds_proc_net_init(struct net *net)
{
	struct proc_dir_entry *dir = proc_net_mkdir(net, "rds", net->proc_net);

	if (!dir)
		return -ENOMEM;
	if (proc_create_net("sockets", 0444, dir, &sockets_ops, sizeof(struct socket_rows)) &&
	    proc_create_net("connections", 0444, dir, &conns_ops, sizeof(struct table_rows)) &&
	    proc_create_net("paths", 0444, dir, &paths_ops, sizeof(struct table_rows)))
		return 0;
	rds_proc_net_exit(net);
	return -ENOMEM;
}

/* Waits for readers. */
void rds_proc_net_exit(struct net *net)
{
	remove_proc_subtree("rds", net->proc_net);
}
