// SPDX-License-Identifier: GPL-2.0
/*
 * rds_hold: keeps sockets open, with messages in their queues if wanted, until its standard
 * input is closed. For tests that unload modules or end namespaces in the meantime.
 *
 * Prints "ready" when everything is set up and "released" after the sockets were closed.
 */
#include "../lib/command_line.h"
#include "../lib/socket.h"

#include <arpa/inet.h>
#include <poll.h>
#include <unistd.h>

#include <iostream>

using namespace rdstest;

namespace
{

struct Options {
	std::vector<std::string> bind;
	std::string to;
	uint32_t count = 1, unbound = 0, messages = 10, length = 1000, unread = 0, reserve = 0,
		 hosts = 1;
	uint16_t port = 4000;
	bool traffic = false, told = false;
};

/* The @nth of the hosts from --to on. */
Address target(const Options &options, uint32_t nth)
{
	char text[INET_ADDRSTRLEN];
	in_addr host;

	if (options.hosts == 1)
		return Address::parse(options.to, options.port);
	if (inet_pton(AF_INET, options.to.c_str(), &host) != 1)
		throw std::invalid_argument("--hosts wants an IPv4 address after --to");
	host.s_addr = htonl(ntohl(host.s_addr) + nth % options.hosts);
	return Address::parse(inet_ntop(AF_INET, &host, text, sizeof(text)), options.port);
}

/* Messages that nobody reads, and messages for other hosts; how many were taken. */
uint64_t fillQueues(const std::vector<Fd> &sockets, const Options &options)
{
	const std::string payload(options.length, 'h');
	const unsigned int messages = options.to.empty() ? 0 : options.messages;
	uint32_t nth = 0;
	uint64_t taken = 0;

	for (const Fd &fd : sockets) {
		for (unsigned int i = 0; i < options.unread; ++i)
			taken += sendText(fd, payload, localAddress(fd)) >= 0;
		for (unsigned int i = 0; i < messages; ++i)
			taken += sendText(fd, payload, target(options, nth++)) >= 0;
	}
	return taken;
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
	const uint64_t taken = fillQueues(sockets, options);
	if (options.hosts > 1)
		std::cout << taken << " messages\n";
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
	line.option("--hosts", options.hosts, "to so many hosts from that one on, by turns");
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
