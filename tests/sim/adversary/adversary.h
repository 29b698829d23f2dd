/* SPDX-License-Identifier: GPL-2.0 */
/*
 * adversary.h: a host that speaks the protocol well and means harm: many names (addresses), some
 * smaller than its victim's and some larger, each with connections of its own.
 *
 * Its deeds are in harms.h; here is all that they have in common: calls, answers, and the sum of
 * the frames.  Nothing is drawn from anywhere but sim::random(), so a seed is a history.
 */
#ifndef RDS_TESTS_ADVERSARY_H
#define RDS_TESTS_ADVERSARY_H

#include <vector>

#include "talk.h"

namespace adversary
{

/* How a name answers who calls it. */
enum class Answer { kGood, kBad, kRefuse, kMute, kCount };

struct Name {
	struct rds_addr addr;
	bool smaller;	    /* than the victim's: over streams it calls, else it knocks */
	bool used = false;  /* a socket of the victim's sends to it */
	bool known = false; /* it may bring messages for sockets that are there */
	Answer answer = Answer::kGood;
	Self self = {};
	Tally tally = {};
};

class Adversary final : private tube::Listener, private fabric::Listener
{
public:
	/* Of its @names two of each size are known, and one of each of them used. */
	Adversary(bool pairs, const struct rds_addr &victim, unsigned int names);
	~Adversary();

	/* A call in @n's name, or in @as, that came up; nullptr: it did not, or it was a knock.
	 * The caller has to greet. */
	Talk *call(Name &n, uint16_t port = 0, const struct rds_addr *as = nullptr);
	/* One of @n's that the host has said something on, and that is between two messages; it is
	 * made if there is none.  nullptr: it cannot be had now. */
	Talk *talk_of(Name &n);
	Talk *find(const Name &n);
	/* A request with that private data. */
	void ask(Name &n, const fabric::Data &offer, unsigned int buffers);

	Name &any();
	/* One of those that may deliver, or may not. */
	Name &any(bool known);
	Name *name_of(const struct rds_addr &a);

	/* It says nothing any more: it neither answers, nor calls, nor reads. */
	void go_silent();
	/* All connections end; who calls is refused. */
	void leave();

	const bool pairs;
	std::vector<Name> names;
	std::vector<std::unique_ptr<Talk>> talks; /* all that there ever were */
	uint64_t silent_calls = 0;		  /* that came after it had become silent */

private:
	void incoming(const tube::Ref &p) override;
	void incoming(const fabric::Ref &p) override;
	void answer(Name &n, Talk &t);
	Talk *knock(Name &n);

	const struct rds_addr victim_;
	bool silent_ = false, gone_ = false;
};

} // namespace adversary
#endif
