// SPDX-License-Identifier: GPL-2.0
/*
 * rds_failnth: every allocation of every system call fails once.
 *
 * A call is made again and again: its first allocation fails, its second, and so on until it
 * needs no more. Each time it works or ends with ENOMEM or ENOBUFS, and what it left is right.
 * Needs a kernel with fault injection that is set up to fail every kind of allocation (scarce.py).
 * That nothing leaks is for the caller to see (kmemleak).
 */
#include "../lib/fault.h"
#include "scenario.h"

#include "../lib/command_line.h"
#include "../lib/tap.h"

using namespace rdstest;

namespace
{

constexpr int mostAllocations = 20000;

struct Options {
	std::vector<std::string> modules;
	std::string local = "127.0.0.1", remote = "127.0.0.1", netns;
	bool sockets = false, regions = false, namespaces = false;
};

struct Count {
	long usual = 0; /* without any failure */
	int failed = 0, survived = 0;
};

/* A result that a call may have; without a failure it is always the same. */
bool allowed(const Scenario &scenario, long result, bool reached, long usual)
{
	if (result == usual || (result >= 0 && usual >= 0))
		return true;
	return reached && result < 0 &&
	       (scenario.anyErrno || result == -ENOMEM || result == -ENOBUFS || result == -ENFILE ||
		result == -EFAULT);
}

/* One round; false when the call needs less than nth allocations. */
bool play(const Scenario &scenario, Fault &fault, int nth, Pair &pair, Count &count)
{
	scenario.before(pair);
	fault.arm(nth);
	const long result = scenario.call(pair);
	const bool reached = fault.disarm();

	if (nth == 0)
		count.usual = result;
	const std::string where =
		"allocation " + std::to_string(nth) + " (" + describe(result) + ")";
	want(allowed(scenario, result, reached, count.usual), where);
	try {
		scenario.after(pair, result);
	} catch (const Failed &error) {
		throw Failed(where + ": " + error.what());
	}
	if (nth && reached)
		++(result < 0 ? count.failed : count.survived);
	return nth == 0 || reached;
}

void run(const Scenario &scenario, const Site *site, Tap &tap)
{
	const std::string name = scenario.name + (site ? ", " + site->name : "");
	Count count;

	try {
		Fault fault;

		/* The first goes undisturbed. */
		for (int nth = 0;; ++nth) {
			Pair pair = site ? site->pair(nth) : Pair{Fd(), Fd(), Address(), "", nth};

			if (!play(scenario, fault, nth, pair, count))
				break;
			want(nth < mostAllocations, "there is no end to its allocations");
		}
		tap.ok(true, name + ": " + std::to_string(count.failed) + " failed, " +
				     std::to_string(count.survived) + " worked without");
	} catch (const std::exception &error) {
		tap.ok(false, name, error.what());
	}
}

void runAll(const Options &options, Tap &tap)
{
	if (options.sockets) {
		const Site site = {options.netns.empty() ? "loop" : "tcp",
				   Address::parse(options.local), Address::parse(options.remote),
				   options.netns};

		for (const Scenario &one : socketScenarios(site))
			run(one, &site, tap);
	}
	if (options.regions) {
		const Site site = {"an adapter", Address::parse(options.local),
				   Address::parse(options.local), ""};

		for (const Scenario &one : regionScenarios())
			run(one, &site, tap);
	}
	for (const std::string &path : options.modules)
		run(moduleScenario(path), nullptr, tap);
	/* Last: the thread does not come back from the namespaces it makes. */
	if (options.namespaces)
		run(namespaceScenario(), nullptr, tap);
}

} // namespace

int main(int argc, char **argv)
{
	CommandLine line("Makes every allocation of system calls fail once");
	Options options;

	line.flag("--sockets", options.sockets, "calls on sockets at these addresses");
	line.option("--local", options.local, "address of the first socket");
	line.option("--remote", options.remote, "address of the second");
	line.option("--netns", options.netns, "file of the network namespace of the second");
	line.flag("--regions", options.regions, "memory regions of a socket at the local address");
	line.flag("--namespaces", options.namespaces, "a network namespace is made");
	line.option("--module", options.modules, "these modules are loaded, and unloaded");
	return line.run(argc, argv, [&] {
		Tap tap;

		runAll(options, tap);
		return tap.finish();
	});
}
