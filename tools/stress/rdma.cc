// SPDX-License-Identifier: GPL-2.0
#include "rdma.h"

#include <sys/mman.h>

#include <cerrno>
#include <cstring>

#include "../lib/error.h"
#include "../lib/text.h"

namespace rdstools
{

namespace
{

constexpr std::size_t page = 4096;
/* Tokens: the peer's index above the operation's number. */
constexpr unsigned peer_shift = 48;
constexpr std::uint64_t sequence_mask = (std::uint64_t{1} << peer_shift) - 1;

template <typename Struct>
SendControl control(int type, const Struct &payload)
{
	return {type, std::as_bytes(std::span(&payload, 1))};
}

std::uint64_t pointer(const void *at)
{
	return reinterpret_cast<std::uintptr_t>(at);
}

const char *status_text(std::int32_t status)
{
	switch (status) {
	case RDS_RDMA_SUCCESS:
		return "success";
	case RDS_RDMA_REMOTE_ERROR:
		return "remote error";
	case RDS_RDMA_CANCELED:
		return "cancelled";
	case RDS_RDMA_DROPPED:
		return "dropped";
	case RDS_RDMA_OTHER_ERROR:
		return "other error";
	}
	return "unknown";
}

} // namespace

bool rdma_writes(const RdmaPlan &plan, std::uint64_t sequence)
{
	return sequence % 2 == 1 || (!plan.use_fence && !plan.use_notify);
}

std::size_t PageArena::stride(std::size_t bytes, std::size_t alignment)
{
	return (alignment + bytes + page - 1) / page * page;
}

PageArena::PageArena(std::size_t pieces, std::size_t bytes, std::size_t alignment)
	: bytes_(bytes), alignment_(alignment), stride_(stride(bytes, alignment)),
	  size_(pieces * stride_)
{
	void *memory =
		mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		throw Error(
			format("no memory for RDMA, %zu bytes: %s", size_, std::strerror(errno)));
	memory_ = static_cast<std::byte *>(memory);
}

PageArena::~PageArena()
{
	munmap(memory_, size_);
}

std::span<std::byte> PageArena::piece(std::size_t index) const
{
	return {memory_ + index * stride_ + alignment_, bytes_};
}

RdmaTask::RdmaTask(const Plan &plan, std::uint16_t local_port, std::uint16_t first_peer_port,
		   TaskState &state)
	: plan_(plan.rdma), depth_(plan.depth), verify_(plan.verify), local_(local_port),
	  first_peer_(first_peer_port), state_(state), pattern_(plan.verify ? plan.rdma.bytes : 0),
	  arena_(std::size_t{plan.tasks} * 3 * plan.depth, plan.rdma.bytes, plan.rdma.alignment),
	  cookies_(std::size_t{plan.tasks} * 2 * plan.depth),
	  operations_(std::size_t{plan.tasks} * plan.depth)
{
}

std::span<std::byte> RdmaTask::offered(unsigned peer, std::uint64_t sequence) const
{
	return arena_.piece(std::size_t{peer} * 3 * depth_ + sequence % (2 * depth_));
}

std::span<std::byte> RdmaTask::own(unsigned peer, std::uint64_t sequence) const
{
	return arena_.piece((std::size_t{peer} * 3 + 2) * depth_ + sequence % depth_);
}

std::uint64_t &RdmaTask::cookie_of(unsigned peer, std::uint64_t sequence)
{
	return cookies_[std::size_t{peer} * 2 * depth_ + sequence % (2 * depth_)];
}

RdmaTask::Operation &RdmaTask::operation(unsigned peer, std::uint64_t sequence)
{
	return operations_[std::size_t{peer} * depth_ + sequence % depth_];
}

const RdmaTask::Operation &RdmaTask::operation(unsigned peer, std::uint64_t sequence) const
{
	return operations_[std::size_t{peer} * depth_ + sequence % depth_];
}

/* The seed of a piece's pattern: who filled it, for whom, in which operation. */
Message RdmaTask::written(unsigned from, unsigned to, std::uint64_t sequence) const
{
	Message content;

	content.op = Op::written;
	content.sequence = sequence;
	content.source_port = static_cast<std::uint16_t>(from);
	content.dest_port = static_cast<std::uint16_t>(to);
	return content;
}

Message RdmaTask::read(unsigned from, unsigned to, std::uint64_t sequence) const
{
	Message content = written(from, to, sequence);

	content.op = Op::read;
	return content;
}

bool RdmaTask::may_answer(unsigned peer, std::uint64_t sequence) const
{
	return !operation(peer, sequence).under_way;
}

SendControl RdmaTask::before(const Message &message, unsigned peer)
{
	return message.op == Op::request ? offer(message, peer) : operate(message, peer);
}

SendControl RdmaTask::offer(const Message &message, unsigned peer)
{
	std::uint64_t sequence = message.sequence;
	std::span<std::byte> piece = offered(peer, sequence);
	bool writes = rdma_writes(plan_, sequence);
	unsigned port = first_peer_ + peer;

	if (verify_ && writes)
		pattern_.fill_memory(written(port, local_, sequence), piece, true);
	else if (verify_)
		pattern_.fill_memory(read(local_, port, sequence), piece, false);
	map_.vec = {pointer(piece.data()), piece.size()};
	map_.cookie_addr = pointer(&cookie_of(peer, sequence));
	map_.flags = RDS_RDMA_READWRITE;
	/* An ack does not prove a read that is not fenced: its region must outlive it. */
	if (plan_.use_once && (writes || plan_.use_fence))
		map_.flags |= RDS_RDMA_USE_ONCE;
	return control(RDS_CMSG_RDMA_MAP, map_);
}

SendControl RdmaTask::operate(const Message &message, unsigned peer)
{
	std::uint64_t sequence = message.sequence;
	std::span<std::byte> piece = own(peer, sequence);
	bool writes = rdma_writes(plan_, sequence);
	unsigned port = first_peer_ + peer;

	if (verify_ && writes)
		pattern_.fill_memory(written(local_, port, sequence), piece, false);
	else if (verify_)
		pattern_.fill_memory(read(port, local_, sequence), piece, true);
	local_vec_ = {pointer(piece.data()), piece.size()};
	args_.cookie = operation(peer, sequence).cookie;
	args_.remote_vec = {0, piece.size()};
	args_.local_vec_addr = pointer(&local_vec_);
	args_.nr_local = 1;
	args_.flags = (writes ? RDS_RDMA_READWRITE : 0) | (plan_.use_fence ? RDS_RDMA_FENCE : 0) |
		      (plan_.use_notify ? RDS_RDMA_NOTIFY_ME : 0);
	args_.user_token = std::uint64_t{peer} << peer_shift | sequence;
	/* Before it is sent, so that whoever counts never sees more notices than operations. */
	if (plan_.use_notify)
		state_.notices_due.add(1);
	return control(RDS_CMSG_RDMA_ARGS, args_);
}

void RdmaTask::refused(const Message &message)
{
	if (message.op == Op::ack && plan_.use_notify)
		state_.notices_due.set(state_.notices_due - 1);
}

void RdmaTask::accepted(const Message &message, unsigned peer)
{
	if (message.op == Op::request)
		return;
	if (plan_.use_notify)
		operation(peer, message.sequence).under_way = message.sequence;
	state_.operations.add(1);
	(rdma_writes(plan_, message.sequence) ? state_.rdma_out_bytes : state_.rdma_in_bytes)
		.add(plan_.bytes);
}

std::string RdmaTask::check(const Message &content, std::span<const std::byte> piece,
			    const char *what) const
{
	if (!verify_)
		return {};

	auto at = pattern_.first_difference_in_memory(content, piece);

	if (!at)
		return {};
	return format("what operation %llu %s differs from byte %zu on",
		      static_cast<unsigned long long>(content.sequence), what, *at);
}

std::string RdmaTask::check_read(unsigned peer, std::uint64_t sequence) const
{
	if (rdma_writes(plan_, sequence))
		return {};
	return check(read(first_peer_ + peer, local_, sequence), own(peer, sequence), "read");
}

std::string RdmaTask::take_request(const Message &message, unsigned peer, std::uint64_t cookie)
{
	Operation &op = operation(peer, message.sequence);

	if (!cookie)
		return format("request %llu came without the cookie of its memory",
			      static_cast<unsigned long long>(message.sequence));
	op.cookie = cookie;
	if (plan_.use_notify || message.sequence <= depth_)
		return {};
	return check_read(peer, message.sequence - depth_);
}

std::string RdmaTask::take_ack(const Message &message, unsigned peer)
{
	std::uint64_t sequence = message.sequence;

	if (!rdma_writes(plan_, sequence)) {
		state_.rdma_out_bytes.add(plan_.bytes);
		return {};
	}
	state_.rdma_in_bytes.add(plan_.bytes);
	return check(written(first_peer_ + peer, local_, sequence), offered(peer, sequence),
		     "wrote");
}

std::string RdmaTask::take_notice(const Notice &notice, unsigned &peer)
{
	std::uint64_t sequence = notice.token & sequence_mask;
	std::size_t who = notice.token >> peer_shift;
	unsigned long long number = sequence;

	if (who >= operations_.size() / depth_)
		return format("a notice of an operation that never was, token %llx",
			      static_cast<unsigned long long>(notice.token));
	peer = static_cast<unsigned>(who);
	if (notice.status != RDS_RDMA_SUCCESS)
		return format("operation %llu (%s of %llu bytes) ended with status %d, %s", number,
			      rdma_writes(plan_, sequence) ? "write" : "read",
			      static_cast<unsigned long long>(plan_.bytes), notice.status,
			      status_text(notice.status));

	Operation &op = operation(peer, sequence);

	if (!sequence || op.under_way != sequence)
		return format("a notice of operation %llu, which is not under way", number);
	op.under_way = 0;
	state_.notices.add(1);
	return check_read(peer, sequence);
}

std::uint64_t RdmaTask::take_to_free(unsigned peer, std::uint64_t sequence)
{
	if (!plan_.use_fence) {
		if (sequence <= depth_)
			return 0;
		sequence -= depth_;
	}
	if (plan_.use_once && (rdma_writes(plan_, sequence) || plan_.use_fence))
		return 0;
	return cookie_of(peer, sequence);
}

} // namespace rdstools
