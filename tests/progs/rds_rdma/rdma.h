/* SPDX-License-Identifier: GPL-2.0 */
/*
 * rds_rdma: two hosts; one owns memory and obeys commands over TCP, the other one reads and writes
 * it by RDMA, and checks what comes of it.
 */
#pragma once

#include "../lib/socket.h"

#include <linux/rds.h>
#include <sys/mman.h>

#include <chrono>
#include <deque>
#include <functional>
#include <new>
#include <optional>
#include <string>
#include <vector>

namespace rdstest
{

class Tap;

struct RdmaOptions {
	Address self, peer;
	uint16_t controlPort = 4400;
	uint16_t port = 4401;
	std::chrono::seconds timeout{120};
	bool selfIsOurs = true, peerIsOurs = true;
	bool atomics = true;
	/* check */
	bool regions = true;	    /* the owner's adapter has some */
	bool copies = false;	    /* there are bounce buffers between it and the memory */
	bool gapless = false;	    /* only of pages that lie side by side */
	bool idle = false;	    /* each begins when the connection has gone */
	unsigned int pieces = 1000; /* of an operation, at most */
	/* storm */
	unsigned int depth = 8;
	unsigned int freeEvery = 0;
	uint32_t largest = 64 << 10;
};

constexpr size_t mebibyte = 1 << 20;
/* In a storm: this message's cookie is to be freed. */
constexpr uint64_t freeing = 1ull << 63;

/* Pages of our own. */
class Memory
{
public:
	explicit Memory(size_t length) : length_(length)
	{
		base_ = mmap(nullptr, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			     -1, 0);
		if (base_ == MAP_FAILED)
			throw std::bad_alloc();
	}
	Memory(const Memory &) = delete;
	Memory &operator=(const Memory &) = delete;
	~Memory()
	{
		munmap(base_, length_);
	}
	char *at(size_t offset) const
	{
		return static_cast<char *>(base_) + offset;
	}
	uint64_t address(size_t offset) const
	{
		return reinterpret_cast<uint64_t>(at(offset));
	}

private:
	void *base_;
	size_t length_;
};

/* An RDMA operation as RDS_CMSG_RDMA_ARGS has it. */
struct Op {
	bool write = true;
	uint64_t cookie = 0;
	uint64_t at = 0;	      /* in the peer's region */
	std::vector<rds_iovec> local; /* our pieces */
	uint64_t flags = RDS_RDMA_NOTIFY_ME;
	uint64_t bytes = 0; /* of the peer's; 0: as many as ours */
};

long sendOp(int fd, const Address &to, const Op &op, uint64_t token, const std::string &text);

/* The outcome of an operation. */
struct Status {
	uint64_t token = 0;
	int32_t status = 0;
};
/* The notifications of operations to a socket; the kernel brings several at a time. */
class Notices
{
public:
	explicit Notices(int fd) : fd_(fd)
	{
	}
	/* The next one, waited for; nullopt when none comes. A message in between is an error. */
	std::optional<Status> next(std::chrono::milliseconds timeout);
	/* None is there, and no message. */
	void none();

private:
	int fd_;
	std::deque<Status> told_;
};

/* RDS_GET_MR: 0 or -errno. */
long getMr(int fd, uint64_t address, uint64_t length, uint64_t flags, uint64_t *cookie);
long freeMr(int fd, uint64_t cookie, uint64_t flags);

/* The other end of the control connection. */
class Owner
{
public:
	/* @fd is where the owner's messages come to. */
	Owner(const RdmaOptions &options, int fd);

	/* The answer behind "ok ", or an exception. */
	std::string ask(const std::string &command);
	std::vector<int64_t> numbers(const std::string &command);
	uint64_t map(size_t at, size_t length, uint64_t flags = RDS_RDMA_READWRITE);
	/* The same by a message of the owner's. */
	uint64_t offer(size_t at, size_t length, uint64_t flags);

private:
	const RdmaOptions &options_;
	int fd_;
	Fd control_;
};

/* A host that works on the owner's memory. */
class User
{
public:
	explicit User(const RdmaOptions &options);

protected:
	/* A message of the next seed, which the owner has to get. */
	void message();
	/* An atomic addition, of the next token. */
	long addTo(uint64_t cookie, uint64_t at);

	const RdmaOptions &options_;
	Fd fd_;
	Notices notices_;
	Owner owner_;
	Address to_;
	Memory memory_;
	uint64_t token_ = 1000, message_ = 1;
};

/* One row of what is told: @body throws if it is not so. */
void playRow(Tap &tap, const std::string &name, const std::function<void()> &body);

int runRdmaOwner(const RdmaOptions &options);
int runRdmaChecks(const RdmaOptions &options);
int runRdmaErrors(const RdmaOptions &options);
int runRdmaAlone(const RdmaOptions &options);
int runRdmaStorm(const RdmaOptions &options);

} // namespace rdstest
