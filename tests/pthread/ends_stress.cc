// SPDX-License-Identifier: GPL-2.0
/*
 * ends_stress.cc: everything that can end, ends at once.
 *
 * While hosts exchange messages exactly once, connections are collected as soon as they are idle,
 * called anew and cut; limits are written; sockets come, bind and go; and a fourth host lives many
 * lives, each of which ends with messages under way in both directions.  Within one of its lives it
 * misses none of those that follow the first it got, and gets none twice.
 */
#include <barrier>
#include <cstdio>

#include "net/rds/rds_core.h"
#include "stress.h"
#include "wire_world.h"

namespace
{

using talk::check;
using talk::pick;

constexpr unsigned int kMortal = wire::kHosts + 1; /* its address */
constexpr uint16_t kMortalPort = 6000;
constexpr uint32_t kPauseEach = 3; /* rounds */

struct Ends {
	wire::World w;
	std::atomic<uint64_t> cuts = 0, lives = 0, met = 0;
	uint32_t sent[wire::kHosts] = {}; /* to the mortal one, of the one socket that does so */
};

const struct rds_endpoint mortal_at = host::endpoint(host::addr4(kMortal), kMortalPort);

uint64_t collected(Ends &e)
{
	uint64_t n = 0;

	for (auto &net : e.w.nets)
		n += net->stat(RDS_S_conn_collected);
	return n;
}

uint64_t asked_to_end(Ends &e)
{
	uint64_t n = 0;

	for (auto &net : e.w.nets)
		n += net->stat(RDS_S_conn_idle);
	return n;
}

/* A silence of all, in which connections are idle.  It ends somewhere between the moment in which
 * one is asked to end, and that in which the last is gone; or after some looks. */
void be_silent(Ends &e)
{
	uint64_t asked = asked_to_end(e), left = 150;

	while (left && asked_to_end(e) == asked)
		left--, std::this_thread::sleep_for(std::chrono::milliseconds(1));
	std::this_thread::sleep_for(std::chrono::milliseconds(pick(120)));
}

void write_limits(Ends &e, unsigned int host)
{
	static constexpr unsigned int kIdle[] = {1, 1, 1, 20}, kPassive[] = {1, 2, 4096};
	struct rds_tunables *tun = rds_net_tunables(e.w.nets[host]->core());

	__atomic_store_n(&tun->idle_timeout_ms, kIdle[pick(4)], __ATOMIC_RELAXED);
	__atomic_store_n(&tun->max_passive, kPassive[pick(3)], __ATOMIC_RELAXED);
	__atomic_store_n(&tun->max_unacked_packets, 1 + pick(16), __ATOMIC_RELAXED);
}

/* From a host that stays to the one that does not. */
void greet(Ends &e)
{
	unsigned int from = pick(wire::kHosts);
	host::Socket &s = *e.w.socks[from * wire::kEach];

	for (unsigned int i = 0; i < 10; i++)
		if (!s.send(mortal_at, wire::labelled(from, e.sent[from]), false))
			e.sent[from]++;
}

/* Takes what there is, and judges it. */
void take(Ends &e, host::Socket &s, uint32_t (&next)[wire::kHosts])
{
	while (auto r = s.recv()) {
		wire::Label l = wire::label_of(*r);

		check(l.from < wire::kHosts, "a message from nobody");
		check(!next[l.from] || l.number == next[l.from],
		      "a life missed a message, or got it twice");
		next[l.from] = l.number + 1;
		e.met++;
	}
}

void live(Ends &e)
{
	host::Net net({mortal_at.addr});
	uint32_t next[wire::kHosts] = {};

	__atomic_store_n(&rds_net_tunables(net.core())->idle_timeout_ms, pick(2), __ATOMIC_RELAXED);
	wire::add_host(mortal_at.addr, net.core());
	{
		host::Socket s(net);

		check(!s.bind(mortal_at), "bind failed");
		for (unsigned int i = 5 + pick(40); i && !e.w.over; i--) {
			for (const struct rds_endpoint &to : e.w.at)
				if (!pick(4))
					(void)s.send(to, wire::labelled(wire::kVisitor, i), false);
			std::this_thread::sleep_for(std::chrono::milliseconds(1));
			take(e, s, next);
		}
	}
	/* As a listener is closed before its namespace ends. */
	wire::remove_host(mortal_at.addr);
	e.lives++;
}

void end_everything(unsigned int rounds)
{
	Ends e;
	auto quiet = [&e]() noexcept { be_silent(e); };
	std::barrier<decltype(quiet)> silence(wire::kSockets, quiet);

	for (unsigned int i = 0; i < wire::kHosts; i++)
		write_limits(e, i);
	e.w.talk(rounds, [&](uint32_t n) {
		if (n % kPauseEach == kPauseEach - 1)
			silence.arrive_and_wait();
	});
	e.w.now_and_then(0, [&] { live(e); });
	e.w.now_and_then(10, [&] { greet(e); });
	e.w.now_and_then(100, [&] { e.cuts += wire::cut_one(); });
	e.w.now_and_then(50, [&] { write_limits(e, pick(wire::kHosts)); });
	e.w.now_and_then(60, [&] { e.w.visit_once(); });
	e.w.finish();
	printf("%lu messages, %lu cuts, %lu visitors, %lu connections collected, %lu lives that "
	       "got "
	       "%lu messages\n%s",
	       e.w.arrived.load(), e.cuts.load(), e.w.visitors.load(), collected(e), e.lives.load(),
	       e.met.load(), e.w.nets[0]->show_stats().c_str());
	check(collected(e), "no connection was ever collected");
	check(e.lives > 1 && e.met, "nobody lived twice");
	e.w.socks.clear();
	rds_transport_unregister(&wire::ops);
	wire::stop();
}

} // namespace

int ends_stress(unsigned int rounds)
{
	return wire::run_on_threads([rounds] { end_everything(rounds); });
}
