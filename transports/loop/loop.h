/* SPDX-License-Identifier: GPL-2.0 */
/*
 * loop.h: loopback, an ordinary transport and the reference for the contract in transport.h.
 *
 * Its "wire" joins two connections of the same host: what goes out on A -> B comes in on B -> A,
 * in the sender's context, and is acknowledged when the receiver's socket has it.  It never breaks.
 * A full receiver is told as no room, and tried again after a moment, as with any transport.  Where
 * nothing is before a message, the core delivers it at that end by itself (path_at_once.cc).
 */
#ifndef RDS_LOOP_H
#define RDS_LOOP_H

#include "../../net/rds/transport.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The ops table; @owner is filled in, the caller registers it.  Once, at module init. */
const struct rds_transport *rds_loop_init(struct rds_module *owner);

#ifdef __cplusplus
}
#endif
#endif
