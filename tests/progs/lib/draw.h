/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Arguments of system calls on RDS sockets, drawn: mostly good, or nothing would get beyond the
 * first check; each is bad now and then. The same seed draws the same.
 */
#pragma once

#include "payload.h"

#include <sys/socket.h>
#include <sys/uio.h>

#include <vector>

namespace rdstest
{

/*
 * Memory of every kind that a system call can be given: a page whose last byte is the last before
 * one that nobody may touch, pages that may only be read or not even that, and addresses where
 * nothing is.
 */
class Memory
{
public:
	Memory();
	~Memory();
	Memory(const Memory &) = delete;
	Memory &operator=(const Memory &) = delete;

	/* @bytes that end where nothing follows; filled by the caller or the kernel. */
	void *room(size_t bytes) const
	{
		return edge_ - bytes;
	}
	void *readOnly() const
	{
		return readOnly_;
	}
	void *beyond() const
	{
		return edge_;
	}
	void *forbidden() const
	{
		return readOnly_ + pageBytes;
	}
	static constexpr size_t roomBytes = 256 * 1024, pageBytes = 4096;
	/* All that is in the page that can only be read. */
	static constexpr char plainByte = 'l';

private:
	char *edge_, *readOnly_;
};

class Draw
{
public:
	/* The first @local addresses are this host's. */
	Draw(uint64_t seed, const std::vector<sockaddr_storage> &addresses, size_t local)
		: random_(seed), addresses_(addresses), local_(local)
	{
	}
	void reseed(uint64_t seed)
	{
		random_ = Random(seed);
	}

	uint64_t next()
	{
		return random_.next();
	}
	uint64_t below(uint64_t n)
	{
		return random_.below(n);
	}
	bool often(unsigned int ofTen)
	{
		return below(10) < ofTen;
	}
	template <typename T, size_t n>
	T oneOf(const T (&of)[n])
	{
		return of[below(n)];
	}

	/* One of these, each as often as its weight says. */
	template <typename T, size_t n>
	const T &weighted(const T (&of)[n])
	{
		uint64_t total = 0;

		for (const T &one : of)
			total += one.weight;

		uint64_t drawn = below(total);
		const T *one = of;

		for (; drawn >= one->weight; ++one)
			drawn -= one->weight;
		return *one;
	}

	/* Mostly room for @bytes, else badPointer(). */
	void *pointer(size_t bytes);
	/* An address that is bad in one of the known ways, whatever it is used for. */
	void *badPointer();
	size_t length();
	/*
	 * One of this host's addresses, or of all, and one of few ports, so that messages meet
	 * receivers; seldom something else.
	 */
	void *address(socklen_t &length, bool ours);
	/* A few control messages of a send at @to: bytes they take. */
	/* @whole: none that cuts the message up. */
	size_t controlMessages(char *to, size_t room, bool whole = false);
	int flags(bool sending);

	/* Ports that are drawn: others see nobody of us. */
	static constexpr uint16_t firstPort = 4000, ports = 4;

protected:
	size_t control(int type, unsigned char *to);

	Random random_;
	std::vector<sockaddr_storage> addresses_;
	size_t local_;
	Memory memory_, names_, controls_;
};

/* Does old memory of the kernel show in these bytes? Debug kernels fill theirs with patterns. */
bool isPoisoned(const void *data, size_t length);

} // namespace rdstest
