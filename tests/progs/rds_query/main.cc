// SPDX-License-Identifier: GPL-2.0
/*
 * rds_query: what RDS_RECV_QUERY says while messages overtake each other.
 *
 *	rds_query send --bind A --to B	un-ordered messages, each 64th half-ordered
 *	rds_query recv --bind B --to A	one thread reads, others ask all the time
 *
 * Both run until standard input is closed. recv ends with status 1 if an answer is impossible: a
 * span less than the number held, or one of both 0 and the other not.
 */
#include "../lib/command_line.h"
#include "../lib/socket.h"

#include <linux/rds.h>
#include <poll.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <iostream>
#include <thread>

using namespace rdstest;

namespace
{

constexpr uint16_t port = 4000;
constexpr unsigned int askers = 2;
constexpr unsigned int halfEvery = 64;

struct Options {
	std::string bind, to;
	uint32_t length = 2000;
};

/* Of one thread, or of all. */
struct Answers {
	std::atomic<uint64_t> asked{0}, held{0}, gaps{0}, unknown{0}, wrong{0};

	void print() const
	{
		std::cout << asked << " asked, " << held << " with messages, " << gaps
			  << " with gaps, " << unknown << " unknown, " << wrong << " impossible"
			  << std::endl;
	}
};

bool inputIsOpen()
{
	char room[100];

	return !waitFor(STDIN_FILENO, POLLIN | POLLHUP, std::chrono::milliseconds(0)) ||
	       read(STDIN_FILENO, room, sizeof(room)) > 0;
}

void judge(const rds_recv_query &q, Answers &all)
{
	all.asked++;
	if (q.bufs_alloc_span == RDS_RECV_QUERY_UNKNOWN) {
		all.unknown++;
		return;
	}
	all.held += q.nbufs_allocated != 0;
	all.gaps += q.bufs_alloc_span > q.nbufs_allocated;
	if (q.bufs_alloc_span < q.nbufs_allocated || !q.bufs_alloc_span != !q.nbufs_allocated) {
		std::cout << "impossible: " << q.nbufs_allocated << " held, span "
			  << q.bufs_alloc_span << std::endl;
		all.wrong++;
	}
}

void ask(int fd, const Address *peer, const std::atomic<bool> &over, Answers &all)
{
	while (!over) {
		rds_recv_query q = {};
		socklen_t length = sizeof(q);

		if (peer)
			std::memcpy(&q.peer, peer->get(), peer->length());
		q.want = RDS_RECV_QUERY_NBUFS | RDS_RECV_QUERY_SPAN;
		if (getsockopt(fd, SOL_RDS, RDS_RECV_QUERY, &q, &length) < 0)
			throw std::runtime_error(std::string("RDS_RECV_QUERY: ") +
						 std::strerror(errno));
		judge(q, all);
	}
}

int receiver(const Options &options)
{
	const Fd fd = bindRds(Address::parse(options.bind, port));
	const Address peer = Address::parse(options.to, port);
	std::atomic<bool> over = false;
	std::vector<std::thread> threads;
	Answers all;

	for (unsigned int i = 0; i < askers; ++i)
		threads.emplace_back(ask, static_cast<int>(fd), i ? &peer : nullptr,
				     std::cref(over), std::ref(all));
	std::cout << "ready" << std::endl;
	for (unsigned int n = 0; inputIsOpen(); ++n) {
		receive(fd, options.length);
		/* Slower than the sender: something is held, most of the time. */
		if (n % 8 == 0)
			usleep(1000);
	}
	over = true;
	for (std::thread &thread : threads)
		thread.join();
	all.print();
	return all.wrong || !all.held || !all.gaps;
}

int sender(const Options &options)
{
	const Fd fd = bindRds(Address::parse(options.bind, port));
	const Address to = Address::parse(options.to, port);
	const std::string payload(options.length, 'q');

	for (uint32_t n = 1; inputIsOpen(); ++n) {
		const uint32_t order = n % halfEvery ? RDS_ORDER_UNORDERED : RDS_ORDER_HALF;
		const Control control = Control().add(SOL_RDS, RDS_CMSG_ORDER, order);
		long ret = sendBytes(fd, payload.data(), payload.size(),
				     {.to = &to, .control = &control});

		if (ret == -EAGAIN || ret == -ENOBUFS)
			usleep(1000);
		else if (ret < 0)
			throw std::runtime_error(std::string("send: ") + std::strerror(-ret));
	}
	return 0;
}

} // namespace

int main(int argc, char **argv)
{
	CommandLine line("Asks how much was not read while messages overtake each other");
	CommandLine &send = line.command("send", "sends them");
	CommandLine &recv = line.command("recv", "reads, and asks");
	Options options;

	for (CommandLine *command : {&send, &recv}) {
		command->required("--bind", options.bind, "own address");
		command->required("--to", options.to, "the other one's");
		command->option("--length", options.length, "bytes of a message");
	}
	return line.run(argc, argv,
			[&] { return send.chosen() ? sender(options) : receiver(options); });
}
