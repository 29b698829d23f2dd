/* SPDX-License-Identifier: GPL-2.0 */
/*
 * check_fair.h: flows that all have something to send all get on.
 *
 * How far a flow is behind is told by how many messages of others came between two of its own.
 */
#ifndef RDS_TESTS_CHECK_FAIR_H
#define RDS_TESTS_CHECK_FAIR_H

#include <cstdint>
#include <map>

namespace check
{

class Fair final
{
public:
	/* A message of @flow came.  The last of a flow ends its race. */
	void received(uint32_t flow, bool last)
	{
		uint64_t &before = came_.try_emplace(flow, n_).first->second;

		n_++;
		if (n_ - before > worst_) {
			worst_ = n_ - before;
			who_ = flow;
		}
		before = n_;
		if (last)
			came_.erase(flow);
	}
	/* The longest gap, in messages, and whose it was. */
	uint64_t worst() const
	{
		return worst_;
	}
	uint32_t who() const
	{
		return who_;
	}

private:
	std::map<uint32_t, uint64_t> came_; /* serial of the last one, by flow */
	uint64_t n_ = 0, worst_ = 0;
	uint32_t who_ = 0;
};

} // namespace check
#endif
