// SPDX-License-Identifier: GPL-2.0
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>

#include <gtest/gtest.h>

#include "../ctl/whole_file.h"
#include "../lib/error.h"
#include "../lib/socket.h"
#include "made_up_scrape.h"

using namespace rdstools;

namespace
{

std::string text_of(const std::vector<Family> &families, Exposition format = Exposition::prometheus)
{
	std::ostringstream out;

	write_families(out, families, format);
	return out.str();
}

/* The samples of a text, by name and labels. Judges by the way that each has one HELP and one TYPE
 * before it, and that no line is anything else. */
std::map<std::string, std::string> samples(const std::string &text)
{
	const std::string label = R"re([a-z]+="([^"\\]|\\[n"\\])*")re";
	const std::regex meta("# (HELP|TYPE) ([a-zA-Z_][a-zA-Z0-9_]*) (.*)"),
		sample("(([a-zA-Z_]\\w*)(\\{" + label + "(," + label + ")*\\})?) ([0-9.]+)");
	std::map<std::string, std::string> found, types;
	std::set<std::string> helped;
	std::istringstream in(text);

	for (std::string line; std::getline(in, line);) {
		std::smatch m;

		if (std::regex_match(line, m, meta) && m[1] == "HELP") {
			EXPECT_TRUE(helped.insert(m[2]).second) << line;
		} else if (std::regex_match(line, m, meta)) {
			EXPECT_TRUE(types.emplace(m[2], m[3]).second) << line;
		} else if (std::regex_match(line, m, sample)) {
			const bool total = m[2].str().ends_with("_total");

			EXPECT_TRUE(helped.contains(m[2])) << line;
			EXPECT_EQ(types[m[2]], total ? "counter" : "gauge") << line;
			EXPECT_TRUE(found.emplace(m[1], m[7]).second) << "twice: " << line;
		} else {
			ADD_FAILURE() << "neither a sample nor a comment: " << line;
		}
	}
	return found;
}

std::map<std::string, std::string> samples_of(const Scrape &scrape, bool peers = false)
{
	return samples(text_of(metrics_of(scrape, peers)));
}

std::string content(const std::string &file)
{
	std::ifstream in(file);

	return {std::istreambuf_iterator<char>(in), {}};
}

/* A directory of the test's own. */
class WholeFile : public testing::Test
{
protected:
	void SetUp() override
	{
		char name[] = "/tmp/whole_file.XXXXXX";

		ASSERT_TRUE(mkdtemp(name));
		where_ = name;
	}
	void TearDown() override
	{
		std::filesystem::remove_all(where_);
	}
	std::size_t files() const
	{
		return static_cast<std::size_t>(
			std::distance(std::filesystem::directory_iterator(where_), {}));
	}

	std::filesystem::path where_;
};

} // namespace

TEST(Exposition, labels_and_help_are_escaped)
{
	const std::vector<Family> families = {
		Family{"rds_a", MetricType::gauge, "one\\two \"three\"\nfour"}.add(
			1, {{"x", "a\\b\"c\nd"}, {"y", "\xff"}})};

	EXPECT_EQ(text_of(families), "# TYPE rds_a gauge\n"
				     "# HELP rds_a one\\\\two \"three\"\\nfour\n"
				     "rds_a{x=\"a\\\\b\\\"c\\nd\",y=\"\xef\xbf\xbd\"} 1\n");
	EXPECT_NE(text_of(families, Exposition::openmetrics).find("two \\\"three\\\"\\nfour\n"),
		  std::string::npos);
}

TEST(Exposition, what_a_type_adds_to_a_name)
{
	std::vector<Family> families = {
		Family{"rds_a_bytes", MetricType::counter, "A."}.add(7),
		Family{"rds_b", MetricType::info, "B."}.add(1, {{"v", "5"}})};

	EXPECT_EQ(text_of(families), "# TYPE rds_a_bytes_total counter\n"
				     "# HELP rds_a_bytes_total A.\n"
				     "rds_a_bytes_total 7\n"
				     "# TYPE rds_b_info gauge\n"
				     "# HELP rds_b_info B.\n"
				     "rds_b_info{v=\"5\"} 1\n");
	EXPECT_EQ(text_of(families, Exposition::openmetrics), "# TYPE rds_a_bytes counter\n"
							      "# UNIT rds_a_bytes bytes\n"
							      "# HELP rds_a_bytes A.\n"
							      "rds_a_bytes_total 7\n"
							      "# TYPE rds_b info\n"
							      "# HELP rds_b B.\n"
							      "rds_b_info{v=\"5\"} 1\n"
							      "# EOF\n");
}

