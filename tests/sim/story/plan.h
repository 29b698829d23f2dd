/* SPDX-License-Identifier: GPL-2.0 */
/*
 * plan.h: what a seed means: a setup, and a list of steps.
 *
 * Every step has a random stream of its own, from which it draws everything that it decides, and
 * speaks of hosts and slots by number.  So a step can be left out, or a host with everything on
 * it, and all other steps stay what they were: that is how a failing plan is made smaller.
 */
#ifndef RDS_TESTS_PLAN_H
#define RDS_TESTS_PLAN_H

#include <string>
#include <vector>

#include "rng.h"
#include "stream.h"
#include "verbs.h"

namespace story
{

enum class Act : uint8_t {
	kOpen,	  /* a socket comes */
	kClose,	  /* a socket goes */
	kFlow,	  /* messages from one slot to another */
	kFanOut,  /* the same to every slot */
	kStuck,	  /* a reader stops reading, or goes on */
	kHabits,  /* buffers, speed, monitoring change */
	kCancel,  /* what was sent is taken back */
	kCut,	  /* a connection is reset */
	kHalf,	  /* one end of it is */
	kLink,	  /* a link is cut in one or both directions, or whole again */
	kSlow,	  /* a link is slow, or quick again */
	kIsolate, /* a host is cut off from all, or back */
	kRefuse,  /* connects are refused, or no longer */
	kCrash,	  /* a host loses power; a little later it boots */
	kLeave,	  /* a namespace ends in order; a little later there is a new one */
	kReset,	  /* a sysctl ends all connections of a host in order */
	kTune,	  /* sysctls change */
	kReload,  /* the transport is unloaded and loaded, everywhere */
	kFailNth, /* one allocation fails */
	kFail,	  /* many fail, or no longer */
	kJump,	  /* the clock jumps ahead */
	kDate,	  /* the time of day is set, forwards or back */
	kUnplug,  /* a host loses its device for a while (queue pairs) */
	kExpose,  /* a socket lets another one operate on its memory (queue pairs) */
	kOperate, /* and that one does */
	kUnmap,	  /* and may no longer */
	kFlap,	  /* a link goes and comes back all the time, for a while */
	kFamine,  /* there is no memory at all, for a while */
	kCount,
};
const char *name_of(Act a);

struct Step {
	unsigned int number;
	Act act;
	uint64_t seed;
	uint64_t pause_ns; /* after it */
};

/* The kind of a host: our core; mainline's of one kind or the other; a liar over byte streams; an
 * old release of ours; a liar over queue pairs; or a crowd of strangers (tests/sim/peers). */
enum class Kind : uint8_t { kOurs, k6, k7, kLiar, kOld, kPairedLiar, kCrowd };

struct Setup {
	uint64_t seed = 1;
	unsigned int hosts = 2;
	unsigned int slots = 2; /* of each host */
	unsigned int preempt_per_1000 = 0;
	unsigned int signals_per_1000 = 0; /* of waits that a signal ends */
	uint64_t pace_ns =
		0; /* about the time between two steps, and that faults last; 0: little */
	stream::Params net;
	bool verbs = false; /* queue pairs, and not byte streams, ... */
	bool rdma = false;  /* ... and operations on others' memory over them */
	bool hints = false; /* messages may overtake each other, some of them */
	verbs::Params ib;
	uint32_t max_bytes = 1000;
	uint32_t max_count = 100; /* messages of one flow step */
	uint32_t max_buffer = 100 * 1000;
	std::vector<struct rds_addr> addrs;
	std::vector<Kind> kinds; /* of hosts; those beyond are ours */
	unsigned int crowd = 0;	 /* addresses that a crowd has */
	uint32_t acts = 0;	 /* which are used: a bit for each */
	bool wrap = false;	 /* counters begin near their end (aged.h) */
	bool batches = false;	 /* some sockets read many messages a call */
	bool strict = false;	 /* what is known to be wrong is no excuse */

	Kind kind(unsigned int host) const
	{
		return host < kinds.size() ? kinds[host] : Kind::kOurs;
	}
	bool any(Kind k) const;
	/* Somebody who keeps no promise. */
	bool any_trouble() const;
};

struct Plan {
	Setup setup;
	std::vector<Step> steps;
	std::vector<bool> there; /* hosts that take part */

	std::string words() const;
};

/* Demands on a story, whatever its seed decides. */
struct Wish {
	unsigned int hosts = 0; /* so many; 0: as the seed has it */
	bool rdma = false;	/* over queue pairs, with operations */
	bool hints = false;	/* over several paths, with ordering hints */
	bool verbs = false;	/* over queue pairs */
	bool peers = false;	/* with hosts that are not ours */
	bool crowd = false;	/* with many strangers at once */
	bool former = false; /* without hosts, counters and readers that seeds did not mean once */
	bool wrap = false;   /* with counters that begin near their end */
	bool brief = false;  /* with little time between steps, and none of what takes long */
	bool strict = false; /* judged without excuses for what is known to be wrong */
};

Plan make_plan(uint64_t seed, unsigned int steps, const Wish &wish = {});

} // namespace story
#endif
