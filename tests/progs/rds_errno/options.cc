// SPDX-License-Identifier: GPL-2.0
/* setsockopt() and getsockopt() at level SOL_RDS, apart from RDS_INFO_*. */
#include "table.h"

#include <linux/rds.h>

#include <cstring>

namespace rdstest
{

namespace
{

/* Mainline's CANCEL_SENT_TO, MR and latency options take a pointer or a size that is wrong so. */
long setBytes(int fd, int option, const void *data, socklen_t length)
{
	return sys(setsockopt(fd, SOL_RDS, option, data, length));
}

/* Zeroed bytes of a given length. */
long setZeros(int fd, int option, socklen_t length)
{
	char zeros[256] = {};

	return setBytes(fd, option, zeros, length);
}

/* getsockopt with a length: "value, length", or the errno. */
std::string getSized(int fd, int option, socklen_t length)
{
	int64_t value = 0;
	const socklen_t given = length;

	if (getsockopt(fd, SOL_RDS, option, &value, &length) < 0)
		return describe(-errno);
	return std::to_string(given >= 8 && length == 8 ? value : static_cast<int>(value)) +
	       ", length " + std::to_string(length);
}

void addSizes(Table &table, const Env &env)
{
	static const struct {
		const char *name;
		int option;
		socklen_t length;
		const char *mainline, *ours;
	} rows[] = {
		{"CANCEL_SENT_TO, length 0", RDS_CANCEL_SENT_TO, 0, "EINVAL", "0"},
		{"CANCEL_SENT_TO, length 1", RDS_CANCEL_SENT_TO, 1, "EINVAL", "EINVAL"},
		{"CANCEL_SENT_TO, length 15", RDS_CANCEL_SENT_TO, 15, "EINVAL", "EINVAL"},
		{"CANCEL_SENT_TO, length 16", RDS_CANCEL_SENT_TO, 16, "0", "0"},
		{"CANCEL_SENT_TO, length 27", RDS_CANCEL_SENT_TO, 27, "0", "0"},
		{"CANCEL_SENT_TO, length 28", RDS_CANCEL_SENT_TO, 28, "0", "0"},
		{"CANCEL_SENT_TO, length 128", RDS_CANCEL_SENT_TO, 128, "0", "0"},
		{"GET_MR, length 0", RDS_GET_MR, 0, "EINVAL", "EINVAL"},
		{"GET_MR, length 31", RDS_GET_MR, 31, "EINVAL", "EINVAL"},
		{"GET_MR, length 33", RDS_GET_MR, 33, "EINVAL", "EINVAL"},
		{"GET_MR, no RDMA here", RDS_GET_MR, 32, "EOPNOTSUPP", "EOPNOTSUPP"},
		{"GET_MR_FOR_DEST, length 159", RDS_GET_MR_FOR_DEST, 159, "EINVAL", "EINVAL"},
		{"GET_MR_FOR_DEST, length 161", RDS_GET_MR_FOR_DEST, 161, "EINVAL", "EINVAL"},
		{"GET_MR_FOR_DEST, no RDMA here", RDS_GET_MR_FOR_DEST, 160, "EOPNOTSUPP",
		 "EOPNOTSUPP"},
		{"FREE_MR, length 15", RDS_FREE_MR, 15, "EINVAL", "EINVAL"},
		{"FREE_MR, length 17", RDS_FREE_MR, 17, "EINVAL", "EINVAL"},
		{"FREE_MR, flush without RDMA", RDS_FREE_MR, 16, "EINVAL", "EINVAL"},
		{"BARRIER", 4, 4, "ENOPROTOOPT", "ENOPROTOOPT"},
		{"RECVERR, length 0", RDS_RECVERR, 0, "EINVAL", "EINVAL"},
		{"RECVERR, length 3", RDS_RECVERR, 3, "EINVAL", "EINVAL"},
		{"RECVERR, length 4", RDS_RECVERR, 4, "0", "0"},
		{"RECVERR, length 5", RDS_RECVERR, 5, "0", "0"},
		{"CONG_MONITOR, length 0", RDS_CONG_MONITOR, 0, "EINVAL", "EINVAL"},
		{"CONG_MONITOR, length 3", RDS_CONG_MONITOR, 3, "EINVAL", "EINVAL"},
		{"CONG_MONITOR, length 4", RDS_CONG_MONITOR, 4, "0", "0"},
		{"CONG_MONITOR, length 8", RDS_CONG_MONITOR, 8, "0", "0"},
		{"RDS_TRANSPORT, length 0", SO_RDS_TRANSPORT, 0, "EOPNOTSUPP", "EOPNOTSUPP"},
		{"RXPATH_LATENCY, length 0", SO_RDS_MSG_RXPATH_LATENCY, 0, "EFAULT", "EFAULT"},
		{"RXPATH_LATENCY, length 3", SO_RDS_MSG_RXPATH_LATENCY, 3, "EFAULT", "EFAULT"},
		{"RXPATH_LATENCY, length 4", SO_RDS_MSG_RXPATH_LATENCY, 4, "0", "0"},
		{"RXPATH_LATENCY, length 5", SO_RDS_MSG_RXPATH_LATENCY, 5, "EFAULT", "EFAULT"},
		{"TIMESTAMP_OLD, length 3", 29, 3, "EFAULT", "EFAULT"},
		{"TIMESTAMP_OLD, length 4", 29, 4, "0", "0"},
		{"TIMESTAMP_OLD, length 8", 29, 8, "EFAULT", "EFAULT"},
		{"TIMESTAMP_NEW, length 3", 63, 3, "EFAULT", "EFAULT"},
		{"TIMESTAMP_NEW, length 4", 63, 4, "0", "0"},
		{"TIMESTAMP_NEW, length 8", 63, 8, "EFAULT", "EFAULT"},
	};

	for (const auto &one : rows) {
		const auto row = one;

		table.differs(
			std::string("setsockopt: ") + row.name, row.mainline, row.ours,
			[env, row] { return setZeros(bindRds(env.loop), row.option, row.length); });
	}
}

void addUnknown(Table &table, const Env &env)
{
	for (int option : {0, 4, 9, 12, 28, 30, 62, 68, 9999, 10018, -1}) {
		table.row("setsockopt: option " + std::to_string(option), "ENOPROTOOPT",
			  [env, option] { return setZeros(bindRds(env.loop), option, 8); });
		table.row("getsockopt: option " + std::to_string(option), "ENOPROTOOPT",
			  [env, option] { return getSized(bindRds(env.loop), option, 8); });
	}
	for (int option : {RDS_CANCEL_SENT_TO, RDS_GET_MR, RDS_FREE_MR, RDS_GET_MR_FOR_DEST,
			   SO_RDS_MSG_RXPATH_LATENCY, 29, 63})
		table.row("getsockopt: set-only option " + std::to_string(option), "ENOPROTOOPT",
			  [env, option] { return getSized(bindRds(env.loop), option, 8); });
	table.row("setsockopt: RDS_INFO_COUNTERS", "ENOPROTOOPT",
		  [env] { return setZeros(bindRds(env.loop), RDS_INFO_COUNTERS, 8); });
	for (int level : {0 /* IP */, 6 /* TCP */, 41 /* IPv6 */, 275, 277}) {
		table.row("setsockopt: level " + std::to_string(level), "ENOPROTOOPT",
			  [env, level] { return setOption(bindRds(env.loop), level, 1, 1); });
		table.row("getsockopt: level " + std::to_string(level), "ENOPROTOOPT",
			  [env, level] { return getOption(bindRds(env.loop), level, 1); });
	}
}

void addPointers(Table &table, const Env &env)
{
	static const struct {
		const char *name;
		int option;
		socklen_t length;
	} rows[] = {
		{"CANCEL_SENT_TO", RDS_CANCEL_SENT_TO, 16},
		{"CANCEL_SENT_TO, v6", RDS_CANCEL_SENT_TO, 28},
		{"GET_MR", RDS_GET_MR, 32},
		{"GET_MR_FOR_DEST", RDS_GET_MR_FOR_DEST, 160},
		{"FREE_MR", RDS_FREE_MR, 16},
		{"RECVERR", RDS_RECVERR, 4},
		{"CONG_MONITOR", RDS_CONG_MONITOR, 4},
		{"CONG_MONITOR, length 8", RDS_CONG_MONITOR, 8},
		{"RXPATH_LATENCY", SO_RDS_MSG_RXPATH_LATENCY, 4},
		{"TIMESTAMP_OLD", 29, 4},
		{"TIMESTAMP_NEW", 63, 4},
	};

	for (const auto &one : rows) {
		const auto row = one;

		table.row(std::string("setsockopt: bad pointer, ") + row.name, "EFAULT",
			  [env, row] {
				  return setBytes(bindRds(env.loop), row.option, badPointer(),
						  row.length);
			  });
		table.row(std::string("setsockopt: length -1, ") + row.name, "EINVAL", [env, row] {
			return setZeros(bindRds(env.loop), row.option, static_cast<socklen_t>(-1));
		});
	}
	table.row("setsockopt: bad pointer, RDS_TRANSPORT", "EFAULT",
		  [] { return setBytes(openRds(), SO_RDS_TRANSPORT, badPointer(), 4); });
	for (int option : {RDS_RECVERR, SO_RDS_TRANSPORT}) {
		table.row("getsockopt: bad value pointer, option " + std::to_string(option),
			  "EFAULT", [env, option] {
				  socklen_t length = 4;

				  return sys(getsockopt(bindRds(env.loop), SOL_RDS, option,
							badPointer(), &length));
			  });
		table.row("getsockopt: bad length pointer, option " + std::to_string(option),
			  "EFAULT", [env, option] {
				  int value;

				  return sys(getsockopt(bindRds(env.loop), SOL_RDS, option, &value,
							static_cast<socklen_t *>(badPointer())));
			  });
	}
}

void addRecverr(Table &table, const Env &env)
{
	table.row("RECVERR: default", "0, length 4",
		  [env] { return getSized(bindRds(env.loop), RDS_RECVERR, 4); });
	table.row("RECVERR: 5 reads as 1", "1, length 4", [env] {
		const Fd fd = bindRds(env.loop);

		setOption(fd, SOL_RDS, RDS_RECVERR, 5);
		return getSized(fd, RDS_RECVERR, 4);
	});
	table.row("RECVERR: get, length 3", "EINVAL",
		  [env] { return getSized(bindRds(env.loop), RDS_RECVERR, 3); });
	table.row("RECVERR: get, length 8", "0, length 4",
		  [env] { return getSized(bindRds(env.loop), RDS_RECVERR, 8); });
	table.row("RECVERR: a short set changes nothing", "1, length 4", [env] {
		const Fd fd = bindRds(env.loop);

		setOption(fd, SOL_RDS, RDS_RECVERR, 1);
		setZeros(fd, RDS_RECVERR, 3);
		return getSized(fd, RDS_RECVERR, 4);
	});
}

/* An option of ours that is a number, 0 at first. */
void addNumber(Table &table, const Env &env, const std::string &name, int option,
	       const std::vector<int> &good, const std::vector<int> &bad)
{
	const char *const no = "ENOPROTOOPT";

	table.differs(name + ": default", no, "0, length 4",
		      [env, option] { return getSized(bindRds(env.loop), option, 4); });
	table.differs(name + ": get, length 3", no, "EINVAL",
		      [env, option] { return getSized(bindRds(env.loop), option, 3); });
	for (int value : good)
		table.differs(name + ": " + std::to_string(value), no,
			      std::to_string(value) + ", length 4", [env, option, value] {
				      const Fd fd = bindRds(env.loop);

				      setOption(fd, SOL_RDS, option, value);
				      return getSized(fd, option, 4);
			      });
	for (int value : bad)
		table.differs(name + ": no such, " + std::to_string(value), no, "EINVAL",
			      [env, option, value] {
				      return setBytes(bindRds(env.loop), option, &value,
						      sizeof(value));
			      });
	table.differs(name + ": a short set", no, "EINVAL",
		      [env, option] { return setZeros(bindRds(env.loop), option, 3); });
}

void addNumbers(Table &table, const Env &env)
{
	addNumber(table, env, "ORDER", RDS_ORDER,
		  {RDS_ORDER_ORDERED, RDS_ORDER_HALF, RDS_ORDER_UNORDERED}, {-1, 3, 4});
	addNumber(table, env, "RECV_BATCH", RDS_RECV_BATCH, {0, 1, RDS_MAX_SEGMENTS},
		  {-1, RDS_MAX_SEGMENTS + 1});
	addNumber(table, env, "INQ", SO_RDS_INQ, {0, 1}, {});
	table.differs("INQ: any number is on", "ENOPROTOOPT", "1, length 4", [env] {
		const Fd fd = bindRds(env.loop);

		setOption(fd, SOL_RDS, SO_RDS_INQ, -5);
		return getSized(fd, SO_RDS_INQ, 4);
	});
}

/* Of connections that are not there. */
void addReset(Table &table, const Env &env)
{
	table.differs("CONN_RESET: none there", "EOPNOTSUPP", "ENOENT", [env] {
		return setZeros(bindRds(env.loop), RDS_CONN_RESET, sizeof(rds_reset));
	});
	table.differs("CONN_RESET: unbound", "EINVAL", "ENOENT",
		      [] { return setZeros(openRds(), RDS_CONN_RESET, sizeof(rds_reset)); });
	table.differs("RDS6_CONN_RESET: none there", "ENOPROTOOPT", "ENOENT", [env] {
		return setZeros(bindRds(env.loop), RDS6_CONN_RESET, sizeof(rds6_reset));
	});
	for (socklen_t length : {0u, 4u, 35u, 37u})
		table.differs("RDS6_CONN_RESET: length " + std::to_string(length), "ENOPROTOOPT",
			      "EINVAL", [env, length] {
				      return setZeros(bindRds(env.loop), RDS6_CONN_RESET, length);
			      });
	table.differs("RDS6_CONN_RESET: bad pointer", "ENOPROTOOPT", "EFAULT", [env] {
		return describe(sys(setsockopt(bindRds(env.loop), SOL_RDS, RDS6_CONN_RESET,
					       badPointer(), sizeof(rds6_reset))));
	});
	table.row("RDS6_CONN_RESET: is not to be read", "ENOPROTOOPT",
		  [env] { return getSized(bindRds(env.loop), RDS6_CONN_RESET, 8); });
}

void addMonitor(Table &table, const Env &env)
{
	table.differs("CONG_MONITOR: get, default", "ENOPROTOOPT", "0, length 4",
		      [env] { return getSized(bindRds(env.loop), RDS_CONG_MONITOR, 4); });
	table.differs("CONG_MONITOR: get, length 3", "ENOPROTOOPT", "EINVAL",
		      [env] { return getSized(bindRds(env.loop), RDS_CONG_MONITOR, 3); });
	table.differs("CONG_MONITOR: set as bool, get as bool", "ENOPROTOOPT", "1, length 4",
		      [env] {
			      const Fd fd = bindRds(env.loop);

			      setOption(fd, SOL_RDS, RDS_CONG_MONITOR, 5);
			      return getSized(fd, RDS_CONG_MONITOR, 4);
		      });
	table.differs("CONG_MONITOR: set as mask, get as mask", "ENOPROTOOPT",
		      "1099511627778, length 8", [env] {
			      const Fd fd = bindRds(env.loop);
			      const uint64_t mask =
				      RDS_CONG_MONITOR_MASK(40) | RDS_CONG_MONITOR_MASK(65);

			      setBytes(fd, RDS_CONG_MONITOR, &mask, sizeof(mask));
			      return getSized(fd, RDS_CONG_MONITOR, 8);
		      });
	table.differs("CONG_MONITOR: mask 0 switches it off", "ENOPROTOOPT", "0, length 4", [env] {
		const Fd fd = bindRds(env.loop);
		const uint64_t mask = 0;

		setOption(fd, SOL_RDS, RDS_CONG_MONITOR, 1);
		setBytes(fd, RDS_CONG_MONITOR, &mask, sizeof(mask));
		return getSized(fd, RDS_CONG_MONITOR, 4);
	});
	table.differs("CONG_MONITOR: a mask reads as 1 when asked for an int", "ENOPROTOOPT",
		      "1, length 4", [env] {
			      const Fd fd = bindRds(env.loop);
			      const uint64_t mask = RDS_CONG_MONITOR_MASK(63);

			      setBytes(fd, RDS_CONG_MONITOR, &mask, sizeof(mask));
			      return getSized(fd, RDS_CONG_MONITOR, 4);
		      });
}

void addTransport(Table &table, const Env &env)
{
	for (int length : {0, 1, 3, 5, 8})
		table.row("RDS_TRANSPORT: set, length " + std::to_string(length), "EINVAL",
			  [length] { return setZeros(openRds(), SO_RDS_TRANSPORT, length); });
	for (int value : {-1, RDS_TRANS_LOOP, 4, 255})
		table.row("RDS_TRANSPORT: set " + std::to_string(value), "EINVAL", [value] {
			return setOption(openRds(), SOL_RDS, SO_RDS_TRANSPORT, value);
		});
	table.row("RDS_TRANSPORT: get, unbound", "-1, length 4",
		  [] { return getSized(openRds(), SO_RDS_TRANSPORT, 4); });
	table.row("RDS_TRANSPORT: get, length 3", "EINVAL",
		  [] { return getSized(openRds(), SO_RDS_TRANSPORT, 3); });
	table.row("RDS_TRANSPORT: get, length 8", "-1, length 4",
		  [] { return getSized(openRds(), SO_RDS_TRANSPORT, 8); });
	table.row("RDS_TRANSPORT: get, 127.0.0.1", "loop",
		  [env] { return transportName(bindRds(env.loop)); });
	table.row("RDS_TRANSPORT: get, 127.1.2.3", "loop",
		  [] { return transportName(bindRds(Address::parse("127.1.2.3"))); });
	table.row("RDS_TRANSPORT: get, ::1", "loop",
		  [env] { return transportName(bindRds(env.loop6)); });
	table.row("RDS_TRANSPORT: set TCP", "tcp", [] {
		const Fd fd = openRds();

		setOption(fd, SOL_RDS, SO_RDS_TRANSPORT, RDS_TRANS_TCP);
		return transportName(fd);
	});
	table.row("RDS_TRANSPORT: set twice", "EOPNOTSUPP", [] {
		const Fd fd = openRds();

		setOption(fd, SOL_RDS, SO_RDS_TRANSPORT, RDS_TRANS_TCP);
		return setOption(fd, SOL_RDS, SO_RDS_TRANSPORT, RDS_TRANS_TCP);
	});
	table.row("RDS_TRANSPORT: set when bound", "EOPNOTSUPP", [env] {
		return setOption(bindRds(env.loop), SOL_RDS, SO_RDS_TRANSPORT, RDS_TRANS_TCP);
	});
	table.row("RDS_TRANSPORT: set TCP, then bound to 127.0.0.1", "tcp", [env] {
		const Fd fd = openRds();

		setOption(fd, SOL_RDS, SO_RDS_TRANSPORT, RDS_TRANS_TCP);
		if (bind(fd, env.loop.get(), env.loop.length()) < 0)
			return describe(-errno);
		return transportName(fd);
	});
	for (const auto &local : {env.local, env.local6}) {
		if (local)
			table.row("RDS_TRANSPORT: get, bound to " + local->text(), "tcp",
				  [local] { return transportName(bindRds(*local)); });
	}
}

/* RDS_RECV_QUERY: "nbufs, span", or the errno. */
std::string query(int fd, rds_recv_query q, socklen_t length = sizeof(q))
{
	const socklen_t given = length;

	if (getsockopt(fd, SOL_RDS, RDS_RECV_QUERY, &q, &length) < 0)
		return describe(-errno);
	if (given >= sizeof(q) && length != sizeof(q))
		return "length " + std::to_string(length);
	return std::to_string(q.nbufs_allocated) + ", " + std::to_string(q.bufs_alloc_span);
}

rds_recv_query askAbout(const Address &peer, uint32_t want)
{
	rds_recv_query q = {};

	memcpy(&q.peer, peer.get(), peer.length());
	q.want = want;
	return q;
}

/* 7 and 9 stand for what nobody wanted. */
rds_recv_query askAll(uint32_t want, uint32_t reserved = 0)
{
	rds_recv_query q = {};

	q.want = want;
	q.nbufs_allocated = 7;
	q.bufs_alloc_span = 9;
	q.reserved = reserved;
	return q;
}

void addRecvQuery(Table &table, const Env &env)
{
	const char *const no = "ENOPROTOOPT";
	constexpr uint32_t both = RDS_RECV_QUERY_NBUFS | RDS_RECV_QUERY_SPAN;

	table.differs("RECV_QUERY: unbound", no, "ENOTCONN",
		      [] { return query(openRds(), askAll(both)); });
	table.differs("RECV_QUERY: nothing there", no, "0, 0",
		      [env] { return query(bindRds(env.loop), askAll(both)); });
	table.differs("RECV_QUERY: nothing wanted", no, "7, 9",
		      [env] { return query(bindRds(env.loop), askAll(0)); });
	table.differs("RECV_QUERY: only the number", no, "0, 9",
		      [env] { return query(bindRds(env.loop), askAll(RDS_RECV_QUERY_NBUFS)); });
	table.differs("RECV_QUERY: only the span", no, "7, 0",
		      [env] { return query(bindRds(env.loop), askAll(RDS_RECV_QUERY_SPAN)); });
	table.differs("RECV_QUERY: unknown bit", no, "EINVAL",
		      [env] { return query(bindRds(env.loop), askAll(both | 4)); });
	table.differs("RECV_QUERY: reserved", no, "EINVAL",
		      [env] { return query(bindRds(env.loop), askAll(both, 1)); });
	for (socklen_t length : {0u, 4u, 143u})
		table.differs(
			"RECV_QUERY: length " + std::to_string(length), no, "EINVAL",
			[env, length] { return query(bindRds(env.loop), askAll(both), length); });
	table.differs("RECV_QUERY: bad pointer", no, "EFAULT", [env] {
		socklen_t length = sizeof(rds_recv_query);

		return describe(sys(getsockopt(bindRds(env.loop), SOL_RDS, RDS_RECV_QUERY,
					       badPointer(), &length)));
	});
	table.differs("RECV_QUERY: another family", no, "EINVAL", [env] {
		rds_recv_query q = askAll(both);

		reinterpret_cast<sockaddr *>(&q.peer)->sa_family = AF_UNIX;
		return query(bindRds(env.loop), q);
	});
	for (const char *peer : {"0.0.0.0", "255.255.255.255", "224.0.0.1", "::", "ff02::1"})
		table.differs(std::string("RECV_QUERY: of ") + peer, no, "EINVAL", [env, peer] {
			return query(bindRds(env.loop), askAbout(Address::parse(peer), both));
		});
	table.differs("RECV_QUERY: of a stranger", no, "0, 0",
		      [env] { return query(bindRds(env.loop), askAbout(env.absent, both)); });
	table.differs("RECV_QUERY: of an IPv6 stranger", no, "0, 0",
		      [env] { return query(bindRds(env.loop), askAbout(env.absent6, both)); });
}

void addMisc(Table &table, const Env &env)
{
	for (int option : {RDS_CANCEL_SENT_TO, RDS_GET_MR, RDS_GET_MR_FOR_DEST}) {
		const socklen_t length = option == RDS_CANCEL_SENT_TO ? 16
					 : option == RDS_GET_MR	      ? 32
								      : 160;

		table.row("setsockopt: unbound, option " + std::to_string(option), "ENOTCONN",
			  [option, length] { return setZeros(openRds(), option, length); });
	}
	table.row("CANCEL_SENT_TO: unbound, length 0", "ENOTCONN",
		  [] { return setZeros(openRds(), RDS_CANCEL_SENT_TO, 0); });
	table.row("FREE_MR: unknown cookie", "EINVAL", [env] {
		const rds_free_mr_args args = {.cookie = 4711, .flags = 0};

		return setBytes(bindRds(env.loop), RDS_FREE_MR, &args, sizeof(args));
	});
	static const struct {
		rds_rx_trace_so trace;
		const char *want;
	} traces[] = {
		{{0, {0, 0, 0}}, "0"},	    {{1, {0, 0, 0}}, "0"},
		{{3, {0, 1, 2}}, "0"},	    {{3, {2, 2, 2}}, "0"},
		{{4, {0, 1, 2}}, "EFAULT"}, {{255, {0, 1, 2}}, "EFAULT"},
		{{1, {3, 0, 0}}, "EFAULT"}, {{3, {0, 1, 3}}, "EFAULT"},
		{{1, {0, 3, 3}}, "0"},
	};
	for (const auto &one : traces) {
		const auto row = one;
		const auto &[n, pos] = row.trace;

		table.row("RXPATH_LATENCY: " + std::to_string(n) + " of " + std::to_string(pos[0]) +
				  "," + std::to_string(pos[1]) + "," + std::to_string(pos[2]),
			  row.want, [env, row] {
				  return setBytes(bindRds(env.loop), SO_RDS_MSG_RXPATH_LATENCY,
						  &row.trace, sizeof(row.trace));
			  });
	}
	for (int option : {SO_SNDBUF, SO_RCVBUF})
		table.row("SOL_SOCKET: default of option " + std::to_string(option), "212992",
			  [option] { return getOption(openRds(), SOL_SOCKET, option); });
	table.row("SOL_SOCKET: SO_ZEROCOPY", "0",
		  [] { return setOption(openRds(), SOL_SOCKET, SO_ZEROCOPY, 1); });
	table.row("SOL_SOCKET: SO_TYPE", "5",
		  [] { return getOption(openRds(), SOL_SOCKET, SO_TYPE); });
	table.row("SOL_SOCKET: SO_DOMAIN", "21",
		  [] { return getOption(openRds(), SOL_SOCKET, SO_DOMAIN); });
	table.row("SOL_SOCKET: SO_PROTOCOL", "0",
		  [] { return getOption(openRds(), SOL_SOCKET, SO_PROTOCOL); });
	table.row("SOL_SOCKET: SO_ERROR", "0",
		  [] { return getOption(openRds(), SOL_SOCKET, SO_ERROR); });
	table.row("SOL_SOCKET: SO_PEEK_OFF", "EOPNOTSUPP",
		  [] { return setOption(openRds(), SOL_SOCKET, SO_PEEK_OFF, 0); });
	table.row("SOL_SOCKET: SO_ACCEPTCONN", "0",
		  [] { return getOption(openRds(), SOL_SOCKET, SO_ACCEPTCONN); });
}

} // namespace

void addOptions(Table &table, const Env &env)
{
	addSizes(table, env);
	addUnknown(table, env);
	addPointers(table, env);
	addRecverr(table, env);
	addNumbers(table, env);
	addReset(table, env);
	addMonitor(table, env);
	addTransport(table, env);
	addRecvQuery(table, env);
	addMisc(table, env);
}

} // namespace rdstest