TEST(Exposition, numbers)
{
	Family a = {"rds_a", MetricType::gauge, ""};

	EXPECT_EQ(text_of({a}), "") << "without a sample there is nothing";
	a.add(UINT64_MAX).add_seconds(61007);
	EXPECT_EQ(a.samples[0].value, "18446744073709551615")
		<< "as rds-info has it, though Prometheus rounds it";
	EXPECT_EQ(a.samples[1].value, "61.007");
	EXPECT_EQ(legal_name("a-b.c d\xff_9"), "a_b_c_d__9");
}

TEST(Metrics, every_sample_has_its_help_and_type_once)
{
	EXPECT_GT(samples_of(made_up::scrape(20), true).size(), 200u);
	samples_of(Scrape{}, true);
}

TEST(Metrics, counters_are_those_of_the_modules)
{
	const Scrape scrape = made_up::scrape(1);
	const auto found = samples_of(scrape);
	std::size_t counters = 0;

	for (const Json &row : *scrape.counters)
		EXPECT_EQ(found.at("rds_" + row["name"].get<std::string>() + "_total"),
			  row["value"].dump());
	for (const auto &[name, value] : found)
		counters += name.ends_with("_total");
	EXPECT_EQ(counters, scrape.counters->size());
}

/* Tools may find a counter by its place. */
TEST(Metrics, the_counters_of_a_transport_begin_with_those_of_mainline)
{
	const std::pair<std::string, std::string> mainline[] = {
		{"tcp_", "data_ready_calls write_space_calls sndbuf_full connect_raced "
			 "listen_closed_stale "},
		{"ib_", "connect_raced listen_closed_stale evt_handler_call tasklet_call "
			"tx_cq_event tx_ring_full tx_throttle tx_sg_mapping_failure tx_stalled "
			"tx_credit_updates rx_cq_event rx_ring_empty rx_refill_from_cq "
			"rx_refill_from_thread rx_alloc_limit rx_total_frags rx_total_incs "
			"rx_credit_updates ack_sent ack_send_failure ack_send_delayed "
			"ack_send_piggybacked ack_received rdma_mr_8k_alloc rdma_mr_8k_free "
			"rdma_mr_8k_used rdma_mr_8k_pool_flush rdma_mr_8k_pool_wait "
			"rdma_mr_8k_pool_depleted rdma_mr_1m_alloc rdma_mr_1m_free "
			"rdma_mr_1m_used rdma_mr_1m_pool_flush rdma_mr_1m_pool_wait "
			"rdma_mr_1m_pool_depleted rdma_mr_8k_reused rdma_mr_1m_reused "
			"atomic_cswp atomic_fadd "},
	};

	for (const auto &[prefix, names] : mainline) {
		std::string ours;
		unsigned count = 0;

		for (const CounterText &known : counter_texts())
			if (std::string_view(known.name).starts_with(prefix)) {
				ours += known.name + prefix.size() + std::string(" ");
				count++;
			}
		EXPECT_EQ(ours.substr(0, names.size()), names);
		EXPECT_LE(count, 64u) << "rds.ko would leave them out";
	}
}

TEST(Metrics, the_help_of_a_counter_is_the_comment_beside_it)
{
	const std::string text = text_of(metrics_of(made_up::scrape(1), false));

	for (const char *line :
	     {"# HELP rds_recv_drop_bad_length_total Counter recv_drop_bad_length of rds-info -c: "
	      "h_len above the limit: the path was reset.\n",
	      "# HELP rds_tcp_peer_refused_total Counter tcp_peer_refused of rds-info -c: a call, ",
	      "# HELP rds_ib_rx_paused_total Counter ib_rx_paused of rds-info -c: the core ",
	      "# HELP rds_ib_rdma_mr_1m_free_total Counter ib_rdma_mr_1m_free of rds-info -c: "
	      "memory regions of up to 1 MiB ended.\n",
	      "# HELP rds_conn_reset_total Counter conn_reset of rds-info -c: a path lost its "
	      "connection, and connects again.\n"})
		EXPECT_NE(text.find(line), std::string::npos) << line;
}

