/* SPDX-License-Identifier: GPL-2.0 */
/*
 * fixture.h: what every unit test of the core stands on: a fresh simulated world, checked at the
 * end.
 *
 * A test fails when anything is left over: memory, locks, RCU sections, work, timers, or an
 * rds_bug() on the way.
 */
#ifndef RDS_TESTS_FIXTURE_H
#define RDS_TESTS_FIXTURE_H

#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "fake_transport.h"
#include "host.h"
#include "net/rds/net.h"
#include "sim.h"
#include "transports/loop/loop.h"

/* For what needs the seam and nothing else. */
class SimTest : public ::testing::Test
{
protected:
	void SetUp() override
	{
		sim::reset(options);
	}
	void TearDown() override
	{
		sim::fail_nth(0);
		sim::options().fail_per_1000 = 0;
		sim::run_ready();
		EXPECT_EQ(sim::leftovers(), "");
		sim::discard();
	}

	sim::Options options; /* of the world that the next SetUp() makes */
};

/* The core with loopback and the fake transport, and a namespace that has 10.0.0.1 and .2. */
class CoreTest : public SimTest
{
protected:
	void SetUp() override
	{
		SimTest::SetUp();
		ASSERT_EQ(rds_core_init(), 0);
		loop = rds_loop_init(&loop_module);
		ASSERT_EQ(rds_transport_register(loop), 0);
		fake::reset();
		ASSERT_EQ(rds_transport_register(fake::ops()), 0);
		net = std::make_unique<host::Net>(
			std::vector<struct rds_addr>{host::addr4(1), host::addr4(2)});
		ASSERT_NE(net->core(), nullptr);
	}
	void TearDown() override
	{
		sim::fail_nth(0);
		sim::options().fail_per_1000 = 0;
		net.reset();
		rds_transport_unregister(fake::ops());
		rds_transport_unregister(loop);
		rds_core_exit();
		SimTest::TearDown();
		EXPECT_EQ(loop_module.refs.load(), 0);
		EXPECT_EQ(fake::module().refs.load(), 0);
	}

	/* The map of @a, of which somebody else has a reference. */
	rds::CongMap &map_at(const struct rds_addr &a, rds::Whose whose = rds::Whose::kOurs)
	{
		rds::CongTable &table = net->core()->cong;
		rds::CongMap *m = table.get(a, 0, whose, net->core()->key);

		table.put(*m);
		return *m;
	}

	struct rds_addr a1 = host::addr4(1), a2 = host::addr4(2);
	struct rds_addr remote = host::addr4(99);
	struct rds_module loop_module;
	const struct rds_transport *loop = nullptr;
	std::unique_ptr<host::Net> net;
};

/* The same with a transport that has @Caps, and a socket at 10.0.0.1 port 4000. */
template <unsigned int Caps>
class SocketTest : public CoreTest
{
protected:
	void SetUp() override
	{
		CoreTest::SetUp();
		fake::set_caps(Caps);
		s = std::make_unique<host::Socket>(*net);
		ASSERT_EQ(s->bind(host::endpoint(a1, 4000)), 0);
	}
	void TearDown() override
	{
		s.reset();
		CoreTest::TearDown();
	}

	std::unique_ptr<host::Socket> s;
};

/* The bug that was told last (net/rds/bug.h), if any was since the last question. */
inline std::string told()
{
	return host::bugs.exchange(0) ? host::last_bug.load() : "";
}

inline unsigned char pattern_byte(size_t i, unsigned int seed)
{
	return static_cast<unsigned char>((i * 31 + seed * 7) ^ (i >> 8));
}

/* @n bytes that depend on @seed. */
inline host::Bytes pattern(size_t n, unsigned int seed = 1)
{
	host::Bytes b(n);

	for (size_t i = 0; i < n; i++)
		b[i] = pattern_byte(i, seed);
	return b;
}

/* @b == pattern(@b.size(), @seed), without making that. */
inline bool is_pattern(const host::Bytes &b, unsigned int seed)
{
	for (size_t i = 0; i < b.size(); i++)
		if (b[i] != pattern_byte(i, seed))
			return false;
	return true;
}

#endif
