/* SPDX-License-Identifier: GPL-2.0 */
/*
 * network.h: hosts and the links between them: what becomes of a packet.
 *
 * Knows nothing of what packets mean.  Every pair of hosts has a link in each direction, which can
 * be cut (packets vanish and nobody is told) or slow.  A host can be off: it neither answers nor
 * hears.  Transports (tube.h, and others beside it) ask passes() when a packet arrives.
 */
#ifndef RDS_TESTS_NETWORK_H
#define RDS_TESTS_NETWORK_H

#include <vector>

#include "host.h"

namespace network
{

struct Params {
	uint64_t delay_min_ns = 1000;
	uint64_t delay_max_ns = 20 * 1000;
};

/* Everything away: no hosts, links whole. */
void reset(const Params &p);

using HostId = unsigned int;
constexpr HostId kNobody = ~0u;

/* Hosts are numbered in the order in which they come; a host is on until told otherwise. */
HostId add_host(const std::vector<struct rds_addr> &addrs);
/* It has one more. */
void add_addr(HostId h, const struct rds_addr &a);
HostId host_of(const struct rds_addr &a);
void power(HostId h, bool on);
bool is_on(HostId h);

/* Packets from @a to @b vanish from now on, or no longer. */
void cut(HostId a, HostId b, bool on);
/* They take @factor times as long. */
void slow(HostId a, HostId b, unsigned int factor);
/* Of all packets from now on the next that arrives is lost. */
void lose_next();
/* All links whole and quick again. */
void heal();

/* Does a packet that was sent some time ago arrive now? */
bool passes(HostId a, HostId b);
uint64_t delay(HostId a, HostId b);

} // namespace network
#endif
