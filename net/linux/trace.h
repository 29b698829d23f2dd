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
#define RDS_REASON_SYMBOL(name, text) { RDS_DROP_##name, text },
#define RDS_REASON_LAST(name, text) { RDS_DROP_##name, text }
#define rds_show_why(w) __print_symbolic(w, RDS_DROP_REASONS(RDS_REASON_SYMBOL, RDS_REASON_LAST))
/* Tells tools that read the events' formats what the names stand for. */
#define RDS_REASON_EXPORT(name, text) TRACE_DEFINE_ENUM(RDS_DROP_##name);
RDS_DROP_REASONS(RDS_REASON_EXPORT, RDS_REASON_EXPORT)

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

/* A connection's worker took an event of a path, and left it in the state "to". */
TRACE_EVENT(rds_path_event,
	TP_PROTO(const struct rds_path *path, unsigned int event, unsigned int from),
	TP_ARGS(path, event, from),
	TP_STRUCT__entry(
		__array(u8, laddr, 16)
		__array(u8, faddr, 16)
		__field(unsigned int, index)
		__string(event, rds_path_event_name(event))
		__field(unsigned int, from)
		__field(unsigned int, to)
	),
	TP_fast_assign(
		memcpy(__entry->laddr, rds_path_laddr(path), 16);
		memcpy(__entry->faddr, rds_path_faddr(path), 16);
		__entry->index = rds_path_index(path);
		rds_assign_str(event, rds_path_event_name(event));
		__entry->from = from;
		__entry->to = rds_path_state(path);
	),
	TP_printk("%pI6c - %pI6c path %u: %s in %s -> %s", __entry->laddr, __entry->faddr,
		  __entry->index, __get_str(event), rds_show_state(__entry->from),
		  rds_show_state(__entry->to))
);

/* A message that came is thrown away; the reason is the name of the counter that was raised. */
TRACE_EVENT(rds_drop,
	TP_PROTO(const struct rds_path *path, unsigned int why, u64 seq, u32 len, u16 sport,
		 u16 dport),
	TP_ARGS(path, why, seq, len, sport, dport),
	TP_STRUCT__entry(
		__array(u8, laddr, 16)
		__array(u8, faddr, 16)
		__string(why, rds_stat_name(why))
		__field(u64, seq)
		__field(u32, len)
		__field(u16, sport)
		__field(u16, dport)
	),
	TP_fast_assign(
		memcpy(__entry->laddr, rds_path_laddr(path), 16);
		memcpy(__entry->faddr, rds_path_faddr(path), 16);
		rds_assign_str(why, rds_stat_name(why));
		__entry->seq = seq;
		__entry->len = len;
		__entry->sport = sport;
		__entry->dport = dport;
	),
	TP_printk("[%pI6c]:%u -> [%pI6c]:%u number %llu, %u bytes: %s", __entry->faddr,
		  __entry->sport, __entry->laddr, __entry->dport, __entry->seq, __entry->len,
		  __get_str(why))
);

/* The numbers are those of enum rds_cong_news (platform.h). */
#define rds_show_news(n)                                                                           \
	__print_symbolic(n, { 0, "full" }, { 1, "clear" }, { 2, "map received" },                  \
			 { 3, "forgotten" })

/* A port of ours became full or clear, or what is known of a peer's ports has changed (port 0). */
TRACE_EVENT(rds_cong,
	TP_PROTO(const struct rds_addr *addr, unsigned int port, unsigned int news),
	TP_ARGS(addr, port, news),
	TP_STRUCT__entry(
		__array(u8, addr, 16)
		__field(unsigned int, port)
		__field(unsigned int, news)
	),
	TP_fast_assign(
		memcpy(__entry->addr, addr, 16);
		__entry->port = port;
		__entry->news = news;
	),
	TP_printk("[%pI6c]:%u %s", __entry->addr, __entry->port, rds_show_news(__entry->news))
);

#endif

#undef TRACE_INCLUDE_PATH
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_PATH .
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
