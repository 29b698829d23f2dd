/* SPDX-License-Identifier: GPL-2.0 */
/*
 * File descriptors and RDS sockets that close themselves.
 *
 * Every RDS call here is non-blocking and uses no flag but MSG_DONTWAIT: mainline refuses
 * MSG_NOSIGNAL and its like, and these tools must run on mainline too.
 */
#ifndef RDSTOOLS_SOCKET_H
#define RDSTOOLS_SOCKET_H

#include <sys/types.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "address.h"

struct cmsghdr;

namespace rdstools
{

class UniqueFd
{
public:
	UniqueFd() = default;
	explicit UniqueFd(int fd) : fd_(fd)
	{
	}
	UniqueFd(UniqueFd &&other) noexcept : fd_(std::exchange(other.fd_, -1))
	{
	}
	UniqueFd &operator=(UniqueFd &&other) noexcept
	{
		if (this != &other) {
			reset();
			fd_ = std::exchange(other.fd_, -1);
		}
		return *this;
	}
	~UniqueFd()
	{
		reset();
	}
	void reset()
	{
		if (fd_ >= 0)
			::close(fd_);
		fd_ = -1;
	}
	int get() const
	{
		return fd_;
	}
	explicit operator bool() const
	{
		return fd_ >= 0;
	}

private:
	int fd_ = -1;
};

/* getsockname() / getpeername(); unspecified when there is none. */
Address local_address(int fd);
Address peer_address(int fd);

/* How an RDMA operation ended. */
struct Notice {
	std::uint64_t token = 0;
	std::int32_t status = 0; /* RDS_RDMA_* */
};

/* A control message of level SOL_RDS that goes with a message; no data: none. */
struct SendControl {
	int type = 0;
	std::span<const std::byte> data;
};

/* The result of one recvmsg(). One of error, a congestion update, notices or a message. */
struct Received {
	int error = 0; /* errno; EAGAIN when nothing waits */
	std::size_t size = 0;
	std::span<const std::byte> data; /* the message, in the buffer that was given */
	bool truncated = false;
	Address from;
	bool congestion_update = false;
	std::uint64_t congestion_mask = 0; /* bit (port % 64): that port may be tried again */
	std::array<Notice, 8> notices;
	unsigned notice_count = 0;
	std::uint64_t cookie = 0; /* came with the message: memory of its sender; 0: none */
};

class RdsSocket
{
public:
	/* Throws Error, in plain words when the module is missing. */
	RdsSocket();

	int fd() const
	{
		return fd_.get();
	}
	/* The inode rds-info lists this socket under. */
	std::uint64_t inode() const;

	/* Port 0 lets the kernel choose; returns the address with the port taken. */
	Address bind(const Address &local);
	/* 0 is every socket's own and needs no call. */
	void set_tos(std::uint8_t tos);
	/* RDS_TRANS_*; 3 is loopback. */
	int transport() const;

	/*
	 * Asks for a buffer of this many payload bytes; beyond net.core.[rw]mem_max only root
	 * gets it. Returns what the kernel will really queue (half of what it reports).
	 */
	std::size_t set_send_buffer(std::size_t bytes);
	std::size_t set_receive_buffer(std::size_t bytes);
	/* Congestion updates as control messages instead of spurious wakeups. */
	void set_congestion_monitor(bool on);
	/* Notices of RDMA operations that fail, also if they did not ask for one. */
	void set_recverr(bool on);
	/* Throws Error if there is no RDMA on the bound address. */
	void need_rdma();
	/* RDS_FREE_MR; 0 or the errno. */
	int free_mr(std::uint64_t cookie);

	/* 0 when queued, else the errno: EAGAIN (queue full) and ENOBUFS (dest congested). */
	int send(std::span<const std::byte> data, const Address &dest,
		 const SendControl &with = {});
	/* Messages of @each bytes, the bytes of @data, in one call, after set_recv_batch() has
	 * shown that there are such calls: how many were queued, and why the next was not (0: all
	 * are). */
	struct Queued {
		std::size_t count;
		int error;
	};
	Queued send_many(std::span<const std::byte> data, std::size_t each, const Address &dest,
			 const SendControl &with = {});
	/* The next message. Of a batch the kernel is asked for once: the others lie in the same
	 * buffer, which has to be given each time. */
	Received receive(std::span<std::byte> buffer);
	/* The most messages that one call of the kernel's returns, 1 to 1024. Throws Error where
	 * it returns one always. */
	void set_recv_batch(unsigned most);
	/* Ends the connections from @local to @remote of this type of service, or to all if
	 * @remote is unspecified.  Throws Error. */
	void reset_connections(const Address &local, const Address &remote, std::uint8_t tos);
	/* Forgets what is queued or unacknowledged to dest. */
	void cancel_sent_to(const Address &dest);

private:
	std::size_t set_buffer(int force, int plain, std::size_t bytes);
	Received next_of_batch(std::span<std::byte> buffer);
	void begin_batch(const cmsghdr *lengths, const Received &got);

	UniqueFd fd_;
	std::vector<char> control_; /* room for what is told of received messages */
	/* A batch: one of its messages as it was received, and the lengths of all; they are handed
	 * out from batch_next_ on, which begins at batch_at_ in the buffer. */
	Received batch_;
	std::vector<std::uint32_t> batch_lengths_;
	std::size_t batch_next_ = 0, batch_at_ = 0;
};

} // namespace rdstools

#endif
