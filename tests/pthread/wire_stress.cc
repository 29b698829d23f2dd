// SPDX-License-Identifier: GPL-2.0
/*
 * wire_stress.cc: hosts that talk over connections which break all the time.
 *
 * Three namespaces, three sockets in each, everyone sends to everyone.  Meanwhile connections are
 * cut with what is unread on them, all of a host's are reset, tables are walked, and sockets come
 * and go in any state.  Every message arrives exactly once and in order; of every other socket's,
 * with ordering hints, in an order that those allow.
 */
#include <cstdio>
#include <cstring>
#include <map>
#include <set>
#include <thread>

#include "stress.h"
#include "talk.h"
#include "wire.h"

namespace
{

using talk::check;
using talk::pick;

constexpr unsigned int kHosts = 3, kEach = 3, kSockets = kHosts * kEach;
constexpr uint16_t kPort = 4000;

struct Label {
	uint32_t from, number;
};

struct World {
	std::vector<std::unique_ptr<host::Net>> nets;
	std::vector<std::unique_ptr<host::Socket>> socks;
	std::vector<struct rds_endpoint> at;
	std::atomic<bool> over = false;
	std::atomic<uint64_t> cuts, arrived, visitors;

	host::Net &net(unsigned int socket)
	{
		return *nets[socket / kEach];
	}
};

host::Bytes labelled(uint32_t from, uint32_t number)
{
	Label l = {from, number};
	host::Bytes b(sizeof(l) + (number * 37 + from) % 600);

	memcpy(b.data(), &l, sizeof(l));
	return b;
}

/* RDS_ORDER_*: each 16th ordered, each 8th half-ordered, all others un-ordered. */
uint32_t hint_of(uint32_t from, uint32_t number)
{
	if (!(from % 2) || !(number % 16))
		return 0;
	return number % 8 ? 2 : 1;
}

void sender(World &w, unsigned int me, unsigned int rounds)
{
	for (uint32_t n = 0; n < rounds; n++)
		for (unsigned int to = 0; to < kSockets; to++)
			if (to / kEach != me / kEach)
				talk::send_blocking(*w.socks[me], w.at[to], labelled(me, n), false,
						    hint_of(me, n));
}

/* What came of one flow. */
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

void receiver(World &w, unsigned int me, unsigned int rounds)
{
	Came came[kSockets];

	for (unsigned int left = rounds * (kSockets - kEach); left;) {
		host::Received r = talk::recv_blocking(*w.socks[me]);
		Label l;

		check(r.data.size() >= sizeof(l), "a message without a label");
		memcpy(&l, r.data.data(), sizeof(l));
		if (l.from >= kSockets)
			continue; /* a visitor's */
		came[l.from].take(l.from, l.number);
		check(r.data.size() == labelled(l.from, l.number).size(), "a message damaged");
		left--;
		w.arrived++;
	}
}

void visit_once(World &w)
{
	host::Net &net = *w.nets[pick(kHosts)];
	host::Socket s(net);
	unsigned int host = 0;

	while (w.nets[host].get() != &net)
		host++;
	if (s.bind(host::endpoint(w.at[host * kEach].addr, 0)))
		return;
	for (unsigned int i = pick(30); i; i--) {
		struct rds_endpoint to = w.at[pick(kSockets)];

		if (pick(2))
			to.port = static_cast<uint16_t>(9000 + pick(100));
		(void)s.send(to, labelled(~0u, i), pick(2));
		if (!pick(8))
			rds_socket_cancel(s.core(), &to);
	}
	w.visitors++;
}

/* In step with the traffic, or on a busy machine there would be nothing else. */
template <typename F>
void now_and_then(World &w, uint64_t every, F fn)
{
	for (uint64_t next = 0; !w.over;) {
		if (w.arrived >= next) {
			fn();
			next = w.arrived + every;
		}
		std::this_thread::sleep_for(std::chrono::microseconds(100));
	}
}

void disturb(World &w, std::vector<std::thread> &threads)
{
	threads.emplace_back([&] { now_and_then(w, 40, [&] { w.cuts += wire::cut_one(); }); });
	threads.emplace_back([&] {
		now_and_then(w, 500, [&] {
			rds_transport_net_reset(w.nets[pick(kHosts)]->core(), &wire::ops);
		});
	});
	threads.emplace_back([&] { now_and_then(w, 20, [&] { visit_once(w); }); });
	threads.emplace_back([&] {
		now_and_then(w, 100, [&] {
			uint64_t n = 0;
			auto count = [](void *arg, const struct rds_msg_info *) {
				++*static_cast<uint64_t *>(arg);
			};

			for (auto q : {RDS_QUEUE_SEND, RDS_QUEUE_RETRANS, RDS_QUEUE_RECV})
				rds_info_messages(w.nets[pick(kHosts)]->core(), q, count, &n);
		});
	});
}

void open_all(World &w)
{
	for (unsigned int i = 0; i < kHosts; i++) {
		struct rds_addr a = host::addr4(i + 1);

		w.nets.push_back(std::make_unique<host::Net>(std::vector<struct rds_addr>{a}));
		wire::add_host(a, w.nets.back()->core());
	}
	for (unsigned int i = 0; i < kSockets; i++) {
		w.at.push_back(host::endpoint(host::addr4(i / kEach + 1),
					      static_cast<uint16_t>(kPort + i)));
		w.socks.push_back(std::make_unique<host::Socket>(w.net(i)));
		w.socks[i]->sock().sndbuf = 8 * 1024;
		w.socks[i]->sock().rcvbuf = i % 2 ? 4 * 1024 : 32 * 1024;
		check(!w.socks[i]->bind(w.at[i]), "bind failed");
	}
}

void join(std::vector<std::thread> &threads)
{
	for (std::thread &t : threads)
		t.join();
}

} // namespace

int wire_stress(unsigned int rounds)
{
	pt::start(3);
	wire::start();
	check(!rds_core_init() && !rds_transport_register(&wire::ops), "register");
	{
		World w;
		std::vector<std::thread> talking, disturbing;

		open_all(w);
		for (unsigned int i = 0; i < kSockets; i++) {
			talking.emplace_back([&, i] { receiver(w, i, rounds); });
			talking.emplace_back([&, i] { sender(w, i, rounds); });
		}
		disturb(w, disturbing);
		join(talking);
		w.over = true;
		join(disturbing);
		printf("%lu messages, %lu cuts, %lu visitors, %lu sends repeated\n%s",
		       w.arrived.load(), w.cuts.load(), w.visitors.load(), talk::retried.load(),
		       w.nets[0]->show_stats().c_str());
		check(w.nets[0]->stat(RDS_S_send_order_away), "no message ever left its path");
		check(w.cuts && w.nets[0]->stat(RDS_S_send_retransmitted), "nothing was ever cut");
		w.socks.clear();
		/* While somebody may still call. */
		rds_transport_unregister(&wire::ops);
		/* Calls that nobody waits for any more may still be on their way to a namespace. */
		wire::stop();
	}
	rds_rcu_barrier();
	rds_core_exit();

	std::string left = pt::stop();

	check(left.empty(), left.c_str());
	check(!host::bugs, "rds_bug was called");
	return 0;
}
