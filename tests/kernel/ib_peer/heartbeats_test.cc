// SPDX-License-Identifier: GPL-2.0
/* Heartbeats: questions that the host answers, and its own. */
#include "over_ib.h"

#include <chrono>
#include <thread>

namespace rdstest
{
namespace
{

class Heartbeats : public OverIb
{
protected:
	/* An empty frame with this in the first byte of its padding. */
	static std::string empty(char mark)
	{
		std::string bytes = Header().encode();

		bytes[kMarkAt] = mark;
		return bytes;
	}
	void say(char mark)
	{
		ASSERT_TRUE(peer.send(empty(mark)));
	}
	/* One that the host sends comes. */
	bool comes(char mark, Patience patience = kSoon)
	{
		const auto f = peer.receive(
			[mark](const Frame &f) {
				return isEmpty(f.header) && f.bytes[kMarkAt] == mark;
			},
			patience);

		return f.has_value();
	}

	static constexpr size_t kMarkAt = 26;
	static constexpr char kAsk = 2, kAnswer = 3;
	static constexpr uint8_t kBeats = 2;
	/* Asked every second, with a second to answer. */
	const Setting interval{host, "ib/heartbeat_interval_secs", "1"};
	const Setting timeout{host, "ib/heartbeat_timeout_secs", "1"};
};

TEST_F(Heartbeats, AreAnswered)
{
	EXPECT_EQ(connect({.can = kBeats}).can, 3);
	say(0); /* the host says hello */
	for (unsigned i = 0; i < 3; i++) {
		say(kAsk);
		EXPECT_TRUE(comes(kAnswer));
	}
	EXPECT_EQ(grown("ib_rx_heartbeat"), 3u);
}

/* A message that its socket has no room for, and behind it a heartbeat. */
TEST_F(Heartbeats, AreAnsweredByAHostThatTakesNothing)
{
	connect({.can = kBeats});
	while (!grown("ib_rx_paused"))
		for (int i = 0; i < 100; i++)
			ASSERT_TRUE(peer.send(message(header(), std::string(4000, 'x'))));
	say(kAsk);
	EXPECT_TRUE(comes(kAnswer));
	host.fresh();
}

TEST_F(Heartbeats, TellThatThePeerIsThere)
{
	connect({.can = kBeats});
	say(0);
	for (unsigned i = 0; i < 4; i++) {
		ASSERT_TRUE(comes(kAsk));
		say(kAnswer);
	}
	goesOn();
	EXPECT_EQ(grown("ib_heartbeat_timeout") + grown("conn_reset"), 0u);
}

/* Its adapter takes everything, and it says something all the time; but it does not answer. */
TEST_F(Heartbeats, TellThatThePeerIsGone)
{
	connect({.can = kBeats});
	say(0);
	ASSERT_TRUE(comes(kAsk));
	while (peer.open())
		if (!peer.send(empty(0)))
			break;
	EXPECT_TRUE(grows("ib_heartbeat_timeout"));
	EXPECT_EQ(grown("ib_heartbeat_timeout"), 1u);
	EXPECT_EQ(grown("conn_reset"), 1u);
}

/* The answer may be behind them, in the queue of the peer's adapter. */
TEST_F(Heartbeats, AreNotMissedWhileMessagesCome)
{
	const Setting longer{host, "ib/heartbeat_timeout_secs", "3"};

	connect({.can = kBeats});
	say(0);
	ASSERT_TRUE(comes(kAsk));
	for (unsigned n = 0; n < 24; n++) {
		deliver(std::to_string(n));
		std::this_thread::sleep_for(std::chrono::milliseconds(500));
	}
	EXPECT_EQ(grown("ib_heartbeat_timeout") + grown("conn_reset"), 0u);
	EXPECT_TRUE(grows("ib_heartbeat_timeout"));
}

/* It may be behind the peer's operations, of which the host that asks sees nothing. */
TEST_F(Heartbeats, AreMissedLateWhereAPeerReachesMemory)
{
	host.region(4096);
	connect({.can = kBeats});
	say(0);
	ASSERT_TRUE(comes(kAsk));
	EXPECT_TRUE(host.grows(before, "ib_tx_keepalive", 2, std::chrono::seconds(60)));
	EXPECT_EQ(grown("ib_heartbeat_timeout") + grown("conn_reset"), 0u);
	host.fresh();
	EXPECT_TRUE(grows("ib_heartbeat_timeout"));
}

/* Mainline's, and those before them of ours. */
TEST_F(Heartbeats, AreNotForPeersThatDoNotAnswer)
{
	connect();
	say(0);
	/* It is time for some. */
	EXPECT_TRUE(host.grows(before, "ib_tx_keepalive", 1, std::chrono::seconds(60)));
	EXPECT_EQ(grown("ib_tx_heartbeat") + grown("conn_reset"), 0u);
}

TEST_F(Heartbeats, MayBeOff)
{
	const Setting off{host, "ib/heartbeat_timeout_secs", "0"};

	connect({.can = kBeats});
	say(0);
	EXPECT_TRUE(host.grows(before, "ib_tx_keepalive", 1, std::chrono::seconds(60)));
	EXPECT_EQ(grown("ib_tx_heartbeat") + grown("conn_reset"), 0u);
	say(kAsk);
	EXPECT_TRUE(comes(kAnswer)) << "the peer's are not";
}

} // namespace
} // namespace rdstest
