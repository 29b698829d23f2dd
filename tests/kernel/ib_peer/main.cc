// SPDX-License-Identifier: GPL-2.0
/*
 * rds_ib_peer: what a host with RDS over InfiniBand does with a peer that says what it wants.
 * Run in a guest with an RDMA adapter and without RDS; rds_host.py runs on the host that is tested.
 */
#include "over_ib.h"

#include "../../progs/lib/command_line.h"

int main(int argc, char **argv)
{
	using namespace rdstest;

	std::string host, host6, own, own6;
	CommandLine line(
		"tells a host with RDS over InfiniBand what it wants, and judges the answer");

	::testing::InitGoogleTest(&argc, argv);
	if (GTEST_FLAG_GET(list_tests)) /* for that no host is needed */
		return RUN_ALL_TESTS();
	line.required("--host", host, "the host's IPv4 address");
	line.required("--host6", host6, "the same host's IPv6 address");
	line.required("--own", own, "first of the IPv4 addresses here; each test takes one");
	line.required("--own6", own6, "first of the IPv6 addresses here");
	return line.run(argc, argv, [&] {
		setup.own[0] = Address::parse(own);
		setup.own[1] = Address::parse(own6);
		setup.host = std::make_unique<Host>(Address::parse(host, Host::port),
						    Address::parse(host6, Host::port));

		/* It calls peers of earlier tests again and again, which are gone. */
		const Setting seldom(*setup.host, "reconnect_max_delay_ms", "30000");

		return RUN_ALL_TESTS();
	});
}
