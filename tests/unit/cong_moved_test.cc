// SPDX-License-Identifier: GPL-2.0
/* Whose map an address has: sockets' here, a peer's, or both while it moves. */
#include "fixture.h"
#include "net/rds/net.h"
#include "net/rds/path/path.h"
#include "net/rds/socket/socket.h"

namespace
{

using host::endpoint;
using host::Socket;
using rds::CongMap;
using rds::CongTable;
using rds::Whose;

class CongHere : public CoreTest
{
};

/* An address has moved here, and the connection to the host that had it is still there. */
class CongMoved : public CoreTest
{
protected:
	void SetUp() override
	{
		int err, handle = 0;

		CoreTest::SetUp();
		fake::set_caps(0); /* loopback does not stand in */
		ours_ = std::make_unique<Socket>(*net);
		sender_ = std::make_unique<Socket>(*net);
		ASSERT_EQ(ours_->bind(endpoint(a1, 4000)), 0);
		ASSERT_EQ(sender_->bind(endpoint(a2, 4001)), 0);
		conn_ = rds_conn_get(net->core(), fake::ops(), &a2, &a1, 0, 0, &err);
		ASSERT_NE(conn_, nullptr);
		rds_path_accepted(rds_conn_path(conn_, 0), &handle);
		sim::run_ready();
	}
	void TearDown() override
	{
		rds_conn_put(conn_);
		sender_.reset();
		ours_.reset();
		CoreTest::TearDown();
	}
	/* The peer says that @ports are full, and no others. */
	void says(std::initializer_list<uint16_t> ports)
	{
		host::Bytes bits(rds::kCongMapBytes);

		for (uint16_t port : ports)
			bits[port / 8] |= static_cast<unsigned char>(1 << port % 8);
		EXPECT_EQ(fake::arrive(rds_conn_path(conn_, 0), 0, 0, 0, bits,
				       rds::wire::kCongBitmap),
			  0);
	}

	std::unique_ptr<Socket> ours_, sender_;
	struct rds_conn *conn_ = nullptr;
};

TEST_F(CongMoved, ThePeersPortsAreNotOurs)
{
	CongMap &here = *ours_->core()->lcong;

	EXPECT_EQ(&here, &map_at(a1));
	EXPECT_NE(&here, conn_->fcong);
	EXPECT_EQ(conn_->fcong, &map_at(a1, Whose::kPeers));
	here.set(4000);

	const uint32_t version = here.version();

	says({5000});
	EXPECT_FALSE(here.test(5000)) << "nobody would send to it";
	EXPECT_TRUE(conn_->fcong->test(5000));
	EXPECT_TRUE(here.test(4000)) << "its socket would be sent more and more";
	says({});
	rds_path_drop(rds_conn_path(conn_, 0), RDS_DROP_ERROR);
	sim::run_ready();
	EXPECT_TRUE(here.test(4000));
	EXPECT_EQ(here.version(), version) << "all peers are told of nothing";
}

/* A sender waits for the port of the connection that it has. */
TEST_F(CongMoved, ASenderWaitsForThePeersPort)
{
	says({4000});
	EXPECT_EQ(sender_->send(endpoint(a1, 4000), pattern(10)), -105);
	map_at(a1).set(4000);
	map_at(a1).clear(4000);
	CongTable::local_changed(*net->core(), map_at(a1), 4000, false);
	EXPECT_EQ(sender_->sock().woken_cong.load(), 0u);
	says({});
	EXPECT_EQ(sender_->sock().woken_cong.load(), 1u);
	EXPECT_EQ(sender_->send(endpoint(a1, 4000), pattern(10)), 0);
}

/* Both ends here: what fills one socket stops the others' senders at once. */
TEST_F(CongHere, ThePeersPortsOnThisHostAreOurs)
{
	Socket s(*net);
	int err;

	ASSERT_EQ(s.bind(endpoint(a1, 4000)), 0);
	fake::set_caps(RDS_CAP_SHARED_CONG);

	struct rds_conn *c = rds_conn_get(net->core(), fake::ops(), &a2, &a1, 0, 0, &err);

	ASSERT_NE(c, nullptr);
	EXPECT_EQ(c->fcong, s.core()->lcong);
	EXPECT_EQ(c->lcong, &map_at(a2));
	rds_conn_put(c);
}

} // namespace
