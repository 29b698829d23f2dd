// SPDX-License-Identifier: GPL-2.0
/* The sweep's requests to one path, state by state (conn_strangers_test.cc: what becomes of it). */
#include "fixture.h"
#include "net/rds/net.h"
#include "net/rds/path/path.h"
#include "net/rds/socket/socket.h"
#include "reach.h"

RDS_REACH(path_dial, &rds_path::dial_)
RDS_REACH(dial_calls, &rds::Dial::calls_)

namespace
{

using fake::wire;
using host::endpoint;
using host::Socket;
using rds::PathState;

/* A path that only its peer wanted so far. */
class ConnStrangersPath : public SocketTest<RDS_CAP_DELIVERY_ACK>
{
protected:
	void SetUp() override
	{
		SocketTest::SetUp();
		int err;

		conn = rds_conn_get(net->core(), fake::ops(), &a1, &remote, 0, 0, &err);
		ASSERT_NE(conn, nullptr);
	}
	void TearDown() override
	{
		rds_conn_put(conn);
		SocketTest::TearDown();
	}
	rds_path &path()
	{
		return *wire().path;
	}
	void called(uint32_t times)
	{
		(path().*reach(path_dial()).*reach(dial_calls())).store(times);
	}
	void come_up()
	{
		rds_path_accepted(&path(), &handle_);
		sim::run_ready();
		ASSERT_EQ(path().state(), PathState::kUp);
	}
	void go_down()
	{
		rds_path_drop(&path(), RDS_DROP_ERROR);
		sim::run_ready();
	}
	void hello()
	{
		rds::wire::Header h;

		rds::wire::encode_hello(h, {77, rds::wire::kCapDeliveryAck});
		ASSERT_EQ(fake::arrive(&path(), h), RDS_RECV_SKIP);
		sim::run_ready();
	}
	void send()
	{
		ASSERT_EQ(s->send(endpoint(remote, 5000), pattern(10)), 0);
		sim::run_ready();
	}
	struct rds_conn *conn = nullptr;
	int handle_ = 0;
};

TEST_F(ConnStrangersPath, IsMuteWhenItWasUpForLongAndSaidNothing)
{
	uint64_t late = rds::kMuteNs + sim::now_ns();

	EXPECT_FALSE(path().is_mute(late + 1)) << "it is down";
	sim::run_for(5);
	come_up();
	late = path().since_ns.load() + rds::kMuteNs;
	EXPECT_FALSE(path().is_mute(sim::now_ns()));
	EXPECT_FALSE(path().is_mute(late - 1));
	EXPECT_TRUE(path().is_mute(late));
	ASSERT_EQ(fake::arrive(&path(), 1, 5000, 0, {}), RDS_RECV_SKIP);
	EXPECT_FALSE(path().is_mute(late)) << "it has said something";
	go_down();
	EXPECT_FALSE(path().is_mute(late));
}

/* Nobody calls but for company, or it was called as often as it may ask for. */
TEST_F(ConnStrangersPath, RestsWhenNobodyCallsOrAllCallsAreMade)
{
	EXPECT_TRUE(path().is_resting()) << "down, and wanted by nobody";
	called(rds::kStrangerCalls);
	come_up();
	EXPECT_FALSE(path().is_resting()) << "up";
	fake::wire().connect_result = 0;
	called(0);
	send();
	go_down();
	ASSERT_TRUE(sim::run_until([&] { return path().state() == PathState::kConnecting; },
				   2 * fake::kCallNs));
	for (uint32_t calls = 0; calls <= rds::kStrangerCalls + 1; calls++) {
		called(calls);
		EXPECT_EQ(path().is_resting(), calls >= rds::kStrangerCalls) << calls;
	}
	wire().connect_result = -111;
	go_down();
	ASSERT_TRUE(sim::run_until([&] { return path().state() == PathState::kDown; },
				   2 * fake::kCallNs));
	called(rds::kStrangerCalls - 1);
	EXPECT_FALSE(path().is_resting()) << "down, and wanted";
	called(rds::kStrangerCalls);
	EXPECT_TRUE(path().is_resting());
}

/* One that waits to be called, and cannot tell whose numbers it has kept. */
TEST_F(ConnStrangersPath, IsCallingWhileWantedByWhoHasNoGeneration)
{
	EXPECT_FALSE(path().is_calling());
	wire().connect_result = -111;
	send();
	EXPECT_TRUE(path().is_calling());
	come_up();
	hello();
	wire().connect_result = -111;
	send();
	go_down();
	ASSERT_EQ(path().state(), PathState::kDown);
	EXPECT_FALSE(path().is_calling()) << "one of ours can tell";
}

/* A pong is nobody's; and of a passive connection nothing is anybody's. */
TEST_F(ConnStrangersPath, HasMessagesWhenASocketSent)
{
	EXPECT_FALSE(path().has_messages());
	come_up();
	wire().room = 0;
	ASSERT_EQ(fake::arrive(&path(), 1, 5000, 0, {}), RDS_RECV_SKIP);
	sim::run_ready();
	ASSERT_TRUE(path().has_queued());
	EXPECT_FALSE(path().has_messages());
	send();
	EXPECT_TRUE(path().has_messages());
}

/* How far it had counted, and of whose numbers; the next one goes on there. */
TEST_F(ConnStrangersPath, CountsOnWhereItEnded)
{
	come_up();
	hello();
	ASSERT_EQ(fake::arrive(&path(), 7, 5000, 4000, pattern(3)), 0);

	rds::TombCount count = path().count();

	EXPECT_EQ(count.now.next, 8u);
	EXPECT_EQ(count.now.gen, 77u);
	EXPECT_TRUE(conn->has_reached());
	go_down();

	struct rds_addr another = host::addr4(98);
	int err;
	struct rds_conn *next = rds_conn_get(net->core(), fake::ops(), &a1, &another, 0, 0, &err);
	rds_path &p = next->first();

	EXPECT_FALSE(next->has_reached());
	EXPECT_TRUE(p.unheard());
	{
		rds::Guard sleeps(rds::kMaySleep);

		EXPECT_TRUE(p.begin_with(count, {}));
	}
	EXPECT_TRUE(next->has_reached());
	EXPECT_TRUE(p.unheard()) << "in this life";
	EXPECT_EQ(p.count().now.next, 8u);
	EXPECT_EQ(p.count().now.gen, 77u);
	rds_conn_put(next);
}

} // namespace
