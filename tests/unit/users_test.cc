// SPDX-License-Identifier: GPL-2.0
#include "fixture.h"
#include "net/rds/net.h"
#include "net/rds/path/path.h"
#include "net/rds/socket/socket.h"

namespace
{

using fake::wires;
using host::endpoint;
using host::Socket;
using rds::Has;

constexpr uint64_t kMs = 1000 * 1000;
constexpr int kEdquot = -122;

/* A room of its own, and a caller who is nobody. */
class UsersTest : public CoreTest
{
protected:
	void SetUp() override
	{
		CoreTest::SetUp();
		net->admin = false;
	}
	rds::Result<rds::User *> take(uint32_t uid, Has what, uint32_t most)
	{
		rds::Guard sleeps(rds::kMaySleep);

		return users.take(uid, what, most, net->os());
	}
	rds::Users users;
};

TEST_F(UsersTest, EachIsCountedByItself)
{
	const size_t blocks = host::usage().blocks;
	auto a = take(1000, Has::kSockets, 2), b = take(1000, Has::kSockets, 2);
	auto other = take(1064, Has::kSockets, 2);

	ASSERT_TRUE(a.ok() && b.ok() && other.ok());
	EXPECT_EQ(a.value(), b.value());
	EXPECT_NE(a.value(), other.value());
	EXPECT_TRUE(take(1000, Has::kSockets, 2).status().is(rds::err::kEdquot));
	EXPECT_EQ(users.count(1000, Has::kSockets), 2u);
	EXPECT_EQ(users.count(1064, Has::kSockets), 1u);
	EXPECT_EQ(users.count(1001, Has::kSockets), 0u);

	auto conn = take(1000, Has::kConns, 1);

	ASSERT_TRUE(conn.ok()) << "one kind is not the other";
	users.give(*a.value(), Has::kSockets);
	users.give(*a.value(), Has::kSockets);
	EXPECT_EQ(users.count(1000, Has::kConns), 1u);
	users.give(*conn.value(), Has::kConns);
	users.give(*other.value(), Has::kSockets);
	EXPECT_EQ(host::usage().blocks, blocks) << "nobody has anything";
}

TEST_F(UsersTest, NoneMayHaveAny)
{
	EXPECT_TRUE(take(1000, Has::kSockets, 0).status().is(rds::err::kEdquot));
	EXPECT_TRUE(take(1000, Has::kConns, 0).status().is(rds::err::kEdquot));
}

TEST_F(UsersTest, WhoAdministersMayHaveMore)
{
	ASSERT_TRUE(take(1000, Has::kConns, 1).ok());
	EXPECT_FALSE(take(1000, Has::kConns, 1).ok());
	net->admin = true;

	auto more = take(1000, Has::kConns, 1);

	ASSERT_TRUE(more.ok());
	EXPECT_EQ(users.count(1000, Has::kConns), 2u);
	EXPECT_EQ(more.value()->due.load(), 0u) << "and loses none for it";
	users.give(*more.value(), Has::kConns);
	users.give(*more.value(), Has::kConns);

	auto first = take(1001, Has::kSockets, 0);

	ASSERT_TRUE(first.ok());
	users.give(*first.value(), Has::kSockets);
}

TEST_F(UsersTest, APartIsDueWhenOneIsRefused)
{
	rds::User *u = nullptr;

	for (int i = 0; i < 20; i++)
		u = take(1000, Has::kConns, 20).value();
	EXPECT_EQ(u->due.load(), 0u);
	EXPECT_FALSE(take(1000, Has::kSockets, 0).ok());
	EXPECT_EQ(u->due.load(), 0u) << "of sockets nothing is";
	EXPECT_FALSE(take(1000, Has::kConns, 20).ok());
	EXPECT_EQ(u->due.load(), 3u) << "an eighth";
	for (uint32_t left = 3; left--;) {
		EXPECT_TRUE(rds::Users::take_due(*u));
		EXPECT_EQ(u->due.load(), left);
	}
	EXPECT_FALSE(rds::Users::take_due(*u));
	EXPECT_EQ(u->due.load(), 0u);
	for (int i = 0; i < 20; i++)
		users.give(*u, Has::kConns);
}

TEST_F(UsersTest, WithoutMemory)
{
	sim::fail_nth(1);
	EXPECT_TRUE(take(1000, Has::kSockets, 1).status().is(rds::err::kEnomem));
	sim::fail_nth(0);
	EXPECT_EQ(users.count(1000, Has::kSockets), 0u);
}

TEST_F(UsersTest, GivingBackWhatNobodyHasIsABug)
{
	auto u = take(1000, Has::kSockets, 1);

	users.give(*u.value(), Has::kConns);
	EXPECT_EQ(told(), "a user gives back what it has not");
	users.give(*u.value(), Has::kSockets);
}

/* ---- sockets and connections of a namespace ---- */

TEST_F(UsersTest, SocketsCountUntilTheyAreReleased)
{
	rds_net_tunables(net->core())->max_user_sockets = 2;

	Socket a(*net, 1000), b(*net, 1000);

	EXPECT_EQ(Socket(*net, 1000).opened, kEdquot);
	EXPECT_EQ(net->stat(RDS_S_user_refused), 1u);
	EXPECT_EQ(Socket(*net, 1001).opened, 0);
	a.close();
	EXPECT_EQ(Socket(*net, 1000).opened, 0) << "before any grace period is over";
}

/* Of an address all ports are one user's no more. */
TEST_F(UsersTest, AnotherStillGetsAPort)
{
	std::vector<std::unique_ptr<Socket>> mine;

	for (;;) {
		auto s = std::make_unique<Socket>(*net, 1000);

		if (s->opened)
			break;
		ASSERT_EQ(s->bind(endpoint(a1, 0)), 0);
		mine.push_back(std::move(s));
	}
	EXPECT_EQ(mine.size(), rds::kUserSockets);

	Socket other(*net, 1001);

	EXPECT_EQ(other.bind(endpoint(a1, 0)), 0);
}

class UserConns : public SocketTest<RDS_CAP_DELIVERY_ACK>
{
protected:
	void SetUp() override
	{
		SocketTest::SetUp();
		net->admin = false;
		rds_net_tunables(net->core())->max_user_conns = 8;
		nobody = std::make_unique<Socket>(*net, 1000);
		ASSERT_EQ(nobody->bind(endpoint(a1, 4001)), 0);
	}
	void TearDown() override
	{
		nobody.reset();
		SocketTest::TearDown();
	}
	int send(unsigned int to)
	{
		return nobody->send(endpoint(host::addr4(to), 5000), pattern(10));
	}
	void fill()
	{
		for (unsigned int i = 0; i < 8; i++)
			ASSERT_EQ(send(100 + i), 0);
		EXPECT_EQ(send(200), kEdquot);
	}
	uint32_t of(uint32_t uid)
	{
		return net->core()->users.count(uid, Has::kConns);
	}
	std::unique_ptr<Socket> nobody;
};

TEST_F(UserConns, OneUserLeavesRoomForOthers)
{
	fill();
	EXPECT_EQ(net->stat(RDS_S_user_refused), 1u);
	EXPECT_EQ(nobody->core()->snd_space.bytes(), 80u) << "what was refused has no room";
	EXPECT_EQ(send(103), 0) << "over what it has";
	EXPECT_EQ(s->send(endpoint(host::addr4(200), 5000), pattern(10)), 0);
	EXPECT_EQ(send(200), 0) << "somebody else's";
	EXPECT_EQ(of(1000), 8u);
	EXPECT_EQ(of(0), 1u);
	EXPECT_EQ(wires().size(), 9u);
	net->admin = true;
	EXPECT_EQ(send(201), 0);
}

/* Nor does a queue without room tell anything else. */
TEST_F(UserConns, AFullQueueDoesNotHideIt)
{
	fill();
	nobody->sock().sndbuf = 80;
	EXPECT_EQ(send(103), -11);
	EXPECT_EQ(send(200), kEdquot);
}

/* Idle ones go when their user needs room, and the rest stay as long as ever. */
TEST_F(UserConns, IdleOnesMakeRoom)
{
	fill();
	sim::run_ready();
	rds_socket_cancel(nobody->core(), nullptr);
	sim::run_for(100 * kMs);
	EXPECT_EQ(of(1000), 8u);
	sim::run_for(2 * 1000 * kMs);
	EXPECT_EQ(send(200), kEdquot);
	sim::run_for(600 * kMs);
	EXPECT_EQ(of(1000), 7u) << "an eighth, and soon";
	EXPECT_EQ(send(200), 0);
	sim::run_for(20 * 1000 * kMs);
	EXPECT_EQ(of(1000), 8u) << "nobody was refused since";
	sim::run_for(400 * 1000 * kMs);
	EXPECT_EQ(of(1000), 1u) << "which has a message";
}

TEST_F(UserConns, AllIsGivenBack)
{
	fill();
	nobody->close();
	sim::run_for(400 * 1000 * kMs);
	EXPECT_EQ(of(1000), 0u);
	EXPECT_TRUE(wires().empty());
}

} // namespace
