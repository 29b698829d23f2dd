/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Memory between the parent and its tasks. The parent sets the phase; each task writes its own
 * counters and nobody else's, so relaxed atomics without read-modify-write are enough.
 */
#ifndef RDSTOOLS_STRESS_SHARED_H
#define RDSTOOLS_STRESS_SHARED_H

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "../lib/stats.h"

namespace rdstools
{

enum class Phase : int {
	wait, /* not yet started */
	run,
	drain, /* no new requests; answer and collect what is under way */
	stop,
};

class Counter
{
public:
	void add(std::uint64_t more)
	{
		value_.store(value_.load(std::memory_order_relaxed) + more,
			     std::memory_order_relaxed);
	}
	void set(std::uint64_t value)
	{
		value_.store(value, std::memory_order_relaxed);
	}
	operator std::uint64_t() const
	{
		return value_.load(std::memory_order_relaxed);
	}

private:
	std::atomic<std::uint64_t> value_ = 0;
};

struct TaskState {
	Counter sent; /* messages: requests and acks */
	Counter received;
	Counter sent_bytes;
	Counter received_bytes;
	Counter send_calls; /* sendmsg() calls, failed ones too */
	Counter send_ns;
	Counter rtts;
	Counter rtt_ns;
	Counter queue_full;   /* EAGAIN */
	Counter congested;    /* ENOBUFS */
	Counter updates;      /* congestion updates received as control messages */
	Counter late_wakeups; /* congestion had ended, but only our own timer noticed */
	Counter stale;	      /* messages of an earlier test, dropped */
	Counter operations;   /* RDMA operations of this task that the kernel took */
	Counter notices_due;  /* those of them that asked for a notice */
	Counter notices;      /* that came */
	/* Bytes that operations of either side brought into our memory, and took from it. */
	Counter rdma_in_bytes;
	Counter rdma_out_bytes;
	Counter outstanding;
	Counter draining; /* 1: has seen Phase::drain, so no new requests come from it */
	/* The round trip times; the parent reads them only when the task has ended. */
	Histogram rtt;
	/* Set before the task ends with a status other than 0. */
	char error[512] = {};
};

/* Per pair of tasks: requests sent to, and received from, each task of the peer. */
struct PairState {
	Counter sent;
	Counter received;
};

class SharedMemory
{
public:
	explicit SharedMemory(unsigned tasks);
	~SharedMemory();
	SharedMemory(const SharedMemory &) = delete;
	SharedMemory &operator=(const SharedMemory &) = delete;

	unsigned tasks() const
	{
		return tasks_;
	}
	std::atomic<Phase> &phase()
	{
		return *phase_;
	}
	TaskState &task(unsigned index)
	{
		return states_[index];
	}
	PairState &pair(unsigned task, unsigned peer)
	{
		return pairs_[std::size_t{task} * tasks_ + peer];
	}

private:
	unsigned tasks_;
	std::size_t size_;
	void *memory_;
	std::atomic<Phase> *phase_;
	TaskState *states_;
	PairState *pairs_;
};

} // namespace rdstools

#endif
