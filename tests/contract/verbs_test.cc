// SPDX-License-Identifier: GPL-2.0
/* Faults that only queue pairs have: they fail at any frame, and vanish with their device. */
#include "world.h"

namespace contract
{
namespace
{

using traffic::Sender;

class Verbs : public Contract
{
};

verbs::Params plain(bool credits)
{
	verbs::Params p;

	p.send_ring = 8;
	p.recv_ring = 4;
	p.credits = credits;
	return p;
}

const Over kVerbs[] = {
	{"calling", Kind::kVerbs, 1, 2, {}, 50, plain(false)},
	{"called", Kind::kVerbs, 2, 1, {}, 50, plain(false)},
	{"credits", Kind::kVerbs, 1, 2, {}, 50, plain(true)},
};

INSTANTIATE_TEST_SUITE_P(Over, Verbs, ::testing::ValuesIn(kVerbs),
			 [](const auto &info) { return std::string(info.param.name); });

/* Any frame may fail, at one end or both, whether it had arrived or not, or not be taken: not one
 * is lost. */
TEST_P(Verbs, LosesNothingByErrors)
{
	auto from = socket_a(100), to = socket_b(200);
	check::Order order;
	Sender s{from.get(), at_b(200), 1, &order, &stop};
	Sender back{to.get(), at_a(100), 2, &order, &stop};
	Finish finish(*this);

	fabric::params().error_per_1000 = 20;
	verbs::params().broken_per_1000 = 20;
	sim::spawn("send", [&] { s.send(1000, 16, 12000); });
	sim::spawn("send", [&] { back.send(1000, 16, 3000); });
	sim::spawn("receive", [&] { traffic::receive(*from, order, stop); });
	sim::spawn("receive", [&] { traffic::receive(*to, order, stop); });
	EXPECT_TRUE(sim::run_until(
		[&] { return s.sent == 1000 && back.sent == 1000 && order.complete(); },
		600 * kSecond));
	EXPECT_EQ(order.complaint(), "");
	EXPECT_EQ(order.lost(), 0u);
	EXPECT_GT(net_a().stat(RDS_S_conn_reset), 20u);
	EXPECT_GT(net_a().stat(RDS_S_recv_drop_old_seq) + net_b().stat(RDS_S_recv_drop_old_seq),
		  0u);
}

/* Nothing uses the device any more once it is gone; when it is back everything goes on. */
TEST_P(Verbs, OutlivesItsDevice)
{
	auto from = socket_a(100), to = socket_b(200);
	check::Order order;
	Sender s{from.get(), at_b(200), 1, &order, &stop};
	Finish finish(*this);

	sim::spawn("send", [&] { s.send(600, 16, 12000); });
	sim::spawn("receive", [&] { traffic::receive(*to, order, stop); });
	for (int i = 0; i < 8; i++) {
		network::HostId h = network::host_of(i % 2 ? addr_a : addr_b);

		sim::run_for(sim::random_below(500 * 1000));
		verbs::unplug(h);
		EXPECT_EQ(verbs::users(h), 0u);

		host::Socket late(i % 2 ? net_a() : net_b());

		EXPECT_EQ(late.bind(i % 2 ? at_a(300) : at_b(300)), -99);
		sim::run_for(sim::random_below(2 * kSecond));
		EXPECT_EQ(verbs::users(h), 0u);
		verbs::plug(h);
	}
	EXPECT_TRUE(
		sim::run_until([&] { return s.sent == 600 && order.complete(); }, 60 * kSecond));
	EXPECT_EQ(order.complaint(), "");
	EXPECT_EQ(order.lost(), 0u);
}

/* Its host says nothing any more, and nobody here has anything to say. */
TEST_P(Verbs, FindsOutThatTheOtherHostIsGone)
{
	auto from = socket_a(100), to = socket_b(200);
	check::Order order;
	Sender s{from.get(), at_b(200), 1, &order, &stop};
	Finish finish(*this);

	sim::spawn("receive", [&] { traffic::receive(*to, order, stop); });
	sim::spawn("send", [&] { s.send(20, 16, 3000); });
	EXPECT_TRUE(run_until_received(order, 20));
	sim::run_for(20 * kSecond);
	EXPECT_EQ(net_a().stat(RDS_S_conn_reset), 0u);
	EXPECT_EQ(net_b().stat(RDS_S_conn_reset), 0u);
	EXPECT_GT(verbs::counted(RDS_IB_LINK_tx_keepalive) +
			  verbs::counted(RDS_IB_LINK_tx_heartbeat) +
			  verbs::counted(RDS_IB_LINK_rx_heartbeat),
		  4u);
	fabric::crash(network::host_of(addr_b));
	sim::run_for(15 * kSecond);
	EXPECT_EQ(net_a().stat(RDS_S_conn_reset), 1u);
	sim::spawn("send", [&] { s.send(20, 16, 3000); });
	EXPECT_TRUE(run_until_received(order, 40));
	EXPECT_EQ(order.complaint(), "");
}

/* Both have something to send and no connection: whoever asks first, one is made, and kept. */
TEST_P(Verbs, AgreesOnOneConnection)
{
	auto from = socket_a(100), to = socket_b(200);
	check::Order order;
	Sender s{from.get(), at_b(200), 1, &order, &stop};
	Sender back{to.get(), at_a(100), 2, &order, &stop};
	Finish finish(*this);

	sim::spawn("receive", [&] { traffic::receive(*from, order, stop); });
	sim::spawn("receive", [&] { traffic::receive(*to, order, stop); });
	for (uint32_t i = 1; i <= 100; i++) {
		sim::spawn("send", [&] { s.send(1, 16, 100); });
		sim::after(
			sim::random_below(30 * 1000), "send", [&] { back.send(1, 16, 100); },
			sim::Context::kProcess);
		EXPECT_TRUE(sim::run_until(
			[&] { return s.sent == i && back.sent == i && order.complete(); },
			30 * kSecond));
		EXPECT_TRUE(sim::run_until([] { return verbs::alive() == 1; }, 30 * kSecond));
		verbs::cut_all();
	}
	EXPECT_EQ(order.complaint(), "");
}

/* The calls of one host are not answered, those of the other are: whichever has the smaller
 * address, and so the call that counts, there is a connection soon. */
TEST_P(Verbs, ConnectsThoughOneHostsCallsAreLost)
{
	auto from = socket_a(100), to = socket_b(200);
	check::Order order;
	Sender s{from.get(), at_b(200), 1, &order, &stop};
	Sender back{to.get(), at_a(100), 2, &order, &stop};
	Finish finish(*this);

	fabric::params().deaf = network::host_of(addr_b);
	sim::spawn("receive", [&] { traffic::receive(*from, order, stop); });
	sim::spawn("receive", [&] { traffic::receive(*to, order, stop); });
	sim::spawn("send", [&] { s.send(10, 16, 100); });
	sim::spawn("send", [&] { back.send(10, 16, 100); });
	EXPECT_TRUE(
		sim::run_until([&] { return s.sent == 10 && back.sent == 10 && order.complete(); },
			       4 * kSecond)); /* a call is waited for for 5 s */
	EXPECT_EQ(order.complaint(), "");
}

} // namespace
} // namespace contract
