// SPDX-License-Identifier: GPL-2.0
/*
 * wire_stress.cc: hosts that talk over connections which break all the time.
 *
 * Connections are cut with what is unread on them, all of a host's are reset, tables are walked,
 * and sockets come and go in any state.  Every message arrives exactly once and in order; of every
 * other socket's, with ordering hints, in an order that those allow.
 */
#include <cstdio>

#include "stress.h"
#include "wire_world.h"

namespace
{

using talk::check;
using talk::pick;

void walk(wire::World &w)
{
	uint64_t n = 0;
	auto count = [](void *arg, const struct rds_msg_info *) {
		++*static_cast<uint64_t *>(arg);
	};

	for (auto q : {RDS_QUEUE_SEND, RDS_QUEUE_RETRANS, RDS_QUEUE_RECV})
		host::info_messages(w.nets[pick(wire::kHosts)]->core(), q, count, &n);
}

void break_things(unsigned int rounds)
{
	wire::World w;
	std::atomic<uint64_t> cuts = 0;

	w.talk(rounds);
	w.now_and_then(40, [&] { cuts += wire::cut_one(); });
	w.now_and_then(500, [&] {
		rds_transport_net_reset(w.nets[pick(wire::kHosts)]->core(), &wire::ops);
	});
	w.now_and_then(20, [&] { w.visit_once(); });
	w.now_and_then(100, [&] { walk(w); });
	w.finish();
	printf("%lu messages, %lu cuts, %lu visitors, %lu sends repeated\n%s", w.arrived.load(),
	       cuts.load(), w.visitors.load(), talk::retried.load(),
	       w.nets[0]->show_stats().c_str());
	check(w.nets[0]->stat(RDS_S_send_order_away), "no message ever left its path");
	check(cuts && w.nets[0]->stat(RDS_S_send_retransmitted), "nothing was ever cut");
	w.socks.clear();
	/* While somebody may still call. */
	rds_transport_unregister(&wire::ops);
	/* Calls that nobody waits for any more may still be on their way to a namespace. */
	wire::stop();
}

} // namespace

int wire_stress(unsigned int rounds)
{
	return wire::run_on_threads([rounds] { break_things(rounds); });
}