TEST(Metrics, sums_and_maxima)
{
	Scrape scrape = made_up::scrape(30);

	for (unsigned index : {0, 1}) {
		Json path = made_up::path(
			"10.8.0.1",
			{{"index", index}, {"congested", 3u + index}, {"ack-us", 1234u - index}});

		scrape.paths->push_back(path);
		path["scope"] = 7;
		scrape.paths->push_back(path);
	}
	const auto found = samples_of(scrape, true);
	const std::map<std::string, std::string> wanted = {
		{"rds_up", "1"},
		{"rds_metrics_complete", "1"},
		{"rds_module_info{module=\"rds\",version=\"5.0\"}", "1"},
		{"rds_connections{state=\"up\"}", "29"},
		{"rds_connections{state=\"connecting\"}", "3"},
		{"rds_connections{state=\"dead\"}", "0"},
		{"rds_paths{state=\"up\"}", "31"},
		{"rds_paths{state=\"other\"}", "0"},
		{"rds_paths_waited_for", "3"},
		{"rds_unacknowledged_messages", "6"},
		{"rds_oldest_unacknowledged_message_age_seconds", "1.029"},
		{"rds_ack_round_trip_seconds", "0.001234"},
		{"rds_unsent_bytes", "3000"},
		{"rds_congested_ports{side=\"local\"}", "1"},
		{"rds_congested_ports{side=\"peer\"}", "8"},
		{"rds_sockets", "2"},
		{"rds_send_queue_bytes", "4096"},
		{"rds_receive_queue_bytes", "70000"},
		{"rds_oldest_unread_message_age_seconds", "2.500"},
		{"rds_peer_paths_up{peer=\"10.8.0.1%7\"}", "2"},
		{"rds_peer_congested_ports{peer=\"10.8.0.1\"}", "4"},
		{"rds_peer_paths_up{peer=\"10.0.0.10\"}", "0"},
		{"rds_peer_unacknowledged_messages{peer=\"10.0.0.10\"}", "2"},
		{"rds_peer_oldest_unacknowledged_message_age_seconds{peer=\"10.0.0.10\"}", "1.009"},
		{"rds_peer_ack_round_trip_seconds{peer=\"10.8.0.1\"}", "0.001234"},
		{"rds_peer_ack_round_trip_seconds{peer=\"10.0.0.10\"}", "0.000000"},
		{"rds_peer_unsent_bytes{peer=\"10.0.0.10\"}", "100"}};

	for (const auto &[name, value] : wanted)
		EXPECT_EQ(found.contains(name) ? found.at(name) : "none", value) << name;
}

TEST(Metrics, ten_thousand_peers_are_as_many_series_as_a_few_hundred)
{
	const std::size_t none = samples_of(made_up::scrape(0)).size();
	const auto many = samples_of(made_up::scrape(10000), true);

	EXPECT_EQ(samples_of(made_up::scrape(10000)).size(), none);
	EXPECT_EQ(many.size(), none + 6 * (most_peers + 1));
	EXPECT_EQ(samples_of(made_up::scrape(most_peers), true).size(), none + 6 * most_peers)
		<< "as many as there may be need no other";
	/* 1000 of them wait, 256 of which are named. */
	EXPECT_EQ(many.at("rds_peer_unacknowledged_messages{peer=\"other\"}"), "1488");
	EXPECT_EQ(many.at("rds_peer_unsent_bytes{peer=\"other\"}"), "974400");
	EXPECT_EQ(many.at("rds_peer_paths_up{peer=\"other\"}"), "9000");
	EXPECT_EQ(many.at("rds_peer_oldest_unacknowledged_message_age_seconds{peer=\"other\"}"),
		  "10.999");
	EXPECT_FALSE(many.contains("rds_peer_unsent_bytes{peer=\"10.0.0.1\"}"));
}

TEST(Metrics, the_same_peers_are_named_while_nothing_waits)
{
	Scrape scrape = made_up::scrape(500), fewer = scrape;

	for (Scrape *s : {&scrape, &fewer})
		for (Json &path : *s->paths)
			path["unacked"] = 0;
	std::reverse(fewer.paths->begin(), fewer.paths->end());
	EXPECT_EQ(text_of(metrics_of(scrape, true)), text_of(metrics_of(fewer, true)));
	EXPECT_EQ(samples_of(scrape, true).count("rds_peer_paths_up{peer=\"10.0.0.1\"}"), 1u);
}

TEST(Metrics, what_may_not_be_seen_is_left_out_and_said)
{
	Scrape scrape = made_up::scrape(5);

	scrape.paths.reset();
	scrape.sockets.reset();
	const auto found = samples_of(scrape, true);

	EXPECT_EQ(found.at("rds_metrics_complete"), "0");
	EXPECT_EQ(found.at("rds_up"), "1");
	EXPECT_TRUE(found.contains("rds_conn_reset_total"));
	for (const auto &[name, value] : found)
		for (const char *gone : {"rds_paths", "rds_connections", "rds_sockets", "rds_peer_",
					 "rds_congested", "rds_oldest", "rds_unsent", "rds_unack"})
			EXPECT_FALSE(name.starts_with(gone) && !name.ends_with("_total")) << name;
}

TEST(Metrics, without_rds_there_is_that)
{
	const auto found = samples_of(Scrape{}, true);

	EXPECT_EQ(found, (std::map<std::string, std::string>{{"rds_up", "0"},
							     {"rds_metrics_complete", "0"}}));
}

