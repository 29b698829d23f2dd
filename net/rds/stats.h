/* SPDX-License-Identifier: GPL-2.0 */
/*
 * stats.h: the core's named counters, per CPU and per network namespace.
 *
 * The first 36 keep mainline's names and order, because rds-info and scripts know them
 * (mainline.md A.9); ours follow.  A counter is bumped beside the code that it counts.
 */
#ifndef RDS_STATS_H
#define RDS_STATS_H

#define RDS_STATS(X)                                                                               \
	X(conn_reset)		     /* a path lost its connection, and connects again */          \
	X(recv_drop_bad_checksum)    /* mainline's: always 0 */                                    \
	X(recv_drop_old_seq)	     /* sent again, and had come before: thrown away */            \
	X(recv_drop_no_sock)	     /* nobody is bound to its port: thrown away */                \
	X(recv_drop_dead_sock)	     /* its socket was being closed: thrown away */                \
	X(recv_deliver_raced)	     /* mainline's: always 0 */                                    \
	X(recv_delivered)	     /* read by programs */                                        \
	X(recv_queued)		     /* put into the queue of a socket */                          \
	X(recv_immediate_retry)	     /* mainline's: always 0 */                                    \
	X(recv_delayed_retry)	     /* a receiver was full: tried again after a pause */          \
	X(recv_ack_required)	     /* its sender wants to know at once that it came */           \
	X(recv_rdma_bytes)	     /* that peers have written to memory here, or read */         \
	X(recv_ping)		     /* pings received, and answered */                            \
	X(send_queue_empty)	     /* mainline's: always 0 */                                    \
	X(send_queue_full)	     /* send buffer full: the sender waited, or got EAGAIN */      \
	X(send_lock_contention)	     /* mainline's: always 0 */                                    \
	X(send_lock_queue_raced)     /* mainline's: always 0 */                                    \
	X(send_immediate_retry)	     /* mainline's: always 0 */                                    \
	X(send_delayed_retry)	     /* left to a worker, which goes on later */                   \
	X(send_drop_acked)	     /* mainline's: always 0 */                                    \
	X(send_ack_required)	     /* batches with the wish to know that they came */            \
	X(send_queued)		     /* taken for sending */                                       \
	X(send_rdma)		     /* RDMA operations begun */                                   \
	X(send_rdma_bytes)	     /* of them, to write or to read */                            \
	X(send_pong)		     /* pings answered */                                          \
	X(page_remainder_hit)	     /* mainline's: always 0 */                                    \
	X(page_remainder_miss)	     /* mainline's: always 0 */                                    \
	X(copy_to_user)		     /* bytes copied to programs */                                \
	X(copy_from_user)	     /* bytes copied from programs */                              \
	X(cong_update_queued)	     /* congestion maps and changes of them sent */                \
	X(cong_update_received)	     /* congestion maps and changes of them received */            \
	X(cong_send_error)	     /* the port is full: the sender got ENOBUFS */                \
	X(cong_send_blocked)	     /* the port is full: the sender waited */                     \
	X(recv_bytes_added_to_sock)  /* bytes put into queues of sockets */                        \
	X(recv_bytes_freed_fromsock) /* bytes read from there, or thrown away at close */          \
	X(send_stuck_rm)	     /* mainline's: always 0 */                                    \
	/* Ours. */                                                                                \
	X(recv_drop_bad_length)	 /* h_len above the limit: the path was reset */                   \
	X(recv_drop_bad_cong)	 /* congestion update that is not 8192 bytes long */               \
	X(recv_drop_bad_port)	 /* source or destination port 0 where that means nothing */       \
	X(recv_bad_flags)	 /* header flags nobody defined; the message was taken */          \
	X(recv_bad_exthdr)	 /* extension header cut short or of an impossible type */         \
	X(recv_foreign_exthdr)	 /* extension header that belongs to another transport */          \
	X(recv_sock_full)	 /* receiver over its hard limit: reading of the path paused */    \
	X(recv_no_memory)	 /* allocation failed on receive: retried */                       \
	X(recv_pong_dropped)	 /* too many unanswered pings queued on one path */                \
	X(send_no_memory)	 /* allocation failed on send */                                   \
	X(send_cancelled)	 /* taken back by RDS_CANCEL_SENT_TO or close */                   \
	X(send_retransmitted)	 /* queued again after a reset */                                  \
	X(send_held)		 /* waited for company instead of a segment of its own */          \
	X(conn_knock)		 /* the peer asked us to connect */                                \
	X(conn_replaced)	 /* accepted while up: the peer had given the old one up */        \
	X(conn_takeover_refused) /* accepted while up, and the old one answered: refused */        \
	X(conn_drain_timeout)	 /* closed without having seen the peer's end */                   \
	X(cong_wakeups)		 /* sockets woken because a port they waited for cleared */        \
	X(send_ack_only)	 /* bare acks: nothing was there to carry one */                   \
	X(recv_ack_only)	 /* bare acks received */                                          \
	X(recv_bad_ack)		 /* acknowledges what was never sent: ignored */                   \
	X(conn_passive_refused)	 /* a peer called, and max_passive_connections were there */       \
	X(conn_fan_out)		 /* path 0 was full: messages spread over several */               \
	X(conn_fold)		 /* the peer is another now: all were brought together */          \
	X(conn_wrong_path)	 /* a connection was taken for another path's: ended */            \
	X(conn_idle)		 /* nothing to say for idle_timeout_ms: ended in order */          \
	X(conn_collected)	 /* and its memory given back */                                   \
	X(send_order_away)	 /* un-ordered, sent on another path than its ports' */            \
	X(send_order_wait)	 /* kept back until what is on other paths was delivered */        \
	X(conn_stranger_gone)	 /* of a peer that brought nothing for a socket: forgotten */      \
	X(conn_evicted)		 /* one of too many that only peers want, or mute */               \
	X(conn_tombstone)	 /* collected, and only its numbers are remembered */              \
	X(conn_stalled)		 /* the rest of a frame did not come: ended */                     \
	X(recv_assembly_full)	 /* too much that is not whole: a stranger went, others paused */  \
	X(conn_call_refused)	 /* strangers of its prefix, or all of them, call too often */     \
	X(recv_refused)		 /* for a full socket: its sender is to send it again */           \
	X(recv_bad_refusal)	 /* says of a port what cannot be: ignored */                      \
	X(send_refused)		 /* ports of peers that have refused a message of ours */          \
	X(user_refused)		 /* a user had its share of sockets or connections: EDQUOT */      \
	X(recv_spill_share)	 /* its peer had its share of a full socket's spill: waits */      \
	X(conn_tomb_full)	 /* more refused ports than tombstones have room for: kept */

enum rds_stat {
#define RDS_STAT_ENUM(name) RDS_S_##name,
	RDS_STATS(RDS_STAT_ENUM)
#undef RDS_STAT_ENUM
		RDS_STAT_COUNT,
};

#endif
