// SPDX-License-Identifier: GPL-2.0
/* Operations and regions: what two do at once, bounds of addresses, and small keys. */
#include "fixture.h"
#include "net/rds/net.h"
#include "net/rds/path/path.h"
#include "net/rds/rdma.h"
#include "net/rds/socket/socket.h"
#include "pages.h"

namespace
{

using fake::regions;
using host::endpoint;

class RdmaRace : public SocketTest<RDS_CAP_PREFER_LOOP | RDS_CAP_RDMA>
{
protected:
	void SetUp() override
	{
		SocketTest::SetUp();
		fake::set_rdma(true);
	}
	struct rds_path *path()
	{
		if (fake::wires().empty()) {
			EXPECT_EQ(s->send(endpoint(remote, 4001), pattern(4)), 0);
			sim::run_ready();
			rds_path_connected(fake::wire().path);
			sim::run_ready();
		}
		return fake::wire().path;
	}
	host::Region memory{8192};
};

/* Messages have their socket's type of service, and a transport is told it. */
TEST_F(RdmaRace, ATypeOfServiceIsKept)
{
	ASSERT_EQ(rds_socket_set_tos(s->core(), 5), 0);
	EXPECT_EQ(rds_socket_tos(s->core()), 5);
	EXPECT_EQ(rds_path_tos(path()), 5);
}

/* Two threads register the first memory of their socket. */
TEST_F(RdmaRace, TwoBeginAtOnce)
{
	for (uint16_t port = 4100; port < 4130; port++) {
		host::Socket mine(*net);
		std::vector<uint64_t> cookies;

		ASSERT_EQ(mine.bind(endpoint(a1, port)), 0);
		sim::options().preempt_per_1000 = 800;
		for (int i = 0; i < 4; i++)
			sim::spawn("register", [&] {
				struct rds_iov v = {memory.addr(), 64};
				uint64_t cookie = 0;

				EXPECT_EQ(rds_mr_get(mine.core(), &v, 0, &cookie), 0);
				cookies.push_back(cookie);
			});
		sim::run_ready();
		sim::options().preempt_per_1000 = 0;
		ASSERT_EQ(cookies.size(), 4u);
		for (uint64_t c : cookies)
			EXPECT_EQ(rds_mr_free(mine.core(), c, 0), 0) << "all are on one list";
		EXPECT_TRUE(regions().live.empty());
	}
}

/* More notifications are taken than there are: none is missing later. */
TEST_F(RdmaRace, NothingIsTakenTwice)
{
	struct rds_iov v = {memory.addr(), 64};
	uint64_t cookie = 0;

	ASSERT_EQ(rds_mr_get(s->core(), &v, 0, &cookie), 0);
	rds_socket_notices_done(s->core(), 3);
	EXPECT_FALSE(s->readable());
	EXPECT_EQ(s->core()->rdma.notices.load(), 0u);
}

/* Memory that ends one byte behind the last address. */
TEST_F(RdmaRace, ARegionDoesNotWrap)
{
	struct rds_iov v = {~0ull - 98, 100};
	uint64_t cookie = 0;

	EXPECT_EQ(rds_mr_get(s->core(), &v, 0, &cookie), -22);
}

/* The reader is told of a key of any bytes. */
TEST_F(RdmaRace, ASmallKeyIsAKey)
{
	uint64_t seq = 0;

	for (uint32_t key : {0x7u, 0x700u, 0x70000u, 0x7000000u}) {
		rds::wire::Header h;

		rds::wire::encode(h, 10, 5000, 4000, 0);
		rds::wire::put64(h.sequence, ++seq);
		ASSERT_TRUE(rds::wire::ExtWriter(h).rdma_dest(key, 0x9a));
		ASSERT_EQ(fake::arrive(path(), h, pattern(10)), 0);

		auto got = s->recv();

		ASSERT_TRUE(got);
		EXPECT_EQ(got->info.cookie, 0x9a00000000u | key);
	}
}

/* An operation waits for those before it when its program says so, and only then. */
TEST_F(RdmaRace, AFenceIsAskedFor)
{
	const struct rds_endpoint to = endpoint(remote, 4001);

	for (uint64_t fence : {uint64_t{0}, uint64_t{rds::kRdmaFence}}) {
		struct rds_iov v = {memory.addr(), 100};
		struct rds_op_args a = {};
		struct rds_uio from = {};
		struct rds_msg *m = nullptr;

		a.kind = RDS_OP_WRITE;
		a.cookie = 0x42;
		a.remote_bytes = 100;
		a.local = &v;
		a.n_local = 1;
		a.flags = fence;
		ASSERT_EQ(rds_msg_create(s->core(), &to, 0, &from, 0, 0, &m), 0);
		ASSERT_EQ(rds_msg_set_op(s->core(), m, &a), 0);
		EXPECT_EQ(rds_msg_op(m)->fence, fence != 0);
		rds_msg_drop(s->core(), m);
	}
}

/* The bytes that a peer says it wrote are counted. */
TEST_F(RdmaRace, BytesOfPeersAreCounted)
{
	struct rds_iov v = {memory.addr(), 64};
	rds::wire::Header h;
	uint64_t cookie = 0;

	ASSERT_EQ(rds_mr_get(s->core(), &v, rds::kRdmaUseOnce, &cookie), 0);
	rds::wire::encode(h, 10, 5000, 4000, 0);
	rds::wire::put64(h.sequence, 1);
	h.ext[0] = static_cast<uint8_t>(rds::wire::Ext::kRdmaBytes);
	rds::wire::put32(h.ext + 1, static_cast<uint32_t>(cookie));
	ASSERT_EQ(fake::arrive(path(), h, pattern(10)), 0);
	EXPECT_EQ(net->stat(RDS_S_recv_rdma_bytes), static_cast<uint32_t>(cookie));
	EXPECT_EQ(regions().live.size(), 1u) << "so many bytes are not that key";
}

/* One that failed, however, was decided: it does not go out again. */
TEST_F(RdmaRace, WhatFailedIsNotTriedAgain)
{
	for (int status : {rds::kRdmaRemoteError, rds::kRdmaOtherError}) {
		struct rds_iov v = {memory.addr(), 100};
		struct rds_op_args a = {};

		a.kind = RDS_OP_WRITE;
		a.cookie = 0x42;
		a.remote_bytes = 100;
		a.local = &v;
		a.n_local = 1;
		a.flags = rds::kRdmaNotifyMe;
		(void)path();
		ASSERT_EQ(s->send_rdma(endpoint(remote, 4001), pattern(10), &a), 0);
		sim::run_ready();
		ASSERT_EQ(fake::wire().ops.size(), 1u);
		fake::wire().op_done(status);
		rds_path_drop(path(), RDS_DROP_ERROR);
		sim::run_for(1000ull * 1000 * 1000);
		rds_path_connected(path());
		sim::run_ready();
		EXPECT_TRUE(fake::wire().ops.empty()) << status;
		ASSERT_EQ(s->notices().size(), 1u);
		rds_path_acked(path(), fake::wire().sent.size());
	}
}

/* Over a transport without RDMA it is nobody's: it frees nothing, and counts for nothing. */
TEST_F(RdmaRace, OtherTransportsBringNoKeys)
{
	struct rds_iov v = {memory.addr(), 64};
	rds::wire::Header h;
	uint64_t cookie = 0;

	ASSERT_EQ(rds_mr_get(s->core(), &v, rds::kRdmaUseOnce, &cookie), 0);
	fake::set_caps(RDS_CAP_PREFER_LOOP);
	rds::wire::encode(h, 10, 5000, 4000, 0);
	rds::wire::put64(h.sequence, 1);
	ASSERT_TRUE(rds::wire::ExtWriter(h).rdma(static_cast<uint32_t>(cookie)));
	ASSERT_EQ(fake::arrive(path(), h, pattern(10)), 0);
	EXPECT_EQ(regions().live.size(), 1u);
	rds::wire::put64(h.sequence, 2);
	h.ext[0] = static_cast<uint8_t>(rds::wire::Ext::kRdmaBytes);
	ASSERT_EQ(fake::arrive(path(), h, pattern(10)), 0);
	EXPECT_EQ(net->stat(RDS_S_recv_rdma_bytes), 0u);
}

} // namespace
