// SPDX-License-Identifier: GPL-2.0
#include <gtest/gtest.h>

#include "../lib/error.h"
#include "../stress/plan.h"

using namespace rdstools;

TEST(Plan, crosses_the_control_connection_unchanged)
{
	Plan plan;

	plan.tasks = 32;
	plan.depth = 32;
	plan.request_bytes = 8448;
	plan.verify = true;
	plan.congestion_monitor = true;
	plan.run = 0xffffffff;
	plan.rdma = {4096, 100, 0, 0, 1};
	plan.recv_batch = 1024;
	plan.one_sided = true;
	Json json = Json::parse(plan.json().dump());
	EXPECT_EQ(Plan::from_json(json).json(), plan.json());
}

/* One that knows of one message a call only. */
TEST(Plan, is_that_of_an_older_peer)
{
	Plan plan;

	plan.segment = plan.recv_batch = 16;
	Json json = plan.json();
	EXPECT_EQ(Plan::from_json(json).segment, 16u);
	json.erase("segment");
	json.erase("recv_batch");
	json.erase("one_sided");
	EXPECT_EQ(Plan::from_json(json).segment, 1u);
	EXPECT_EQ(Plan::from_json(json).recv_batch, 1u);
	EXPECT_FALSE(Plan::from_json(json).one_sided);
}

TEST(Plan, refuses_what_is_out_of_range)
{
	auto broken = [](auto change) {
		Plan plan;
		change(plan);
		EXPECT_THROW(plan.validate(), Error);
	};

	broken([](Plan &p) { p.tasks = 0; });
	broken([](Plan &p) { p.tasks = most_tasks + 1; });
	broken([](Plan &p) { p.depth = 0; });
	broken([](Plan &p) { p.tasks = most_tasks, p.depth = most_depth; });
	broken([](Plan &p) { p.request_bytes = header_bytes - 1; });
	broken([](Plan &p) { p.request_bytes = largest_message + 1; });
	broken([](Plan &p) { p.ack_bytes = 0; });
	broken([](Plan &p) { p.tos = 256; });
	broken([](Plan &p) { p.segment = 0; });
	broken([](Plan &p) { p.segment = most_a_call + 1; });
	broken([](Plan &p) { p.recv_batch = 0; });
	broken([](Plan &p) { p.recv_batch = most_a_call + 1; });
	broken([](Plan &p) { p.segment = 2, p.request_bytes = largest_message; });
	broken([](Plan &p) { p.segment = 2, p.rdma.bytes = 1; });
	broken([](Plan &p) { p.send_buffer = UINT64_MAX; });
	broken([](Plan &p) { p.rdma.bytes = largest_message + 1; });
	broken([](Plan &p) { p.rdma.alignment = most_alignment + 1; });
	broken([](Plan &p) { p.rdma.use_once = 2; });
	broken([](Plan &p) { p.rdma.bytes = 1, p.oneway = true; });
	broken([](Plan &p) { p.rdma.bytes = largest_message, p.tasks = 8, p.depth = 500; });
}

TEST(Plan, trusts_no_peer)
{
	auto broken = [](const char *name, Json value) {
		Json json = Plan().json();
		json[name] = std::move(value);
		EXPECT_THROW(Plan::from_json(json), Error) << name;
	};

	/* 2^32 + 1 must not wrap to 1. */
	broken("tasks", std::uint64_t{4294967297});
	broken("depth", -1);
	broken("depth", "7");
	broken("oneway", 1);
	broken("run", nullptr);
	broken("rdma_bytes", -1);
	broken("rdma_use_notify", 2);
	EXPECT_THROW(Plan::from_json(Json::object()), Error);
	EXPECT_THROW(Plan::from_json(Json::array()), Error);
}
