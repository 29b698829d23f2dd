/* SPDX-License-Identifier: GPL-2.0 */
/*
 * tcp_keys_linux.h: keys of TCP's sockets, by their options, for both methods of signing.
 *
 * A socket has a key for the hosts of a prefix; the listener's children get copies of those that
 * hold for their peer.  Of TCP-MD5 there is one for a prefix, and another takes its place; with
 * prefixes in one another the longest holds.  Of TCP-AO there may be several, with ids that tell
 * them apart in each segment, but prefixes in one another do not give way.
 *
 * The kernel has the options where it was built with them: without, -ENOPROTOOPT.
 *
 * All: process; the socket is not locked.  No lock is asked for, but who changes a listener's keys
 * has rds_peers.lock.
 */
#ifndef RDS_TCP_KEYS_LINUX_H
#define RDS_TCP_KEYS_LINUX_H

#include <linux/net.h>

#include "../../net/linux/peers.h"

/* Gives @sock a key for a prefix of @len bits of 128.  -EEXIST: there is one with an id of it. */
int rds_tcp_key_add(struct socket *sock, const struct rds_addr *addr, u8 len,
		    const struct rds_peer_key *key);
/* Takes it back.  -ENOENT: it is not there; -EBUSY: the connection signs with it, or wants the peer
 * to. */
int rds_tcp_key_del(struct socket *sock, const struct rds_addr *addr, u8 len,
		    const struct rds_peer_key *key);
/* Which of its TCP-AO keys a socket that calls begins with, and wants to be answered with. */
int rds_tcp_key_begin(struct socket *sock, const struct rds_peer_key *key);
/* The peer of the connection is to sign with this one of its TCP-AO keys, once it has it; it wants
 * the same of us, and TCP does so. */
int rds_tcp_key_prefer(struct socket *sock, const struct rds_peer_key *key);
/* The listener answers no SYN that is not signed by TCP-AO.  -EKEYREJECTED: it has other keys. */
int rds_tcp_key_require_ao(struct socket *listener, bool on);
/* By which method an accepted connection is signed (enum rds_peers_method).  Any context. */
u8 rds_tcp_signed_by(const struct sock *sk);

#endif
