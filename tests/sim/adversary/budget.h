/* SPDX-License-Identifier: GPL-2.0 */
/*
 * budget.h: what the adversary may cost its victim, as constants that name rows of
 * docs/threat-model.md.
 *
 * All of it is bought: by names, connections, frames and bytes that the adversary has said, and by
 * the seconds that have gone.  What honest traffic costs is measured before the adversary comes.
 */
#ifndef RDS_TESTS_ADVERSARY_BUDGET_H
#define RDS_TESTS_ADVERSARY_BUDGET_H

#include "world.h"

namespace adversary
{

class Budget final
{
public:
	/* @w has had honest traffic alone since @since_ns. */
	explicit Budget(World &w, const Config &c);

	/* Honest traffic alone, for a while: what it costs. */
	void measure(uint64_t ns);
	/* At any moment. */
	void look();
	/* It has been silent for longer than any stranger may be. */
	void look_at_silence();
	/* And then it was gone for longer than anybody is waited for who refuses to be called, or,
	 * when it has @crashed, does not answer. */
	void look_at_what_is_left(bool crashed);
	/* For who looks for better constants. */
	std::string show() const;

private:
	struct Sums {
		uint64_t frames, bytes, heard, again, refusals, opened, called, knocks;
	};
	/* Of the host's connections with a name. */
	struct Held {
		unsigned int conns = 0, paths = 0;
		uint64_t own = 0;    /* messages queued that no program has sent */
		uint64_t probes = 0; /* of them pings of the host's own */
	};
	void look_at_memory();
	void look_at_objects();
	void look_at_frames();
	void look_at_calls();
	void look_at_nonsense(const Tally &t);
	void look_at_time();
	uint64_t by_time(double honest, uint64_t per_s, uint64_t paced_per_s) const;
	Sums sums() const;
	std::vector<Held> held() const;
	uint64_t memory_allowed() const;
	double seconds() const;
	double paced() const; /* of them, as programs go at kPaceNs */
	void limit(const char *what, uint64_t is, uint64_t most);

	World &w_;
	const Config config_;
	uint64_t since_ns_ = 0, since_paced_ns_ = 0;
	uint64_t base_bytes_ = 0;		   /* in use */
	double turns_per_s_ = 0, locks_per_s_ = 0; /* of honest traffic */
	uint64_t turns_ = 0, locks_ = 0;	   /* when it was measured */
	double worst_turns_ = 0, worst_locks_ = 0, worst_bytes_ = 0, worst_heard_ = 0,
	       worst_called_ = 0; /* parts of what was allowed */
};

} // namespace adversary
#endif
