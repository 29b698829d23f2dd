// SPDX-License-Identifier: GPL-2.0
/*
 * tcp_recv_linux.c: what a socket receives goes into the path's frame, straight from the skbs.
 *
 * tcp_read_sock() acknowledges and moves the window by TCP's own rules; nothing here forces an ack.
 */
#include "tcp_linux.h"

struct rds_tcp_reader {
	struct rds_tcp_path *tp;
	enum rds_ctx ctx;
	int status; /* of rds_tcp_frame_feed() */
};

static int rds_tcp_recv_actor(read_descriptor_t *desc, struct sk_buff *skb, unsigned int off,
			      size_t len)
{
	struct rds_tcp_reader *r = desc->arg.data;
	u32 used;

	/* tcp_read_sock() may come again with the rest of the same skb. */
	if (r->status)
		return 0;
	r->status = rds_tcp_frame_feed(&r->tp->frame, rds_src(skb), off, len, r->ctx, &used);
	if (r->status)
		desc->count = 0;
	return used;
}

/* The verdict of the framing on the bytes that it was given. */
static void rds_tcp_recv_settle(struct rds_tcp_path *tp, int status)
{
	if (status == -EAGAIN) {
		tp->paused = true;
		rds_recv_later(tp->path);
	} else if (status) {
		rds_tcp_enter(tp, RDS_TCP_ENDED); /* the core is dropping it */
	}
}

/* The peer will send nothing more, be it by FIN or because the connection is dead. */
static bool rds_tcp_peer_ended(const struct sock *sk)
{
	return sk->sk_state == TCP_CLOSE || sk->sk_shutdown & RCV_SHUTDOWN;
}

void rds_tcp_receive(struct rds_tcp_path *tp, enum rds_ctx ctx)
{
	struct rds_tcp_reader r = {.tp = tp, .ctx = ctx};
	read_descriptor_t desc = {.arg.data = &r, .count = 1};
	struct sock *sk = tp->sock->sk;
	bool draining = tp->phase == RDS_TCP_DRAINING;

	sock_owned_by_me(sk);
	if ((tp->phase != RDS_TCP_OPEN && !draining) || tp->paused)
		return;
	tcp_read_sock(sk, &desc, rds_tcp_recv_actor);
	rds_tcp_recv_settle(tp, r.status);
	/* While the core takes no more, the end has to wait for what is before it. */
	if (r.status || !rds_tcp_peer_ended(sk))
		return;
	rds_tcp_enter(tp, RDS_TCP_ENDED);
	if (draining && !sk->sk_err)
		rds_path_drained(tp->path);
	else
		rds_path_drop(tp->path,
			      sk->sk_state == TCP_CLOSE ? RDS_DROP_ERROR : RDS_DROP_PEER_CLOSED);
}

/* Socket locked by the caller, softirq or a process that leaves the lock. */
void rds_tcp_data_ready(struct sock *sk)
{
	struct rds_tcp_path *tp = sk->sk_user_data;

	rds_tcp_count(tp->tn, RDS_TCP_S_data_ready_calls);
	rds_tcp_receive(tp, RDS_ATOMIC);
}

void rds_tcp_recv_retry(void *priv)
{
	struct rds_tcp_path *tp = priv;
	u32 used;
	int status;

	if (!tp->sock)
		return;
	lock_sock(tp->sock->sk);
	if (tp->paused) {
		/* First what the core refused then: it is whole, and no byte need come for it. */
		tp->paused = false;
		status = rds_tcp_frame_feed(&tp->frame, NULL, 0, 0, RDS_MAY_SLEEP, &used);
		rds_tcp_recv_settle(tp, status);
	}
	rds_tcp_receive(tp, RDS_MAY_SLEEP);
	release_sock(tp->sock->sk);
}
