/* SPDX-License-Identifier: GPL-2.0 */
/* A reliable connection's queue pair, its buffers and what arrived in them. */
#pragma once

#include "../../progs/lib/wire.h"

#include <rdma/rdma_cma.h>

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace rdstest
{

constexpr size_t kFrame = 4096; /* payload bytes of a full frame */

/* A frame that came in one send of the host's. */
struct Frame {
	std::string bytes; /* all of it */
	Header header;
	std::string payload;
	bool intact = false; /* as long as a header at least, and its checksum is right */
};

/* A header with the right checksum, and a payload. */
std::string frame(Header header, const std::string &payload = "");

/* A whole message in as many frames as it takes; its length comes into the header. */
std::vector<std::string> message(Header header, const std::string &payload);

struct Rings {
	unsigned receive = 128; /* buffers posted before the host may send */
	bool again = true;	/* and each again when something has come into it */
};

class QueuePair
{
public:
	/* For an id with a device; afterwards it is ready to connect. */
	QueuePair(rdma_cm_id *id, const Rings &rings);
	~QueuePair();
	QueuePair(const QueuePair &) = delete;
	QueuePair &operator=(const QueuePair &) = delete;

	/* Readable when poll() may have something to do. */
	int fd() const;

	/* Takes what the adapter has completed. */
	void poll();

	/* Posts a send; false when there is no free slot or the queue pair is in error. */
	bool post(const std::string &bytes);

	/* Reads or writes 64 bytes of the host's memory, or tries to. */
	void access(uint64_t address, uint32_t rkey, bool read);

	/* Writes so many bytes there, and says so: immediate data, which takes a buffer of the
	 * host's and puts nothing into it. */
	void writeAndTell(uint64_t address, uint32_t rkey, size_t length);

	/* Posts so many receive buffers (more). */
	void buffers(unsigned count);

	unsigned sending() const
	{
		return sending_;
	}

	std::deque<Frame> arrived;
	std::optional<ibv_wc_status> error; /* the first that was not a success */

private:
	struct Undo {
		void operator()(ibv_pd *pd) const
		{
			ibv_dealloc_pd(pd);
		}
		void operator()(ibv_comp_channel *channel) const
		{
			ibv_destroy_comp_channel(channel);
		}
		void operator()(ibv_cq *cq) const
		{
			ibv_destroy_cq(cq);
		}
		void operator()(ibv_mr *mr) const
		{
			ibv_dereg_mr(mr);
		}
		void operator()(rdma_cm_id *id) const
		{
			rdma_destroy_qp(id);
		}
	};
	template <class T>
	using Owned = std::unique_ptr<T, Undo>;

	ibv_sge slot(unsigned number, size_t length);
	void completed(const ibv_wc &wc);

	Rings rings_;
	std::vector<char> memory_;
	unsigned posted_ = 0, offered_ = 0, sending_ = 0;
	/* In the order in which they are made. */
	Owned<ibv_pd> pd_;
	Owned<ibv_mr> mr_;
	Owned<ibv_comp_channel> channel_;
	Owned<ibv_cq> cq_;
	Owned<rdma_cm_id> qp_; /* the id that has it */
};

} // namespace rdstest
