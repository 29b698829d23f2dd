// SPDX-License-Identifier: GPL-2.0
/*
 * rds_sockets: do sockets behave as applications expect?
 *
 * Runs every case at every place where it makes sense: loopback with IPv4 and IPv6, and the
 * device addresses that are given. Cases that only our modules pass (flow control on
 * loopback, for example, without which the machine runs out of memory) are run with
 * --flavour ours only.
 */
#include "case.h"

#include "../lib/command_line.h"
#include "../lib/tap.h"

#include <fnmatch.h>
#include <unistd.h>

#include <iostream>

using namespace rdstest;

namespace
{

struct Options {
	std::string flavour = "ours";
	std::string only = "*";
	bool list = false, allPorts = false;
	std::string local, local6, remote, remote6;
};

/* A case that blocks for ever ends the program; the last note names it. */
constexpr unsigned int secondsPerCase = 180;

std::vector<Place> makePlaces(const Options &options)
{
	const bool ours = options.flavour == "ours";
	const auto parse = [](const std::string &text) {
		return text.empty() ? Address() : Address::parse(text);
	};
	const Address absent = Address::parse("192.0.2.77"),
		      absent6 = Address::parse("2001:db8::77");
	std::vector<Place> places;

	places.push_back({"v4 loop", Address::parse("127.0.0.1"), absent, Address(), false, ours});
	places.push_back({"v6 loop", Address::parse("::1"), absent6, Address(), false, ours});
	if (!options.local.empty())
		places.push_back({"v4 tcp", parse(options.local), absent, parse(options.remote),
				  true, ours});
	if (!options.local6.empty())
		places.push_back({"v6 tcp", parse(options.local6), absent6, parse(options.remote6),
				  true, ours});
	return places;
}

bool belongs(const Case &one, const Place &place)
{
	if (one.oursOnly && !place.ours)
		return false;
	switch (one.where) {
	case Where::anywhere:
		return true;
	case Where::tcp:
		return place.tcp;
	case Where::remote:
		return place.tcp && place.remote.family() != AF_UNSPEC;
	}
	return false;
}

void runCase(const Case &one, const Place &place, Tap &tap)
{
	const std::string name = one.name + ", " + place.name;
	const auto start = std::chrono::steady_clock::now();

	try {
		alarm(secondsPerCase);
		one.run(place);
		tap.ok(true, name);
	} catch (const std::exception &error) {
		tap.ok(false, name, error.what());
	}
	alarm(0);
	const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
	if (took.count() > 2)
		tap.note("took " + std::to_string(took.count()) + " s");
}

int runCases(const Cases &cases, const Options &options)
{
	Tap tap;

	for (const Place &place : makePlaces(options)) {
		for (const Case &one : cases.all()) {
			const std::string name = one.name + ", " + place.name;

			if (!belongs(one, place) ||
			    fnmatch(options.only.c_str(), name.c_str(), 0) != 0)
				continue;
			if (options.list)
				std::cout << name << "\n";
			else
				runCase(one, place, tap);
		}
	}
	return options.list ? 0 : tap.finish();
}

} // namespace

int main(int argc, char **argv)
{
	CommandLine line("Behaviour of RDS sockets");
	Options options;

	line.choice("--flavour", options.flavour, "whose modules are loaded", {"mainline", "ours"});
	line.option("--only", options.only, "cases whose name matches this glob");
	line.flag("--list", options.list, "print the names of the cases and run nothing");
	line.option("--local", options.local, "a local IPv4 address that rds_tcp serves");
	line.option("--local6", options.local6, "a local IPv6 address that rds_tcp serves");
	line.option("--remote", options.remote, "IPv4 address of another host with RDS");
	line.option("--remote6", options.remote6, "IPv6 address of another host with RDS");
	line.flag("--all-ports", options.allPorts, "also use up all 65534 ports (200 MiB)");
	return line.run(argc, argv, [&] {
		Cases cases;

		addData(cases);
		addWaiting(cases);
		addLife(cases);
		addExtras(cases);
		addCongestion(cases);
		if (options.allPorts)
			cases.add("all ports in use", Where::anywhere, allPorts);
		return runCases(cases, options);
	});
}
