// SPDX-License-Identifier: GPL-2.0
#include <sstream>

#include <gtest/gtest.h>

#include "../lib/cli.h"
#include "../stress/map.h"

using namespace rdstools;

namespace
{

/* Hosts that are asked, and what they say. */
struct Fake {
	std::vector<std::string> calls;
	std::function<Measured(const Host &from, const Host &to)> answer;
	std::string dead; /* at the first look */
	std::size_t stop_after = SIZE_MAX;

	MatrixCalls functions()
	{
		return {[this](const Host &host) {
				if (host.name == dead)
					throw HostGone("nobody there");
			},
			[this](const Host &from, const Host &to, std::size_t number) {
				EXPECT_GT(number, calls.size());
				calls.push_back(from.name + ">" + to.name);
				return answer(from, to);
			},
			[this] { return calls.size() >= stop_after; }};
	}
};

Measured good(double requests = 1000, double p99 = 50)
{
	return {0,
		"",
		{{"type", "result"},
		 {"total", {{"rtt_p99_usec", p99}}},
		 {"peer_total", {{"rx_rate", requests}}}}};
}

Measured all_good(const Host &, const Host &)
{
	return good();
}

Matrix three(const Plan &plan = {})
{
	return Matrix(parse_hosts({"10.9.0.1", "10.9.0.2", "10.9.0.3"}), plan, 2);
}

std::string shown(const Matrix &matrix, bool colours = false)
{
	std::ostringstream out;

	print_matrix(out, matrix, colours);
	return out.str();
}

bool has(const std::string &text, const std::string &part)
{
	return text.find(part) != std::string::npos;
}

} // namespace

TEST(ParseHosts, takes_two_to_64_that_differ)
{
	std::vector<std::string> names;

	EXPECT_EQ(parse_hosts({"10.9.0.1", "fd00::1"}).size(), 2u);
	EXPECT_THROW(parse_hosts({"10.9.0.1"}), Error);
	EXPECT_THROW(parse_hosts({"10.9.0.1", "::ffff:10.9.0.1"}), Error);
	EXPECT_THROW(parse_hosts({"10.9.0.1", "10.9.0.999"}), Error);
	for (int i = 1; i <= 64; i++)
		names.push_back("10.9.0." + std::to_string(i));
	EXPECT_EQ(parse_hosts(names).size(), 64u);
	names.push_back("10.9.0.65");
	EXPECT_THROW(parse_hosts(names), Error);
}

TEST(Matrix, asks_for_each_ordered_pair_once)
{
	Matrix matrix = three();
	Fake fake;

	fake.answer = all_good;
	EXPECT_EQ(matrix.status(), exit_failed);
	matrix.run(fake.functions());
	EXPECT_EQ(fake.calls, (std::vector<std::string>{"10.9.0.1>10.9.0.2", "10.9.0.1>10.9.0.3",
							"10.9.0.2>10.9.0.1", "10.9.0.2>10.9.0.3",
							"10.9.0.3>10.9.0.1", "10.9.0.3>10.9.0.2"}));
	EXPECT_EQ(matrix.status(), exit_ok);
	for (std::size_t from = 0; from < 3; from++)
		for (std::size_t to = 0; to < 3; to++)
			if (from != to) {
				EXPECT_EQ(matrix.pair(from, to).from, from);
				EXPECT_EQ(matrix.pair(from, to).to, to);
			}
	EXPECT_TRUE(matrix.plan().one_sided);
	EXPECT_EQ(matrix.pair(0, 1).mbytes, 1.024);
	EXPECT_EQ(matrix.pair(0, 1).p99_usec, 50);
}

TEST(Matrix, asks_nothing_about_a_host_that_is_not_there)
{
	Matrix matrix = three();
	Fake fake;

	fake.answer = all_good;
	fake.dead = "10.9.0.2";
	matrix.run(fake.functions());
	EXPECT_EQ(fake.calls, (std::vector<std::string>{"10.9.0.1>10.9.0.3", "10.9.0.3>10.9.0.1"}));
	EXPECT_EQ(matrix.count(Pair::State::failed), 4u);
	EXPECT_EQ(matrix.pair(0, 1).reason, "10.9.0.2: nobody there");
	EXPECT_EQ(matrix.status(), exit_failed);

	const std::string text = shown(matrix);

	EXPECT_TRUE(has(text, "\n2 10.9.0.2: nobody there\n6 pairs: 2 measured, 4 failed, 0 left"))
		<< text;
}

