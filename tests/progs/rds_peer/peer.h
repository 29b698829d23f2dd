/* SPDX-License-Identifier: GPL-2.0 */
#pragma once

#include "frames.h"

#include "../lib/tcp.h"
#include "../lib/wire.h"

#include <nlohmann/json.hpp>

#include <chrono>
#include <optional>
#include <string>

namespace rdstest
{

struct PeerOptions {
	std::optional<Address> connect, listen, source;
	std::optional<Address> knock; /* connect here first, so that the other side calls back */
	FrameContext frames;
	uint16_t npaths = 0; /* answer probes with that many paths; 0: not at all */
	std::chrono::milliseconds wait{5000};
};

/* A TCP connection to an RDS host with the frames that came over it. */
class Peer
{
public:
	explicit Peer(const PeerOptions &options);

	/* Connects, or waits to be called, as the options say. */
	void open();
	void close(bool reset = false);

	void send(const FrameSpec &frame);
	void sendBytes(const std::string &bytes);

	/* Reads until the condition holds on a frame, the stream ends, or the time is over. */
	bool readUntil(const std::function<bool(const FrameParser::Frame &)> &wanted,
		       std::chrono::milliseconds patience);

	/* A ping and its answer: does the connection work? "pong", "closed", "reset", "silent":
	 * nothing came for --wait, or @least if that is longer. */
	std::string ping(std::chrono::milliseconds least = {});

	/* "open", "closed" (orderly) or "reset". */
	const std::string &state() const
	{
		return state_;
	}
	uint64_t nextSequence()
	{
		return options_.frames.sequence++;
	}

	/* Called with every frame that comes. */
	std::function<void(const FrameParser::Frame &)> onFrame = [](const FrameParser::Frame &) {};

private:
	void knock();
	bool readSome(std::chrono::milliseconds patience);
	void handle(const FrameParser::Frame &frame);

	PeerOptions options_;
	Fd listener_, connection_;
	FrameParser parser_;
	std::string state_ = "closed";
	uint16_t pingPort_ = 30000;
};

nlohmann::json describeFrame(const FrameParser::Frame &frame);

} // namespace rdstest
