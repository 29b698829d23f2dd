// SPDX-License-Identifier: GPL-2.0
#include "flows.h"

#include "../lib/command_line.h"

using namespace rdstest;

namespace
{

struct Texts {
	std::string self, peer;
	uint32_t timeout = 120, drain = 30;
};

void addCommon(CommandLine &line, FlowOptions &options, Texts &texts)
{
	line.required("--bind", texts.self, "local address");
	line.option("--flows", options.flows, "number of flows");
	line.option("--control", options.controlPort, "TCP port of the control connection");
	line.option("--base-port", options.basePort, "RDS port of the first flow");
	line.option("--seed", options.seed, "of lengths and payloads, same at both ends");
	line.option("--max-payload", options.maxPayload, "longest payload, same at both ends");
	line.option("--length", options.length,
		    "of every message in bytes, in place of many lengths");
	line.option("--timeout", texts.timeout, "seconds for the whole run");
	line.flag("--report-only", options.reportOnly, "exit with 0 whatever was lost");
	line.flag("--forever", options.forever, "no wait for RDS has a time limit");
}

} // namespace

int main(int argc, char **argv)
{
	CommandLine line("Flows of RDS messages with everything accounted for");
	CommandLine &send = line.command("send", "send to a receiver and print its result");
	CommandLine &receive =
		line.command("receive", "wait for a sender, print what came as JSON");
	FlowOptions options;
	Texts texts;

	addCommon(send, options, texts);
	addCommon(receive, options, texts);
	send.required("--to", texts.peer, "address of the receiver");
	send.option("--messages", options.messages, "per flow; 0 for no limit");
	send.option("--seconds", options.seconds, "how long to send; 0 for no limit");
	send.flag("--until-eof", options.untilEof, "send until standard input ends");
	send.option("--rate", options.rate, "messages per second, all flows together");
	send.option("--drain", texts.drain,
		    "seconds without an acknowledgement that end the wait for them");
	send.flag("--blocking", options.blocking, "blocking sockets, a thread per flow");
	receive.option("--receive-buffer", options.receiveBuffer, "SO_RCVBUF of each socket");
	receive.flag("--from-first", options.fromFirst,
		     "count a flow from its first message here (after a restart of this host)");
	return line.run(argc, argv, [&] {
		if (send.chosen() && !options.messages && !options.seconds && !options.untilEof)
			throw std::runtime_error("--messages 0 needs --seconds or --until-eof");
		if (!options.flows || options.flows > 10000)
			throw std::runtime_error("--flows must be 1 to 10000");
		options.timeout = std::chrono::seconds(texts.timeout);
		options.drain = std::chrono::seconds(texts.drain);
		options.self = Address::parse(texts.self);
		if (send.chosen())
			options.peer = Address::parse(texts.peer);
		return send.chosen() ? runFlowSender(options) : runFlowReceiver(options);
	});
}
