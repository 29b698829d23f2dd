/* SPDX-License-Identifier: GPL-2.0 */
/*
 * wire.h: a transport between namespaces of one process, on real threads.
 *
 * A connection is two byte queues with a window; one thread plays the network (it stands for
 * softirq when it delivers, for the accept worker when it opens).  Like TCP it acknowledges nothing
 * that RDS could rely on, and a cut throws away what nobody has read.  Framing and roles are the
 * TCP transport's own.
 */
#ifndef RDS_PTHREAD_WIRE_H
#define RDS_PTHREAD_WIRE_H

#include "tests/sim/host.h"

namespace wire
{

extern const struct rds_transport ops;

/* The network's thread.  stop() lets it do what is left to do; no path may be left by then. */
void start();
void stop();
/* Whom an address belongs to; before anything is sent to it. */
void add_host(const struct rds_addr &addr, struct rds_net *net);
/* Nobody calls it any more, and no call is being answered. */
void remove_host(const struct rds_addr &addr);
/* Breaks a connection, whichever; false when there is none. */
bool cut_one();

} // namespace wire
#endif
