// SPDX-License-Identifier: GPL-2.0
/*
 * More refused ports than one path may have, on several paths of a connection that dies before its
 * sender has heard of them: all of them outlive it, or it stays (net/rds/conn/tombs.h).
 */
#include "net/rds/net.h"
#include "net/rds/path/path.h"
#include "refuse_fixture.h"

namespace contract
{
namespace
{

constexpr unsigned int kPaths = 4, kPorts = 120, kMany = rds::kTombPorts + 16;
constexpr uint16_t kFirst = 1000;

stream::Params broad()
{
	stream::Params p;

	p.paths = kPaths;
	return p;
}

const Over kStreams[] = {
	{"calling", Kind::kStream, 1, 2, broad(), 0},
	{"interrupted", Kind::kStream, 1, 2, broad(), 100},
};

class ManyPorts : public Refusal
{
protected:
	void SetUp() override
	{
		Refusal::SetUp();
		for (auto &n : nets)
			rds_net_tunables(n->core())->idle_timeout_ms = 1000;
	}
	rds::ConnTable &table()
	{
		return net_b().core()->conns;
	}
	template <typename F>
	void each_path(F fn)
	{
		rds::RcuReader rcu;

		table().for_each([&](rds::Conn &c) { c.for_each_path(fn); });
	}
	unsigned int paths_up()
	{
		unsigned int n = 0;

		each_path([&](rds::Path &p) { n += p.state() == rds::PathState::kUp; });
		return n;
	}
	/* Ports that b has refused. */
	unsigned int refused()
	{
		unsigned int n = 0;

		each_path([&](rds::Path &p) { n += p.count().refused; });
		return n;
	}
	bool has_connection()
	{
		unsigned int n = 0;

		each_path([&](rds::Path &) { n++; });
		return n;
	}
	/* So much traffic that all paths are used. */
	void spread()
	{
		make_reader(socket_b(500), 1 << 20);
		readers.back()->reads = true;
		for (uint16_t i = 0; i < 200 && paths_up() < kPaths; i++) {
			flow(socket_a(static_cast<uint16_t>(500 + i)), at_b(500), 60, 4000);
			if (i % 20 == 19)
				(void)all_arrives();
		}
		ASSERT_TRUE(all_arrives());
		ASSERT_EQ(paths_up(), kPaths);
	}
	/* Many ports are refused, a hears nothing, and the connections break. */
	void refuse_unheard()
	{
		for (unsigned int i = 0; i < kPorts; i++)
			make_reader(socket_b(static_cast<uint16_t>(kFirst + i)));
		network::cut(b(), a(), true);
		for (unsigned int i = 0; i < kPorts; i++)
			flow(socket_a(static_cast<uint16_t>(kFirst + i)),
			     at_b(static_cast<uint16_t>(kFirst + i)), 8, 40);
		ASSERT_TRUE(sim::run_until([&] { return refused() >= kMany; }, 60 * kSecond))
			<< refused();
		network::cut(a(), b(), true);
		stream::cut_all();
	}
	bool is_collected(uint64_t tombs)
	{
		return sim::run_until(
			[&] {
				return net_b().stat(RDS_S_conn_tombstone) > tombs &&
				       !has_connection();
			},
			60 * kSecond);
	}
	/* All read, and hear of each other. */
	void end_well()
	{
		all_read();
		network::heal();
		EXPECT_TRUE(all_arrives()) << order.lost();
		EXPECT_EQ(order.complaint(), "");
		EXPECT_EQ(order.lost(), 0u);
		EXPECT_EQ(stat(RDS_S_recv_bad_refusal), 0u);
	}
	/* Tombstones of others have all the spare memory there is. */
	void fill_tombs()
	{
		unsigned int n = 0;

		do
			n++;
		while (n < 5000 && bury(n));
		ASSERT_EQ(n, 1 + rds::kTombSpare / 3584);
	}
	bool bury(unsigned int n)
	{
		rds::Guard sleeps(rds::kMaySleep);
		rds::TombCount counts[rds::kMaxPaths] = {};
		rds::TombPorts ports;
		const unsigned int many = rds::kMaxPaths * rds::kTombPorts;

		EXPECT_TRUE(ports.make_room(many));
		for (unsigned int i = 0; i < many; i++)
			ports.add(i / rds::kTombPorts, 0, static_cast<uint16_t>(i), 1);
		return table()
			.tombs
			.remember(name(n), 0xff, counts, ports, rds::TombsFull::kFails,
				  net_b().core()->key)
			.ok();
	}
	void dig_up(unsigned int n)
	{
		table().tombs.forget(name(n), ~0u, net_b().core()->key);
	}
	rds::TombKey name(unsigned int n)
	{
		return {addr_b, host::addr4(10000 + n), 0, 0, 2};
	}
	network::HostId a() const
	{
		return network::host_of(addr_a);
	}
	network::HostId b() const
	{
		return network::host_of(addr_b);
	}
};

INSTANTIATE_TEST_SUITE_P(Over, ManyPorts, ::testing::ValuesIn(kStreams),
			 [](const auto &info) { return std::string(info.param.name); });

TEST_P(ManyPorts, AllOutliveTheConnection)
{
	Finish finish(*this);

	spread();
	refuse_unheard();

	const unsigned int n = refused();

	EXPECT_GE(n, kMany);
	ASSERT_TRUE(is_collected(0));
	EXPECT_EQ(table().tombs.spare(), n <= 128 ? 512u : 1536u);
	end_well();
	EXPECT_EQ(net_b().stat(RDS_S_conn_tomb_full), 0u);
}

/* Tombstones have no room for so many: it stays, is counted, and goes when there is room. */
TEST_P(ManyPorts, WithoutRoomItStays)
{
	Finish finish(*this);

	spread();
	fill_tombs();
	refuse_unheard();
	EXPECT_TRUE(sim::run_until([&] { return net_b().stat(RDS_S_conn_tomb_full) > 2; },
				   60 * kSecond));
	EXPECT_EQ(net_b().stat(RDS_S_conn_tombstone), 0u);
	EXPECT_GE(refused(), kMany);
	if (!GetParam().preempt_per_1000) {
		/* Its peer is back. */
		end_well();
		return;
	}
	dig_up(1);
	ASSERT_TRUE(is_collected(0));
	end_well();
}

/* There are too many connections, so it has to go: it is remembered all the same, and the oldest of
 * those with many ports is not. */
TEST_P(ManyPorts, WithoutRoomForItselfItGoes)
{
	Finish finish(*this);

	spread();
	fill_tombs();
	refuse_unheard();

	const uint32_t most = rds_net_tunables(net_b().core())->max_passive;

	rds_net_tunables(net_b().core())->max_passive = 0;
	ASSERT_TRUE(is_collected(0));
	EXPECT_FALSE(table().tombs.knows(name(1), net_b().core()->key));
	EXPECT_TRUE(table().tombs.knows(name(2), net_b().core()->key));
	rds_net_tunables(net_b().core())->max_passive = most;
	end_well();
}

} // namespace
} // namespace contract
