/* SPDX-License-Identifier: GPL-2.0 */
/*
 * ib_limits_linux.h: times, batches and sizes of rds_rdma.ko that nobody can change.
 */
#ifndef RDS_IB_LIMITS_LINUX_H
#define RDS_IB_LIMITS_LINUX_H

#include <linux/jiffies.h>
#include <linux/time64.h>

/* The time that address and route resolution may take, each. */
#define RDS_IB_RESOLVE_MS 5000
/* And the peer's answer: rdma_cm asks anew after 4 to 6 s, so two requests may be lost. */
#define RDS_IB_REQUEST_MS 15000

/* A call that is older when the port comes back was made while it was down. */
#define RDS_IB_CALL_NS (NSEC_PER_SEC / 2)
/* While others get through the same adapter, one that is older than this was lost perhaps.  The
 * second time it is given twice as long, for a peer may be slow; then rdma_cm does as it does. */
#define RDS_IB_RENEW_NS (2 * NSEC_PER_SEC)
#define RDS_IB_RENEWALS 2
/* So long after one that got through it is looked for others, as often as this. */
#define RDS_IB_THROUGH (5 * HZ)
#define RDS_IB_LOOK (HZ / 4)

/* A dead peer is noticed by a frame that is never acknowledged; one is sent as often as this. */
#define RDS_IB_KEEPALIVE (5 * HZ)
/* While messages wait for the peer to have buffers it is looked as often as this. */
#define RDS_IB_DOUBT HZ
/* So many times in a row, and nothing of what was posted was sent: the connection is broken. */
#define RDS_IB_STUCK 2
/* A heartbeat's timeout is so much longer where the peer can reach memory of this host's. */
#define RDS_IB_OPS_PATIENCE 32
/* The time that the adapter may take to tell of operations when the connection has ended already.
 */
#define RDS_IB_LAST_WORDS msecs_to_jiffies(100)

/* How long to wait for memory for receive buffers, and for mappings. */
#define RDS_IB_REFILL_DELAY msecs_to_jiffies(10)

/* Completions that are worked off before buffers are posted again and the lock is given up. */
#define RDS_IB_BATCH 32
/* Batches, before others get the CPU. */
#define RDS_IB_BATCHES 8
/* Receive buffers of a connection of which nothing has come yet, a batch's. */
#define RDS_IB_FIRST_BUFFERS RDS_IB_BATCH

/* A frame's header, and a payload of 4 KiB << @order that begins and ends within a page perhaps. */
#define RDS_IB_SGES(order) (2U + (1U << (order)))
/* Pages that one work request of an operation has, if the adapter can: more would be room in every
 * send slot. */
#define RDS_IB_OP_SGES 8
/* Slots that stay for frames beside the largest operation. */
#define RDS_IB_OP_SPARE 4

/* Headers lie this far apart, so that one never straddles a page. */
#define RDS_IB_HEADER_STRIDE 64
#define RDS_IB_HEADERS_PER_PAGE (PAGE_SIZE / RDS_IB_HEADER_STRIDE)

#endif
