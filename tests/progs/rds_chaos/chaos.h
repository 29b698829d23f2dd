/* SPDX-License-Identifier: GPL-2.0 */
/* Random system calls on RDS sockets that several threads share, and what they answered. */
#pragma once

#include <sys/socket.h>
#include <sys/uio.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <vector>

namespace chaos
{

/*
 * Memory of every kind that a system call can be given: a page whose last byte is the last before
 * an unmapped one, a page that may only be read, and addresses where nothing is.
 */
class Memory
{
public:
	Memory();

	/* @bytes that end where nothing follows; filled by the caller or the kernel. */
	void *room(size_t bytes) const
	{
		return edge_ - bytes;
	}
	void *readOnly() const
	{
		return readOnly_;
	}
	void *unmapped() const
	{
		return edge_;
	}
	static constexpr size_t roomBytes = 256 * 1024;

private:
	char *edge_, *readOnly_;
};

constexpr size_t slots = 12;

/* The state that the threads share. */
struct Shared {
	std::vector<sockaddr_storage> addresses; /* the first @local ones are this host's */
	size_t local = 0;
	std::array<std::atomic<int>, slots> fds;
	std::atomic<bool> stop{false};
};

/* One thread's calls; everything but the order among threads follows from the seed. */
class Caller
{
public:
	Caller(Shared &shared, uint64_t seed);

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

	long openSocket(int fd);
	long closeSocket(int fd);
	long bindOrConnect(int fd);
	long names(int fd);
	long sendMessage(int fd);
	long sendMany(int fd);
	long receiveMessage(int fd);
	long receiveMany(int fd);
	long setOption(int fd);
	long setSocketOption(int fd);
	long getOption(int fd);
	long query(int fd);
	long control(int fd);
	long wait(int fd);
	long others(int fd);

	uint64_t below(uint64_t n)
	{
		return n ? random_() % n : 0;
	}
	bool often(unsigned int ofTen)
	{
		return below(10) < ofTen;
	}
	void *pointer(size_t bytes);
	size_t length();
	void *address(socklen_t &length, size_t among);
	size_t controlMessages(char *to, size_t room);
	void vectors(iovec *to, size_t count);
	void message(msghdr &m, bool sending);
	int flags(bool sending);

	Shared &shared_;
	std::mt19937_64 random_;
	Memory memory_, names_, controls_;
	iovec vectors_[8];
};

} // namespace chaos
