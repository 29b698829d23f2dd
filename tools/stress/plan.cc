// SPDX-License-Identifier: GPL-2.0
#include "plan.h"

#include <algorithm>

#include "../lib/error.h"
#include "../lib/text.h"

namespace rdstools
{

namespace
{

void check_range(const char *name, std::uint64_t value, std::uint64_t least, std::uint64_t most)
{
	if (value < least || value > most)
		throw Error(format("%s must be %llu to %llu, not %llu", name,
				   static_cast<unsigned long long>(least),
				   static_cast<unsigned long long>(most),
				   static_cast<unsigned long long>(value)));
}

/* Enough that depth, not the buffer, limits what is under way; bounded all the same. */
std::size_t automatic_buffer(const Plan &plan)
{
	constexpr std::uint64_t least = 256 * 1024;
	constexpr std::uint64_t most = 16 * 1024 * 1024;
	std::uint64_t one = plan.request_bytes + plan.ack_bytes;
	std::uint64_t all = plan.oneway ? 4 * plan.request_bytes : one * plan.tasks * plan.depth;

	return std::clamp(all, least, most);
}

/* Of one task: its peers' two buffers and its own for each request under way. */
constexpr std::uint64_t most_rdma_memory = std::uint64_t{1} << 30;

void validate_rdma(const Plan &plan)
{
	const RdmaPlan &rdma = plan.rdma;

	check_range("RDMA bytes", rdma.bytes, 0, largest_message);
	check_range("RDMA alignment", rdma.alignment, 0, most_alignment);
	check_range("RDMA use-once", rdma.use_once, 0, 1);
	check_range("RDMA use-fence", rdma.use_fence, 0, 1);
	check_range("RDMA use-notify", rdma.use_notify, 0, 1);
	if (!rdma.bytes)
		return;
	if (plan.oneway)
		throw Error("RDMA goes with acks: -D and -o exclude each other");
	check_range("RDMA bytes * tasks * depth", rdma.bytes * plan.tasks * plan.depth, 1,
		    most_rdma_memory);
}

} // namespace

void Plan::validate() const
{
	constexpr std::uint64_t largest_buffer = 256 * 1024 * 1024;

	check_range("tasks", tasks, 1, most_tasks);
	check_range("depth", depth, 1, most_depth);
	/* The ring of send times: depth entries for each pair of tasks of a side. */
	check_range("tasks * tasks * depth", std::uint64_t{tasks} * tasks * depth, 1,
		    std::uint64_t{1} << 26);
	check_range("request bytes", request_bytes, header_bytes, largest_message);
	check_range("ack bytes", ack_bytes, header_bytes, largest_message);
	check_range("tos", tos, 0, 255);
	check_range("send buffer", send_buffer, 0, largest_buffer);
	check_range("receive buffer", receive_buffer, 0, largest_buffer);
	validate_rdma(*this);
	check_range("order", order.every, 0, most_order_every);
	if (order.unordered && rdma.bytes)
		throw Error("memory is used in order: -D and --order exclude each other");
	check_range("segment", segment, 1, most_a_call);
	check_range("recv-batch", recv_batch, 1, most_a_call);
	if (segment > 1 && rdma.bytes)
		throw Error("one operation goes with a call: -D and --segment exclude each other");
	if (segment > 1)
		check_range("segment * request bytes", segment * request_bytes, 1,
			    most_bytes_a_call);
}

Json Plan::json() const
{
	return {{"tasks", tasks},
		{"depth", depth},
		{"request_bytes", request_bytes},
		{"ack_bytes", ack_bytes},
		{"oneway", oneway},
		{"verify", verify},
		{"congestion_monitor", congestion_monitor},
		{"tos", tos},
		{"send_buffer", send_buffer},
		{"receive_buffer", receive_buffer},
		{"segment", segment},
		{"recv_batch", recv_batch},
		{"unordered", order.unordered},
		{"order_every", order.every},
		{"order_half", order.half},
		{"one_sided", one_sided},
		{"rdma_bytes", rdma.bytes},
		{"rdma_alignment", rdma.alignment},
		{"rdma_use_once", rdma.use_once},
		{"rdma_use_fence", rdma.use_fence},
		{"rdma_use_notify", rdma.use_notify},
		{"run", run}};
}

Plan Plan::from_json(const Json &json)
{
	/* 64 bits first: a huge number must fail the range check, not wrap into it. */
	auto number = [&](const char *name) {
		const Json &value = json.at(name);
		if (!value.is_number_unsigned())
			throw Error(format("the peer's %s is not a number", name));
		return value.get<std::uint64_t>();
	};
	auto small = [&](const char *name) {
		std::uint64_t value = number(name);
		check_range(name, value, 0, UINT32_MAX);
		return static_cast<unsigned>(value);
	};
	Plan plan;

	try {
		plan.tasks = small("tasks");
		plan.depth = small("depth");
		plan.request_bytes = number("request_bytes");
		plan.ack_bytes = number("ack_bytes");
		plan.oneway = json.at("oneway").get<bool>();
		plan.verify = json.at("verify").get<bool>();
		plan.congestion_monitor = json.at("congestion_monitor").get<bool>();
		plan.tos = small("tos");
		plan.send_buffer = number("send_buffer");
		plan.receive_buffer = number("receive_buffer");
		/* Older ones know none of these. */
		if (json.contains("segment"))
			plan.segment = small("segment");
		if (json.contains("recv_batch"))
			plan.recv_batch = small("recv_batch");
		if (json.contains("one_sided"))
			plan.one_sided = json.at("one_sided").get<bool>();
		plan.order.unordered = json.at("unordered").get<bool>();
		plan.order.every = small("order_every");
		plan.order.half = json.at("order_half").get<bool>();
		plan.rdma.bytes = number("rdma_bytes");
		plan.rdma.alignment = small("rdma_alignment");
		plan.rdma.use_once = small("rdma_use_once");
		plan.rdma.use_fence = small("rdma_use_fence");
		plan.rdma.use_notify = small("rdma_use_notify");
		plan.run = small("run");
	} catch (const Json::exception &error) {
		throw Error(format("the peer's options are not understood: %s", error.what()));
	}
	plan.validate();
	return plan;
}

std::vector<RdsSocket> open_sockets(const Plan &plan, const Address &base)
{
	std::vector<RdsSocket> sockets;
	std::size_t room = automatic_buffer(plan);
	std::uint64_t largest = std::max(plan.request_bytes, plan.ack_bytes);

	if (base.port() + plan.tasks - 1 > 65535)
		throw Error(format("no room for %u tasks above port %u", plan.tasks, base.port()));
	for (unsigned task = 0; task < plan.tasks; task++) {
		Address address = base;
		address.set_port(static_cast<std::uint16_t>(base.port() + task));
		RdsSocket &socket = sockets.emplace_back();
		socket.bind(address);
		std::size_t send =
			socket.set_send_buffer(plan.send_buffer ? plan.send_buffer : room);
		socket.set_receive_buffer(plan.receive_buffer ? plan.receive_buffer : room);
		if (send < largest)
			throw Error(format("messages of %llu bytes need a larger send buffer than "
					   "%zu: raise net.core.wmem_max or run as root",
					   static_cast<unsigned long long>(largest), send));
		socket.set_tos(static_cast<std::uint8_t>(plan.tos));
		if (plan.congestion_monitor)
			socket.set_congestion_monitor(true);
		if (plan.recv_batch > 1 || plan.segment > 1)
			socket.set_recv_batch(plan.recv_batch);
		if (plan.rdma.bytes)
			socket.set_recverr(true);
	}
	if (plan.rdma.bytes)
		sockets.front().need_rdma();
	return sockets;
}

void check_rdma(const Plan &plan, const Address &local)
{
	Address any_port = local;
	RdsSocket socket;

	if (!plan.rdma.bytes)
		return;
	any_port.set_port(0);
	socket.bind(any_port);
	socket.need_rdma();
}

} // namespace rdstools
