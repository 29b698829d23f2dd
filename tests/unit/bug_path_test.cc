// SPDX-License-Identifier: GPL-2.0
/*
 * bug_path_test.cc: the worker of a connection tells what it does to a path in the midst of
 * something else.
 */
#include "fixture.h"
#include "net/rds/net.h"
#include "net/rds/path/path.h"
#include "net/rds/socket/socket.h"
#include "reach.h"

RDS_REACH(path_state, &rds_path::state_)
RDS_REACH(path_full_ports, &rds_path::full_ports_)

namespace
{

using fake::wire;
using host::endpoint;
using rds::PathState;

/* Path 0 of a connection with a message. */
class PathTurnBug : public SocketTest<0>
{
protected:
	void SetUp() override
	{
		SocketTest::SetUp();
		ASSERT_EQ(s->send(endpoint(remote, 5000), pattern(10)), 0);
		sim::run_ready();
		wire().initiates = false;
	}
	/* With nothing queued. */
	void up()
	{
		rds_path_connected(&path());
		sim::run_ready();
		rds_path_acked(&path(), wire().sent.size());
		ASSERT_EQ(path().state(), PathState::kUp);
		ASSERT_FALSE(path().has_queued());
	}
	void down()
	{
		rds_socket_cancel(s->core(), nullptr);
		rds_path_drop(&path(), RDS_DROP_PEER_CLOSED);
		sim::run_ready();
		ASSERT_EQ(path().state(), PathState::kDown);
	}
	/* Ports of the peer's for which messages of @p wait, or could. */
	static rds::HeldPorts &held(rds_path &p)
	{
		return p.*reach(path_full_ports());
	}
	static void release_held(rds_path &p)
	{
		rds::HeldPort *h = held(p).find(7);

		held(p).drop(*h, 0);
		rds::destroy(h);
	}
	static rds_path &path()
	{
		return *wire().path;
	}
	static rds_conn &conn()
	{
		return path().conn;
	}
	/* A further path that the connection knows nothing of. */
	static rds_path *make_path()
	{
		auto *p = rds::create<rds_path>(RDS_MAY_SLEEP, conn(), 1u);

		if (!p)
			abort();
		return p;
	}
};

TEST_F(PathTurnBug, DestroyedWhileItIsUp)
{
	rds_path *p = make_path();

	rds::destroy(p);
	EXPECT_EQ(told(), "") << "nobody has seen it";
	p = make_path();
	(p->*reach(path_state())).store(static_cast<uint32_t>(PathState::kUp));
	rds::destroy(p);
	EXPECT_EQ(told(), "a path is destroyed that is in use");
}

TEST_F(PathTurnBug, ReapedAlive)
{
	path().reap();
	EXPECT_EQ(told(), "a path is reaped alive");
}

/* The worker takes the right to send before it touches the queue. */
TEST_F(PathTurnBug, DiesWhileSendersMayCome)
{
	up();
	path().step_own(RDS_EV_die);
	EXPECT_EQ(told(), "a queue begins anew while somebody may send");
	EXPECT_EQ(path().state(), PathState::kDead);
}

/* A fold of nothing from @from. */
void take_over(rds_path &to, rds_path &from)
{
	rds_path::Fold f;
	{
		rds::Guard g(to.lock);

		to.begin_fold_locked(f);
	}
	to.take_over(from, f);
	to.end_fold(f);
}

TEST_F(PathTurnBug, TakesOverWhileItIsUp)
{
	up();

	rds_path *p = make_path();

	take_over(path(), *p);
	EXPECT_EQ(told(), "messages move from or to a path that is up");
	rds::destroy(p);
	sim::run_ready();
	EXPECT_NE(path().state(), PathState::kUp);
	EXPECT_EQ(net->stat(RDS_S_conn_reset), 1u);
}

TEST_F(PathTurnBug, TakesOverWhileMessagesWaitForAPort)
{
	rds_path *p = make_path();

	down();
	ASSERT_NE(held(*p).hold(7), nullptr);
	take_over(path(), *p);
	EXPECT_EQ(told(), "messages move from or to a path that is up");
	release_held(*p);
	rds::destroy(p);
}

TEST_F(PathTurnBug, MessagesWaitOnAPathThatIsDown)
{
	down();
	path().drained.store(true);
	EXPECT_TRUE(path().is_free());
	EXPECT_EQ(told(), "");
	ASSERT_NE(held(path()).hold(7), nullptr);
	(void)path().is_free();
	EXPECT_EQ(told(), "messages wait for a port on a path that is down");
	release_held(path());
}

TEST_F(PathTurnBug, APortThatWasNotCounted)
{
	up();
	ASSERT_NE(held(path()).hold(7), nullptr);
	rds_path_drop(&path(), RDS_DROP_ERROR);
	sim::run_ready();
	EXPECT_EQ(told(), "messages wait no more for a port that was not counted");
	conn().fcong->held.store(0);
}

TEST_F(PathTurnBug, AnEndThatWasNotCounted)
{
	up();
	EXPECT_EQ(conn().fcong->reporters.load(), 1u);
	conn().fcong->reporters.store(0);
	rds_path_drop(&path(), RDS_DROP_ERROR);
	sim::run_ready();
	EXPECT_EQ(told(), "a map loses a connection that was not counted");
	EXPECT_EQ(conn().fcong->reporters.load(), 0u);
}

/* A connection is collected when all its paths are free, and takes nothing from then on. */
TEST_F(PathTurnBug, CollectedWithAMessage)
{
	ASSERT_TRUE(path().has_queued());
	conn().life.hand_over(rds::Care::kIdle);
	ASSERT_TRUE(conn().life.take());
	conn().life.retire();
	ASSERT_TRUE(conn().life.die());
	conn().kill();
	sim::run_ready();
	EXPECT_EQ(told(), "a connection is collected that has to send");
	EXPECT_TRUE(s->core()->snd_space.empty()) << "its sender has its room again";
}

} // namespace
