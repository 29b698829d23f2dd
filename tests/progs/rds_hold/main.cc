// SPDX-License-Identifier: GPL-2.0
/*
 * rds_hold: keeps sockets open, with messages in their queues if wanted, until its standard
 * input is closed. For tests that unload modules or end namespaces in the meantime.
 *
 * Prints "ready" when everything is set up and "released" after the sockets were closed.
 */
#include "../lib/command_line.h"
#include "../lib/socket.h"

#include <poll.h>
#include <unistd.h>

#include <iostream>

using namespace rdstest;

namespace
{

struct Options {
	std::vector<std::string> bind;
	std::string to;
	uint32_t count = 1, unbound = 0, messages = 10, length = 1000, unread = 0, reserve = 0;
	uint16_t port = 4000;
	bool traffic = false, told = false;
};

/* Messages that nobody reads, and messages for the other host. */
void fillQueues(const std::vector<Fd> &sockets, const Options &options)
{
	const std::string payload(options.length, 'h');

	for (const Fd &fd : sockets) {
		for (unsigned int i = 0; i < options.unread; ++i)
			sendText(fd, payload, localAddress(fd));
		for (unsigned int i = 0; i < options.messages && !options.to.empty(); ++i)
			sendText(fd, payload, Address::parse(options.to, options.port));
	}
}

/* SO_RESERVE_MEM, which the headers of some systems lack. */
void reserve(const Fd &fd, int bytes)
{
	constexpr int reserveMem = 73;
	const long result = bytes ? setOption(fd, SOL_SOCKET, reserveMem, bytes) : 0;

	if (result)
		fail("SO_RESERVE_MEM", result);
}

bool inputIsOpen(std::chrono::milliseconds wait)
{
	char room[100];

	return !waitFor(STDIN_FILENO, POLLIN | POLLHUP, wait) ||
	       read(STDIN_FILENO, room, sizeof(room)) > 0;
}

/* Every socket sends to the next one and reads what came; whatever fails, goes on. */
void keepTraffic(const std::vector<Fd> &sockets, const Options &options)
{
	const std::string payload(options.length, 't');

	while (inputIsOpen(std::chrono::milliseconds(0))) {
		for (size_t i = 0; i < sockets.size(); ++i) {
			const Address next = localAddress(sockets[(i + 1) % sockets.size()]);

			sendText(sockets[i], payload, next);
			if (!options.to.empty())
				sendText(sockets[i], payload,
					 Address::parse(options.to, options.port));
			receive(sockets[i], options.length);
		}
	}
}

void hold(const Options &options)
{
	std::vector<Fd> sockets, unbound;

	for (const std::string &address : options.bind) {
		for (unsigned int i = 0; i < options.count; ++i)
			sockets.push_back(bindRds(Address::parse(address)));
	}
	for (unsigned int i = 0; i < options.unbound; ++i)
		unbound.push_back(openRds());
	for (const Fd &fd : sockets)
		reserve(fd, options.reserve);
	fillQueues(sockets, options);
	std::cout << "ready" << std::endl;
	if (options.told)
		inputIsOpen(std::chrono::minutes(1));
	if (options.traffic)
		keepTraffic(sockets, options);
	while (inputIsOpen(std::chrono::seconds(60)))
		;
}

} // namespace

int main(int argc, char **argv)
{
	CommandLine line("Keeps RDS sockets open until standard input is closed");
	Options options;

	line.option("--bind", options.bind, "local addresses");
	line.option("--count", options.count, "sockets for each address");
	line.option("--unbound", options.unbound, "sockets that are not bound");
	line.option("--unread", options.unread, "messages to leave in each receive queue");
	line.option("--reserve", options.reserve, "bytes of SO_RESERVE_MEM for each bound socket");
	line.option("--to", options.to, "address to send messages to");
	line.option("--port", options.port, "port to send messages to");
	line.option("--messages", options.messages, "with --to: how many from each socket");
	line.option("--length", options.length, "bytes of a message");
	line.flag("--traffic", options.traffic, "keep sending in a ring and to --to all the time");
	line.flag("--when-told", options.told, "begin with that when a line comes in");
	return line.run(argc, argv, [&] {
		hold(options);
		std::cout << "released" << std::endl;
		return 0;
	});
}
