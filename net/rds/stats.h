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
	X(conn_reset)                                                                              \
	X(recv_drop_bad_checksum)                                                                  \
	X(recv_drop_old_seq)                                                                       \
	X(recv_drop_no_sock)                                                                       \
	X(recv_drop_dead_sock)                                                                     \
	X(recv_deliver_raced)                                                                      \
	X(recv_delivered)                                                                          \
	X(recv_queued)                                                                             \
	X(recv_immediate_retry)                                                                    \
	X(recv_delayed_retry)                                                                      \
	X(recv_ack_required)                                                                       \
	X(recv_rdma_bytes)                                                                         \
	X(recv_ping)                                                                               \
	X(send_queue_empty)                                                                        \
	X(send_queue_full)                                                                         \
	X(send_lock_contention)                                                                    \
	X(send_lock_queue_raced)                                                                   \
	X(send_immediate_retry)                                                                    \
	X(send_delayed_retry)                                                                      \
	X(send_drop_acked)                                                                         \
	X(send_ack_required)                                                                       \
	X(send_queued)                                                                             \
	X(send_rdma)                                                                               \
	X(send_rdma_bytes)                                                                         \
	X(send_pong)                                                                               \
	X(page_remainder_hit)                                                                      \
	X(page_remainder_miss)                                                                     \
	X(copy_to_user)                                                                            \
	X(copy_from_user)                                                                          \
	X(cong_update_queued)                                                                      \
	X(cong_update_received)                                                                    \
	X(cong_send_error)                                                                         \
	X(cong_send_blocked)                                                                       \
	X(recv_bytes_added_to_sock)                                                                \
	X(recv_bytes_freed_fromsock)                                                               \
	X(send_stuck_rm)                                                                           \
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
