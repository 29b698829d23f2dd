/* SPDX-License-Identifier: GPL-2.0 */
/*
 * chooser.h: a world whose order is chosen, not drawn from a seed (tests/model).
 *
 * An option is anything that can happen next: tasks, work items, packets, and the clock's next
 * event.  A packet may take any time, so those that are on their way come in any order, and the
 * clock may overtake all of them; the clock's own events come in the order of their time.  One
 * option is one step: it goes on until it ends, sleeps, or is interrupted at a call of the seam.
 * Nothing is drawn: bytes come in one piece, and chances below one half do not come true.
 */
#ifndef RDS_TESTS_CHOOSER_H
#define RDS_TESTS_CHOOSER_H

#include <cstddef>
#include <cstdint>
#include <vector>

struct rds_work;

namespace sim
{

struct Option {
	enum Kind { kTask, kWork, kEvent, kClock };
	Kind kind;
	const char *name; /* of the task or event */
	const void *what; /* the task; the item */
	uint64_t serial;
};

/* In place of an option: something was made that can run, look again; and: go on no further. */
constexpr size_t kAgain = SIZE_MAX, kEnough = SIZE_MAX - 1;

class Chooser
{
public:
	/* The number of one of @options, which may be none; kAgain, kEnough. */
	virtual size_t pick(const std::vector<Option> &options) = 0;
	/* May the task that runs lose the processor here, to what pick() says? */
	virtual bool interrupts() = 0;
	/* A digest of all that the next step depends on, as of the last pick(). */
	virtual uint64_t state() const = 0;

protected:
	~Chooser() = default;
};

/* From now on @c chooses; nullptr: chance does. */
void choose_with(Chooser *c);
bool is_chosen();
/* Of all tasks and of what is to come: what a state consists of, beside memory. */
uint64_t digest();
uint64_t digest(const char *text);

} // namespace sim
#endif
