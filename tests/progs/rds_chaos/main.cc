// SPDX-License-Identifier: GPL-2.0
/*
 * rds_chaos: random system calls on AF_RDS sockets from several threads that share them: bad
 * pointers, lengths, flags, options and control messages among good ones, sockets closed under a
 * call. The same --seed makes the same calls (their order among threads is the machine's).
 *
 * Succeeds when all calls came back, the important kinds succeeded at least once (or they would
 * show nothing) and a message still gets through. That the kernel is well is for the caller to see.
 */
#include "chaos.h"

#include "../lib/command_line.h"
#include "../lib/socket.h"

#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstring>
#include <iostream>
#include <memory>
#include <set>
#include <stdexcept>
#include <thread>

using namespace rdstest;

namespace
{

struct Options {
	std::vector<std::string> local{"127.0.0.1"}, remote;
	uint64_t seed = 1;
	uint32_t calls = 20000, threads = 4, limit = 120;
};

using Callers = std::vector<std::unique_ptr<chaos::Caller>>;

/* Ends the program when none of the calls has come to an end for so many seconds. */
void waitFor(const Callers &callers, const std::atomic<uint32_t> &running, uint32_t limit)
{
	auto end = std::chrono::steady_clock::now() + std::chrono::seconds(limit);
	uint64_t before = 0;

	while (running) {
		uint64_t made = 0;

		for (const auto &one : callers)
			made += one->count;
		if (made != before)
			end = std::chrono::steady_clock::now() + std::chrono::seconds(limit);
		before = made;
		if (std::chrono::steady_clock::now() > end) {
			for (const auto &one : callers)
				std::cerr << "rds_chaos: stuck after " << one->count << " calls in "
					  << one->doing << "\n";
			std::_Exit(3);
		}
		std::this_thread::sleep_for(std::chrono::milliseconds(20));
	}
}

void makeCalls(chaos::Shared &shared, Callers &callers, const Options &options)
{
	std::vector<std::thread> threads;
	std::atomic<uint32_t> running = options.threads;

	for (uint32_t i = 0; i < options.threads; i++)
		callers.push_back(std::make_unique<chaos::Caller>(shared, options.seed * 1000 + i));
	for (auto &one : callers)
		threads.emplace_back([&] {
			for (uint32_t n = 0; n < options.calls / options.threads; n++)
				one->step();
			--running;
		});
	waitFor(callers, running, options.limit);
	for (std::thread &one : threads)
		one.join();
}

/* Calls that have to succeed now and then, or the rest shows nothing. */
const std::set<std::string> important = {"socket",  "bind, connect", "sendmsg",
					 "recvmsg", "setsockopt",    "getsockopt"};

/* Prints what was called and answered; false when nothing important succeeded. */
bool tell(const Callers &callers)
{
	std::map<std::string, chaos::Caller::Tally> calls;
	std::map<int, uint64_t> answers;
	bool all = true;

	for (const auto &one : callers) {
		for (const auto &[name, tally] : one->calls) {
			calls[name].made += tally.made;
			calls[name].succeeded += tally.succeeded;
		}
		for (const auto &[error, count] : one->answers)
			answers[error] += count;
	}
	for (const auto &[name, tally] : calls) {
		std::cout << name << ": " << tally.succeeded << " of " << tally.made
			  << " succeeded\n";
		all = all && (tally.succeeded || !important.count(name));
	}
	for (const auto &[error, count] : answers)
		std::cout << describe(-error) << " " << count << "  ";
	std::cout << std::endl;
	return all;
}

/* After all that, a message over each address. */
void stillWorks(const std::vector<std::string> &local)
{
	for (const std::string &text : local) {
		const Fd from = bindRds(Address::parse(text)), to = bindRds(Address::parse(text));

		if (sendText(from, "well?", localAddress(to)) != 5 ||
		    receiveSoon(to).data != "well?")
			throw std::runtime_error("no message gets through at " + text);
	}
}

int run(const Options &options)
{
	chaos::Shared shared;
	Callers callers;

	for (auto &fd : shared.fds)
		fd = -1;
	for (const auto &texts : {options.local, options.remote})
		for (const std::string &text : texts) {
			const Address one = Address::parse(text);
			sockaddr_storage storage{};

			memcpy(&storage, one.get(), one.length());
			shared.addresses.push_back(storage);
		}
	shared.local = options.local.size();
	std::cout << "seed " << options.seed << ", " << options.calls << " calls in "
		  << options.threads << " threads" << std::endl;
	makeCalls(shared, callers, options);
	for (auto &fd : shared.fds)
		if (fd >= 0)
			close(fd);

	const bool all = tell(callers);

	stillWorks(options.local);
	if (!all)
		std::cerr << "rds_chaos: a kind of call never succeeded\n";
	return all ? 0 : 1;
}

} // namespace

int main(int argc, char **argv)
{
	CommandLine line("Random system calls on RDS sockets");
	Options options;

	signal(SIGPIPE, SIG_IGN);
	line.option("--local", options.local, "addresses of this host (default 127.0.0.1)");
	line.option("--remote", options.remote, "addresses of others, to send to");
	line.option("--seed", options.seed, "which calls");
	line.option("--calls", options.calls, "how many in all");
	line.option("--threads", options.threads, "that share them");
	line.option("--limit", options.limit,
		    "seconds without the end of a call after which they are stuck");
	return line.run(argc, argv, [&] { return run(options); });
}
