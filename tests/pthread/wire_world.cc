// SPDX-License-Identifier: GPL-2.0
#include "wire_world.h"

#include <cstring>
#include <set>

namespace wire
{
namespace
{

using talk::check;
using talk::pick;

constexpr uint16_t kPort = 4000;

/* RDS_ORDER_*: each 16th ordered, each 8th half-ordered, all others un-ordered. */
uint32_t hint_of(uint32_t from, uint32_t number)
{
	if (!(from % 2) || !(number % 16))
		return 0;
	return number % 8 ? 2 : 1;
}

/* The messages of one flow that came. */
struct Came {
	uint32_t all = 0; /* everything below it */
	std::set<uint32_t> beyond;

	void take(uint32_t from, uint32_t number)
	{
		uint32_t behind = hint_of(from, number) == 2 ? number / 16 * 16 + 1 : number;

		check(number >= all && beyond.insert(number).second, "a message came twice");
		check(all >= behind, "a message overtook another that it must not");
		while (beyond.erase(all))
			all++;
	}
};

} // namespace

host::Bytes labelled(uint32_t from, uint32_t number)
{
	Label l = {from, number};
	host::Bytes b(sizeof(l) + (number * 37 + from) % 600);

	memcpy(b.data(), &l, sizeof(l));
	return b;
}

Label label_of(const host::Received &r)
{
	Label l;

	check(r.data.size() >= sizeof(l), "a message without a label");
	memcpy(&l, r.data.data(), sizeof(l));
	check(r.data.size() == labelled(l.from, l.number).size(), "a message damaged");
	return l;
}

World::World()
{
	for (unsigned int i = 0; i < kHosts; i++) {
		struct rds_addr a = host::addr4(i + 1);

		nets.push_back(std::make_unique<host::Net>(std::vector<struct rds_addr>{a}));
		add_host(a, nets.back()->core());
	}
	for (unsigned int i = 0; i < kSockets; i++) {
		at.push_back(host::endpoint(host::addr4(i / kEach + 1),
					    static_cast<uint16_t>(kPort + i)));
		socks.push_back(std::make_unique<host::Socket>(net(i)));
		socks[i]->sock().sndbuf = 8 * 1024;
		socks[i]->sock().rcvbuf = i % 2 ? 4 * 1024 : 32 * 1024;
		check(!socks[i]->bind(at[i]), "bind failed");
	}
}

void World::send(unsigned int me, unsigned int rounds, const std::function<void(uint32_t)> &pause)
{
	for (uint32_t n = 0; n < rounds; n++) {
		for (unsigned int to = 0; to < kSockets; to++)
			if (to / kEach != me / kEach)
				talk::send_blocking(*socks[me], at[to], labelled(me, n), false,
						    hint_of(me, n));
		if (pause)
			pause(n);
	}
}

void World::receive(unsigned int me, unsigned int rounds)
{
	Came came[kSockets];

	for (unsigned int left = rounds * (kSockets - kEach); left;) {
		Label l = label_of(talk::recv_blocking(*socks[me]));

		if (l.from >= kSockets)
			continue; /* a visitor's */
		came[l.from].take(l.from, l.number);
		left--;
		arrived++;
	}
}

void World::talk(unsigned int rounds, std::function<void(uint32_t)> pause)
{
	for (unsigned int i = 0; i < kSockets; i++) {
		talking_.emplace_back([this, i, rounds] { receive(i, rounds); });
		talking_.emplace_back([this, i, rounds, pause] { send(i, rounds, pause); });
	}
}

/* In step with the traffic, or on a busy machine there would be nothing else. */
void World::now_and_then(uint64_t every, std::function<void()> fn)
{
	others_.emplace_back([this, every, fn] {
		for (uint64_t next = 0; !over;) {
			if (arrived >= next) {
				fn();
				next = arrived + every;
			}
			std::this_thread::sleep_for(std::chrono::microseconds(100));
		}
	});
}

void World::visit_once()
{
	unsigned int at_host = pick(kHosts);
	host::Socket s(*nets[at_host]);

	if (s.bind(host::endpoint(at[at_host * kEach].addr, 0)))
		return;
	for (unsigned int i = pick(30); i; i--) {
		struct rds_endpoint to = at[pick(kSockets)];

		if (pick(2))
			to.port = static_cast<uint16_t>(9000 + pick(100));
		(void)s.send(to, labelled(kVisitor, i), pick(2));
		if (!pick(8))
			rds_socket_cancel(s.core(), &to);
	}
	visitors++;
}

void World::finish()
{
	for (std::thread &t : talking_)
		t.join();
	over = true;
	for (std::thread &t : others_)
		t.join();
}

int run_on_threads(const std::function<void()> &run)
{
	pt::start(3);
	start();
	check(!rds_core_init() && !rds_transport_register(&ops), "register");
	run();
	rds_rcu_barrier();
	rds_core_exit();

	std::string left = pt::stop();

	check(left.empty(), left.c_str());
	check(!host::bugs, "rds_bug was called");
	return 0;
}

} // namespace wire
