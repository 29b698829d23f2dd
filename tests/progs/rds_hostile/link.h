/* SPDX-License-Identifier: GPL-2.0 */
/* A stranger, and one TCP connection of its: what was said over it, heard, and left half said. */
#pragma once

#include "../lib/payload.h"
#include "../lib/tcp.h"
#include "../lib/wire.h"

#include <array>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace rdstest
{

constexpr unsigned int kPaths = 8;

/* The habits of a stranger towards one address of the host, and what both have said. */
struct Stranger {
	Address self, target;
	bool calls = false;  /* its address is the smaller one */
	bool hello = false;  /* introduces itself, as ours do; else as mainline's */
	bool polite = false; /* answers probes, pings, and who wants an ack */
	uint32_t generation = 1;
	uint16_t npaths = 1;
	uint8_t caps = 6;		      /* delivery acks, ORDER, and with 8 REFUSED */
	std::array<uint64_t, kPaths> next{};  /* number of its next message on a path */
	std::array<uint64_t, kPaths> heard{}; /* the highest number of the kernel's */
	std::array<uint64_t, kPaths> acked{}; /* the highest that the kernel acknowledged */
	uint32_t kernelGeneration = 0;
	uint16_t kernelPaths = 0;
	uint32_t order = 0; /* number in its numbered flow */
	/* Ports that the kernel refuses, and in which epoch; the oldest are forgotten. */
	std::vector<std::pair<uint16_t, uint32_t>> refused;

	/* Another life: numbers begin anew. */
	void reborn(uint32_t newGeneration);
};

class Link
{
public:
	/* Calls the target from a port of that path; small: with next to no room for answers. */
	static Link call(Stranger &who, unsigned int path, Random &random);
	/* A call of the kernel's that was accepted. */
	Link(Fd fd, Stranger &who, unsigned int path);

	/* A frame as the stranger would say it: whole, or cut up, left half, or damaged. */
	void say(const std::string &frame, Random &random);
	/* Bytes as they are, as far as there is room. */
	void put(const std::string &bytes);
	/* A message whose number, acknowledgement and ports are what the dialogue has come to. */
	Header message(uint16_t sport, uint16_t dport, uint32_t length);
	std::string hello() const;

	void flush();
	/* Reads what has come and answers what a polite stranger would; events of poll(). */
	void hear(short events);
	void end(bool reset);
	void endWriting();

	bool open() const
	{
		return fd_ >= 0;
	}
	int fd() const
	{
		return fd_;
	}
	bool wantsToWrite() const
	{
		return !outbox_.empty();
	}
	Stranger &who()
	{
		return *who_;
	}
	unsigned int path() const
	{
		return path_;
	}

	bool deaf = false;				/* does not read: its window shuts */
	std::string lastFrame;				/* to be said again */
	static std::map<std::string, uint64_t> account; /* of all links, by what happened */

private:
	void sendNow(const std::string &bytes);
	void answer(const FrameParser::Frame &frame);
	void note(const Header &header);
	void noteRefusal(const Header &header);

	Fd fd_;
	Stranger *who_;
	unsigned int path_;
	std::string outbox_; /* said, and TCP had no room */
	std::string rest_;   /* of a frame that was left half */
	FrameParser parser_;
};

} // namespace rdstest
