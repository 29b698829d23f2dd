/* SPDX-License-Identifier: GPL-2.0 */
/*
 * placed.h: two sides and one switch between them.  A side runs to its @at-th atomic and stops
 * there, with its stores in its buffer; the other side runs as far as it can; then the first goes
 * on.  Chance rarely stops a task in a window of two atomics; all values of @at miss none.
 */
#ifndef RDS_TESTS_BETWEEN_PLACED_H
#define RDS_TESTS_BETWEEN_PLACED_H

#include <cstring>

#include "chooser.h"

namespace sim
{

class Placed final : public Chooser
{
public:
	/* @first_stops: the side that stops is all but the tasks "other" and "other's"; if not, it
	 * is these.  Time goes on for @alarms events at most. */
	Placed(bool first_stops, uint64_t at, unsigned int alarms)
		: first_stops_(first_stops), at_(at), alarms_(alarms)
	{
	}
	/* The side that stops has had so many atomics. */
	bool reached() const
	{
		return points_ >= at_;
	}

	size_t pick(const std::vector<Option> &options) override
	{
		size_t found = options.size();

		for (size_t i = 0; i < options.size(); i++) {
			if (options[i].kind == Option::kClock && !alarms_)
				continue;
			/* Until it stops the one, from then on the other, if there is any of it. */
			if (stops(options[i]) != reached()) {
				found = i;
				break;
			}
			if (found == options.size())
				found = i;
		}
		if (found == options.size())
			return kEnough;
		stops_runs_ = stops(options[found]);
		alarms_ -= options[found].kind == Option::kClock;
		return found;
	}
	bool interrupts() override
	{
		return stops_runs_ && !reached() && ++points_ == at_;
	}
	uint64_t state() const override
	{
		return 0;
	}

private:
	bool stops(const Option &o) const
	{
		bool other = o.kind == Option::kTask && !strncmp(o.name, "other", 5);

		return other != first_stops_;
	}

	const bool first_stops_;
	const uint64_t at_;
	unsigned int alarms_;
	uint64_t points_ = 0;
	bool stops_runs_ = false;
};

} // namespace sim
#endif
