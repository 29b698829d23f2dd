/* SPDX-License-Identifier: GPL-2.0 */
/*
 * ib_stats.h: named counters of rds_rdma; rds-info prints them in this order, with "ib_" before the
 * name.
 *
 * The first 39 have mainline's names and its order, so that tools that look for them by either find
 * them.  What they count does not always exist here; then they stay at 0.  Those of links
 * (ib_link.h) are among all of these, found by their names.
 */
#ifndef RDS_IB_STATS_H
#define RDS_IB_STATS_H

#define RDS_IB_STATS(X)                                                                            \
	X(connect_raced)	 /* both called, and the peer's call was refused for ours */       \
	X(listen_closed_stale)	 /* accepted, but dead before a path took it */                    \
	X(evt_handler_call)	 /* rdma_cm has told of an event */                                \
	X(tasklet_call)		 /* completions were looked through */                             \
	X(tx_cq_event)		 /* mainline's: always 0 */                                        \
	X(tx_ring_full)		 /* no send slot was free: the path waited */                      \
	X(tx_throttle)		 /* no credit: the path waited for a buffer of the peer's */       \
	X(tx_sg_mapping_failure) /* pages to send could not be mapped: tried again */              \
	X(tx_stalled)		 /* mainline's: always 0 */                                        \
	X(tx_credit_updates)	 /* frames sent for nothing but to give credits back */            \
	X(rx_cq_event)		 /* mainline's: always 0 */                                        \
	X(rx_ring_empty)	 /* mainline's: always 0 */                                        \
	X(rx_refill_from_cq)	 /* mainline's: always 0 */                                        \
	X(rx_refill_from_thread) /* buffers were posted again late, by a worker */                 \
	X(rx_alloc_limit)	 /* net.rds.ib.max_recv_allocation reached */                      \
	X(rx_total_frags)	 /* mainline's: always 0 */                                        \
	X(rx_total_incs)	 /* mainline's: always 0 */                                        \
	X(rx_credit_updates)	 /* frames that gave credits back */                               \
	X(ack_sent)		 /* mainline's: always 0 */                                        \
	X(ack_send_failure)	 /* mainline's: always 0 */                                        \
	X(ack_send_delayed)	 /* mainline's: always 0 */                                        \
	X(ack_send_piggybacked)	 /* mainline's: always 0 */                                        \
	X(ack_received)		 /* mainline's: always 0 */                                        \
	X(rdma_mr_8k_alloc)	 /* memory regions of up to 8 KiB made */                          \
	X(rdma_mr_8k_free)	 /* memory regions of up to 8 KiB ended */                         \
	X(rdma_mr_8k_used)	 /* memory regions of up to 8 KiB in use now */                    \
	X(rdma_mr_8k_pool_flush) /* times that dirty regions of up to 8 KiB were cleared away */   \
	X(rdma_mr_8k_pool_wait)	 /* one was wanted, and had to wait for such a clearing */         \
	X(rdma_mr_8k_pool_depleted) /* one was wanted, and none was left even then */              \
	X(rdma_mr_1m_alloc)	    /* memory regions of up to 1 MiB made */                       \
	X(rdma_mr_1m_free)	    /* memory regions of up to 1 MiB ended */                      \
	X(rdma_mr_1m_used)	    /* memory regions of up to 1 MiB in use now */                 \
	X(rdma_mr_1m_pool_flush) /* times that dirty regions of up to 1 MiB were cleared away */   \
	X(rdma_mr_1m_pool_wait)	 /* one was wanted, and had to wait for such a clearing */         \
	X(rdma_mr_1m_pool_depleted) /* one was wanted, and none was left even then */              \
	X(rdma_mr_8k_reused)	    /* clean regions of up to 8 KiB used again */                  \
	X(rdma_mr_1m_reused)	    /* clean regions of up to 1 MiB used again */                  \
	X(atomic_cswp)		    /* compare and swap, begun */                                  \
	X(atomic_fadd)		    /* fetch and add, begun */                                     \
	/* Ours. */                                                                                \
	X(accept_refused)    /* no connection could be made, or the request made no sense */       \
	X(version_refused)   /* by us, or by the peer */                                           \
	X(completion_errors) /* connections that the adapter gave up */                            \
	X(tx_stuck)	     /* connections that the adapter should have given up */               \
	X(heartbeat_timeout) /* connections whose peer did not answer a heartbeat in time */       \
	X(port_events)	     /* an adapter, or a port, said that something has happened to it */   \
	X(address_moved)     /* connections that ended, for an address is elsewhere now */         \
	X(call_renewed)	     /* calls that were given up, and made anew, when a port came back */  \
	X(rx_alloc_failed)   /* no memory for a buffer: posted again late */                       \
	X(device_removals)   /* an adapter went, and its connections with it */                    \
	X(listen_failed)     /* peers cannot call us in a namespace, or only by IPv4 */            \
	X(peer_refused)	     /* a call, of the peer's or ours, that the table of peers refuses */  \
	X(key_refused)	     /* the same, for its host has a key, and nothing is signed here */    \
	X(op_refused)	     /* operations that the adapter did not take */                        \
	X(mr_stuck)	/* memory regions that the adapter did not end, and was asked again */     \
	X(tx_frames)	/* frames posted to be sent */                                             \
	X(tx_keepalive) /* empty frames, for nothing else was sent */                              \
	X(tx_heartbeat) /* peers asked whether their RDS is there */                               \
	X(rx_heartbeat) /* such questions of peers that were answered */                           \
	X(rx_frames)	/* frames that came */                                                     \
	X(rx_bad_frame) /* short, long, not of the message under way */                            \
	X(rx_bad_csum)	/* header with a wrong checksum: the connection was ended */               \
	X(rx_paused)	/* the core had to wait */

enum rds_ib_stat {
#define RDS_IB_STAT_ENUM(name) RDS_IB_S_##name,
	RDS_IB_STATS(RDS_IB_STAT_ENUM)
#undef RDS_IB_STAT_ENUM
		RDS_IB_STAT_COUNT,
};

#endif
