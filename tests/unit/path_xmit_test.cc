// SPDX-License-Identifier: GPL-2.0
#include "fixture.h"
#include "net/rds/net.h"
#include "net/rds/socket/socket.h"

namespace
{

using fake::wire;
using host::endpoint;
using host::Socket;

class PathXmit : public SocketTest<0>
{
protected:
	void SetUp() override
	{
		SocketTest::SetUp();
		s->sock().sndbuf = 1 << 20;
	}
	void bring_up(size_t room = SIZE_MAX)
	{
		ASSERT_EQ(s->send(to, pattern(10)), 0);
		sim::run_ready();
		rds_path_connected(wire().path);
		sim::run_ready();
		wire().room = room;
	}
	rds::CongMap &map()
	{
		return map_at(a1);
	}
	void congest(uint16_t port, bool on)
	{
		(void)map().ensure_bits(RDS_MAY_SLEEP);
		if (on ? map().set(port) : map().clear(port))
			rds::CongTable::local_changed(*net->core(), map(), port, on);
	}
	/* Does the last map on the wire have @port set? */
	bool peer_sees(uint16_t port)
	{
		bool bit = false;

		for (const auto &f : fake::frames(wire().sent))
			if (f.flags == rds::wire::kCongBitmap)
				bit = f.data[port / 8] >> (port % 8) & 1;
		return bit;
	}
	unsigned int maps_sent()
	{
		unsigned int n = 0;

		for (const auto &f : fake::frames(wire().sent))
			n += f.flags == rds::wire::kCongBitmap;
		return n;
	}
	const struct rds_endpoint to = endpoint(host::addr4(99), 5000);
	/* After that no map waits, with what a millisecond is rounded to. */
	static constexpr uint64_t kLongPause = 2 * rds::kMapPauseNs + 1000 * 1000;
};

TEST_F(PathXmit, HandsOverBatches)
{
	for (unsigned int i = 0; i < 40; i++)
		ASSERT_EQ(s->send(to, pattern(10, i)), 0);
	sim::run_ready();
	rds_path_connected(wire().path);
	sim::run_ready();
	EXPECT_EQ(fake::frames(wire().sent).size(), 41u);
	EXPECT_EQ(wire().xmits, (41 + rds::kXmitBatch - 1) / rds::kXmitBatch);
	EXPECT_FALSE(wire().last_more);
}

TEST_F(PathXmit, StopsWhenThereIsNoRoomUntilItIsTold)
{
	bring_up(0);
	ASSERT_EQ(s->send(to, pattern(10, 2)), 0);

	unsigned int xmits = wire().xmits;

	ASSERT_EQ(s->send(to, pattern(10, 3)), 0);
	EXPECT_EQ(wire().xmits, xmits);
	wire().room = SIZE_MAX;
	rds_path_writable(wire().path);
	sim::run_ready();
	EXPECT_EQ(fake::frames(wire().sent).back().data, pattern(10, 3));
}

TEST_F(PathXmit, DropsThePathWhenTheTransportFails)
{
	bring_up();
	wire().xmit_error = -32;
	ASSERT_EQ(s->send(to, pattern(10, 2)), 0);
	sim::run_ready();
	EXPECT_EQ(wire().history(), "connect close connect");
	wire().xmit_error = 0;
	rds_path_connected(wire().path);
	sim::run_ready();

	auto f = fake::frames(wire().sent);

	ASSERT_EQ(f.size(), 3u);
	EXPECT_EQ(f[1].flags, rds::wire::kRetransmitted);
	EXPECT_EQ(f[2].flags, 0) << "it never left";
	EXPECT_EQ(f[2].data, pattern(10, 2));
}

TEST_F(PathXmit, LeavesTheRestToTheWorkerAfterItsBudget)
{
	bring_up(0);
	for (unsigned int i = 0; i < 3 * rds::kSendBatchDefault; i++)
		ASSERT_EQ(s->send(to, pattern(1)), 0);

	const unsigned int ends = wire().ends;

	wire().room = SIZE_MAX;
	rds_path_writable(wire().path);
	sim::run_ready();
	EXPECT_GE(net->stat(RDS_S_send_delayed_retry), 2u);
	EXPECT_EQ(wire().ends - ends, net->stat(RDS_S_send_delayed_retry))
		<< "the worker may come late";
	EXPECT_EQ(fake::frames(wire().sent).size(), 3 * rds::kSendBatchDefault + 2);
}

TEST_F(PathXmit, SendsTheMapFirstAndWhenItChanges)
{
	bring_up();
	EXPECT_EQ(maps_sent(), 1u);
	congest(77, true);
	sim::run_ready();
	EXPECT_EQ(maps_sent(), 2u);
	EXPECT_TRUE(peer_sees(77));
	ASSERT_EQ(s->send(to, pattern(1)), 0);
	EXPECT_EQ(maps_sent(), 2u);
}

/* Before the worker has heard of the change, too: the sender itself puts the map in front. */
TEST_F(PathXmit, AMapThatHasChangedGoesBeforeTheNextMessage)
{
	bring_up();
	congest(77, true);
	ASSERT_EQ(s->send(to, pattern(1)), 0);

	const auto sent = fake::frames(wire().sent);

	ASSERT_GE(sent.size(), 2u);
	EXPECT_EQ(sent[sent.size() - 2].flags, rds::wire::kCongBitmap);
	EXPECT_EQ(sent.back().data.size(), 1u);
}

TEST_F(PathXmit, SendsTheMapAgainAfterAReset)
{
	bring_up();
	rds_path_drop(wire().path, RDS_DROP_ERROR);
	sim::run_ready();
	congest(77, true);
	rds_path_connected(wire().path);
	sim::run_ready();
	EXPECT_EQ(maps_sent(), 1u);
	EXPECT_TRUE(peer_sees(77));
}

/* The older map used to go out behind the newer one, and was the last that the peer heard. */
TEST_F(PathXmit, ANewerMapTakesTheOldersPlace)
{
	bring_up(0);
	congest(77, true);
	sim::run_ready();
	congest(77, false);
	sim::run_ready();
	wire().room = SIZE_MAX;
	rds_path_writable(wire().path);
	sim::run_ready();
	EXPECT_EQ(maps_sent(), 2u);
	EXPECT_FALSE(peer_sees(77));
}

TEST_F(PathXmit, ANewerMapFollowsTheOlderThatIsHalfOut)
{
	bring_up(100);
	congest(77, true);
	sim::run_ready();
	congest(77, false);
	sim::run_ready();
	wire().room = SIZE_MAX;
	rds_path_writable(wire().path);
	sim::run_ready();
	EXPECT_EQ(maps_sent(), 3u);
	EXPECT_FALSE(peer_sees(77));
}

TEST_F(PathXmit, TriesTheMapAgainWithoutMemory)
{
	bring_up();
	sim::options().fail_per_1000 = 1000;
	congest(77, true);
	sim::run_ready();
	EXPECT_EQ(net->stat(RDS_S_send_no_memory), 1u);
	EXPECT_FALSE(peer_sees(77));
	sim::options().fail_per_1000 = 0;
	sim::run_for(rds::kRetryNs * 2);
	EXPECT_TRUE(peer_sees(77));
}

/* The map changed while there was no room, and nothing else waits any more when there is. */
TEST_F(PathXmit, SendsTheMapThatChangedWhileTheQueueWasTakenBack)
{
	bring_up();
	congest(78, true);
	sim::run_ready();
	ASSERT_TRUE(peer_sees(78));

	wire().room = 0;
	EXPECT_EQ(s->send(to, pattern(10)), 0);
	sim::run_ready();
	rds_socket_cancel(s->core(), &to);
	congest(78, false);
	sim::run_ready();
	wire().room = SIZE_MAX;
	rds_path_writable(wire().path);
	sim::run_for(kLongPause);
	EXPECT_FALSE(peer_sees(78));
}

/* A change between the sender's look at the map and its giving back the token used to be lost. */
TEST_F(PathXmit, TheLastMapIsTheTruthWhateverTheTiming)
{
	bring_up();
	for (uint64_t seed = 0; seed < 300; seed++) {
		sim::options().preempt_per_1000 = 50 + static_cast<unsigned int>(seed);
		sim::spawn("sender", [&] {
			for (int i = 0; i < 5; i++)
				EXPECT_EQ(s->send(to, pattern(10)), 0);
		});
		sim::spawn("port", [&] {
			for (int i = 0; i < 5; i++)
				congest(77, i % 2 == 0);
			congest(77, seed % 2);
		});
		sim::run_for(kLongPause);
		ASSERT_EQ(peer_sees(77), seed % 2 != 0) << "seed " << seed;
		rds_path_acked(wire().path, UINT64_MAX);
	}
}

/* One byte that was taken is as good as many: it is not sent again. */
TEST_F(PathXmit, ByteByByteAMessageStaysWhatItIs)
{
	bring_up();

	size_t before = wire().sent.size();

	wire().room = 1;
	ASSERT_EQ(s->send(to, pattern(10)), 0);
	for (size_t n = 1; n <= rds::wire::kHeaderBytes + 10; n++) {
		sim::run_ready();
		ASSERT_EQ(wire().sent.size(), before + n);
		wire().room = 1;
		rds_path_writable(wire().path);
	}
	sim::run_ready();
	EXPECT_EQ(wire().sent.size(), before + rds::wire::kHeaderBytes + 10);
	EXPECT_EQ(fake::frames(wire().sent).back().data, pattern(10));
}

/* A map is of no port. */
TEST_F(PathXmit, AMapGoesFromNobodyToNobody)
{
	unsigned int maps = 0;

	bring_up();
	congest(78, true);
	sim::run_ready();
	for (const fake::Frame &f : fake::frames(wire().sent)) {
		if (f.flags != rds::wire::kCongBitmap)
			continue;
		maps++;
		EXPECT_EQ(f.sport, 0);
		EXPECT_EQ(f.dport, 0);
		EXPECT_EQ(f.seq, 0u);
	}
	EXPECT_GT(maps, 0u);
}

/* A transport without room may say so with 0. */
TEST_F(PathXmit, NothingTakenIsNoFailure)
{
	bring_up(0);
	wire().no_room = 0;
	ASSERT_EQ(s->send(to, pattern(10, 2)), 0);
	sim::run_ready();
	EXPECT_EQ(wire().history(), "connect");
	wire().room = SIZE_MAX;
	rds_path_writable(wire().path);
	sim::run_ready();
	EXPECT_EQ(fake::frames(wire().sent).back().data, pattern(10, 2));
	EXPECT_EQ(wire().history(), "connect");
}

} // namespace
