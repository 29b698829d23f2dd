// SPDX-License-Identifier: GPL-2.0
/* The contract of transport.h, over every transport that user space has. */
#include "pages.h"
#include "world.h"

namespace contract
{
namespace
{

using traffic::Sender;

stream::Params tight()
{
	stream::Params p;

	p.send_window = 700;
	p.recv_window = 500;
	p.partial_per_1000 = 500;
	return p;
}

verbs::Params small_rings(bool credits)
{
	verbs::Params p;

	p.send_ring = 4;
	p.recv_ring = 4;
	p.credits = credits;
	p.partial_per_1000 = 300;
	return p;
}

const Over kTransports[] = {
	{"loop", Kind::kLoop, 0, 0, {}, 0},
	{"loop_preempted", Kind::kLoop, 0, 0, {}, 100},
	{"stream_calling", Kind::kStream, 1, 2, {}, 0},
	{"stream_called", Kind::kStream, 2, 1, {}, 0},
	{"stream_tight", Kind::kStream, 1, 2, tight(), 100},
	{"stream_called_tight", Kind::kStream, 2, 1, tight(), 100},
	{"verbs", Kind::kVerbs, 1, 2, {}, 0},
	{"verbs_called", Kind::kVerbs, 2, 1, {}, 50},
	{"verbs_tight", Kind::kVerbs, 1, 2, {}, 100, small_rings(false)},
	{"verbs_credits", Kind::kVerbs, 1, 2, {}, 100, small_rings(true)},
};

INSTANTIATE_TEST_SUITE_P(Over, Contract, ::testing::ValuesIn(kTransports),
			 [](const auto &info) { return std::string(info.param.name); });

TEST_P(Contract, DeliversOnceAndInOrder)
{
	auto from = socket_a(100), to = socket_b(200);
	check::Order order;
	Sender s{from.get(), at_b(200), 1, &order, &stop};
	Finish finish(*this);

	sim::spawn("send", [&] { s.send(300, 16, 3000); });
	sim::spawn("receive", [&] { traffic::receive(*to, order, stop); });
	EXPECT_TRUE(run_until_received(order, 300));
	EXPECT_EQ(order.received_count(), 300u);
	EXPECT_EQ(order.complaint(), "");
}

TEST_P(Contract, CarriesManyFlowsBothWays)
{
	std::vector<std::unique_ptr<host::Socket>> as, bs;
	std::vector<std::unique_ptr<Sender>> senders;
	check::Order order;
	uint32_t flow = 0;
	Finish finish(*this);

	for (uint16_t i = 0; i < 4; i++) {
		as.push_back(socket_a(static_cast<uint16_t>(100 + i)));
		bs.push_back(socket_b(static_cast<uint16_t>(200 + i)));
	}
	for (uint16_t i = 0; i < 4; i++) {
		auto to_b = at_b(static_cast<uint16_t>(200 + i));
		auto to_a = at_a(static_cast<uint16_t>(100 + i));

		senders.push_back(
			std::make_unique<Sender>(Sender{as[i].get(), to_b, flow++, &order, &stop}));
		senders.push_back(
			std::make_unique<Sender>(Sender{bs[i].get(), to_a, flow++, &order, &stop}));
		sim::spawn("receive", [&, i] { traffic::receive(*as[i], order, stop); });
		sim::spawn("receive", [&, i] { traffic::receive(*bs[i], order, stop); });
	}
	for (auto &s : senders)
		sim::spawn("send", [&s] { s->send(60, 16, 2000); });
	EXPECT_TRUE(run_until_received(order, 8 * 60));
	EXPECT_EQ(order.received_count(), 8u * 60);
	EXPECT_EQ(order.complaint(), "");
}

TEST_P(Contract, AcknowledgesWhatArrived)
{
	auto from = socket_a(100), to = socket_b(200);
	check::Order order;
	Sender s{from.get(), at_b(200), 1, &order, &stop};
	Finish finish(*this);

	sim::spawn("send", [&] { s.send(10, 16, 3000); });
	EXPECT_TRUE(sim::run_until([&] { return s.sent == 10; }, 60 * kSecond));
	/* Nobody has read a byte: acknowledged is what arrived, not what was read. */
	EXPECT_TRUE(sim::run_until([&] { return !traffic::unacked(net_a()); }, 60 * kSecond));
	traffic::drain(*to, order);
	EXPECT_TRUE(order.complete());
}

TEST_P(Contract, HoldsTheSenderBackAndLetsItGoOn)
{
	auto from = socket_a(100), to = socket_b(200);
	check::Order order;
	Sender s{from.get(), at_b(200), 1, &order, &stop};
	Finish finish(*this);

	from->sock().sndbuf = 20000;
	to->sock().rcvbuf = 20000;
	sim::spawn("send", [&] { s.send(400, 900, 1000); });
	sim::run_for(20 * kSecond);

	uint32_t stuck_at = s.sent;

	EXPECT_LT(stuck_at, 400u);
	EXPECT_GE(stuck_at, 20u);
	sim::spawn("receive", [&] { traffic::receive(*to, order, stop); });
	EXPECT_TRUE(
		sim::run_until([&] { return s.sent == 400 && order.complete(); }, 60 * kSecond));
	EXPECT_EQ(order.complaint(), "");
}

TEST_P(Contract, CongestionOfOnePortLeavesOthersAlone)
{
	auto from = socket_a(100), slow = socket_b(200), quick = socket_b(201);
	check::Order order;
	Sender s{from.get(), at_b(200), 1, &order, &stop};
	Sender q{from.get(), at_b(201), 2, &order, &stop};
	const auto to_slow = at_b(200);
	Finish finish(*this);

	slow->sock().rcvbuf = 3000;
	sim::spawn("send", [&] { s.send(6, 1000, 1000); });
	EXPECT_TRUE(sim::run_until(
		[&] { return rds_socket_congested(from->core(), &to_slow) != 0; }, 60 * kSecond));
	EXPECT_EQ(from->send(to_slow, traffic::make(3, 0, 16)), -105);
	sim::spawn("send", [&] { q.send(50, 100, 1000); });
	sim::spawn("receive", [&] { traffic::receive(*quick, order, stop); });
	EXPECT_TRUE(sim::run_until([&] { return q.sent == 50; }, 60 * kSecond));
	sim::spawn("receive", [&] { traffic::receive(*slow, order, stop); });
	EXPECT_TRUE(
		sim::run_until([&] { return from->sock().woken_cong.load() > 0; }, 60 * kSecond));
	EXPECT_TRUE(sim::run_until([&] { return s.sent == 6 && order.complete(); }, 60 * kSecond));
	EXPECT_EQ(order.complaint(), "");
}

TEST_P(Contract, AnswersPings)
{
	auto from = socket_a(100);

	for (int i = 0; i < 20; i++)
		EXPECT_EQ(from->send(at_b(0), {}), 0);
	for (int i = 0; i < 20; i++) {
		ASSERT_TRUE(sim::run_until([&] { return from->readable(); }, 60 * kSecond));

		auto pong = from->recv();

		ASSERT_TRUE(pong);
		EXPECT_EQ(pong->info.from.port, 0);
		EXPECT_EQ(pong->info.len, 0u);
	}
	EXPECT_GE(net_b().stat(RDS_S_recv_ping), 20u); /* a probe is one too */
	rds_net_tunables(net_b().core())->ping_enable = 0;
	EXPECT_EQ(from->send(at_b(0), {}), 0);
	sim::run_for(kSecond);
	EXPECT_FALSE(from->readable());
}

TEST_P(Contract, DropsWhatIsForNobody)
{
	auto from = socket_a(100);

	EXPECT_EQ(from->send(at_b(222), traffic::make(1, 0, 100)), 0);
	EXPECT_TRUE(sim::run_until([&] { return net_b().stat(RDS_S_recv_drop_no_sock) == 1; },
				   60 * kSecond));
	EXPECT_TRUE(sim::run_until([&] { return !traffic::unacked(net_a()); }, 60 * kSecond));
}

TEST_P(Contract, CarriesTheLargestMessage)
{
	auto from = socket_a(100), to = socket_b(200);
	check::Order order;
	Sender s{from.get(), at_b(200), 1, &order, &stop};
	Finish finish(*this);

	from->sock().sndbuf = 2u << 20;
	to->sock().rcvbuf = 2u << 20;
	sim::options().preempt_per_1000 = 0;
	tube::params().send_window = tube::params().recv_window = 64 * 1024;
	sim::spawn("send", [&] { s.send(2, 1 << 20, 1 << 20); });
	sim::spawn("receive", [&] { traffic::receive(*to, order, stop); });
	EXPECT_TRUE(sim::run_until([&] { return order.received_count() == 2; }, 60 * kSecond));
	EXPECT_EQ(order.complaint(), "");
}

/* An orderly end loses nothing: the transport drains. */
TEST_P(Contract, LosesNothingByAnOrderlyReset)
{
	auto from = socket_a(100), to = socket_b(200);
	check::Order order;
	Sender s{from.get(), at_b(200), 1, &order, &stop};
	Finish finish(*this);

	sim::spawn("send", [&] { s.send(400, 16, 2000); });
	sim::spawn("receive", [&] { traffic::receive(*to, order, stop); });
	for (int i = 0; i < 8; i++) {
		sim::run_for(300 * 1000);
		reset_connections();
	}
	EXPECT_TRUE(
		sim::run_until([&] { return s.sent == 400 && order.complete(); }, 60 * kSecond));
	EXPECT_EQ(order.complaint(), "");
	EXPECT_EQ(order.lost(), 0u);
}

/* Cut anywhere: what arrives is in order and nothing arrives twice; then it goes on. */
TEST_P(Contract, KeepsOrderAcrossCuts)
{
	auto from = socket_a(100), to = socket_b(200);
	check::Order order;
	Sender s{from.get(), at_b(200), 1, &order, &stop};
	Finish finish(*this);

	sim::spawn("send", [&] { s.send(1000, 16, 2000); });
	sim::spawn("receive", [&] { traffic::receive(*to, order, stop); });
	for (int i = 0; i < 40 && s.sent < 1000; i++) {
		sim::run_for(100 * 1000 + sim::random_below(400 * 1000));
		cut_or_reset();
	}
	EXPECT_TRUE(sim::run_until([&] { return s.sent == 1000 && !traffic::unacked(net_a()); },
				   120 * kSecond));
	sim::run_for(kSecond);
	EXPECT_EQ(order.complaint(), "");
	if (!cuts_may_lose()) {
		EXPECT_EQ(order.lost(), 0u);
	}

	/* It is alive: one more comes through. */
	uint64_t before = order.received_count();

	sim::spawn("send", [&] { s.send(1, 16, 16); });
	EXPECT_TRUE(
		sim::run_until([&] { return order.received_count() == before + 1; }, 60 * kSecond));
}

/* The port becomes free while the connection is down: the sender hears of it all the same. */
TEST_P(Contract, TellsCongestionAgainAfterAReset)
{
	auto from = socket_a(100), to = socket_b(200);
	check::Order order;
	Sender s{from.get(), at_b(200), 1, &order, &stop};
	const auto dst = at_b(200);
	Finish finish(*this);

	to->sock().rcvbuf = 3000;
	sim::spawn("send", [&] { s.send(30, 1000, 1000); });
	EXPECT_TRUE(sim::run_until([&] { return rds_socket_congested(from->core(), &dst) != 0; },
				   60 * kSecond));
	cut_or_reset();
	traffic::drain(*to, order);
	sim::spawn("receive", [&] { traffic::receive(*to, order, stop); });
	EXPECT_TRUE(sim::run_until([&] { return s.sent == 30; }, 60 * kSecond));
}

TEST_P(Contract, SurvivesFailingAllocations)
{
	auto from = socket_a(100), to = socket_b(200);
	check::Order order;
	Sender s{from.get(), at_b(200), 1, &order, &stop};
	Finish finish(*this);

	sim::options().fail_per_1000 = 100;
	sim::spawn("send", [&] { s.send(300, 16, 2000); });
	sim::spawn("receive", [&] { traffic::receive(*to, order, stop); });
	EXPECT_TRUE(
		sim::run_until([&] { return s.sent == 300 && order.complete(); }, 120 * kSecond));
	EXPECT_GT(sim::failed_allocs(), 0u);
	EXPECT_EQ(order.complaint(), "");
}

TEST_P(Contract, GivesZerocopyCookiesBack)
{
	auto from = socket_a(100), to = socket_b(200);
	auto data = traffic::make(1, 0, 3000);
	const auto dst = at_b(200);
	uint32_t cookies[4] = {};

	if (!(rds_socket_caps(from->core()) & RDS_CAP_ZEROCOPY)) {
		EXPECT_NE(GetParam().kind, Kind::kStream);
		return;
	}
	for (uint32_t i = 0; i < 3; i++) {
		struct rds_uio uio = {data.data(), data.size(), 0, SIZE_MAX};
		struct rds_msg *m;

		ASSERT_EQ(rds_msg_create(from->core(), &dst, 3000, &uio, 1, 40 + i, &m), 0);
		ASSERT_EQ(rds_socket_send(from->core(), &dst, m, 0), 0);
	}
	EXPECT_TRUE(sim::run_until([&] { return rds_socket_zcopy(from->core(), cookies, 4) == 3; },
				   60 * kSecond));
	EXPECT_EQ(cookies[0], 40u);
	EXPECT_EQ(cookies[2], 42u);
	traffic::unacked(net_a());
}

TEST_P(Contract, RefusesRdmaWhereThereIsNone)
{
	auto from = socket_a(100);
	host::Region mine(100);
	const struct rds_iov all = mine.iov();
	struct rds_op_args op = {};
	uint64_t cookie = 0;

	op.remote_bytes = all.bytes;
	op.local = &all;
	op.n_local = 1;
	if (rds_socket_caps(from->core()) & RDS_CAP_RDMA) {
		EXPECT_EQ(GetParam().kind, Kind::kVerbs);
		return;
	}
	EXPECT_EQ(rds_mr_get(from->core(), &all, 0, &cookie), -95);
	EXPECT_EQ(rds_mr_free(from->core(), 0, 0), -22);
	for (unsigned char kind : {RDS_OP_WRITE, RDS_OP_READ, RDS_OP_FADD, RDS_OP_CSWP}) {
		op.kind = kind;
		EXPECT_EQ(from->send_rdma(at_b(200), traffic::make(1, 0, 20), &op), -95);
	}
	EXPECT_EQ(from->send_rdma(at_b(200), traffic::make(1, 0, 20), nullptr, 7), -22);
}

/* The namespaces go while everything is under way; the fixture sees that nothing is left. */
TEST_P(Contract, EndsInTheMiddleOfTraffic)
{
	auto from = socket_a(100), to = socket_b(200);
	check::Order order;
	Sender s{from.get(), at_b(200), 1, &order, &stop};
	Finish finish(*this);

	sim::spawn("send", [&] { s.send(100000, 16, 2000); });
	sim::spawn("receive", [&] { traffic::receive(*to, order, stop); });
	sim::run_for(3 * 1000 * 1000);
	EXPECT_GT(s.sent, 0u);
}

} // namespace
} // namespace contract
