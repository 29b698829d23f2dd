// SPDX-License-Identifier: GPL-2.0
/*
 * rds_peer: speaks the wire format over plain TCP, well or badly on purpose, to the RDS
 * modules of another host. No RDS is needed here, and none may be loaded when it listens.
 *
 * Without --each all frames go over one connection, and what comes back is printed as JSON, a
 * line for each frame. With --each every frame gets a connection of its own and is followed by
 * a ping; a line tells whether the ping was answered, the connection closed, or all is silent,
 * and whether a new connection works afterwards. With --chaos connections carry damaged streams,
 * and in the end a new one must work.
 *
 * The host with the numerically smaller address connects: from the larger address use --listen
 * on this host, and --knock to be called.
 */
#include "chaos.h"
#include "peer.h"

#include "../lib/command_line.h"

#include <algorithm>
#include <iostream>

using namespace rdstest;

namespace
{

struct Options {
	PeerOptions peer;
	std::string connect, listen, source, knock;
	std::vector<std::string> frames, except, expect;
	uint32_t waitMs = 5000, lingerMs = 0, chaos = 0;
	uint64_t seed = 1;
	bool each = false, list = false, reset = false;
};

std::optional<Address> parseOptional(const std::string &text)
{
	if (text.empty())
		return std::nullopt;
	return Address::parse(text);
}

std::vector<FrameSpec> chosenFrames(const Options &options)
{
	std::vector<FrameSpec> chosen;

	if (options.frames.empty() && options.each)
		chosen = allFrames();
	for (const std::string &name : options.frames)
		chosen.push_back(findFrame(name));
	std::erase_if(chosen, [&](const FrameSpec &frame) {
		return std::count(options.except.begin(), options.except.end(), frame.name) > 0;
	});
	return chosen;
}

/*
 * Is a connection possible again, and does it work? It may take a few tries. As a real peer
 * does, this one begins with its congestion map, which takes back what a frame has said.
 */
bool worksAgain(Peer &peer)
{
	return eventually(
		[&] {
			try {
				peer.open();
				peer.send(findFrame("map_zero"));
				return peer.ping(std::chrono::seconds(3)) == "pong";
			} catch (const std::runtime_error &) {
				return false;
			}
		},
		std::chrono::seconds(20));
}

/* Every frame over a connection of its own; fails when the host does not recover. */
int runEach(const Options &options)
{
	Peer peer(options.peer);
	int failures = 0;

	if (!worksAgain(peer))
		throw std::runtime_error("no answer to a ping");
	for (const FrameSpec &frame : chosenFrames(options)) {
		if (frame.first)
			peer.open();
		peer.send(frame);
		const std::string outcome = peer.ping();
		const bool alive = outcome == "pong" || worksAgain(peer);
		const nlohmann::json line = {{"frame", frame.name},
					     {"outcome", outcome},
					     {"recovers", alive},
					     {"partial", frame.partial}};

		std::cout << line.dump() << std::endl;
		failures += !alive;
		if (!alive)
			break;
	}
	return failures ? 1 : 0;
}

/* Damaged streams; fails when the host does not recover. */
int runDamaged(const Options &options)
{
	Peer peer(options.peer);

	if (!worksAgain(peer))
		throw std::runtime_error("no answer to a ping");
	std::cout << runChaos(peer, options.peer.frames, options.seed, options.chaos).dump()
		  << std::endl;
	if (!worksAgain(peer))
		throw std::runtime_error("no answer to a ping any more");
	return 0;
}

/* All frames over one connection; succeeds when everything expected came. */
int runOne(const Options &options)
{
	std::vector<std::string> missing = options.expect;
	Peer peer(options.peer);
	const auto found = [&](const FrameParser::Frame &frame) {
		const std::string text = frame.header.text();

		std::erase_if(missing, [&](const std::string &one) {
			return text.find(one) != std::string::npos;
		});
		return !options.expect.empty() && missing.empty();
	};

	peer.onFrame = [](const FrameParser::Frame &frame) {
		std::cout << describeFrame(frame).dump() << std::endl;
	};
	peer.open();
	for (const FrameSpec &frame : chosenFrames(options))
		peer.send(frame);
	peer.readUntil(found, options.peer.wait);
	if (options.lingerMs)
		peer.readUntil([](const auto &) { return false; },
			       std::chrono::milliseconds(options.lingerMs));
	std::cout << nlohmann::json{{"state", peer.state()}}.dump() << std::endl;
	peer.close(options.reset);
	for (const std::string &one : missing)
		std::cerr << "rds_peer: nothing received contains '" << one << "'\n";
	return missing.empty() ? 0 : 1;
}

int listFrames()
{
	for (const FrameSpec &frame : allFrames())
		std::cout << frame.name << ": " << frame.what << "\n";
	return 0;
}

void addOptions(CommandLine &line, Options &options)
{
	line.option("--connect", options.connect, "connect to RDS at this address");
	line.option("--listen", options.listen, "wait for RDS to connect to this local address");
	line.option("--source", options.source, "local address to connect from");
	line.option("--knock", options.knock, "with --listen: ask RDS at this address to call");
	line.option("--frame", options.frames, "what to send, in order; see --list");
	line.option("--except", options.except, "with --each: leave these out");
	line.option("--expect", options.expect, "text that must occur in what is received");
	line.option("--port", options.peer.frames.port, "destination port of messages");
	line.option("--sequence", options.peer.frames.sequence, "first sequence number");
	line.option("--npaths", options.peer.npaths, "answer probes with this many paths");
	line.option("--wait", options.waitMs, "milliseconds for everything to come");
	line.option("--linger", options.lingerMs, "go on reading for milliseconds at the end");
	line.option("--chaos", options.chaos, "this many connections with damaged streams");
	line.option("--seed", options.seed, "with --chaos: which");
	line.flag("--reset", options.reset, "end with a RST");
	line.flag("--each", options.each, "each frame over a connection of its own");
	line.flag("--list", options.list, "print the frames");
}

} // namespace

int main(int argc, char **argv)
{
	CommandLine line("A raw TCP peer for RDS");
	Options options;

	addOptions(line, options);
	return line.run(argc, argv, [&] {
		if (options.list)
			return listFrames();
		if (options.connect.empty() == options.listen.empty())
			throw std::runtime_error("one of --connect and --listen is needed");
		options.peer.connect = parseOptional(options.connect);
		options.peer.listen = parseOptional(options.listen);
		options.peer.source = parseOptional(options.source);
		options.peer.knock = parseOptional(options.knock);
		options.peer.wait = std::chrono::milliseconds(options.waitMs);
		if (options.chaos)
			return runDamaged(options);
		return options.each ? runEach(options) : runOne(options);
	});
}
