// SPDX-License-Identifier: GPL-2.0
/* When the peer is told of a map that changes again and again (map_pause.h, path_xmit.cc). */
#include <algorithm>

#include "fixture.h"
#include "net/rds/net.h"
#include "net/rds/path/path.h"
#include "net/rds/socket/socket.h"

namespace
{

using fake::wire;
using host::endpoint;

constexpr uint64_t kMs = 1000 * 1000;
constexpr uint16_t kPort = 77;

/* A connection that is up, and whose peer has sent nothing. */
class MapPause : public SocketTest<0>
{
protected:
	void SetUp() override
	{
		SocketTest::SetUp();
		ASSERT_EQ(s->send(to, pattern(10)), 0);
		sim::run_ready();
		rds_path_connected(wire().path);
		sim::run_for(kMs);
		ASSERT_TRUE(map_at(a1).ensure_bits(RDS_MAY_SLEEP).ok());
		before = maps().size();
	}
	/* A port of ours fills, or clears. */
	void flip(bool full)
	{
		rds::CongMap &map = map_at(a1);

		ASSERT_TRUE(full ? map.set(kPort) : map.clear(kPort));
		rds::CongTable::local_changed(*net->core(), map, kPort, full);
		sim::run_ready();
	}
	/* The port's bit in each map that was sent: */
	static std::vector<bool> maps()
	{
		std::vector<bool> said;

		for (const auto &f : fake::frames(wire().sent))
			if (f.flags == rds::wire::kCongBitmap)
				said.push_back(f.data[kPort / 8] >> kPort % 8 & 1);
		return said;
	}
	size_t told()
	{
		return maps().size() - before;
	}
	/* The peer sends a message to our socket. */
	void hear()
	{
		ASSERT_EQ(fake::arrive(wire().path, ++seq, 5000, 4000, pattern(100)), 0);
	}

	const struct rds_endpoint to = endpoint(host::addr4(99), 5000);
	size_t before = 0;
	uint64_t seq = 0;
};

/* Each flip used to bring the peer 8 KiB: 1000 maps here. */
TEST_F(MapPause, AFlappingPortIsToldNowAndThen)
{
	for (unsigned int i = 1; i < 1000; i++) {
		flip(i % 2);
		sim::run_for(kMs / 10);
	}
	sim::run_for(3 * rds::kMapPauseNs);
	EXPECT_LE(told(), 12u);
	EXPECT_GE(told(), 6u);
	EXPECT_TRUE(maps().back()) << "the last state has not arrived";

	const size_t all = told();

	sim::run_for(100 * kMs);
	EXPECT_EQ(told(), all) << "a map is sent that has not changed";
}

/* A sender of now waits for the news, or sends what nobody can take. */
TEST_F(MapPause, ASenderIsToldAtOnce)
{
	hear();
	for (unsigned int i = 1; i <= 20; i++) {
		flip(i % 2);
		EXPECT_EQ(told(), i);
		sim::run_for(kMs);
	}
	sim::run_for(rds::kSpeaksNs);
	flip(true);
	flip(false);
	EXPECT_EQ(told(), 21u) << "it has said nothing for long";
}

TEST_F(MapPause, AQuietPortIsToldAtOnce)
{
	for (unsigned int i = 1; i <= 20; i++) {
		flip(i % 2);
		EXPECT_EQ(told(), i);
		sim::run_for(3 * rds::kMapPauseNs);
	}
	EXPECT_EQ(told(), 20u);
}

/* A map may wait for time to pass, but no message overtakes it. */
TEST_F(MapPause, AMapThatWaitsGoesBeforeTheNextMessage)
{
	flip(true);
	flip(false);
	ASSERT_EQ(told(), 1u);
	ASSERT_EQ(s->send(to, pattern(1)), 0);
	EXPECT_EQ(told(), 2u);
	EXPECT_EQ(fake::frames(wire().sent).back().data.size(), 1u);
	sim::run_for(3 * rds::kMapPauseNs);
	EXPECT_EQ(told(), 2u);
}

/* A port that is full but for a moment every 10 ms: a peer whose looks always fall between would
 * never send. */
TEST_F(MapPause, AMomentOfRoomIsTold)
{
	flip(true);
	for (unsigned int i = 0; i < 10; i++) {
		sim::run_for(10 * kMs - kMs / 5);
		flip(false);
		sim::run_for(kMs / 5);
		flip(true);
	}

	const std::vector<bool> said = maps();

	EXPECT_GE(std::count(said.begin() + static_cast<long>(before), said.end(), false), 5);
}

/* The peer was silent, does not know that the port is full, and fills it further. */
TEST_F(MapPause, AFullPortThatGetsMoreIsTold)
{
	s->sock().rcvbuf = 50;
	hear();
	sim::run_for(2 * rds::kSpeaksNs);
	ASSERT_TRUE(s->core()->congested.load());
	flip(true);
	flip(false);

	const size_t some = told();

	hear();
	sim::run_ready();
	EXPECT_EQ(told(), some + 1);
}

} // namespace
