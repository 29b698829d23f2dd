/* SPDX-License-Identifier: GPL-2.0 */
/*
 * check_empty.h: messages without bytes arrive, once, and between the messages that they were sent
 * between.
 *
 * They carry no name, so they are counted between those that do: when a numbered message of a flow
 * arrives, the empty ones that were sent since the numbered one that arrived before must have come,
 * all but the excused ones, and no more than these.  No hint lets an empty message be overtaken or
 * overtake.  Flows between the same two slots (their sockets came one after the other) cannot be
 * told apart by an empty message; what an earlier socket left may still come.
 */
#ifndef RDS_TESTS_CHECK_EMPTY_H
#define RDS_TESTS_CHECK_EMPTY_H

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace check
{

class Empties final
{
public:
	/* @flow's next numbered message is @number; its empty ones arrive as those of @pair. */
	void sent(uint32_t pair, uint32_t flow, uint32_t number);
	void not_sent(uint32_t flow);
	/* One came to @pair. */
	void received(uint32_t pair);
	/* @number of @flow came. */
	void passed(uint32_t flow, uint32_t number);
	/* Those of @flow that were sent until now may be missing. */
	void excuse(uint32_t flow);
	/* The receiver of @flow knows no more what has come: all may come again. */
	void forget(uint32_t flow);
	/* Nothing more will come. */
	void rest();
	const std::string &complaint() const
	{
		return complaint_;
	}

private:
	struct Flow {
		uint32_t pair = 0;
		/* Of each the number of the message behind it. */
		std::vector<uint32_t> behind;
		size_t excused = 0; /* so many of the first may be missing */
		size_t judged = 0;  /* so many of the first came or were missed */
	};
	struct Pair {
		uint32_t flow = 0; /* of the last socket there */
		size_t came = 0;   /* and were not judged yet */
		size_t spare = 0;  /* may still come, of earlier sockets or once more */
	};
	void judge(uint32_t id, Flow &f, size_t upto);
	void complain(uint32_t flow, const std::string &what);

	std::map<uint32_t, Flow> flows_;
	std::map<uint32_t, Pair> pairs_;
	std::string complaint_;
};

} // namespace check
#endif
