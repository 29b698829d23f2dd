// SPDX-License-Identifier: GPL-2.0
/*
 * proc.c: /proc/net/rds: sockets, connections and paths of a namespace, for people.
 *
 * The first line names the columns, every other one is a row; columns are separated by blanks, and
 * only the last may contain some.  rds-info reads paths by these names.  A file is one snapshot,
 * taken as RDS_INFO_* takes it; where it does not fit into seq_file's buffer it is taken once more,
 * into a larger one.
 */
#include <linux/proc_fs.h>
#include <linux/seq_file.h>

#include "glue.h"

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

struct socket_rows {
	struct seq_file *m;
	struct rds_recv_look look;
};

static void put_socket(void *arg, const struct rds_sock *rs)
{
	struct rds_socket *s = rds_core(&rs->sk);
	struct socket_rows *rows = arg;
	struct seq_file *m = rows->m;
	struct rds_recv_counts held;
	struct rds_endpoint ep;

	put_endpoint(m, &ep, rds_socket_bound(s, &ep));
	put_endpoint(m, &ep, rds_socket_peer(s, &ep));
	seq_printf(m, "%10u %10u %8llu", rds_socket_sndbuf(s), rds_socket_rcvbuf(s),
		   (u64)sock_i_ino((struct sock *)&rs->sk));
	rds_socket_recv_counts(s, &rows->look, &held);
	put_count(m, held.held);
	put_count(m, held.span);
	seq_putc(m, '\n');
}

static int show_sockets(struct seq_file *m, void *v)
{
	struct net *net = seq_file_single_net(m);
	struct socket_rows rows = {.m = m};

	seq_printf(m, "%-15s %5s %-15s %5s %10s %10s %8s %10s %10s\n", "BoundAddr", "BPort",
		   "ConnAddr", "CPort", "SndBuf", "RcvBuf", "Inode", "NBufs", "Span");
	rcu_read_lock();
	rds_recv_look(rds_net_of(net), &rows.look);
	rds_each_socket(net, put_socket, &rows);
	rcu_read_unlock();
	return 0;
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

static int show_conns(struct seq_file *m, void *v)
{
	seq_printf(m, "%-15s %-15s %3s %-10s %16s %16s %s\n", "LocalAddr", "RemoteAddr", "Tos",
		   "Transport", "NextTX", "NextRX", "Flg");
	rds_info_conns(rds_net_of(seq_file_single_net(m)), put_conn, m);
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

static int show_paths(struct seq_file *m, void *v)
{
	seq_printf(m, "%-15s %-15s %3s %-10s %4s %-13s %16s %16s %8s %8s %s\n", "LocalAddr",
		   "RemoteAddr", "Tos", "Transport", "Path", "State", "NextTX", "NextRX",
		   "Attempts", "Resets", "LastReason");
	rds_info_paths(rds_net_of(seq_file_single_net(m)), put_path, m);
	return 0;
}

int rds_proc_net_init(struct net *net)
{
	struct proc_dir_entry *dir = proc_net_mkdir(net, "rds", net->proc_net);

	if (!dir)
		return -ENOMEM;
	if (proc_create_net_single("sockets", 0444, dir, show_sockets, NULL) &&
	    proc_create_net_single("connections", 0444, dir, show_conns, NULL) &&
	    proc_create_net_single("paths", 0444, dir, show_paths, NULL))
		return 0;
	rds_proc_net_exit(net);
	return -ENOMEM;
}

/* Waits for readers. */
void rds_proc_net_exit(struct net *net)
{
	remove_proc_subtree("rds", net->proc_net);
}
