// SPDX-License-Identifier: GPL-2.0
#include <random>
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
		std::vector<HeldPort *> gone;

		held->for_each([&](HeldPort &h) {
			if (which(h))
				gone.push_back(&h);
		});
		for (HeldPort *h : gone) {
			while (rds::Message *m = held->pop_front(*h)) {
				ports.insert(h->port);
				rds::message_put(m);
			}
			held->drop(*h, 0);
			rds::destroy(h);
		}
		return ports;
	}

	std::unique_ptr<HeldPorts> held;
};

/* However their turns came. */
TEST_F(Held, WhatStepsAsideIsInTheOrderOfItsNumbers)
{
	HeldPort *h = held->hold(7);
	std::vector<uint64_t> found;

	ASSERT_NE(h, nullptr);
	for (const uint64_t number : {5, 9, 7, 3, 11, 10}) {
		rds::Message *m = rds::message_create(0, RDS_MAY_SLEEP);

		ASSERT_NE(m, nullptr);
		rds::wire::put64(m->hdr.sequence, number);
		h->put_aside(m);
	}
	for (const rds::Message *m = h->msgs.front(); m; m = h->msgs.next(m))
		found.push_back(rds::wire::get64(m->hdr.sequence));
	EXPECT_EQ(found, (std::vector<uint64_t>{3, 5, 7, 9, 10, 11}));
}

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

/* Those that a transport had come back at their place, before what never had a number. */
TEST_F(Held, AreOldestFirst)
{
	HeldPort *h = held->hold(7);
	auto make = [](uint64_t number) {
		rds::Message *m = rds::message_create(0, RDS_MAY_SLEEP);

		rds::wire::put64(m->hdr.sequence, number);
		return m;
	};

	for (uint64_t number : {5, 6, 9, 3, 4})
		h->put_aside(make(number));
	h->msgs.push_back(make(0));
	h->put_aside(make(7));
	h->put_aside(make(10));
	for (uint64_t number : {1, 2}) {
		h->sent.push_back(make(number));
		h->sent.front()->end_off = 1;
	}
	h->sent.next(h->sent.front())->end_off = 2;
	for (uint64_t number : {1, 2, 3, 4, 5, 6, 7, 9, 0, 10}) {
		rds::Message *m = held->pop_front(*h);

		ASSERT_NE(m, nullptr);
		EXPECT_EQ(rds::wire::get64(m->hdr.sequence), number);
		rds::message_put(m);
	}
	EXPECT_EQ(held->pop_front(*h), nullptr);
}

/* Some were refused while the others went back: they stay, and those come again behind them. */
TEST_F(Held, GoBackWithoutWhatWasRefusedMeanwhile)
{
	HeldPort *h = held->hold(7);
	rds::Message *old = rds::message_create(0, RDS_MAY_SLEEP);

	for (int i = 0; i < 2; i++)
		ASSERT_TRUE(add(7));
	h->goes_back = true;
	rds::message_put(held->pop_front(*h));
	held->refuse(*h, 1, 100);
	h->refused_late = true;
	old->end_off = 1;
	h->sent.push_back(old);
	rds::message_put(held->pop_front(*h));
	EXPECT_EQ(held->pop_front(*h), nullptr);
	held->stay(*h);
	EXPECT_EQ(held->find(7), h);
	EXPECT_FALSE(h->goes_back);
	EXPECT_EQ(held->pop_front(*h), old);
	rds::message_put(old);
}

/* Between two steps messages come and go, and so do their ports; some leave for the queue, which is
 * met before each step, and step aside again. */
TEST_F(Held, AWalkMeetsAllThatIsThere)
{
	for (unsigned int seed = 1; seed <= 500 && !HasFailure(); seed++) {
		SCOPED_TRACE(seed);

		std::minstd_rand rng(seed);
		std::multiset<rds::Message *> met;
		std::set<rds::Message *> old, left;
		std::vector<std::pair<uint16_t, rds::Message *>> queued;
		HeldPorts::Walk w, w2;
		const uint16_t ports[] = {7, 71, 8, 135, 63, 64};
		auto some_port = [&] { return ports[rng() % std::size(ports)]; };
		auto put_in = [&](uint16_t port, rds::Message *m) {
			held->hold(port)->msgs.push_back(m);
		};
		auto come = [&] {
			rds::Message *m = rds::message_create(0, RDS_MAY_SLEEP);

			put_in(some_port(), m);
			return m;
		};
		auto go_back = [&](uint16_t port) {
			HeldPort *h = held->find(port);

			if (!h)
				return;
			while (rds::Message *m = held->pop_front(*h))
				queued.emplace_back(port, m);
			if (rng() % 2) {
				held->stay(*h);
				return;
			}
			held->drop(*h, 0);
			rds::destroy(h);
		};
		auto lose = [&](uint16_t port) {
			HeldPort *h = held->find(port);
			rds::Message *m = h ? h->front() : nullptr;

			for (unsigned int n = rng() % 4; m && n; n--)
				m = h->next(m);
			if (!m)
				return;
			held->take_off(*h, m);
			left.insert(m);
			old.erase(m);
		};

		for (unsigned int n = rng() % 40; n; n--)
			old.insert(come());
		for (unsigned int steps = 0; !held->is_over(w) && steps < 1000; steps++) {
			if (rng() % 4 == 0)
				(void)come();
			if (rng() % 6 == 0)
				lose(some_port());
			if (rng() % 8 == 0)
				go_back(some_port());
			if (rng() % 2)
				(void)held->step(w2);
			/* The walk through the queue meets it there, or does not, for it has left.
			 */
			if (rng() % 2)
				for (auto &[port, m] : queued)
					met.insert(m);
			for (auto &[port, m] : queued)
				put_in(port, m);
			queued.clear();
			if (rds::Message *m = held->step(w))
				met.insert(m);
		}
		for (rds::Message *m : old)
			EXPECT_NE(met.count(m), 0u);
		held->stop(w);
		held->stop(w2);
		for (rds::Message *m : left)
			rds::message_put(m);
		drop([](const HeldPort &) { return true; });
	}
}

/* Refused messages are owed until the last such port has gone back, and then up to its numbers. */
TEST_F(Held, AreOwedAsLongAsOneIsRefused)
{
	held->refuse(*held->hold(7), 1, 100);
	held->refuse(*held->hold(8), 2, 101);
	(void)held->hold(9);
	EXPECT_EQ(held->refused(), 2u);
	for (uint16_t port : {8, 7, 9}) {
		HeldPort *h = held->find(port);

		EXPECT_EQ(held->owed(), port == 9 ? 70u : ~0ull) << port;
		held->drop(*h, port * 10u);
		rds::destroy(h);
	}
	EXPECT_EQ(held->refused(), 0u);
	EXPECT_EQ(held->owed(), 70u);
}

/* A full port's messages may have waited long before it is refused. */
TEST_F(Held, SinceWhenOneIsRefused)
{
	HeldPort *h = held->hold(7);

	sim::run_for(50 * 1000 * 1000);
	held->refuse(*h, 1, 100);
	EXPECT_EQ(h->refused_since.age_ms(), 0u);
	sim::run_for(30 * 1000 * 1000);
	EXPECT_EQ(h->refused_since.age_ms(), 30u);
	held->stay(*h);
	EXPECT_EQ(h->refused_since.age_ms(), 30u) << "while it went back";
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
