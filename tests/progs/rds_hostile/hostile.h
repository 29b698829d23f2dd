/* SPDX-License-Identifier: GPL-2.0 */
/*
 * rds_hostile: many hosts that nobody trusts talk to the RDS modules of another host over plain
 * TCP, each with a memory of what was said: a grammar of what a peer may say, with what the kernel
 * answers as its state, and now and then a few bits of it changed.
 *
 * `strangers` runs on a host without RDS; all addresses of its networks are its own. `host` runs on
 * the host that has RDS, and does there what programs do meanwhile. A seed says what both do; the
 * strangers tell it to the host over a TCP connection of their own:
 *
 *	strangers -> host	"seed N"
 *	host -> strangers	"ready"		(once its sockets are those that a seed begins with)
 *
 * A step's deed follows from the seed and the number of the step alone, so that an answer that
 * comes a step later changes what that answer was needed for, and nothing else of the story.
 */
#pragma once

#include "link.h"

#include "../lib/payload.h"

#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace rdstest
{

constexpr uint16_t kControlPort = 4101;
/* Sockets of the host that read, that do not, and that one message fills. */
constexpr uint16_t kFirstReader = 4000, kReaders = 4, kStopped = 4004, kFull = 4005;
/* Ports of strangers that the host's sockets send to. */
constexpr uint16_t kFirstTheirs = 5000, kTheirs = 4;
constexpr uint32_t kMaxMessage = 1 << 20;
/* Strangers of a seed: half of them call, the others are called; of two families. */
constexpr unsigned int kStrangers = 16;
/* The last ones are never sent to: connections that only they want may be evicted. */
constexpr unsigned int kUnasked = 6;

/* Networks of strangers, below and above the host's addresses: the lower address calls. */
Address strangerAddress(unsigned int index);

struct StrangerOptions {
	std::vector<std::string> targets; /* addresses of the host */
	std::string control;		  /* where `host` listens */
	uint64_t seed = 1;
	uint32_t seeds = 1;
	uint32_t steps = 500; /* of each seed */
};
int runStrangers(const StrangerOptions &options);

struct HostOptions {
	std::vector<std::string> locals;
	std::string settings = "/proc/sys/net/rds";
	bool alone = false; /* no strangers' seeds: its own, until its input ends */
	uint64_t seed = 1;
};
int runHost(const HostOptions &options);

/* One deed of a stranger over a connection of its. */
struct Deed {
	const char *name;
	unsigned int weight;
	void (*act)(Link &link, Random &random);
};
const std::vector<Deed> &allDeeds();

} // namespace rdstest
