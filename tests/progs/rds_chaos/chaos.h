/* SPDX-License-Identifier: GPL-2.0 */
/* Random system calls on RDS sockets that several threads share, and what they answered. */
#pragma once

#include "../lib/calls.h"

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace chaos
{

constexpr size_t slots = 12;
constexpr int firstShared = 100; /* of the numbers of sockets that threads share */

/* The state that the threads share. */
struct Shared {
	std::vector<sockaddr_storage> addresses; /* the first @local ones are this host's */
	size_t local = 0;
	std::array<std::atomic<int>, slots> fds;
	std::atomic<bool> stop{false};
};

/* One thread's calls; everything but the order among threads follows from the seed. */
class Caller : public rdstest::Calls
{
public:
	Caller(Shared &shared, uint64_t seed)
		: Calls(seed, shared.addresses, shared.local), shared_(shared)
	{
	}

	/* Makes one call. */
	void step();

	/* Calls made and how many of them succeeded, by name; answers by errno (0: success). */
	struct Tally {
		uint64_t made = 0, succeeded = 0;
	};
	std::map<std::string, Tally> calls;
	std::map<int, uint64_t> answers;
	/* Name and beginning of the call under way, for who waits for it. */
	std::atomic<const char *> doing{""};
	std::atomic<uint64_t> count{0};

private:
	struct Kind {
		const char *name;
		unsigned int weight;
		long (Caller::*make)(int fd);
	};
	static const Kind kinds[];

	long open(int);
	long close(int);

	Shared &shared_;
};

} // namespace chaos