TEST(Metrics, hostile_texts_are_values_and_nothing_else)
{
	const auto found = samples_of(made_up::hostile_scrape(), true);

	EXPECT_EQ(found.at("rds_up"), "1");
	EXPECT_EQ(found.at("rds_conn_reset_total"), "0") << "the first of this name";
	EXPECT_EQ(found.at("rds_paths{state=\"other\"}"), "1");
	EXPECT_TRUE(found.contains("rds_module_info{module=\"rds\",version=\"5.0\"}"));
}

TEST_F(WholeFile, takes_the_place_of_another)
{
	const std::string file = where_ / "rds.prom";
	struct stat there = {};
	const mode_t before = umask(077);

	replace_file(file, "one\n", 0644);
	umask(before);
	EXPECT_EQ(content(file), "one\n");
	ASSERT_EQ(stat(file.c_str(), &there), 0);
	EXPECT_EQ(there.st_mode & 07777, 0644u) << "whatever the umask is";

	std::ifstream reader(file);

	replace_file(file, std::string(3000000, 'x'), 0644);
	EXPECT_EQ(content(file).size(), 3000000u);
	EXPECT_EQ(std::string(std::istreambuf_iterator<char>(reader), {}), "one\n")
		<< "whoever reads the one before has it whole";
	EXPECT_EQ(files(), 1u);
}

TEST_F(WholeFile, is_as_before_if_it_cannot_be_written)
{
	const std::string file = where_ / "rds.prom";
	const rlimit small = {1000, RLIM_INFINITY};
	rlimit before = {};

	replace_file(file, "one\n", 0644);
	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &before);
	setrlimit(RLIMIT_FSIZE, &small);
	EXPECT_THROW(replace_file(file, std::string(3000, 'x'), 0644), Error);
	setrlimit(RLIMIT_FSIZE, &before);
	EXPECT_EQ(content(file), "one\n");
	EXPECT_EQ(files(), 1u) << "nor is half of one left";
	EXPECT_THROW(replace_file(where_ / "none" / "rds.prom", "x", 0644), Error);
}

/* Made here: a device of the machine's would be gone if this did not hold. */
TEST_F(WholeFile, is_no_directory_pipe_or_link)
{
	const std::string link = where_ / "link.prom", pipe = where_ / "pipe.prom";

	ASSERT_EQ(symlink("pipe.prom", link.c_str()), 0);
	ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
	EXPECT_THROW(replace_file(link, "x", 0644), Error);
	EXPECT_THROW(replace_file(pipe, "x", 0644), Error);
	EXPECT_THROW(replace_file(where_, "x", 0644), Error);
	EXPECT_TRUE(std::filesystem::is_symlink(link));
	EXPECT_TRUE(std::filesystem::is_fifo(std::filesystem::symlink_status(pipe)));
	EXPECT_EQ(files(), 2u);
}

TEST_F(WholeFile, has_the_mode_that_it_is_given)
{
	const std::string file = where_ / "report.html";
	struct stat there = {};

	std::ofstream(file) << "one";
	ASSERT_EQ(chmod(file.c_str(), 0644), 0);
	write_file(file, "two", 0600);
	ASSERT_EQ(stat(file.c_str(), &there), 0);
	EXPECT_EQ(there.st_mode & 07777, 0600u) << "also in the place of one that all may read";
	EXPECT_EQ(content(file), "two");
}

TEST_F(WholeFile, a_device_or_a_pipe_is_written_to_and_stays)
{
	const std::string link = where_ / "full", pipe = where_ / "pipe";
	char text[8] = {};

	ASSERT_EQ(symlink("/dev/full", link.c_str()), 0);
	EXPECT_THROW(write_file(link, "x", 0600), Error);
	EXPECT_TRUE(std::filesystem::is_symlink(link));
	ASSERT_EQ(mkfifo(pipe.c_str(), 0644), 0);

	UniqueFd reader(open(pipe.c_str(), O_RDWR | O_NONBLOCK));

	write_file(pipe, "one", 0600);
	EXPECT_EQ(read(reader.get(), text, sizeof(text)), 3);
	EXPECT_STREQ(text, "one");
	EXPECT_TRUE(std::filesystem::is_fifo(pipe));
	EXPECT_EQ(files(), 2u);
}

/* A log may be behind it, as behind /dev/stdout, and is not to be lost. */
TEST_F(WholeFile, a_link_to_a_file_is_refused)
{
	const std::string file = where_ / "log", link = where_ / "link";

	std::ofstream(file) << "one";
	ASSERT_EQ(symlink("log", link.c_str()), 0);
	EXPECT_THROW(write_file(link, "two", 0600), Error);
	EXPECT_EQ(content(file), "one");
	EXPECT_EQ(files(), 2u);
}
