/* SPDX-License-Identifier: GPL-2.0 */
/*
 * tcp_duel.h: who of two hosts calls the other, and what a connection that came about means.
 *
 * The rule that every RDS/TCP follows: the numerically smaller address (128 bits, big-endian, IPv4
 * mapped) is the caller.  It connects from a port of its choice to RDS_TCP_PORT of the other.  The
 * larger one may connect too, to say "please call me": a knock.  A knock carries no
 * bytes.  The caller refuses it with a reset and calls; the knocker, once it sees its own
 * connection established, gives it up and waits.  So the two never use different connections,
 * whoever begins.
 *
 * Pure functions: every decision of the transport that depends on addresses or ports is here.
 */
#ifndef RDS_TCP_DUEL_H
#define RDS_TCP_DUEL_H

#include "../../net/platform/types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Where every RDS/TCP listens. */
#define RDS_TCP_PORT 16385
/* Paths that one connection may have on the wire (a power of two). */
#define RDS_TCP_MAX_PATHS 8

/* Does @laddr call @faddr?  Equal addresses: nobody calls. */
int rds_tcp_is_caller(const struct rds_addr *laddr, const struct rds_addr *faddr);

/* May this side connect at all (as caller, or to knock)? */
int rds_tcp_may_connect(const struct rds_addr *laddr, const struct rds_addr *faddr);

enum rds_tcp_meaning {
	RDS_TCP_USE,	/* this is the path's connection */
	RDS_TCP_KNOCK,	/* a knock: ours was heard, or theirs is to be refused and answered */
	RDS_TCP_REFUSE, /* nonsense: refuse it, there is nobody to answer */
};
/* A connection of @faddr's was accepted. */
enum rds_tcp_meaning rds_tcp_accepted_is(const struct rds_addr *laddr,
					 const struct rds_addr *faddr);
/* Our own connection to @faddr is established. */
enum rds_tcp_meaning rds_tcp_established_is(const struct rds_addr *laddr,
					    const struct rds_addr *faddr);

/* The path that an accepted connection from port @sport is for, if it comes from one of ours: the
 * caller puts the index into its port's remainder. */
unsigned int rds_tcp_path_of_port(uint16_t sport);
/*
 * The port that path @index calls from in attempt @attempt, within @low..@high; 0 means any port
 * does, or none of this path's is in the range.  With one path (@paths) any does.  With several
 * each attempt has another (the former may be taken).
 */
uint16_t rds_tcp_port_for(unsigned int paths, unsigned int index, uint16_t low, uint16_t high,
			  uint32_t attempt);

#ifdef __cplusplus
}
#endif
#endif
