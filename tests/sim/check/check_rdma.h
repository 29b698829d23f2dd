/* SPDX-License-Identifier: GPL-2.0 */
/*
 * check_rdma.h: what programs may believe of their operations on others' memory.
 *
 *  - Who asked for a notification gets it, once, and nobody else any.
 *  - Where the operation succeeded, its data is there when the program is told.
 *  - A message is behind its operation: who receives it finds written what was to be written, and a
 *    fenced read has been read.
 *  - One without the other does not happen: the message of an operation that succeeded arrives, and
 *    that of one which the peer's memory refused does not.  A dropped operation may have been done,
 * and its message may have arrived.
 *
 * An operation is known by the token that it is given here.
 */
#ifndef RDS_TESTS_CHECK_RDMA_H
#define RDS_TESTS_CHECK_RDMA_H

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace check
{

/* RDS_RDMA_*. */
enum RdmaStatus { kSuccess, kRemoteError, kCanceled, kDropped, kOtherError, kStatuses };

class Rdma final
{
public:
	struct Op {
		uint32_t owner = 0;	   /* the socket that sends it */
		uint32_t from = 0, to = 0; /* what excuses name: slots, flows */
		bool always = false;	   /* it is told how it ended, ... */
		bool failures = false;	   /* ... or at least of failure */
		bool alone = false;	   /* no message goes with it */
		/* Its data is where it should be when its message arrives. */
		bool first = false;
		std::function<bool()> there; /* is its data where it should be? */
	};

	/* About to be sent: its token; and: it was refused. */
	uint64_t sends(Op op);
	void refused(uint64_t token);
	/* @owner read a notification. */
	void told(uint32_t owner, uint64_t token, int status);
	/* Its message arrived. */
	void delivered(uint64_t token);

	/* Messages sent until now need not arrive: they were taken back, or nobody is there. */
	void excuse_from(uint32_t from);
	void excuse_to(uint32_t to);
	void excuse_pair(uint32_t from, uint32_t to);
	/* @owner is closed: it reads nothing any more. */
	void closed(uint32_t owner);

	/* Has everybody been told? */
	bool complete() const;
	/* At rest: what has not come will not come. */
	void rest();
	uint64_t count(int status) const
	{
		return counts_[status];
	}
	uint64_t sent() const
	{
		return ops_.size() - refused_;
	}
	const std::string &complaint() const
	{
		return complaint_;
	}

private:
	struct State {
		Op op;
		bool there_was = false; /* looked at before */
		bool out = true;	/* sent, not refused */
		bool told = false, delivered = false, excused = false, closed = false;
		int status = -1;
	};
	State *find(uint64_t token);
	void complain(uint64_t token, const char *what);
	void look(State &s, uint64_t token, const char *what);
	template <typename F>
	void excuse(F matches);

	std::vector<State> ops_;
	uint64_t counts_[kStatuses] = {}, refused_ = 0;
	std::string complaint_;
};

} // namespace check
#endif
