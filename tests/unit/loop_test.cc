// SPDX-License-Identifier: GPL-2.0
/* What loopback answers to what nobody asks it; all else of it is in tests/contract. */
#include "fixture.h"

namespace
{

class Loop : public CoreTest
{
};

TEST_F(Loop, ServesNoAddressByItself)
{
	EXPECT_EQ(loop->laddr_check(net->os(), &a1, 0), -99);
}

TEST_F(Loop, AcceptsNothing)
{
	int handle;

	EXPECT_EQ(loop->adopt(nullptr, &handle), -95);
	loop->discard(&handle);
}

TEST_F(Loop, EndsAtOnceWhenAskedTo)
{
	host::Socket s(*net);

	ASSERT_EQ(s.bind(host::endpoint(a1, 4000)), 0);
	ASSERT_EQ(s.send(host::endpoint(a2, 1), pattern(1)), 0);
	sim::run_ready();
	rds_transport_net_reset(net->core(), loop);
	sim::run_ready();
	EXPECT_EQ(net->stat(RDS_S_conn_drain_timeout), 0u);
	EXPECT_EQ(s.send(host::endpoint(a1, 4000), pattern(5)), 0);
	sim::run_ready();
	EXPECT_TRUE(s.recv());
}

} // namespace
