// SPDX-License-Identifier: GPL-2.0
#include "traffic.h"

#include <cstring>
#include <vector>

#include "sim.h"

namespace traffic
{
namespace
{

constexpr size_t kMaxBytes = 1 << 20;
constexpr size_t kOffsets = 4096;
/* The contents of all messages: random bytes, from a place that follows from the message's name. */
const unsigned char *pattern(uint32_t flow, uint32_t number)
{
	static const std::vector<uint32_t> words = [] {
		std::vector<uint32_t> w((kMaxBytes + kOffsets) / 4);
		uint32_t x = 1;

		for (uint32_t &word : w)
			word = x = x * 1664525u + 1013904223u;
		return w;
	}();
	uint32_t x = flow * 0x9e3779b9u ^ number * 0x85ebca6bu;

	return reinterpret_cast<const unsigned char *>(words.data()) + (x >> 20);
}

void put(host::Bytes &b, size_t at, uint32_t v)
{
	memcpy(b.data() + at, &v, sizeof(v));
}

uint32_t get(const host::Bytes &b, size_t at)
{
	uint32_t v;

	memcpy(&v, b.data() + at, sizeof(v));
	return v;
}

} // namespace

void fill(host::Bytes &b, uint32_t flow, uint32_t number, size_t size)
{
	b.resize(std::max(size, kMinBytes));
	put(b, 0, flow);
	put(b, 4, number);
	put(b, 8, static_cast<uint32_t>(b.size()));
	memcpy(b.data() + 12, pattern(flow, number), b.size() - 12);
}

host::Bytes make(uint32_t flow, uint32_t number, size_t size)
{
	host::Bytes b;

	fill(b, flow, number, size);
	return b;
}

std::optional<Name> read(const host::Bytes &data)
{
	if (data.size() < kMinBytes || data.size() > kMaxBytes || get(data, 8) != data.size())
		return std::nullopt;

	Name n = {get(data, 0), get(data, 4)};

	if (memcmp(data.data() + 12, pattern(n.flow, n.number), data.size() - 12))
		return std::nullopt;
	return n;
}

bool Sender::send(uint32_t count, size_t min, size_t max)
{
	auto stopped = [this] { return *stop; };
	host::Bytes data;

	for (uint32_t i = 0; i < count;) {
		fill(data, flow, sent, min + sim::random_below(max - min + 1));
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

unsigned int drain(host::Socket &at, check::Order &order, uint32_t receiver)
{
	unsigned int n = 0;

	while (auto m = at.recv()) {
		auto name = read(m->data);

		n++;
		if (name)
			order.received(name->flow, name->number, receiver);
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

	host::info_messages(net.core(), RDS_QUEUE_SEND, count, &n);
	host::info_messages(net.core(), RDS_QUEUE_RETRANS, count, &n);
	return n;
}

} // namespace traffic
