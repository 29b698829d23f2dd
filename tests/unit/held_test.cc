// SPDX-License-Identifier: GPL-2.0
#include <set>
#include <string>
#include <vector>

#include "fixture.h"
#include "net/rds/path/held.h"

namespace
{

using rds::HeldPort;
using rds::HeldPorts;

/* Messages of no path and no socket: the room knows neither. */
class Held : public SimTest
{
protected:
	void SetUp() override
	{
		SimTest::SetUp();
		held = std::make_unique<HeldPorts>();
	}
	void TearDown() override
	{
		drop([](const HeldPort &) { return true; });
		held.reset();
		SimTest::TearDown();
	}
	bool add(uint16_t port)
	{
		HeldPort *h = held->hold(port);
		rds::Message *m = h ? rds::message_create(0, RDS_MAY_SLEEP) : nullptr;

		if (m)
			h->msgs.push_back(m);
		return m;
	}
	/* Ports that left; their messages go. */
	template <typename F>
	std::multiset<uint16_t> drop(F which)
	{
		std::multiset<uint16_t> ports;
		HeldPorts::Ports gone;

		held->take(which, gone);
		while (HeldPort *h = gone.pop_front()) {
			while (rds::Message *m = h->msgs.pop_front()) {
				ports.insert(h->port);
				rds::message_put(m);
			}
			rds::destroy(h);
		}
		return ports;
	}

	std::unique_ptr<HeldPorts> held;
};

TEST_F(Held, KnowsItsPorts)
{
	EXPECT_TRUE(held->empty());
	EXPECT_FALSE(held->holds(7));
	EXPECT_EQ(held->find(7), nullptr);
	/* Some share a word, some a bucket. */
	for (uint16_t port : {7, 8, 71, 7 + 64 * 64, 65535})
		ASSERT_TRUE(add(port));
	for (uint16_t port : {7, 8, 71, 7 + 64 * 64, 65535}) {
		EXPECT_TRUE(held->holds(port));
		ASSERT_NE(held->find(port), nullptr);
		EXPECT_EQ(held->find(port)->port, port);
	}
	for (uint16_t port : {0, 6, 9, 135, 65534})
		EXPECT_FALSE(held->holds(port));
}

TEST_F(Held, HoldsAPortOnce)
{
	ASSERT_TRUE(add(7));
	EXPECT_EQ(held->hold(7), held->find(7));
	ASSERT_TRUE(add(7));
	EXPECT_EQ(drop([](const HeldPort &) { return true; }), (std::multiset<uint16_t>{7, 7}));
	EXPECT_TRUE(held->empty());
}

TEST_F(Held, GivesBackThoseThatAreChosen)
{
	for (uint16_t port : {7, 71, 8})
		ASSERT_TRUE(add(port));
	EXPECT_EQ(drop([](const HeldPort &h) { return h.port != 71; }),
		  (std::multiset<uint16_t>{7, 8}));
	EXPECT_FALSE(held->holds(7));
	EXPECT_TRUE(held->holds(71));
	EXPECT_FALSE(held->empty());
}

/* One by one, whichever goes: the others stay, at the ends of words and of the table as well. */
TEST_F(Held, GivesBackOneByOne)
{
	std::set<uint16_t> left = {0,	 1,    63,    64,    65,    127,  128,
				   4095, 4096, 40000, 65471, 65472, 65535};

	for (uint16_t port : left)
		ASSERT_TRUE(add(port));
	while (!left.empty()) {
		uint16_t port = *std::next(left.begin(), static_cast<long>(left.size() / 2));

		EXPECT_EQ(drop([port](const HeldPort &h) { return h.port == port; }),
			  (std::multiset<uint16_t>{port}));
		left.erase(port);
		for (uint32_t p = 0; p < 65536; p++)
			ASSERT_EQ(held->holds(static_cast<uint16_t>(p)),
				  left.count(static_cast<uint16_t>(p)) != 0)
				<< p;
	}
	EXPECT_TRUE(held->empty());
}

TEST_F(Held, SurvivesEveryAllocationFailure)
{
	for (int nth = 1; nth <= 2; nth++) {
		sim::fail_nth(nth);
		EXPECT_EQ(held->hold(9), nullptr);
		EXPECT_FALSE(held->holds(9));
	}
	sim::fail_nth(0);
	EXPECT_TRUE(add(9));
}

/* Each port shows, for all that may be held, and all that may have left before. */
TEST_F(Held, ShowsEveryPortOnce)
{
	std::multiset<uint16_t> ports = {0, 1, 63, 64, 65, 128, 4095, 4096, 65472, 65535};
	auto shown = [this] {
		std::multiset<uint16_t> out;

		held->for_each([&](const HeldPort &h) { out.insert(h.port); });
		return out;
	};

	EXPECT_TRUE(shown().empty());
	for (uint16_t port : ports)
		ASSERT_TRUE(add(port));
	while (!ports.empty()) {
		EXPECT_EQ(shown(), ports);

		uint16_t port = *ports.begin();

		drop([port](const HeldPort &h) { return h.port == port; });
		ports.erase(port);
	}
	EXPECT_TRUE(shown().empty());
}

/* A path sends them away before it is destroyed: one that is left is a bug, which is told. */
TEST_F(Held, GoesWithNothingInIt)
{
	HeldPort *left = held->hold(7);

	ASSERT_NE(left, nullptr);
	held.reset();
	EXPECT_EQ(host::bugs.exchange(0), 1u);
	rds::destroy(left);
	held = std::make_unique<HeldPorts>();
}

} // namespace
