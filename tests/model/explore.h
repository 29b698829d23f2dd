/* SPDX-License-Identifier: GPL-2.0 */
/*
 * explore.h: every order in which a play can go that differs from the usual one in a few decisions.
 *
 * The usual order: whatever is ready, the oldest first; then packets; then what applications do
 * next; then the clock.  A deviation takes another option, puts the one whose turn it is off until
 * nothing else is left, lets an application act or something go wrong now, or interrupts a task at
 * a call of the seam.  A history that deviates is written down by where it does: a choice list,
 * which played from the start again is the same history.  All lists with at most @deviations
 * entries are played, but where a state is reached from which as much has been tried before.
 */
#ifndef RDS_TESTS_EXPLORE_H
#define RDS_TESTS_EXPLORE_H

#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "chooser.h"
#include "play.h"
#include "turns.h"

namespace explore
{

struct Choice {
	uint16_t decision; /* its number in the history */
	uint16_t choice;   /* 0: as usual */
};
using Choices = std::vector<Choice>;

std::string show(const Choices &c);
/* Of what show() has written; false: that is none. */
bool read(const std::string &text, Choices &c);

/* The part of the table of turns that all histories together have seen. */
struct Coverage {
	void add(const check::Turn &t);

	unsigned int edges = 0;				    /* as check::edges_known() */
	unsigned int to[check::kStates][RDS_EV_COUNT] = {}; /* states, by event */
};

struct Result {
	uint64_t states = 0, decisions = 0;
	uint32_t histories = 0;
	std::string failure; /* the first, or empty */
	Choices choices;     /* that led to it */
};

/* At most so many deviations; of them, so many interrupts. */
struct Bound {
	unsigned int deviations = 2;
	unsigned int interrupts = 0;
};

/* All of @p within @bound, until one fails. */
Result search(const play::Play &p, Bound bound, Coverage &seen);
/* One history; @trace: with a line for each decision. */
std::string replay(const play::Play &p, const Choices &choices, bool trace, Coverage &seen);
/* The history being played, for those who report a crash. */
const std::string &now_playing();

} // namespace explore
#endif
