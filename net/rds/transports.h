/* SPDX-License-Identifier: GPL-2.0 */
/*
 * transports.h: the registry: which transports there are, and which one serves an address.
 *
 * Guarded by a mutex; process context.  A transport that was returned is pinned: the caller drops
 * the module reference (rds_module_put(t->owner)).
 */
#ifndef RDS_TRANSPORTS_H
#define RDS_TRANSPORTS_H

#include "result.h"
#include "rights.h"
#include "transport.h"

namespace rds
{

/* RDS_TRANS_* of the UAPI; the glue asserts that they agree. */
enum TransportType : unsigned int { kTransIb, kTransGap, kTransTcp, kTransLoop, kTransCount };

/* The registry, before the first transport and after the last.  -ENOMEM. */
Status transports_begin() RDS_SLEEPS;
void transports_end();
/* @t is nobody's any more who asks from now on. */
void transport_forget(const struct rds_transport &t);
/* The one that serves the local address @addr without being asked for: loopback addresses loop,
 * others in order of type.  -EADDRNOTAVAIL; or the error of one that cannot tell (laddr_check). */
Result<const struct rds_transport *>
transport_for_laddr(struct rds_os_net *os, const struct rds_addr &addr, uint32_t scope);
/* The one of @type, loaded if need be and if the caller may have it loaded.  -ENOPROTOOPT. */
Result<const struct rds_transport *> transport_by_type(unsigned int type);
/* May @t's sockets at @laddr send to @faddr at all?  Those of loopback reach this host's addresses
 * only: to any other they would be both ends of a connection.  -EADDRNOTAVAIL.  Process. */
Status transport_reaches(struct rds_os_net *os, const struct rds_transport &t,
			 const struct rds_addr &laddr, const struct rds_addr &faddr,
			 uint32_t scope);
/* The transport that carries from @t's sockets at @laddr to @faddr: @t, or loopback.  Takes a
 * module reference that the caller drops.  -ENETDOWN, -ENETUNREACH, or that of laddr_check.
 * Process. */
Result<const struct rds_transport *> transport_for(struct rds_os_net *os,
						   const struct rds_transport &t,
						   const struct rds_addr &laddr,
						   const struct rds_addr &faddr, uint32_t scope);
/* Does @t serve the local address, for who asks for @t?  -EADDRNOTAVAIL: no; or that of
 * laddr_check.  Takes no reference. */
Status transport_serves(struct rds_os_net *os, const struct rds_transport &t,
			const struct rds_addr &addr, uint32_t scope);
/* Has this host @addr, as far as its transports know?  -EADDRNOTAVAIL: no; or that of laddr_check.
 * Loopback addresses are no transport's.  Process. */
Status address_is_here(struct rds_os_net *os, const struct rds_addr &addr, uint32_t scope);
/* 127.0.0.0/8 or ::1 */
bool is_loopback(const struct rds_addr &addr);

} // namespace rds
#endif
