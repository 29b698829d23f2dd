// SPDX-License-Identifier: GPL-2.0
/*
 * flood: sends more than a slow reader takes, many messages a call, and is told when to go on.
 *
 *	flood recv ADDRESS:PORT COUNT		reads so many messages, with a small receive queue
 *	flood send ADDRESS:PORT PEER:PORT COUNT	sends so many, and never waits in a send
 *
 * Modules that do not know of many messages a call get and give one. See rds(7), docs/cxx.md.
 */
#include <rds/socket.hpp>

#include <poll.h>

#include <iostream>
#include <limits>
#include <string>
#include <thread>
#include <vector>

struct Block {
	std::uint32_t number;
	std::array<char, 1020> rest;
};
constexpr std::size_t together = 64; /* blocks of a call, at most */
constexpr int small_queue = 32768;   /* bytes */

/* Says why; false where nothing has failed. */
static bool failed(const char *what, std::error_code why)
{
	if (why)
		std::cerr << "flood: " << what << ": " << why.message() << '\n';
	return bool(why);
}

static void wait_for(const rds::Socket &sock, short events)
{
	pollfd waiting = {sock.fd(), events, 0};
	poll(&waiting, 1, -1);
}

/* Until a send should be tried again; 0, or why that cannot be found out. */
static std::error_code wait_until_it_goes_on(rds::Socket &sock, std::error_code why,
					     std::uint16_t port)
{
	if (rds::would_wait(why)) {
		wait_for(sock, POLLOUT);
		return {};
	}
	while (rds::is_congested(why)) {
		wait_for(sock, POLLIN);
		const auto got = sock.receive({}, {.dont_wait = true});
		if (got && got->events().congestion_ended(port))
			return {};
		if (!got && !rds::would_wait(got.error()))
			return got.error();
	}
	return why;
}

static int send_all(rds::Socket sock, const rds::Endpoint &there, std::uint32_t count)
{
	std::vector<Block> blocks(together);
	std::vector<std::span<const std::byte>> messages;
	std::uint32_t sent = 0, waits = 0;

	if (failed("monitor", sock.monitor_congestion().error()) ||
	    failed("nonblocking", sock.set_nonblocking(true).error()))
		return 1;
	while (sent < count) {
		messages.clear();
		for (std::uint32_t i = 0; i < together && sent + i < count; i++) {
			blocks[i].number = sent + i;
			messages.push_back(std::as_bytes(std::span(&blocks[i], 1)));
		}
		const auto queued = sock.send_many(messages, there);
		if (queued) {
			sent += *queued;
			continue;
		}
		waits += rds::is_congested(queued.error());
		const auto why = wait_until_it_goes_on(sock, queued.error(), there.port);
		if (failed("send", why))
			return 1;
	}
	/* The reader's word that it has all: closing takes back what is not delivered. */
	if (failed("blocking", sock.set_nonblocking(false).error()))
		return 1;
	for (bool done = false; !done;) {
		const auto got = sock.receive({});
		if (failed("receive", got.error()))
			return 1;
		done = got->message.has_value();
	}
	std::cout << sent << " messages delivered, waited " << waits << " times for the reader\n";
	return 0;
}

static int receive_all(rds::Socket sock, std::uint32_t count)
{
	auto batch = rds::Batch::make(together, together * sizeof(Block));
	std::uint32_t got = 0, calls = 0;
	rds::Endpoint sender;

	if (failed("room", batch.error()) ||
	    failed("queue", sock.set_receive_queue(small_queue).error()))
		return 1;
	for (; got < count; calls++) {
		const auto messages = sock.receive_many(*batch);
		if (failed("receive", messages.error()))
			return 1;
		for (const rds::Message &message : *messages) {
			std::uint32_t number;
			if (message.data.size() != sizeof(Block)) {
				std::cerr << "flood: a message of " << message.length << " bytes\n";
				return 1;
			}
			std::memcpy(&number, message.data.data(), sizeof(number));
			if (number != got++) {
				std::cerr << "flood: " << number << " in place of " << got - 1
					  << '\n';
				return 1;
			}
			sender = message.sender;
		}
		std::this_thread::sleep_for(std::chrono::milliseconds(1));
	}
	if (failed("send", sock.send({}, sender).error()))
		return 1;
	std::cout << got << " messages, in order, by " << calls << " calls" << std::endl;
	/* Until the sender has that word: closing here would take it back. */
	std::cin.ignore(std::numeric_limits<std::streamsize>::max());
	return 0;
}

int main(int argc, char **argv)
{
	const std::vector<std::string> words(argv + 1, argv + argc);
	const auto here = rds::Endpoint::parse(words.size() > 1 ? words[1] : "");
	const auto there = rds::Endpoint::parse(words.size() > 2 ? words[2] : "");
	const bool sends = words.size() == 4 && words[0] == "send" && there;

	if (!here || (!sends && (words.size() != 3 || words[0] != "recv"))) {
		std::cerr << "usage: flood recv ADDRESS:PORT COUNT |"
			     " flood send ADDRESS:PORT PEER:PORT COUNT\n";
		return 2;
	}
	auto sock = rds::Socket::bound(*here);
	if (failed("bind", sock.error()))
		return 1;
	if (sends)
		return send_all(std::move(*sock), *there, std::stoul(words[3]));
	return receive_all(std::move(*sock), std::stoul(words[2]));
}
