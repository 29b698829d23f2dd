/* SPDX-License-Identifier: GPL-2.0 */
/*
 * ib_link_parts.h: what the sources of a link share, which is whole only there (ib_link.h).
 */
#ifndef RDS_IB_LINK_PARTS_H
#define RDS_IB_LINK_PARTS_H

#include "../../net/rds/wire.h"
#include "ib_numbers.h"

struct rds_ib_link;
struct rds_ib_need;
struct rds_msg;

namespace rds::ib
{

using Link = struct rds_ib_link;

/* How an operation ended: RDS_RDMA_* of the UAPI (net/linux/module.c asserts their values). */
inline constexpr int kRdmaSuccess = 0;
inline constexpr int kRdmaDropped = 3;
inline constexpr int kRdmaOtherError = 4;

/* More credits than a peer can have buffers: what it says beyond does not count. */
inline constexpr int32_t kManyCredits = 1 << 24;

/* An END frame: pad[0] of an empty one's header. */
inline constexpr uint8_t kEnd = 1;
/* A heartbeat, and its answer: the same. */
inline constexpr uint8_t kAsk = 2, kAnswer = 3;

/* From now on it sends. */
void open(Link &l);
/* Is there room for @n, without the slot and the credit that are kept for what the link itself has
 * to send? */
bool room(const Link &l, const struct rds_ib_need &n);
/* Posts a frame whose header @h is its own: flags of ib_link.h.  0, -ENOMEM: not now; another
 * -errno: the connection is broken. */
int post(Link &l, wire::Header &h, struct rds_msg *m, uint32_t off, uint32_t len,
	 unsigned int flags);
/* A frame of the link's own, with @mark, from the reserve.  False: not now, or the connection is
 * broken. */
bool post_own(Link &l, uint8_t mark = 0);
/* An empty frame that says @mark has come. */
void hear_beat(Link &l, uint8_t mark);
/* If one is due, and there is room. */
void answer(Link &l);
/* The core waits for @need. */
void note_blocked(Link &l, const struct rds_ib_need &need);
/* One's complement sum of the header's 16-bit words, as h_csum holds it in memory; 0 if h_csum is
 * right already. */
uint16_t checksum(const wire::Header &h);
/* Takes the frames that arrived, in order, until there are none or the core has to wait. */
void take_arrived(Link &l, enum rds_ctx ctx);

} // namespace rds::ib
#endif
