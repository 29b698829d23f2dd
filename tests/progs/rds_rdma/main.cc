// SPDX-License-Identifier: GPL-2.0
#include "rdma.h"

#include "../lib/command_line.h"

using namespace rdstest;

int main(int argc, char **argv)
{
	CommandLine line("RDMA between two hosts");
	CommandLine &own = line.command("own", "own memory and obey");
	CommandLine &check = line.command("check", "run the checks of data");
	CommandLine &errors = line.command("errors", "run the checks of errnos (and of statuses)");
	CommandLine &alone = line.command("alone", "what an adapter does not do fails by itself");
	CommandLine &storm = line.command("storm", "operations until the input ends");
	RdmaOptions options;
	std::string self, peer, selfIs = "ours", peerIs = "ours";
	uint32_t timeout = 120, depth = options.depth, freeEvery = 0;
	bool noAtomics = false, noRegions = false;

	for (CommandLine *command : {&own, &check, &errors, &alone, &storm}) {
		command->required("--bind", self, "local address");
		command->required("--to", peer, "address of the other host");
		command->option("--control", options.controlPort, "TCP port for the commands");
		command->option("--port", options.port, "RDS port of both");
		command->option("--timeout", timeout, "seconds without a command, or a peer");
		command->choice("--self", selfIs, "whose modules are here", {"mainline", "ours"});
		command->choice("--peer", peerIs, "whose modules are there", {"mainline", "ours"});
		command->flag("--no-atomics", noAtomics, "the adapters have none that work");
	}
	check.option("--pieces", options.pieces, "pieces of an operation at most");
	check.flag("--no-regions", noRegions, "the owner's adapter is to have none");
	check.flag("--copies", options.copies, "the owner's adapter has copies of the memory");
	check.flag("--gapless", options.gapless, "only with pages that lie side by side");
	check.flag("--idle", options.idle, "each begins when the connection has gone");
	storm.option("--depth", depth, "operations at a time");
	storm.option("--free-every", freeEvery, "operations, memory that is in use is freed");
	storm.option("--largest", options.largest, "bytes of an operation");
	return line.run(argc, argv, [&] {
		options.timeout = std::chrono::seconds(timeout);
		options.self = Address::parse(self);
		options.peer = Address::parse(peer);
		options.selfIsOurs = selfIs == "ours";
		options.peerIsOurs = peerIs == "ours";
		options.atomics = !noAtomics;
		options.regions = !noRegions;
		options.depth = depth;
		options.freeEvery = freeEvery;
		if (own.chosen())
			return runRdmaOwner(options);
		if (alone.chosen())
			return runRdmaAlone(options);
		if (storm.chosen())
			return runRdmaStorm(options);
		return check.chosen() ? runRdmaChecks(options) : runRdmaErrors(options);
	});
}
