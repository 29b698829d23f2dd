// SPDX-License-Identifier: GPL-2.0
/* The times of a message's way in (RDS_CMSG_RXPATH_LATENCY): header, last byte, queued. */
#include <array>

#include "fixture.h"
#include "net/rds/net.h"
#include "net/rds/socket/socket.h"

namespace
{

using fake::wire;
using host::endpoint;
using host::Socket;

constexpr uint64_t kMs = 1000 * 1000;

using Times = std::array<uint64_t, 3>;

/* A path that is up, and a socket behind it. */
class RecvTrace : public SocketTest<0>
{
protected:
	void SetUp() override
	{
		SocketTest::SetUp();
		rds_net_tunables(net->core())->recv_spill_bytes = 0;
		ASSERT_EQ(s->send(endpoint(remote, 5000), {}), 0);
		sim::run_ready();
		rds_path_connected(wire().path);
		sim::run_ready();
		rds_path_acked(wire().path, wire().sent.size());
	}
	void TearDown() override
	{
		s.reset();
		sim::run_ready();
		EXPECT_EQ(net->core()->trace_users.load(), 0u);
		SocketTest::TearDown();
	}
	struct rds_msg *begin()
	{
		rds::wire::Header h;
		struct rds_msg *m = nullptr;

		sim::run_for(kMs);
		rds::wire::encode(h, 0, 5000, 4000, 0);
		rds::wire::put64(h.sequence, ++seq_);
		EXPECT_EQ(rds_recv_begin(wire().path, h.sequence, nullptr, 0, RDS_ATOMIC, &m), 0);
		return m;
	}
	int incoming(struct rds_msg *m)
	{
		sim::run_for(2 * kMs);
		return rds_recv_incoming(wire().path, m);
	}
	/* One whose reader is full, and who then has room. */
	void full(struct rds_msg *m)
	{
		uint32_t room = s->sock().rcvbuf.load();

		s->sock().rcvbuf = 0;
		ASSERT_EQ(incoming(m), -11);
		s->sock().rcvbuf = room;
	}
	Times read()
	{
		auto r = s->recv();

		EXPECT_TRUE(r);
		return r ? Times{r->info.trace_ns[0], r->info.trace_ns[1], r->info.trace_ns[2]}
			 : Times{};
	}
	void trace(bool on)
	{
		rds_socket_set_trace(s->core(), on);
	}

private:
	uint64_t seq_ = 0;
};

TEST_F(RecvTrace, EachStepHasItsTime)
{
	trace(true);
	for (int i = 0; i < 3; i++) {
		struct rds_msg *m = begin();
		uint64_t head = sim::now_ns();

		ASSERT_EQ(incoming(m), 0);

		uint64_t whole = sim::now_ns();

		ASSERT_EQ(whole, head + 2 * kMs);
		sim::run_for(5 * kMs); /* until it is read: that is the reader's to measure */
		EXPECT_EQ(read(), (Times{head, whole, whole}));
	}
}

/* It is whole before there is room for it. */
TEST_F(RecvTrace, WaitingForRoomIsTheLastStep)
{
	trace(true);
	ASSERT_EQ(incoming(begin()), 0);

	struct rds_msg *m = begin();
	uint64_t head = sim::now_ns();

	full(m);

	uint64_t whole = sim::now_ns();

	ASSERT_EQ(incoming(m), 0);
	(void)read();
	EXPECT_EQ(read(), (Times{head, whole, whole + 2 * kMs}));
}

TEST_F(RecvTrace, NobodyWhoDoesNotAskIsTold)
{
	for (bool before : {false, true}) {
		trace(before);

		struct rds_msg *m = begin();

		trace(false);
		ASSERT_EQ(incoming(m), 0);
		trace(true);
		EXPECT_EQ(read(), Times{});
	}
}

/* The clock is read for those of a namespace in which somebody asks. */
TEST_F(RecvTrace, AnotherNamespaceThatAsksCostsNobodyHere)
{
	host::Net elsewhere({host::addr4(1)});
	Socket asks(elsewhere);

	rds_socket_set_trace(asks.core(), 1);
	ASSERT_EQ(incoming(begin()), 0);
	EXPECT_EQ(read(), Times{});
	EXPECT_EQ(net->core()->trace_users.load(), 0u);
}

/* Nobody listened when its last byte came: no later than its header is all that is known. */
TEST_F(RecvTrace, AStepThatNobodySawTookNoTime)
{
	/* One of before, whose steps all were seen, lends it no time of its own. */
	trace(true);
	ASSERT_EQ(incoming(begin()), 0);

	struct rds_msg *m = begin();
	uint64_t head = sim::now_ns();

	trace(false);
	full(m);
	trace(true);
	ASSERT_EQ(incoming(m), 0);
	(void)read();
	EXPECT_EQ(read(), (Times{head, head, sim::now_ns()}));
}

/* Sockets that ask are counted, however often they say so, and until they are closed. */
TEST_F(RecvTrace, WhoAsksIsCountedOnce)
{
	Socket other(*net);
	auto users = [this] { return net->core()->trace_users.load(); };

	EXPECT_EQ(users(), 0u);
	trace(false);
	EXPECT_EQ(users(), 0u);
	trace(true);
	trace(true);
	EXPECT_EQ(users(), 1u);
	rds_socket_set_trace(other.core(), 5);
	rds_socket_set_trace(other.core(), 1);
	EXPECT_EQ(users(), 2u);
	trace(false);
	trace(false);
	EXPECT_EQ(users(), 1u);
	trace(true);
	other.close();
	EXPECT_EQ(users(), 1u);
	s->close();
	EXPECT_EQ(users(), 0u);
}

} // namespace