TEST(Matrix, gives_up_a_host_that_goes_meanwhile)
{
	Matrix matrix = three();
	Fake fake;

	fake.answer = [](const Host &from, const Host &to) -> Measured {
		if (from.name == "10.9.0.2")
			throw HostGone("lost");
		if (to.name == "10.9.0.2")
			return {3, "cannot reach it", nullptr};
		return good();
	};
	matrix.run(fake.functions());
	EXPECT_EQ(fake.calls, (std::vector<std::string>{"10.9.0.1>10.9.0.2", "10.9.0.1>10.9.0.3",
							"10.9.0.2>10.9.0.1", "10.9.0.3>10.9.0.1"}));
	EXPECT_EQ(matrix.count(Pair::State::measured), 2u);
	EXPECT_TRUE(has(shown(matrix),
			"2 10.9.0.2: lost\n1 -> 2: cannot reach it\n6 pairs: 2 measured, 4"))
		<< shown(matrix);
}

TEST(Matrix, goes_on_after_a_pair_that_fails)
{
	Matrix matrix = three();
	Fake fake;

	fake.answer = [&](const Host &, const Host &) -> Measured {
		switch (fake.calls.size()) {
		case 1:
			throw Error("the environment");
		case 2:
			throw PeerError("silent");
		case 3:
			return {1, "", Json({{"lost", 7}})};
		case 4:
			return {0, "", Json::parse(R"({"peer_total": {"rx_rate": "fast"}})")};
		case 5:
			return {0, "", Json({{"peer_total", 7}})};
		}
		return good();
	};
	matrix.run(fake.functions());
	EXPECT_EQ(fake.calls.size(), 6u);
	EXPECT_EQ(matrix.count(Pair::State::failed), 5u);
	EXPECT_EQ(matrix.pair(1, 0).reason, "messages are missing");
	EXPECT_EQ(matrix.pair(1, 0).result.at("lost"), 7);
	EXPECT_EQ(matrix.status(), exit_failed);
	EXPECT_FALSE(has(shown(matrix), "10.9.0.1:"));
}

TEST(Matrix, keeps_what_was_measured_before_a_signal)
{
	Matrix matrix = three();
	Fake fake;

	fake.stop_after = 3;
	fake.answer = [&](const Host &, const Host &) -> Measured {
		if (fake.calls.size() == 3)
			throw PeerError("interrupted");
		return good();
	};
	matrix.run(fake.functions());
	EXPECT_EQ(matrix.count(Pair::State::measured), 2u);
	EXPECT_EQ(matrix.count(Pair::State::failed), 0u);
	EXPECT_EQ(matrix.status(), exit_failed);
	EXPECT_TRUE(has(shown(matrix), "6 pairs: 2 measured, 0 failed, 4 left\n")) << shown(matrix);
	EXPECT_TRUE(has(shown(matrix), "?"));
}

TEST(Matrix, json_has_each_pair_with_its_result)
{
	Matrix matrix = three();
	Fake fake;

	fake.dead = "10.9.0.3";
	fake.answer = all_good;
	matrix.run(fake.functions());

	const Json json = matrix.json();

	EXPECT_EQ(json.at("type"), "matrix");
	EXPECT_EQ(json.at("version"), 1);
	EXPECT_EQ(json.at("seconds"), 2.0);
	EXPECT_EQ(json.at("plan").at("one_sided"), true);
	EXPECT_EQ(json.at("measured"), 2);
	EXPECT_EQ(json.at("failed"), 4);
	EXPECT_EQ(json.at("open"), 0);
	ASSERT_EQ(json.at("hosts").size(), 3u);
	EXPECT_TRUE(json.at("hosts")[0].at("gone").is_null());
	EXPECT_EQ(json.at("hosts")[2].at("gone"), "nobody there");
	ASSERT_EQ(json.at("pairs").size(), 6u);

	const Json &first = json.at("pairs")[0], &second = json.at("pairs")[1];

	EXPECT_EQ(first.at("from"), "10.9.0.1");
	EXPECT_EQ(first.at("to"), "10.9.0.2");
	EXPECT_EQ(first.at("state"), "measured");
	EXPECT_TRUE(first.at("reason").is_null());
	EXPECT_EQ(first.at("mbytes_rate"), 1.024);
	EXPECT_EQ(first.at("rtt_p99_usec"), 50.0);
	EXPECT_EQ(first.at("result").at("type"), "result");
	EXPECT_EQ(second.at("state"), "failed");
	EXPECT_EQ(second.at("reason"), "10.9.0.3: nobody there");
	EXPECT_TRUE(second.at("mbytes_rate").is_null());
	EXPECT_TRUE(second.at("result").is_null());
}

