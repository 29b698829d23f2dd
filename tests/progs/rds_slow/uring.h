/* SPDX-License-Identifier: GPL-2.0 */
/* As much of io_uring as the tests need, by its system calls: a request goes in, results come out.
 */
#pragma once

#include "../lib/socket.h"

#include <linux/io_uring.h>

#include <chrono>
#include <cstdint>
#include <optional>

namespace rdstest
{

class Uring
{
public:
	Uring();
	~Uring();
	Uring(const Uring &) = delete;
	Uring &operator=(const Uring &) = delete;

	/* The caller may have to wait for its memory in here, if the request has not to be async.
	 */
	void submit(const io_uring_sqe &request);

	struct Result {
		uint64_t name; /* user_data of the request */
		long value;
	};
	std::optional<Result> next(std::chrono::milliseconds patience = std::chrono::seconds(10));

private:
	static constexpr unsigned int entries = 8;

	void *map(size_t bytes, uint64_t what);

	io_uring_params params_{};
	Fd fd_;
	size_t ringBytes_;
	char *ring_; /* both queues: every kernel that we know has one mapping for them */
	io_uring_sqe *requests_;
};

/* A request about a socket; @flags are io_uring's. */
io_uring_sqe receiveRequest(int fd, void *data, size_t length, uint64_t name, uint8_t flags = 0);
io_uring_sqe sendRequest(int fd, const msghdr *message, uint64_t name, uint8_t flags = 0);
io_uring_sqe cancelRequest(uint64_t which, uint64_t name);

} // namespace rdstest
