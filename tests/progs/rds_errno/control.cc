// SPDX-License-Identifier: GPL-2.0
/* Control messages given to sendmsg(), the RDMA ones on transports that have no RDMA. */
#include "table.h"

#include <linux/rds.h>

namespace rdstest
{

namespace
{

/* Sends a byte to oneself with these control messages. */
long sendWith(const Address &any, const Control &control, size_t length = 1, int flags = 0)
{
	const Fd fd = bindRds(any);
	const Address self = localAddress(fd);
	const std::string payload(length, 'x');

	return sendBytes(fd, payload.data(), length,
			 {.flags = flags | MSG_DONTWAIT, .to = &self, .control = &control});
}

/* Something that RDMA can work on: a buffer and one vector over it. */
alignas(64) char target[4096];
rds_iovec vectorOne = {reinterpret_cast<uintptr_t>(target), sizeof(target)};

rds_rdma_args rdmaArgs(uint64_t nrLocal = 1, uint64_t remoteBytes = sizeof(target))
{
	rds_rdma_args args{};

	args.cookie = 1;
	args.remote_vec = {0, remoteBytes};
	args.local_vec_addr = reinterpret_cast<uintptr_t>(&vectorOne);
	args.nr_local = nrLocal;
	return args;
}

/* The same with these local vectors, for a remote side of @remoteBytes. */
rds_rdma_args vectorArgs(const rds_iovec *vectors, uint64_t nrLocal, uint64_t remoteBytes)
{
	rds_rdma_args args = rdmaArgs(nrLocal, remoteBytes);

	args.local_vec_addr = reinterpret_cast<uintptr_t>(vectors);
	return args;
}

rds_atomic_args atomicArgs(uintptr_t address = reinterpret_cast<uintptr_t>(target))
{
	rds_atomic_args args{};

	args.cookie = 1;
	args.local_addr = address;
	return args;
}

rds_get_mr_args mapArgs()
{
	static uint64_t cookie;
	rds_get_mr_args args{};

	args.vec = vectorOne;
	args.cookie_addr = reinterpret_cast<uintptr_t>(&cookie);
	return args;
}

void addMalformed(Table &table, const Address &any, const std::string &what)
{
	static const struct {
		const char *name;
		size_t length;
		int level;
		const char *want;
	} rows[] = {
		{"cmsg_len 0", 0, SOL_RDS, "EINVAL"},
		{"cmsg_len 1", 1, SOL_RDS, "EINVAL"},
		{"cmsg_len 15", 15, SOL_RDS, "EINVAL"},
		{"cmsg_len beyond the end", 17, SOL_RDS, "EINVAL"},
		{"cmsg_len huge", 1 << 30, SOL_RDS, "EINVAL"},
		{"cmsg_len -1", static_cast<size_t>(-1), SOL_RDS, "EINVAL"},
		{"cmsg_len 0, other level", 0, SOL_SOCKET, "EINVAL"},
	};

	for (const auto &one : rows) {
		const auto row = one;

		table.row(std::string("cmsg: ") + row.name + what, "EINVAL", [any, row] {
			return sendWith(
				any, Control().addRaw(row.level, RDS_CMSG_RDMA_DEST, row.length));
		});
	}
	for (int type : {-1, 0, 4, 5, 10, 11, 13, 14, 255})
		table.row("cmsg: type " + std::to_string(type) + " cannot be sent" + what, "EINVAL",
			  [any, type] {
				  return sendWith(any, Control().add(SOL_RDS, type, uint64_t{0}));
			  });
	for (uint32_t order : {0u, 1u, 2u})
		table.differs(
			"cmsg: ORDER " + std::to_string(order) + what, "EINVAL", "1", [any, order] {
				return sendWith(any, Control().add(SOL_RDS, RDS_CMSG_ORDER, order));
			});
	table.row("cmsg: ORDER 3, both hints" + what, "EINVAL", [any] {
		return sendWith(any, Control().add(SOL_RDS, RDS_CMSG_ORDER, uint32_t{3}));
	});
	table.row("cmsg: ORDER of 8 bytes" + what, "EINVAL", [any] {
		return sendWith(any, Control().add(SOL_RDS, RDS_CMSG_ORDER, uint64_t{0}));
	});
	table.row("cmsg: ORDER twice" + what, "EINVAL", [any] {
		return sendWith(any, Control()
					     .add(SOL_RDS, RDS_CMSG_ORDER, uint32_t{1})
					     .add(SOL_RDS, RDS_CMSG_ORDER, uint32_t{1}));
	});
	for (int level : {SOL_SOCKET, 0 /* SOL_IP */, 275})
		table.row("cmsg: level " + std::to_string(level) + " is ignored" + what, "1",
			  [any, level] {
				  return sendWith(any, Control().add(level, 99, uint64_t{0}));
			  });
	table.row("cmsg: other level, then an unknown one of ours" + what, "EINVAL", [any] {
		return sendWith(
			any,
			Control().add(SOL_SOCKET, 99, uint64_t{0}).add(SOL_RDS, 99, uint64_t{0}));
	});
	table.row("cmsg: refused, nothing arrives" + what, "EAGAIN", [any] {
		const Fd fd = bindRds(any);
		const Address self = localAddress(fd);
		const Control control = Control().add(SOL_RDS, 99, uint64_t{0});

		sendBytes(fd, "x", 1, {.to = &self, .control = &control});
		return receive(fd).result;
	});
}

void addMixes(Table &table, const Address &any, const std::string &what)
{
	const uint64_t cookie = 1;
	const uint32_t zcookie = 1;
	const struct {
		const char *name;
		Control control;
	} rows[] = {
		{"DEST and ARGS", Control()
					  .add(SOL_RDS, RDS_CMSG_RDMA_DEST, cookie)
					  .add(SOL_RDS, RDS_CMSG_RDMA_ARGS, rdmaArgs())},
		{"ARGS and DEST", Control()
					  .add(SOL_RDS, RDS_CMSG_RDMA_ARGS, rdmaArgs())
					  .add(SOL_RDS, RDS_CMSG_RDMA_DEST, cookie)},
		{"MAP and ATOMIC_FADD", Control()
						.add(SOL_RDS, RDS_CMSG_RDMA_MAP, mapArgs())
						.add(SOL_RDS, RDS_CMSG_ATOMIC_FADD, atomicArgs())},
		{"ZCOPY_COOKIE and ARGS", Control()
						  .add(SOL_RDS, RDS_CMSG_ZCOPY_COOKIE, zcookie)
						  .add(SOL_RDS, RDS_CMSG_RDMA_ARGS, rdmaArgs())},
		{"ZCOPY_COOKIE and MASKED_ATOMIC_CSWP",
		 Control()
			 .add(SOL_RDS, RDS_CMSG_ZCOPY_COOKIE, zcookie)
			 .add(SOL_RDS, RDS_CMSG_MASKED_ATOMIC_CSWP, atomicArgs())},
		{"ARGS and ARGS", Control()
					  .add(SOL_RDS, RDS_CMSG_RDMA_ARGS, rdmaArgs())
					  .add(SOL_RDS, RDS_CMSG_RDMA_ARGS, rdmaArgs())},
	};

	for (const auto &row : rows) {
		const Control control = row.control;

		table.row(std::string("cmsg: ") + row.name + what, "EINVAL",
			  [any, control] { return sendWith(any, control); });
	}
}

void addRdma(Table &table, const Address &any, const std::string &what)
{
	const auto one = [&table, any, what](const char *name, const char *want, Control control,
					     size_t length = 1) {
		table.row(std::string("cmsg: ") + name + what, want,
			  [any, control, length] { return sendWith(any, control, length); });
	};
	const std::string longArgs(sizeof(rds_rdma_args) + 8, '\0');

	one("ARGS, 8 bytes", "EINVAL", Control().add(SOL_RDS, RDS_CMSG_RDMA_ARGS, uint64_t{1}));
	one("ARGS, 8 bytes, before the size of the payload", "EINVAL",
	    Control().add(SOL_RDS, RDS_CMSG_RDMA_ARGS, uint64_t{1}), 2000000);
	one("ARGS, no local vector", "EINVAL",
	    Control().add(SOL_RDS, RDS_CMSG_RDMA_ARGS, rdmaArgs(0)));
	one("ARGS, 1025 local vectors", "EMSGSIZE",
	    Control().add(SOL_RDS, RDS_CMSG_RDMA_ARGS, rdmaArgs(1025)));
	one("ARGS, remote over 1 MiB", "EMSGSIZE",
	    Control().add(SOL_RDS, RDS_CMSG_RDMA_ARGS, rdmaArgs(1, (1 << 20) + 1)));
	one("ARGS, sum of remote over 1 MiB", "EMSGSIZE",
	    Control()
		    .add(SOL_RDS, RDS_CMSG_RDMA_ARGS, rdmaArgs(1, 600000))
		    .add(SOL_RDS, RDS_CMSG_RDMA_ARGS, rdmaArgs(1, 600000)));
	rds_rdma_args fenced = rdmaArgs();

	fenced.flags |= RDS_RDMA_FENCE;
	for (bool first : {true, false}) {
		const uint32_t half = RDS_ORDER_HALF;
		Control both = first ? Control()
					       .add(SOL_RDS, RDS_CMSG_ORDER, half)
					       .add(SOL_RDS, RDS_CMSG_RDMA_ARGS, fenced)
				     : Control()
					       .add(SOL_RDS, RDS_CMSG_RDMA_ARGS, fenced)
					       .add(SOL_RDS, RDS_CMSG_ORDER, half);

		one(first ? "ORDER, then ARGS with a fence" : "ARGS with a fence, then ORDER",
		    "EINVAL", both);
	}
	table.differs(
		"cmsg: ORDER and ARGS without a fence, no RDMA here" + what, "EINVAL", "EOPNOTSUPP",
		[any] {
			return sendWith(
				any, Control()
					     .add(SOL_RDS, RDS_CMSG_ORDER, uint32_t{RDS_ORDER_HALF})
					     .add(SOL_RDS, RDS_CMSG_RDMA_ARGS, rdmaArgs()));
		});
	static const rds_iovec pieces[] = {{reinterpret_cast<uintptr_t>(target), 1000},
					   {reinterpret_cast<uintptr_t>(target), 96}};
	static char large[(1 << 20) + 1];
	static const rds_iovec big[] = {{reinterpret_cast<uintptr_t>(large), sizeof(large)}};

	one("ARGS, local vectors of the remote size", "EOPNOTSUPP",
	    Control().add(SOL_RDS, RDS_CMSG_RDMA_ARGS, vectorArgs(pieces, 2, 1096)));
	one("ARGS, local vectors of a byte more", "EINVAL",
	    Control().add(SOL_RDS, RDS_CMSG_RDMA_ARGS, vectorArgs(pieces, 2, 1095)));
	one("ARGS, a local vector of a byte more", "EINVAL",
	    Control().add(SOL_RDS, RDS_CMSG_RDMA_ARGS, vectorArgs(pieces, 1, 999)));
	one("ARGS, a local vector over 1 MiB", "EINVAL",
	    Control().add(SOL_RDS, RDS_CMSG_RDMA_ARGS, vectorArgs(big, 1, 1 << 20)));
	static rds_iovec many[1024];

	for (rds_iovec &one : many)
		one = {reinterpret_cast<uintptr_t>(target), 1};
	one("ARGS, 1024 local vectors", "EOPNOTSUPP",
	    Control().add(SOL_RDS, RDS_CMSG_RDMA_ARGS, vectorArgs(many, 1024, 1024)));
	one("ARGS, local vectors that are nowhere", "EFAULT",
	    Control().add(SOL_RDS, RDS_CMSG_RDMA_ARGS,
			  vectorArgs(reinterpret_cast<const rds_iovec *>(16), 1, 1000)));
	one("ARGS, no RDMA here", "EOPNOTSUPP",
	    Control().add(SOL_RDS, RDS_CMSG_RDMA_ARGS, rdmaArgs()));
	one("MAP, 8 bytes", "EINVAL", Control().add(SOL_RDS, RDS_CMSG_RDMA_MAP, uint64_t{1}));
	one("MAP, no RDMA here", "EOPNOTSUPP",
	    Control().add(SOL_RDS, RDS_CMSG_RDMA_MAP, mapArgs()));
	one("DEST, 4 bytes", "EINVAL", Control().add(SOL_RDS, RDS_CMSG_RDMA_DEST, uint32_t{1}));
	one("DEST, unknown key", "EINVAL", Control().add(SOL_RDS, RDS_CMSG_RDMA_DEST, uint64_t{1}));
	for (int type : {RDS_CMSG_ATOMIC_FADD, RDS_CMSG_ATOMIC_CSWP, RDS_CMSG_MASKED_ATOMIC_FADD,
			 RDS_CMSG_MASKED_ATOMIC_CSWP}) {
		const std::string name = "ATOMIC " + std::to_string(type);

		one((name + ", 8 bytes").c_str(), "EINVAL",
		    Control().add(SOL_RDS, type, uint64_t{1}));
		for (const int off : {1, 2, 4})
			one((name + ", address of 8 and " + std::to_string(off)).c_str(), "EFAULT",
			    Control().add(SOL_RDS, type,
					  atomicArgs(reinterpret_cast<uintptr_t>(target) + off)));
		for (const int off : {8, 16})
			one((name + ", " + std::to_string(off) + " bytes on").c_str(), "EOPNOTSUPP",
			    Control().add(SOL_RDS, type,
					  atomicArgs(reinterpret_cast<uintptr_t>(target) + off)));
		one((name + ", no RDMA here").c_str(), "EOPNOTSUPP",
		    Control().add(SOL_RDS, type, atomicArgs()));
	}
}

void addZcopyCookie(Table &table, const Address &any, const std::string &what)
{
	for (size_t length : {size_t{0}, size_t{3}, size_t{4}, size_t{8}})
		table.row("cmsg: ZCOPY_COOKIE of " + std::to_string(length) +
				  " bytes, no MSG_ZEROCOPY" + what,
			  "EINVAL", [any, length] {
				  char bytes[8] = {};

				  return sendWith(any, Control().add(SOL_RDS, RDS_CMSG_ZCOPY_COOKIE,
								     bytes, length));
			  });
	table.row("cmsg: too long a payload before a bad type" + what, "EMSGSIZE",
		  [any] { return sendWith(any, Control().add(SOL_RDS, 99, uint64_t{0}), 200000); });
}

} // namespace

void addControl(Table &table, const Env &env)
{
	const struct {
		std::optional<Address> address;
		const char *what;
	} places[] = {{env.loop, ", v4 loop"},
		      {env.loop6, ", v6 loop"},
		      {env.local, ", v4 tcp"},
		      {env.local6, ", v6 tcp"}};

	for (const auto &[address, what] : places) {
		if (!address)
			continue;
		addMalformed(table, *address, what);
		addMixes(table, *address, what);
		addRdma(table, *address, what);
		addZcopyCookie(table, *address, what);
	}
}

} // namespace rdstest
