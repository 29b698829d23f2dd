/* SPDX-License-Identifier: GPL-2.0 */
/*
 * trace.h: tracepoints of rds.ko, below /sys/kernel/tracing/events/rds.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM rds

#if !defined(RDS_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define RDS_TRACE_H

#include <linux/tracepoint.h>

#include "rds_linux.h"

/* The numbers are those of enum rds::PathState (path.h) and enum rds_drop_reason (transport.h). */
#define rds_show_state(s)                                                                          \
	__print_symbolic(s, { 0, "down" }, { 1, "connecting" }, { 2, "disconnecting" },            \
			 { 3, "up" }, { 4, "dead" })
#define rds_show_why(w)                                                                            \
	__print_symbolic(w, { RDS_DROP_NONE, "-" }, { RDS_DROP_PEER_CLOSED, "peer closed" },       \
			 { RDS_DROP_ERROR, "error" }, { RDS_DROP_CONNECT, "connect failed" },      \
			 { RDS_DROP_KNOCKED, "knocked" }, { RDS_DROP_REPLACED, "replaced" },       \
			 { RDS_DROP_PROTOCOL, "protocol" }, { RDS_DROP_SEND, "send failed" },      \
			 { RDS_DROP_ADMIN, "admin" }, { RDS_DROP_DESTROY, "destroy" })

/* A path changed its state (docs/connection-states.md). */
TRACE_EVENT(rds_path_state,
	TP_PROTO(const struct rds_path *path, unsigned int from, unsigned int to,
		 unsigned int why),
	TP_ARGS(path, from, to, why),
	TP_STRUCT__entry(
		__array(u8, laddr, 16)
		__array(u8, faddr, 16)
		__array(char, transport, 16)
		__field(unsigned int, index)
		__field(unsigned int, from)
		__field(unsigned int, to)
		__field(unsigned int, why)
	),
	TP_fast_assign(
		memcpy(__entry->laddr, rds_path_laddr(path), 16);
		memcpy(__entry->faddr, rds_path_faddr(path), 16);
		strscpy(__entry->transport, rds_path_transport(path)->name, 16);
		__entry->index = rds_path_index(path);
		__entry->from = from;
		__entry->to = to;
		__entry->why = why;
	),
	TP_printk("%s %pI6c - %pI6c path %u: %s -> %s, %s", __entry->transport, __entry->laddr,
		  __entry->faddr, __entry->index, rds_show_state(__entry->from),
		  rds_show_state(__entry->to), rds_show_why(__entry->why))
);

#endif

#undef TRACE_INCLUDE_PATH
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_PATH .
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