TEST(Map, has_five_steps_of_the_best)
{
	EXPECT_EQ(heat(1), 4u);
	EXPECT_EQ(heat(2), 4u);
	EXPECT_EQ(heat(0.81), 4u);
	EXPECT_EQ(heat(0.79), 3u);
	EXPECT_EQ(heat(0.41), 2u);
	EXPECT_EQ(heat(0.001), 0u);
	EXPECT_EQ(heat(0), 0u);
	EXPECT_EQ(heat(-1), 0u);
	EXPECT_EQ(heat(0.0 / 0.0), 0u);
}

TEST(Map, rows_send_to_columns)
{
	Plan plan;
	Fake fake;

	plan.request_bytes = 1000;
	fake.answer = [](const Host &from, const Host &to) {
		return good(from.name == "10.9.0.1" && to.name == "10.9.0.3" ? 123456 : 2000,
			    to.name == "10.9.0.1" ? 7.25 : 1234);
	};

	Matrix matrix(parse_hosts({"10.9.0.1", "10.9.0.3"}), plan, 2);

	matrix.run(fake.functions());
	EXPECT_EQ(shown(matrix),
		  "2 hosts, 2 s a pair, 1 task, depth 1, requests 1000 bytes, acks 32 bytes; rows "
		  "send requests to columns\n"
		  "\n"
		  "throughput, MB/s\n"
		  "                   1        2\n"
		  " 1 10.9.0.1        -      123\n"
		  " 2 10.9.0.3     2.00        -\n"
		  "\n"
		  "99 % of the round trips within, usec\n"
		  "                   1        2\n"
		  " 1 10.9.0.1        -     1234\n"
		  " 2 10.9.0.3     7.25        -\n"
		  "\n"
		  "2 pairs: 2 measured, 0 failed, 0 left\n");
}

TEST(Map, colours_say_how_far_from_the_best_and_only_if_wanted)
{
	Matrix matrix = three();
	Fake fake;

	fake.answer = [&](const Host &, const Host &) -> Measured {
		if (fake.calls.size() == 6)
			return {3, "gone", nullptr};
		return good(fake.calls.size() == 1 ? 1000 : 100, fake.calls.size() == 1 ? 50 : 500);
	};
	matrix.run(fake.functions());
	EXPECT_FALSE(has(shown(matrix), "\033"));

	const std::string text = shown(matrix, true);

	/* More throughput is good, more time is not; both times the first pair is best. */
	EXPECT_TRUE(has(text, "\033[30;48;5;83m     1.02\033[0m")) << text;
	EXPECT_TRUE(has(text, "\033[30;48;5;203m     0.10\033[0m")) << text;
	EXPECT_TRUE(has(text, "\033[30;48;5;83m     50.0\033[0m")) << text;
	EXPECT_TRUE(has(text, "\033[30;48;5;203m      500\033[0m")) << text;
	EXPECT_TRUE(has(text, "\033[1;31m   FAILED\033[0m")) << text;
	EXPECT_TRUE(has(text, "percent of the best")) << text;
}

TEST(Map, has_no_round_trips_without_acks)
{
	Plan plan;
	Fake fake;

	plan.oneway = true;
	fake.answer = [](const Host &, const Host &) -> Measured {
		return {0,
			"",
			{{"peer_total", {{"rx_rate", 5}}}, {"total", {{"rtt_p99_usec", nullptr}}}}};
	};

	Matrix matrix = three(plan);

	matrix.run(fake.functions());
	EXPECT_EQ(matrix.status(), exit_ok);
	EXPECT_FALSE(has(shown(matrix), "usec"));
	EXPECT_TRUE(has(shown(matrix), "no acks"));
	EXPECT_TRUE(matrix.json().at("pairs")[0].at("rtt_p99_usec").is_null());
}
