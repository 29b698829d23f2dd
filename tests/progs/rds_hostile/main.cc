// SPDX-License-Identifier: GPL-2.0
#include "hostile.h"

#include "../lib/command_line.h"

#include <stdexcept>

using namespace rdstest;

int main(int argc, char **argv)
{
	CommandLine line("Hosts that nobody trusts talk to RDS, and a host lives with it");
	CommandLine &strangers =
		line.command("strangers", "where there is no RDS, for the networks of strangers");
	CommandLine &host = line.command("host", "what programs do on the host that has RDS");
	StrangerOptions theirs;
	HostOptions ours;

	strangers.option("--to", theirs.targets, "addresses of the host");
	strangers.option("--control", theirs.control,
			 "where the host's side listens, if there is one");
	strangers.option("--seed", theirs.seed, "the first one; the same seed is the same story");
	strangers.option("--seeds", theirs.seeds, "so many, one after the other");
	strangers.option("--steps", theirs.steps, "of each seed");
	host.option("--local", ours.locals, "addresses to bind sockets to");
	host.option("--settings", ours.settings, "directory of RDS' settings");
	host.option("--seed", ours.seed, "until strangers say another");
	host.flag("--alone", ours.alone, "no strangers say seeds: until the input ends");
	return line.run(argc, argv, [&] {
		if (host.chosen()) {
			if (ours.locals.empty())
				throw std::runtime_error("--local is needed");
			return runHost(ours);
		}
		if (theirs.targets.empty())
			throw std::runtime_error("--to is needed");
		return runStrangers(theirs);
	});
}
