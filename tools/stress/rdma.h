/* SPDX-License-Identifier: GPL-2.0 */
/*
 * RDMA of a task. A request carries the cookie of a piece of the sender's memory; the ack to it
 * carries an operation of the receiver on that piece: odd numbers write, even ones read.
 *
 * When memory may be used again follows from the order of things, so nothing is said about it:
 *
 *	An ack n is sent when operation n - depth is known to be complete: by its notice or,
 *	without notices, because request n came, which was sent after ack n - depth.
 *	Request n is sent after ack n - depth, and that proves operation n - 2 * depth. So there
 *	are two pieces to be offered for each request under way.
 *
 * An ack proves its operation if it is fenced, and any write. A read that is neither fenced nor
 * noticed is not known to be complete ever: then all operations are writes.
 *
 * With -v pieces are filled with what must not be left in them before they are written to or read
 * into, so that every byte is seen to have changed.
 */
#ifndef RDSTOOLS_STRESS_RDMA_H
#define RDSTOOLS_STRESS_RDMA_H

#include <linux/rds.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "message.h"
#include "plan.h"
#include "shared.h"

namespace rdstools
{

/* Whether operation @sequence writes into the requester's memory; else it reads from it. */
bool rdma_writes(const RdmaPlan &plan, std::uint64_t sequence);

/* Pieces of one size that all begin alignment bytes behind the beginning of a page. */
class PageArena
{
public:
	/* Throws Error without memory. */
	PageArena(std::size_t pieces, std::size_t bytes, std::size_t alignment);
	~PageArena();
	PageArena(const PageArena &) = delete;
	PageArena &operator=(const PageArena &) = delete;

	std::span<std::byte> piece(std::size_t index) const;
	/* The bytes of address space that a piece takes. */
	static std::size_t stride(std::size_t bytes, std::size_t alignment);

private:
	std::size_t bytes_;
	std::size_t alignment_;
	std::size_t stride_;
	std::size_t size_;
	std::byte *memory_;
};

/* Everything is told by the worker; "peer" is the index of the other side's task. */
class RdmaTask
{
public:
	RdmaTask(const Plan &plan, std::uint16_t local_port, std::uint16_t first_peer_port,
		 TaskState &state);

	/* -- sending -- */
	/* False: an earlier operation still uses the memory that this ack's would. */
	bool may_answer(unsigned peer, std::uint64_t sequence) const;
	/* Goes with the message, good until the next call; its memory is ready. */
	SendControl before(const Message &message, unsigned peer);
	/* The kernel did not take it: before() comes again. */
	void refused(const Message &message);
	void accepted(const Message &message, unsigned peer);

	/* -- receiving: what is wrong in words, or empty -- */
	std::string take_request(const Message &message, unsigned peer, std::uint64_t cookie);
	std::string take_ack(const Message &message, unsigned peer);
	/* Sets peer if the notice belongs to one. */
	std::string take_notice(const Notice &notice, unsigned &peer);
	/* The region that this ack proves to be done with and that nobody else frees; 0: none. */
	std::uint64_t take_to_free(unsigned peer, std::uint64_t sequence);

private:
	/* Of the operation in a piece of our own. */
	struct Operation {
		std::uint64_t cookie = 0;    /* what it works on, from the request */
		std::uint64_t under_way = 0; /* number, if a notice is to come; else 0 */
	};

	std::span<std::byte> offered(unsigned peer, std::uint64_t sequence) const;
	std::span<std::byte> own(unsigned peer, std::uint64_t sequence) const;
	std::uint64_t &cookie_of(unsigned peer, std::uint64_t sequence);
	Operation &operation(unsigned peer, std::uint64_t sequence);
	const Operation &operation(unsigned peer, std::uint64_t sequence) const;
	Message written(unsigned from, unsigned to, std::uint64_t sequence) const;
	Message read(unsigned from, unsigned to, std::uint64_t sequence) const;
	SendControl offer(const Message &message, unsigned peer);
	SendControl operate(const Message &message, unsigned peer);
	std::string check(const Message &content, std::span<const std::byte> piece,
			  const char *what) const;
	std::string check_read(unsigned peer, std::uint64_t sequence) const;

	const RdmaPlan plan_;
	const unsigned depth_;
	const bool verify_;
	const std::uint16_t local_;
	const std::uint16_t first_peer_;
	TaskState &state_;
	Pattern pattern_;
	PageArena arena_;		     /* for each peer: 2 * depth offered, depth own */
	std::vector<std::uint64_t> cookies_; /* of what is offered; the kernel writes them */
	std::vector<Operation> operations_;
	rds_get_mr_args map_ = {};
	rds_rdma_args args_ = {};
	rds_iovec local_vec_ = {};
};

} // namespace rdstools

#endif
