// SPDX-License-Identifier: GPL-2.0
#include "world.h"

#include <cstring>

#include "pages.h"

namespace contract
{
namespace
{

struct rds_addr loopback_addr(unsigned char n)
{
	const unsigned char b[16] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 127, 0, 0, n};
	struct rds_addr a;

	memcpy(&a, b, sizeof(a));
	return a;
}

} // namespace

void Contract::SetUp()
{
	const Over &s = GetParam();

	sim::reset(sim::Options{.seed = 7, .preempt_per_1000 = s.preempt_per_1000});
	check::watch_states();
	ASSERT_EQ(rds_core_init(), 0);
	stream::reset(s.params);
	verbs::reset(s.verbs);
	transport = rds_loop_init(&loop_module);
	ASSERT_EQ(rds_transport_register(transport), 0);
	if (s.kind == Kind::kLoop) {
		addr_a = loopback_addr(1);
		addr_b = loopback_addr(2);
		nets.push_back(
			std::make_unique<host::Net>(std::vector<struct rds_addr>{addr_a, addr_b}));
		return;
	}
	transport = s.kind == Kind::kStream ? stream::ops() : verbs::ops();
	ASSERT_EQ(rds_transport_register(transport), 0);
	addr_a = host::addr4(s.a);
	addr_b = host::addr4(s.b);
	for (const auto &a : {addr_a, addr_b}) {
		nets.push_back(std::make_unique<host::Net>(std::vector<struct rds_addr>{a}));
		if (s.kind == Kind::kStream)
			stream::listen(*nets.back(), {a});
		else
			verbs::listen(*nets.back(), {a});
	}
}

void Contract::TearDown()
{
	stop = true;
	sim::options().fail_per_1000 = 0;
	for (auto &n : nets) {
		stream::stop_listening(*n);
		verbs::stop_listening(*n);
	}
	nets.clear();
	if (GetParam().kind != Kind::kLoop)
		rds_transport_unregister(transport);
	rds_transport_unregister(rds_loop_init(&loop_module));
	verbs::regions_end();
	rds_core_exit();
	sim::run_ready();
	EXPECT_EQ(sim::leftovers(), "");
	EXPECT_EQ(host::pinned_bytes(), 0u);
	EXPECT_EQ(verbs::region_counts().made, verbs::region_counts().freed);
	EXPECT_EQ(check::states_complaint(), "");
	EXPECT_EQ(loop_module.refs.load(), 0);
	EXPECT_EQ(stream::module().refs.load(), 0);
	EXPECT_EQ(verbs::module().refs.load(), 0);
	if (GetParam().verbs.credits) {
		EXPECT_EQ(fabric::not_ready(), 0u) << "a frame without a buffer";
	}
	sim::discard();
}

std::unique_ptr<host::Socket> Contract::socket(host::Net &net, const struct rds_endpoint &ep)
{
	auto s = std::make_unique<host::Socket>(net);

	EXPECT_EQ(s->bind(ep), 0);
	return s;
}

std::unique_ptr<host::Socket> Contract::socket_a(uint16_t port)
{
	return socket(net_a(), at_a(port));
}

std::unique_ptr<host::Socket> Contract::socket_b(uint16_t port)
{
	return socket(net_b(), at_b(port));
}

void Contract::reset_connections()
{
	for (auto &n : nets)
		rds_transport_net_reset(n->core(), transport);
}

void Contract::cut_or_reset()
{
	if (!(GetParam().kind == Kind::kVerbs ? verbs::cut_all() : stream::cut_all()))
		reset_connections();
}

} // namespace contract
