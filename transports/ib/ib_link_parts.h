/* SPDX-License-Identifier: GPL-2.0 */
/*
 * ib_link_parts.h: what ib_link.cc and ib_link_recv.cc share of a link, which is whole only there
 * (ib_link.h).
 */
#ifndef RDS_IB_LINK_PARTS_H
#define RDS_IB_LINK_PARTS_H

#include "../../net/rds/wire.h"

struct rds_ib_link;

namespace rds::ib
{

using Link = struct rds_ib_link;

/* How an operation ended: RDS_RDMA_* of the UAPI (net/linux/module.c asserts their values). */
inline constexpr int kRdmaSuccess = 0;
inline constexpr int kRdmaDropped = 3;
inline constexpr int kRdmaOtherError = 4;

/* More credits than a peer can have buffers: what it says beyond does not count. */
inline constexpr int32_t kManyCredits = 1 << 24;

/* From now on it sends. */
void open(Link &l);
/* One's complement sum of the header's 16-bit words, as h_csum holds it in memory; 0 if h_csum is
 * right already. */
uint16_t checksum(const wire::Header &h);
/* Takes the frames that arrived, in order, until there are none or the core has to wait. */
void take_arrived(Link &l, enum rds_ctx ctx);

} // namespace rds::ib
#endif
