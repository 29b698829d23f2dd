// SPDX-License-Identifier: GPL-2.0
#include "traffic.h"

#include <cstring>

#include "sim.h"

namespace traffic
{
namespace
{

uint32_t mix(uint32_t flow, uint32_t number, uint32_t word)
{
	uint32_t x = flow * 0x9e3779b9u ^ number * 0x85ebca6bu ^ word * 0xc2b2ae35u;

	x ^= x >> 15;
	return x * 0x2c1b3c6du;
}

void put(host::Bytes &b, size_t at, uint32_t v)
{
	size_t n = std::min(sizeof(v), b.size() - at);

	memcpy(b.data() + at, &v, n);
}

uint32_t get(const host::Bytes &b, size_t at)
{
	uint32_t v;

	memcpy(&v, b.data() + at, sizeof(v));
	return v;
}

} // namespace

host::Bytes make(uint32_t flow, uint32_t number, size_t size)
{
	host::Bytes b(std::max(size, kMinBytes));

	put(b, 0, flow);
	put(b, 4, number);
	put(b, 8, static_cast<uint32_t>(b.size()));
	for (size_t at = 12; at < b.size(); at += 4)
		put(b, at, mix(flow, number, static_cast<uint32_t>(at)));
	return b;
}

std::optional<Name> read(const host::Bytes &data)
{
	if (data.size() < kMinBytes || get(data, 8) != data.size())
		return std::nullopt;

	Name n = {get(data, 0), get(data, 4)};

	if (make(n.flow, n.number, data.size()) != data)
		return std::nullopt;
	return n;
}

bool Sender::send(uint32_t count, size_t min, size_t max)
{
	auto stopped = [this] { return *stop; };

	for (uint32_t i = 0; i < count;) {
		auto data = make(flow, sent, min + sim::random_below(max - min + 1));
		/* Noted first: it may be received before send() returns. */
		order->sent(flow, sent);

		int ret = from->send(to, data, sim::chance(100));

		if (ret)
			order->not_sent(flow, sent);
		if (stopped())
			return false;
		switch (ret) {
		case 0:
			sent++;
			i++;
			break;
		case -11:
			sim::wait_until(
				[&] { return stopped() || rds_socket_writable(from->core()); });
			break;
		case -105:
			sim::wait_until([&] {
				return stopped() || !rds_socket_congested(from->core(), &to);
			});
			break;
		case -12:
			no_memory++;
			sim::yield();
			break;
		default:
			order->complain("send failed with " + std::to_string(ret));
			return false;
		}
	}
	return true;
}

unsigned int drain(host::Socket &at, check::Order &order)
{
	unsigned int n = 0;

	while (auto m = at.recv()) {
		auto name = read(m->data);

		n++;
		if (name)
			order.received(name->flow, name->number);
		else
			order.complain("corrupt message of " + std::to_string(m->data.size()) +
				       " bytes");
	}
	return n;
}

void receive(host::Socket &at, check::Order &order, const bool &stop)
{
	while (!stop) {
		sim::wait_until([&] { return stop || at.readable(); });
		drain(at, order);
	}
}

unsigned int unacked(host::Net &net)
{
	unsigned int n = 0;
	auto count = [](void *arg, const struct rds_msg_info *) {
		++*static_cast<unsigned int *>(arg);
	};

	rds_info_messages(net.core(), RDS_QUEUE_SEND, count, &n);
	rds_info_messages(net.core(), RDS_QUEUE_RETRANS, count, &n);
	return n;
}

} // namespace traffic
