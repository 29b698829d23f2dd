/* SPDX-License-Identifier: GPL-2.0 */
/*
 * tcp_peers_linux.h: the table of peers (net/linux/peers.h) as TCP keeps to it.
 *
 * An entry takes effect in four places:
 *	a path calls		rds_tcp_peers_call(), before the socket connects
 *	a host calls		rds_tcp_peers_accept(), before there is an object for it
 *	its call is taken	the same once more, with tuning held
 *	the table changes	the listener gets the key, and connections whose rule is another now
 *				are dropped; they come back under it, or do not.  Where only a key
 *				of TCP-AO is another, with other ids, they go on and change over
 *
 * The last two are under tuning, so no connection is taken by a policy or a method that has gone.
 * One that waits to be taken while a key is replaced keeps the key that it came with (029).
 */
#ifndef RDS_TCP_PEERS_LINUX_H
#define RDS_TCP_PEERS_LINUX_H

#include "../../net/linux/peers.h"

struct rds_tcp_net;
struct rds_tcp_path;

/* May @tp's path call?  Then @sock, which is not connected yet, gets the key, and tp->keyed tells.
 * 0, -EACCES, or what TCP says of the key.  Under tuning.  Process. */
int rds_tcp_peers_call(struct rds_tcp_path *tp, struct socket *sock);
/* May @sk, accepted from @faddr, become a connection?  Any refusal is counted.  *@named: an entry
 * says so, and not the default.  Process. */
bool rds_tcp_peers_accept(struct rds_tcp_net *tn, const struct sock *sk,
			  const struct rds_addr *faddr, u32 scope, bool *named);
/* The same of @sock, which is to be @tp's, under tuning; its keys are brought up to date. */
bool rds_tcp_peers_adopt(struct rds_tcp_path *tp, struct socket *sock);
/* Nobody answers @tp's call; true: it was signed, and that may be why.  Any context. */
bool rds_tcp_peers_silent(const struct rds_tcp_path *tp);

/* ---- tcp_peers_keys_linux.c: process, under tuning ---- */
/* There is a listener, and was none before: it gets the keys of the table. */
void rds_tcp_peers_listen(struct rds_tcp_net *tn);
/* It gets the keys of @now, and loses @was's, of the same prefix; either may be NULL.  An error
 * is one of rds_peers_user.change, and changes nothing.  For writing. */
int rds_tcp_listener_change(struct rds_tcp_net *tn, const struct rds_peer *was,
			    const struct rds_peer *now);
/* Lets strangers' SYNs through or not, as the table has it.  For writing. */
void rds_tcp_listener_shut(struct rds_tcp_net *tn);
/* @sock, which is not connected yet, gets @e's key for @tp's call. */
int rds_tcp_peer_sign(struct rds_tcp_path *tp, struct socket *sock, const struct rds_peer *e);
/* @sock has been accepted, and gets the key that @e has now. */
void rds_tcp_peer_renew(struct socket *sock, const struct rds_peer *e);
/* @tp's connection goes on with the keys of @now after those of @was; false: it cannot.  For
 * writing.  @taken: connections that have lost a key by this change, RDS_TCP_KEYS_TAKEN at most. */
bool rds_tcp_peer_roll(struct rds_tcp_path *tp, const struct rds_peer *was,
		       const struct rds_peer *now, unsigned int *taken);

#endif
