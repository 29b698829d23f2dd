/* SPDX-License-Identifier: GPL-2.0 */
/* The frames that rds_peer can send: good ones, odd ones and malformed ones, by name. */
#pragma once

#include "../lib/wire.h"

#include <functional>
#include <string>
#include <vector>

namespace rdstest
{

/* The context that a frame is made for. */
struct FrameContext {
	uint16_t port = 4000;  /* destination of messages that shall reach a socket */
	uint64_t sequence = 1; /* of the next frame */
};

struct FrameSpec {
	const char *name;
	const char *what;
	std::function<std::string(const FrameContext &)> build;
	bool partial = false; /* leaves the stream in the middle of a frame */
	bool first = false;   /* begins a connection of its own */
};

/* All of them, in the order of --list. */
const std::vector<FrameSpec> &allFrames();

/* By name; throws invalid_argument. */
const FrameSpec &findFrame(const std::string &name);

/* A ping from this port: the kernel's answer shows that the connection still works. */
std::string pingFrame(uint16_t sport, uint64_t sequence);

/* The answer to a probe that says how many paths there are. */
std::string pongFrame(const Header &probe, uint16_t npaths, uint64_t sequence);

} // namespace rdstest
