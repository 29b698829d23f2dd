// SPDX-License-Identifier: GPL-2.0
/*
 * bug_socket_test.cc: sockets, their memory regions and flows, and loopback tell what is done to
 * them out of turn.
 */
#include <memory>

#include "fixture.h"
#include "net/rds/net.h"
#include "net/rds/order.h"
#include "net/rds/path/path.h"
#include "net/rds/rdma.h"
#include "net/rds/socket/socket.h"

namespace
{

using host::endpoint;

class SocketBug : public SocketTest<0>
{
protected:
	/* The connection's path; with a message to somebody who does not answer. */
	rds_path &path()
	{
		if (fake::wires().empty()) {
			EXPECT_EQ(s->send(endpoint(remote, 5000), pattern(10)), 0);
			sim::run_ready();
		}
		return *fake::wire().path;
	}
	void arrives(uint64_t number)
	{
		ASSERT_EQ(fake::arrive(&path(), number, 5000, 4000, pattern(10)), 0);
	}
};

TEST_F(SocketBug, DestroyedAndNotReleased)
{
	auto memory = std::make_unique<uint64_t[]>(rds_socket_size() / sizeof(uint64_t));
	auto *raw = reinterpret_cast<rds_socket *>(memory.get());

	ASSERT_EQ(rds_socket_init(raw, net->core(), 0), 0);
	rds_socket_release(raw);
	rds_socket_destroy(raw);
	EXPECT_EQ(told(), "") << "it has nothing";
	ASSERT_EQ(rds_socket_init(raw, net->core(), 0), 0);
	rds_socket_release(raw);
	raw->congested.store(true);
	rds_socket_destroy(raw);
	EXPECT_EQ(told(), "a socket is destroyed that was not released");
}

TEST_F(SocketBug, AMessageForNoAddress)
{
	host::Socket nameless(*net);
	rds::Message *m = rds::message_create(0, RDS_MAY_SLEEP);
	rds::Atomic<uint64_t> arriving;
	{
		rds::RcuReader rcu;

		EXPECT_EQ(nameless.core()->deliver(m, arriving, false), rds::Deliver::kClosed);
	}
	EXPECT_EQ(told(), "a message is for a socket that has no address");
	rds::message_put(m);
}

TEST_F(SocketBug, MoreAreReadThanThereAre)
{
	struct rds_recv_info info;

	arrives(1);
	arrives(2);
	ASSERT_EQ(rds_recv_lock(s->core()), 0);
	ASSERT_TRUE(rds_recv_head(s->core(), &info));
	rds_recv_pop(s->core(), 3);
	EXPECT_EQ(told(), "more messages are read than there are");
	EXPECT_EQ(s->core()->rcv_bytes.load(), 0u);
	rds_recv_pop(s->core(), 1);
	rds_recv_unlock(s->core());
	EXPECT_EQ(told(), "more messages are read than there are");
}

/* ---- regions and operations ---- */

TEST_F(SocketBug, ARegionIsLeft)
{
	rds::RdmaSeat seat;
	rds::RdmaSide *side = rds::RdmaSide::make(seat);
	auto *mr = rds::create<rds::Mr>(RDS_MAY_SLEEP, *fake::ops(), uint64_t{0});

	side->add(mr);
	side->put();
	EXPECT_EQ(told(), "regions or notifications are left of a socket");
	rds::destroy(mr);
}

TEST_F(SocketBug, ARegionIsFreedThatPeersMayFind)
{
	rds::RdmaSeat seat;
	rds::RdmaSide *side = rds::RdmaSide::make(seat);
	auto *mr = rds::create<rds::Mr>(RDS_MAY_SLEEP, *fake::ops(), uint64_t{0});

	side->add(mr);
	rds::mr_put(mr, false);
	EXPECT_EQ(told(), "a region is freed that peers may find");
	EXPECT_EQ(side->take(mr->key), mr) << "it is still there";
	rds::destroy(mr);
	side->put();
}

TEST_F(SocketBug, AnOperationThatNobodySpokeOf)
{
	auto *part = rds::create<rds::MsgRdma>(RDS_MAY_SLEEP);

	part->has_op = part->begun = true;
	rds::msg_rdma_free(part);
	EXPECT_EQ(told(), "nobody has said how an operation ended");
}

TEST_F(SocketBug, AFlowWithMessages)
{
	ASSERT_EQ(rds_socket_set_order(s->core(), 2), 0);

	rds::Flows &flows = *s->core()->send_flows.load();
	{
		rds::Flow idle(flows, path().conn, 5000, path());
	}
	EXPECT_EQ(told(), "");
	{
		rds::Flow busy(flows, path().conn, 5000, path());

		busy.ordered_home = 1;
	}
	EXPECT_EQ(told(), "a flow is destroyed that has messages");

	/* Any of its lists, each alone. */
	rds::Message *m = rds::message_create(0, RDS_MAY_SLEEP);

	for (auto list : {&rds::Flow::home, &rds::Flow::away, &rds::Flow::waiting}) {
		{
			rds::Flow busy(flows, path().conn, 5000, path());

			(busy.*list).push_back(m);
		}
		m->recv_link = {}; /* of a list that is no more */
		EXPECT_EQ(told(), "a flow is destroyed that has messages");
	}
	rds_msg_put(m);
}

/* ---- loopback ---- */

class LoopBug : public CoreTest
{
protected:
	void SetUp() override
	{
		int bad = 0;

		CoreTest::SetUp();
		conn = rds_conn_get(net->core(), loop, &a1, &a2, 0, 0, &bad);
		ASSERT_NE(conn, nullptr);
		path = rds_conn_path(conn, 0);
		ASSERT_NE(path, nullptr);
	}
	void TearDown() override
	{
		rds_conn_put(conn);
		sim::run_ready();
		CoreTest::TearDown();
	}
	struct rds_conn *conn = nullptr;
	struct rds_path *path = nullptr;
};

/* The other end's reference is given back, or its connection would never end. */
TEST_F(LoopBug, ConnectsTwice)
{
	ASSERT_EQ(loop->connect(path->priv), 0);
	EXPECT_EQ(told(), "");
	ASSERT_EQ(loop->connect(path->priv), 0);
	EXPECT_EQ(told(), "a path of loopback is connected twice");
	loop->close(path->priv);
}

TEST_F(LoopBug, IsFreedConnected)
{
	void *other = loop->path_alloc(path);

	ASSERT_NE(other, nullptr);
	ASSERT_EQ(loop->connect(other), 0);
	loop->path_free(other);
	EXPECT_EQ(told(), "a path of loopback is freed that is connected");
}

} // namespace
