// SPDX-License-Identifier: GPL-2.0
/*
 * tcp_info_linux.c: RDS_INFO_TCP_SOCKETS and its IPv6 form: the TCP connection of every path; and
 * what TCP has counted of one.
 */
#include "tcp_keys_linux.h"
#include "tcp_linux.h"

/* Where TCP's stream is: what was sent, what there is to send, what the peer has acknowledged. */
struct tcp_numbers {
	u32 sent, written, acked;
};

/*
 * Sequence numbers are told to administrators only: with them anybody could reset a connection that
 * carries the messages of all users, or put bytes into it.  Others are told how far each is beyond
 * what was acknowledged, which is as good a measure of what is under way.
 */
static struct tcp_numbers numbers_for(const struct rds_info_buf *b, const struct sock *sk)
{
	const struct tcp_sock *tcp = tcp_sk(sk);
	struct tcp_numbers n;

	n.acked = READ_ONCE(tcp->snd_una); /* first: none of the others is ever behind it */
	n.sent = READ_ONCE(tcp->snd_nxt);
	n.written = READ_ONCE(tcp->write_seq);
	if (!rds_info_is_for_admin(b)) {
		n.sent -= n.acked;
		n.written -= n.acked;
		n.acked = 0;
	}
	return n;
}

static void rds_tcp_info_v4(struct rds_info_buf *b, const struct rds_tcp_path *tp)
{
	const struct sock *sk = tp->sock->sk;
	const struct tcp_numbers n = numbers_for(b, sk);
	struct rds_info_tcp_socket i = {
		.local_addr = rds_addr_v4(rds_path_laddr(tp->path)),
		.local_port = READ_ONCE(inet_sk(sk)->inet_sport),
		.peer_addr = rds_addr_v4(rds_path_faddr(tp->path)),
		.peer_port = READ_ONCE(sk->sk_dport),
		.hdr_rem = rds_tcp_frame_header_left(&tp->frame),
		.data_rem = rds_tcp_frame_payload_left(&tp->frame),
		.last_sent_nxt = n.sent,
		.last_expected_una = n.written,
		.last_seen_una = n.acked,
	};

	if (rds_addr_is_v4(rds_path_faddr(tp->path)))
		rds_info_add(b, &i);
}

static void rds_tcp_info_v6(struct rds_info_buf *b, const struct rds_tcp_path *tp)
{
	const struct sock *sk = tp->sock->sk;
	const struct tcp_numbers n = numbers_for(b, sk);
	struct rds6_info_tcp_socket i = {
		.local_addr = rds_addr_in6(rds_path_laddr(tp->path)),
		.local_port = READ_ONCE(inet_sk(sk)->inet_sport),
		.peer_addr = rds_addr_in6(rds_path_faddr(tp->path)),
		.peer_port = READ_ONCE(sk->sk_dport),
		.hdr_rem = rds_tcp_frame_header_left(&tp->frame),
		.data_rem = rds_tcp_frame_payload_left(&tp->frame),
		.last_sent_nxt = n.sent,
		.last_expected_una = n.written,
		.last_seen_una = n.acked,
	};

	rds_info_add(b, &i);
}

/* Snapshots without the sockets' locks: numbers may be a moment apart. */
static void rds_tcp_info_all(struct net *net, struct rds_info_buf *b,
			     void (*add)(struct rds_info_buf *b, const struct rds_tcp_path *tp))
{
	struct klist_iter i;
	struct rds_tcp_path *tp;

	klist_iter_init(&rds_tcp_net_of(net)->socks, &i);
	while ((tp = rds_tcp_next_sock(&i))) {
		add(b, tp);
		cond_resched();
	}
	klist_iter_exit(&i);
}

static void rds_tcp_info_socks(struct net *net, struct rds_info_buf *b)
{
	rds_tcp_info_all(net, b, rds_tcp_info_v4);
}

static void rds_tcp_info_socks6(struct net *net, struct rds_info_buf *b)
{
	rds_tcp_info_all(net, b, rds_tcp_info_v6);
}

/*
 * Without the socket's lock: numbers may be a moment apart.  TCP's sock may be used for another
 * connection within the section, its slab says no more than that it is one: then the path has
 * another socket by now, or none, and nothing is told.
 */
void rds_tcp_facts(const void *priv, struct rds_link_facts *f)
{
	const struct rds_tcp_path *tp = priv;
	struct rds_link_facts is = {.known = 1};
	const struct socket *sock;
	const struct sock *sk;

	rcu_read_lock();
	sock = READ_ONCE(tp->sock);
	sk = sock ? READ_ONCE(sock->sk) : NULL;
	if (sk) {
		const struct tcp_sock *tcp = tcp_sk(sk);

		is.tx_bytes = READ_ONCE(tcp->bytes_acked);
		is.rx_bytes = READ_ONCE(tcp->bytes_received);
		is.rtt_us = READ_ONCE(tcp->srtt_us) >> 3;
		is.heard_ms = jiffies_to_msecs(tcp_jiffies32 - READ_ONCE(tcp->rcv_tstamp));
		is.signed_by = rds_tcp_signed_by(sk);
		smp_rmb(); /* after them: */
		if (READ_ONCE(tp->sock) == sock)
			*f = is;
	}
	rcu_read_unlock();
}

int rds_tcp_info_start(void)
{
	int err;

	err = rds_info_register(RDS_INFO_TCP_SOCKETS, sizeof(struct rds_info_tcp_socket),
				RDS_TABLE_WHOLE | RDS_TABLE_OF_ALL, rds_tcp_info_socks);
	if (err)
		return err;
	err = rds_info_register(RDS6_INFO_TCP_SOCKETS, sizeof(struct rds6_info_tcp_socket),
				RDS_TABLE_WHOLE | RDS_TABLE_OF_ALL, rds_tcp_info_socks6);
	if (err)
		rds_info_unregister(RDS_INFO_TCP_SOCKETS);
	return err;
}

void rds_tcp_info_stop(void)
{
	rds_info_unregister(RDS_INFO_TCP_SOCKETS);
	rds_info_unregister(RDS6_INFO_TCP_SOCKETS);
}
