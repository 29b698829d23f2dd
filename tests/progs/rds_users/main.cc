// SPDX-License-Identifier: GPL-2.0
#include "users.h"

#include "../lib/check.h"
#include "../lib/command_line.h"

#include <nlohmann/json.hpp>

#include <csignal>
#include <iostream>

using namespace rdstest;

/* Deeds of all seeds, and what the witness saw; status 1 with a line at the first seed that fails.
 */
static int playAll(const UserOptions &options)
{
	nlohmann::json said = {{"deeds", nlohmann::json::object()}};
	uint32_t slowest = 0;
	uint64_t witnessed = 0;

	for (uint64_t seed = options.seed; seed < options.seed + options.seeds; seed++) {
		Story story(options, seed);

		std::cout << "seed " << seed << std::endl;
		try {
			story.play();
		} catch (const Failed &error) {
			std::cout << error.what() << std::endl;
			return 1;
		}
		for (const auto &[name, tally] : story.deeds) {
			auto &sum = said["deeds"][name];

			sum = {sum.is_null() ? tally.made : sum[0].get<uint64_t>() + tally.made,
			       sum.is_null() ? tally.succeeded
					     : sum[1].get<uint64_t>() + tally.succeeded,
			       sum.is_null() ? tally.failed
					     : sum[2].get<uint64_t>() + tally.failed};
		}
		slowest = std::max(slowest, story.slowest);
		witnessed += story.witnessed;
	}
	said["witnessed"] = witnessed;
	said["slowest"] = slowest;
	std::cout << said.dump() << std::endl;
	return 0;
}

int main(int argc, char **argv)
{
	CommandLine line("Users of one host make system calls on RDS sockets, and are judged");
	UserOptions options;

	signal(SIGPIPE, SIG_IGN);
	line.required("--here", options.here, "the witness's address");
	line.required("--there", options.there, "and that of its other end");
	line.required("--netns", options.netns, "in this network namespace, a file");
	line.option("--seed", options.seed, "the first one; the same seed is the same story");
	line.option("--seeds", options.seeds, "so many, one after the other");
	line.option("--turns", options.turns, "of each seed: a prefix of the story");
	line.option("--bound", options.bound, "turns that a message of the witness may take");
	line.option("--limit", options.limit, "seconds that a deed may take");
	line.flag("--no-faults", options.noFaults, "no allocation fails on purpose");
	return line.run(argc, argv, [&] { return playAll(options); });
}
