// SPDX-License-Identifier: GPL-2.0
#include "flows.h"

#include <CLI/CLI.hpp>

#include <iostream>

using namespace rdstest;

namespace
{

struct Texts {
	std::string self, peer;
	unsigned int timeout = 120, drain = 30;
};

void addCommon(CLI::App *command, FlowOptions &options, Texts &texts)
{
	command->add_option("--bind", texts.self, "local address")->required();
	command->add_option("--flows", options.flows, "number of flows")
		->check(CLI::Range(1u, 10000u));
	command->add_option("--control", options.controlPort, "TCP port of the control connection");
	command->add_option("--base-port", options.basePort, "RDS port of the first flow");
	command->add_option("--seed", options.seed, "of lengths and payloads, same at both ends");
	command->add_option("--max-payload", options.maxPayload,
			    "longest payload, same at both ends");
	command->add_option("--timeout", texts.timeout, "seconds for the whole run");
	command->add_flag("--report-only", options.reportOnly, "exit with 0 whatever was lost");
}

} // namespace

int main(int argc, char **argv)
{
	CLI::App app("Flows of RDS messages with everything accounted for");
	CLI::App *send = app.add_subcommand("send", "send to a receiver and print its result");
	CLI::App *receive =
		app.add_subcommand("receive", "wait for a sender, print what came as JSON");
	FlowOptions options;
	Texts texts;

	addCommon(send, options, texts);
	addCommon(receive, options, texts);
	send->add_option("--to", texts.peer, "address of the receiver")->required();
	send->add_option("--messages", options.messages, "per flow; 0 for no limit");
	send->add_option("--seconds", options.seconds, "how long to send; 0 for no limit");
	send->add_flag("--until-eof", options.untilEof, "send until standard input ends");
	send->add_option("--rate", options.rate, "messages per second, all flows together");
	send->add_option("--drain", texts.drain, "seconds to wait for acknowledgements at the end");
	send->add_flag("--blocking", options.blocking, "blocking sockets, a thread per flow");
	receive->add_flag(
		"--from-first", options.fromFirst,
		"count a flow from its first message here (after a restart of this host)");
	app.require_subcommand(1);
	CLI11_PARSE(app, argc, argv);
	try {
		if (*send && !options.messages && !options.seconds && !options.untilEof)
			throw std::runtime_error("--messages 0 needs --seconds or --until-eof");
		options.timeout = std::chrono::seconds(texts.timeout);
		options.drain = std::chrono::seconds(texts.drain);
		options.self = Address::parse(texts.self);
		if (*send)
			options.peer = Address::parse(texts.peer);
		return *send ? runFlowSender(options) : runFlowReceiver(options);
	} catch (const std::exception &error) {
		std::cerr << "rds_flows: " << error.what() << "\n";
		return 2;
	}
}
