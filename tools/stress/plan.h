/* SPDX-License-Identifier: GPL-2.0 */
/* A test: the active side's options, as both sides know them after the handshake. */
#ifndef RDSTOOLS_STRESS_PLAN_H
#define RDSTOOLS_STRESS_PLAN_H

#include <cstdint>
#include <vector>

#include "../lib/address.h"
#include "../lib/socket.h"
#include "../lib/table.h"
#include "message.h"
#include "order.h"

namespace rdstools
{

inline constexpr unsigned most_tasks = 512;
inline constexpr unsigned most_depth = 65536;
/* Messages of one system call, and their bytes. */
inline constexpr unsigned most_a_call = 1024;
inline constexpr std::uint64_t most_bytes_a_call = 1 << 20;

/* A page less one: where in its page the memory of an operation may begin. */
inline constexpr unsigned most_alignment = 4095;

/* RDMA operations that go with the acks; see rdma.h. */
struct RdmaPlan {
	std::uint64_t bytes = 0; /* 0: none */
	unsigned alignment = 0;	 /* bytes behind the beginning of a page */
	/* 0 or 1, as the command line has them. */
	unsigned use_once = 1;	 /* regions go with their first use, else RDS_FREE_MR */
	unsigned use_fence = 1;	 /* an ack waits for the read before it */
	unsigned use_notify = 1; /* ask how each operation ended */
};

struct Plan {
	unsigned tasks = 1;
	unsigned depth = 1;
	std::uint64_t request_bytes = 1024;
	std::uint64_t ack_bytes = header_bytes;
	bool oneway = false;
	bool one_sided = false; /* requests come from the active side alone */
	bool verify = false;
	bool congestion_monitor = false;
	unsigned tos = 0;
	std::uint64_t send_buffer = 0; /* 0: enough for everything under way */
	std::uint64_t receive_buffer = 0;
	/* Messages of one system call: requests that are sent, and whatever is received. */
	unsigned segment = 1, recv_batch = 1;
	OrderPlan order;
	RdmaPlan rdma;
	std::uint32_t run = 0;

	/* Throws Error, naming the value that is out of range. */
	void validate() const;
	Json json() const;
	/* Takes nothing on trust: validates. Throws Error. */
	static Plan from_json(const Json &json);
};

/* Both ends' addresses; task i of a side has the port of its base plus i. */
struct Ends {
	Address local;
	Address peer;
};

/* One bound socket per task, with buffers, tos and monitor as planned. Throws Error. */
std::vector<RdsSocket> open_sockets(const Plan &plan, const Address &base);

/* Throws Error if the plan has RDMA and the address has not. */
void check_rdma(const Plan &plan, const Address &local);

} // namespace rdstools

#endif
