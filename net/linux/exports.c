// SPDX-License-Identifier: GPL-2.0
/*
 * exports.c: what transports may use, in the order of the headers that declare it.
 *
 * C++ cannot export, so everything is named here; the checksums of these prototypes are what
 * refuses a transport that was built for another rds.ko.
 */
#include <linux/export.h>

#include "glue.h"
#include "peers.h"

/* rds_linux.h: whose version is whose */
const char RDS_VERSION_SYMBOL[] = RDS_MODULE_VERSION;
EXPORT_SYMBOL_GPL(RDS_VERSION_SYMBOL);

/* transport.h */
EXPORT_SYMBOL_GPL(rds_transport_register);
EXPORT_SYMBOL_GPL(rds_transport_unregister);
EXPORT_SYMBOL_GPL(rds_transport_net_exit);
EXPORT_SYMBOL_GPL(rds_transport_net_reset);
EXPORT_SYMBOL_GPL(rds_transport_net_paths);
EXPORT_SYMBOL_GPL(rds_conn_may_call);
EXPORT_SYMBOL_GPL(rds_conn_get);
EXPORT_SYMBOL_GPL(rds_conn_put);
EXPORT_SYMBOL_GPL(rds_conn_path);
EXPORT_SYMBOL_GPL(rds_path_priv);
EXPORT_SYMBOL_GPL(rds_path_laddr);
EXPORT_SYMBOL_GPL(rds_path_faddr);
EXPORT_SYMBOL_GPL(rds_path_scope);
EXPORT_SYMBOL_GPL(rds_path_tos);
EXPORT_SYMBOL_GPL(rds_path_index);
EXPORT_SYMBOL_GPL(rds_path_net);
EXPORT_SYMBOL_GPL(rds_path_os_net);
EXPORT_SYMBOL_GPL(rds_path_transport);
EXPORT_SYMBOL_GPL(rds_path_connected);
EXPORT_SYMBOL_GPL(rds_path_accepted);
EXPORT_SYMBOL_GPL(rds_path_knocked);
EXPORT_SYMBOL_GPL(rds_path_drop);
EXPORT_SYMBOL_GPL(rds_path_drained);
EXPORT_SYMBOL_GPL(rds_path_writable);
EXPORT_SYMBOL_GPL(rds_path_acked);
EXPORT_SYMBOL_GPL(rds_path_delivered);
EXPORT_SYMBOL_GPL(rds_path_received);
EXPORT_SYMBOL_GPL(rds_recv_begin);
EXPORT_SYMBOL_GPL(rds_recv_ack);
EXPORT_SYMBOL_GPL(rds_recv_more);
EXPORT_SYMBOL_GPL(rds_recv_incoming);
EXPORT_SYMBOL_GPL(rds_recv_later);
EXPORT_SYMBOL_GPL(rds_msg_header);
EXPORT_SYMBOL_GPL(rds_msg_len);
EXPORT_SYMBOL_GPL(rds_msg_payload);
EXPORT_SYMBOL_GPL(rds_msg_get);
EXPORT_SYMBOL_GPL(rds_msg_put);
EXPORT_SYMBOL_GPL(rds_msg_op);
EXPORT_SYMBOL_GPL(rds_op_done);

/* rds_linux.h */
EXPORT_SYMBOL_GPL(rds_net_of);

/* peers.h */
EXPORT_SYMBOL_GPL(rds_peers_of);
EXPORT_SYMBOL_GPL(rds_peers_join);
EXPORT_SYMBOL_GPL(rds_peers_leave);
EXPORT_SYMBOL_GPL(rds_peers_find);
EXPORT_SYMBOL_GPL(rds_peers_differ);
EXPORT_SYMBOL_GPL(rds_peers_tell);

/* platform.h */
EXPORT_SYMBOL_GPL(rds_alloc);
EXPORT_SYMBOL_GPL(rds_free);
EXPORT_SYMBOL_GPL(rds_spin_init);
EXPORT_SYMBOL_GPL(rds_spin_lock);
EXPORT_SYMBOL_GPL(rds_spin_unlock);
EXPORT_SYMBOL_GPL(rds_mutex_init);
EXPORT_SYMBOL_GPL(rds_mutex_lock);
EXPORT_SYMBOL_GPL(rds_mutex_lock_interruptible);
EXPORT_SYMBOL_GPL(rds_mutex_lock_killable);
EXPORT_SYMBOL_GPL(rds_mutex_trylock);
EXPORT_SYMBOL_GPL(rds_mutex_unlock);
EXPORT_SYMBOL_GPL(rds_rcu_read_lock);
EXPORT_SYMBOL_GPL(rds_rcu_read_unlock);
EXPORT_SYMBOL_GPL(rds_rcu_sync);
EXPORT_SYMBOL_GPL(rds_rcu_defer);
EXPORT_SYMBOL_GPL(rds_work_init);
EXPORT_SYMBOL_GPL(rds_work_queue);
EXPORT_SYMBOL_GPL(rds_work_cancel_sync);
EXPORT_SYMBOL_GPL(rds_work_flush);
EXPORT_SYMBOL_GPL(rds_timer_init);
EXPORT_SYMBOL_GPL(rds_timer_arm);
EXPORT_SYMBOL_GPL(rds_timer_cancel_sync);
EXPORT_SYMBOL_GPL(rds_now_ns);
EXPORT_SYMBOL_GPL(rds_random);
EXPORT_SYMBOL_GPL(rds_secret);
EXPORT_SYMBOL_GPL(rds_siphash);
EXPORT_SYMBOL_GPL(rds_payload_footprint);
EXPORT_SYMBOL_GPL(rds_payload_memory);
EXPORT_SYMBOL_GPL(rds_payload_init);
EXPORT_SYMBOL_GPL(rds_payload_unpin);
EXPORT_SYMBOL_GPL(rds_payload_from_mem);
EXPORT_SYMBOL_GPL(rds_payload_append);
EXPORT_SYMBOL_GPL(rds_payload_to_mem);
EXPORT_SYMBOL_GPL(rds_payload_truesize);
EXPORT_SYMBOL_GPL(rds_payload_destroy);
EXPORT_SYMBOL_GPL(rds_src_copy);
EXPORT_SYMBOL_GPL(rds_pages_unpin);
EXPORT_SYMBOL_GPL(rds_stat_add);
EXPORT_SYMBOL_GPL(rds_log);
EXPORT_SYMBOL_GPL(rds_bug);
EXPORT_SYMBOL_GPL(rds_module_get);
EXPORT_SYMBOL_GPL(rds_module_put);
