// SPDX-License-Identifier: GPL-2.0
/* Connections that an administrator ends (rds_net_reset()): those that are named, and no other. */
#include "fixture.h"
#include "net/rds/net.h"
#include "net/rds/path/path.h"
#include "net/rds/socket/socket.h"

namespace
{

using host::endpoint;

constexpr struct rds_addr kAny = {};
constexpr unsigned int kMany = 50; /* more than there are buckets at first */

class ConnReset : public SocketTest<RDS_CAP_PREFER_LOOP>
{
protected:
	/* A connection of @from's to @to that is up. */
	fake::Wire *up(host::Socket &from, const struct rds_addr &to, uint8_t tos = 0)
	{
		const size_t before = fake::wires().size();

		EXPECT_EQ(tos ? rds_socket_set_tos(from.core(), tos) : 0, 0);
		EXPECT_EQ(from.send(endpoint(to, 5000), pattern(10)), 0);
		sim::run_ready();
		EXPECT_EQ(fake::wires().size(), before + 1);

		fake::Wire *w = fake::wires().back();

		rds_path_connected(w->path);
		sim::run_ready();
		return w;
	}
	unsigned int reset(const struct rds_addr &from, const struct rds_addr &to, uint8_t tos = 0)
	{
		unsigned int n = rds_net_reset(net->core(), &from, &to, tos);

		sim::run_ready();
		return n;
	}
	static unsigned int ended(const fake::Wire *w)
	{
		return w->path->resets.load();
	}
};

TEST_F(ConnReset, EndsTheOneThatIsNamed)
{
	host::Socket other(*net), third(*net);

	fake::set_caps(RDS_CAP_RDMA); /* each type of service is a connection */
	ASSERT_EQ(other.bind(endpoint(a1, 4001)), 0);
	ASSERT_EQ(third.bind(endpoint(a2, 4002)), 0);

	const fake::Wire *one = up(*s, remote), *tos = up(other, remote, 3),
			 *away = up(third, remote);

	EXPECT_EQ(reset(a1, remote), 1u);
	EXPECT_EQ(ended(one), 1u);
	EXPECT_EQ(ended(tos) + ended(away), 0u);
	EXPECT_EQ(one->path->last_reason.load(), static_cast<uint32_t>(RDS_DROP_ADMIN));
	EXPECT_EQ(one->history(), "connect shutdown");
	EXPECT_EQ(reset(a1, remote, 3), 1u);
	EXPECT_EQ(ended(tos), 1u);
	EXPECT_EQ(reset(a1, remote, 4), 0u) << "there is none";
	EXPECT_EQ(reset(a2, host::addr4(98)), 0u);
	EXPECT_EQ(reset(a1, {{1, 0}}), 0u) << "half of an address that is zeros is no address";
	EXPECT_EQ(ended(one) + ended(tos) + ended(away), 2u);
}

TEST_F(ConnReset, EndsThoseToAll)
{
	host::Socket third(*net), there(*net);

	ASSERT_EQ(third.bind(endpoint(a2, 4002)), 0);

	const fake::Wire *one = up(*s, remote), *two = up(*s, host::addr4(98)),
			 *away = up(third, remote);

	ASSERT_EQ(there.bind(endpoint(a2, 5000)), 0);
	ASSERT_EQ(s->send(endpoint(a2, 5000), pattern(10)), 0);
	sim::run_ready();
	EXPECT_TRUE(there.recv());
	for (unsigned int n = 0; n < kMany; n++)
		up(*s, host::addr4(200 + n));
	EXPECT_EQ(reset(a1, kAny), kMany + 3) << "and that of loopback";
	EXPECT_EQ(ended(one), 1u);
	EXPECT_EQ(ended(two), 1u);
	EXPECT_EQ(ended(away), 0u);
	EXPECT_EQ(reset(remote, kAny), 0u);
	/* Loopback's is there again as soon as there is something to send. */
	EXPECT_EQ(s->send(endpoint(a2, 5000), pattern(10)), 0);
	sim::run_ready();
	EXPECT_TRUE(there.recv());
}

} // namespace
