// SPDX-License-Identifier: GPL-2.0
#include "cong.h"

#include "../lib/command_line.h"

using namespace rdstest;

int main(int argc, char **argv)
{
	CommandLine line("Congestion between two hosts");
	CommandLine &read = line.command("read", "read what the sender says");
	CommandLine &send = line.command("send", "run the checks");
	CongOptions options;
	std::string self, peer, flavour = "ours";
	uint32_t timeout = 120;

	for (CommandLine *command : {&read, &send}) {
		command->required("--bind", self, "local address");
		command->option("--control", options.controlPort, "TCP port for the commands");
		command->option("--port", options.port, "RDS port of the reader");
		command->option("--length", options.length, "of a message, same at both ends");
		command->option("--timeout", timeout, "seconds without a command, or a peer");
	}
	send.required("--to", peer, "address of the reader");
	send.choice("--flavour", flavour, "whose modules are loaded here", {"mainline", "ours"});
	return line.run(argc, argv, [&] {
		options.timeout = std::chrono::seconds(timeout);
		options.self = Address::parse(self);
		options.ours = flavour == "ours";
		if (send.chosen())
			options.peer = Address::parse(peer);
		return send.chosen() ? runCongSender(options) : runCongReader(options);
	});
}
