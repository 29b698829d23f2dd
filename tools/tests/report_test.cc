// SPDX-License-Identifier: GPL-2.0
#include <gtest/gtest.h>

#include "../stress/report.h"

using namespace rdstools;

namespace
{

/* Everything rds-stress printed on stdout while body ran. */
template <typename Body>
std::string printed(Body body)
{
	testing::internal::CaptureStdout();
	body();
	return testing::internal::GetCapturedStdout();
}

Ends some_ends()
{
	return {parse_address("10.9.0.1"), parse_address("10.9.0.2")};
}

constexpr std::uint64_t second = 1000000000;

} // namespace

TEST(SharedMemory, gives_every_task_and_pair_its_own_place)
{
	SharedMemory shared(3);

	for (unsigned i = 0; i < 3; i++) {
		shared.task(i).sent.set(i);
		for (unsigned j = 0; j < 3; j++)
			shared.pair(i, j).sent.set(10 * i + j);
	}
	for (unsigned i = 0; i < 3; i++) {
		EXPECT_EQ(shared.task(i).sent, i);
		for (unsigned j = 0; j < 3; j++)
			EXPECT_EQ(shared.pair(i, j).sent, 10 * i + j);
	}
	EXPECT_EQ(shared.phase(), Phase::wait);
}

TEST(Reporter, counts_an_interval_since_the_last_one)
{
	SharedMemory shared(2);
	Reporter reporter(Plan(), some_ends(), true, false);

	reporter.start(0);
	shared.task(0).sent.set(100);
	shared.task(1).sent.set(200);
	std::string first = printed([&] { reporter.interval(shared, second); });
	EXPECT_EQ(Json::parse(first).at("tx_rate"), 300.0);
	shared.task(1).sent.set(300);
	std::string next = printed([&] { reporter.interval(shared, 3 * second); });
	EXPECT_EQ(Json::parse(next).at("tx_rate"), 50.0);
	EXPECT_TRUE(Json::parse(next).at("rtt_usec").is_null());
	shared.task(0).rtts.add(2);
	shared.task(0).rtt_ns.add(8000);
	std::string last = printed([&] { reporter.interval(shared, 4 * second); });
	EXPECT_EQ(Json::parse(last).at("rtt_usec"), 4.0);
}

TEST(Reporter, sums_up_tasks_and_takes_over_the_peer)
{
	SharedMemory shared(2);
	Plan plan;
	plan.tasks = 2;
	Reporter reporter(plan, some_ends(), true, false);

	reporter.start(0);
	shared.task(0).sent.set(100);
	shared.task(1).sent.set(300);
	shared.task(1).sent_bytes.set(4000000);
	shared.task(0).rtt.add(5000);
	shared.task(1).rtt.add(7000);
	reporter.freeze(shared, 2 * second);
	/* A message that comes while draining counts as a message but not for the rates. */
	shared.task(0).sent.set(101);
	Json peer = {{"seconds", 2.0}, {"sent", 50}, {"lost", 6}};
	std::string text = printed([&] { reporter.final(shared, peer, {3, 4, 5}); });
	Json result = Json::parse(text);
	EXPECT_EQ(result.at("tasks").size(), 2u);
	EXPECT_EQ(result.at("tasks")[1].at("tx_rate"), 150.0);
	EXPECT_EQ(result.at("total").at("tx_rate"), 200.0);
	EXPECT_EQ(result.at("total").at("mbytes_rate"), 2.0);
	EXPECT_EQ(result.at("total").at("rtt_max_usec"), 7.0);
	EXPECT_EQ(result.at("peer_total").at("tx_rate"), 25.0);
	EXPECT_TRUE(result.at("peer_total").at("rtt_usec").is_null());
	EXPECT_EQ(result.at("counts").at("sent"), 401);
	EXPECT_EQ(result.at("lost"), 3);
	EXPECT_EQ(result.at("unanswered"), 4);
	EXPECT_EQ(result.at("lost_notifications"), 5);
	EXPECT_EQ(result.at("peer_losses").at("lost"), 6);
	EXPECT_EQ(result.at("peer_losses").at("unanswered"), 0);
}

TEST(Reporter, tells_what_rdma_moved)
{
	SharedMemory shared(1);
	Plan plan;
	plan.rdma.bytes = 4096;
	Reporter json(plan, some_ends(), true, false);
	Reporter words(plan, some_ends(), false, false);

	json.start(0);
	words.start(0);
	shared.task(0).operations.set(7);
	shared.task(0).notices.set(6);
	shared.task(0).rdma_in_bytes.set(2 * 1024);
	shared.task(0).rdma_out_bytes.set(4 * 1024);
	std::string line = printed([&] { json.interval(shared, 2 * second); });
	EXPECT_EQ(Json::parse(line).at("rdma_in_kbytes_rate"), 1.0);
	EXPECT_EQ(Json::parse(line).at("rdma_out_kbytes_rate"), 2.0);
	line = printed([&] { words.interval(shared, second); });
	EXPECT_NE(line.find(" 2.00       4.00 "), std::string::npos) << line;
	json.freeze(shared, second);
	words.freeze(shared, second);
	Json counts = Json::parse(printed([&] { json.final(shared, {}, {}); })).at("counts");
	EXPECT_EQ(counts.at("operations"), 7);
	EXPECT_EQ(counts.at("notifications"), 6);
	EXPECT_EQ(counts.at("rdma_in_bytes"), 2048);
	line = printed([&] { words.final(shared, Losses{0, 0, 2}.json(), {0, 0, 1}); });
	EXPECT_NE(line.find("RDMA: 7 operations of 4096 bytes, 6 notifications"), std::string::npos)
		<< line;
	EXPECT_NE(line.find("lost notifications 1\n"), std::string::npos) << line;
	EXPECT_NE(line.find("the other side: lost 0, unanswered 0, lost notifications 2\n"),
		  std::string::npos)
		<< line;
}

TEST(Reporter, a_pause_is_in_the_corrected_row)
{
	SharedMemory shared(1);
	Reporter reporter(Plan(), some_ends(), true, false);
	Reporter words(Plan(), some_ends(), false, false, true);

	reporter.start(0);
	words.start(0);
	for (int i = 0; i < 9999; i++)
		shared.task(0).rtt.add(1000);
	shared.task(0).rtt.add(10000000);
	reporter.freeze(shared, second);
	words.freeze(shared, second);

	const Json result = Json::parse(printed([&] {
		reporter.final(shared, Json{{"seconds", 1.0}}, {});
	}));

	EXPECT_LT(result.at("total").at("rtt_p999_usec"), 1.1);
	EXPECT_LT(result.at("total").at("rtt_p9999_usec"), 1.1);
	EXPECT_GT(result.at("total_corrected").at("rtt_p99_usec"), 9000.0);
	EXPECT_EQ(result.at("total_corrected").at("task"), "corrected");
	EXPECT_EQ(result.at("peer_total").at("task"), "peer");
	EXPECT_EQ(result.at("rtt_histogram").size(), 2u);
	EXPECT_EQ(result.at("rtt_histogram")[0].at("count"), 9999);

	const std::string text = printed([&] { words.final(shared, {}, {}); });

	EXPECT_NE(text.find("p99.99"), std::string::npos) << text;
	EXPECT_NE(text.find("to  10 ms          1 100.0000% #\n"), std::string::npos) << text;
}
