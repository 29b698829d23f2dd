// SPDX-License-Identifier: GPL-2.0
#include "uring.h"

#include "../lib/check.h"

#include <poll.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

namespace rdstest
{

namespace
{

uint32_t *at(char *ring, uint32_t offset)
{
	return reinterpret_cast<uint32_t *>(ring + offset);
}

} // namespace

Uring::Uring() : fd_(syscall(SYS_io_uring_setup, entries, &params_))
{
	if (fd_ < 0)
		throw std::system_error(errno, std::generic_category(), "io_uring_setup");
	want(params_.features & IORING_FEAT_SINGLE_MMAP, "io_uring has two mappings");
	ringBytes_ =
		std::max<size_t>(params_.sq_off.array + params_.sq_entries * sizeof(uint32_t),
				 params_.cq_off.cqes + params_.cq_entries * sizeof(io_uring_cqe));
	ring_ = static_cast<char *>(map(ringBytes_, IORING_OFF_SQ_RING));
	requests_ = static_cast<io_uring_sqe *>(
		map(params_.sq_entries * sizeof(io_uring_sqe), IORING_OFF_SQES));
}

Uring::~Uring()
{
	munmap(requests_, params_.sq_entries * sizeof(io_uring_sqe));
	munmap(ring_, ringBytes_);
}

void *Uring::map(size_t bytes, uint64_t what)
{
	void *const found = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE,
				 fd_, static_cast<off_t>(what));

	if (found == MAP_FAILED)
		throw std::system_error(errno, std::generic_category(), "mmap of io_uring");
	return found;
}

void Uring::submit(const io_uring_sqe &request)
{
	uint32_t *const tail = at(ring_, params_.sq_off.tail);
	const uint32_t mask = *at(ring_, params_.sq_off.ring_mask), slot = *tail & mask;

	requests_[slot] = request;
	at(ring_, params_.sq_off.array)[slot] = slot;
	__atomic_store_n(tail, *tail + 1, __ATOMIC_RELEASE);
	same(sys(syscall(SYS_io_uring_enter, int(fd_), 1, 0, 0, nullptr, 0)), 1, "io_uring_enter");
}

std::optional<Uring::Result> Uring::next(std::chrono::milliseconds patience)
{
	uint32_t *const head = at(ring_, params_.cq_off.head);
	const uint32_t mask = *at(ring_, params_.cq_off.ring_mask);

	if (!waitFor(fd_, POLLIN, patience) ||
	    *head == __atomic_load_n(at(ring_, params_.cq_off.tail), __ATOMIC_ACQUIRE))
		return std::nullopt;
	const io_uring_cqe *found =
		reinterpret_cast<io_uring_cqe *>(ring_ + params_.cq_off.cqes) + (*head & mask);
	const Result result = {found->user_data, found->res};
	__atomic_store_n(head, *head + 1, __ATOMIC_RELEASE);
	return result;
}

io_uring_sqe receiveRequest(int fd, void *data, size_t length, uint64_t name, uint8_t flags)
{
	io_uring_sqe request{};

	request.opcode = IORING_OP_RECV;
	request.fd = fd;
	request.addr = reinterpret_cast<uintptr_t>(data);
	request.len = length;
	request.user_data = name;
	request.flags = flags;
	return request;
}

io_uring_sqe sendRequest(int fd, const msghdr *message, uint64_t name, uint8_t flags)
{
	io_uring_sqe request{};

	request.opcode = IORING_OP_SENDMSG;
	request.fd = fd;
	request.addr = reinterpret_cast<uintptr_t>(message);
	request.len = 1;
	request.user_data = name;
	request.flags = flags;
	return request;
}

io_uring_sqe cancelRequest(uint64_t which, uint64_t name)
{
	io_uring_sqe request{};

	request.opcode = IORING_OP_ASYNC_CANCEL;
	request.fd = -1;
	request.addr = which;
	request.user_data = name;
	return request;
}

} // namespace rdstest
