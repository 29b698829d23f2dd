/* SPDX-License-Identifier: GPL-2.0 */
#pragma once

#include "../lib/check.h"
#include "../lib/socket.h"

#include <functional>
#include <string>
#include <vector>

namespace rdstest
{

/* Two bound sockets, made anew for every failure; over TCP the second is in another namespace. */
struct Pair {
	Fd from, to;
	Address target;
	std::string got; /* what a call received */
	int round;	 /* counts from 0 */
};

/* Where the pairs are made. */
struct Site {
	std::string name;
	Address here, there;
	std::string netns; /* of `there`; empty: the same */

	Pair pair(int round) const;
};

/*
 * One system call whose allocations and copies fail one by one. A call that fails must have done
 * nothing, one that succeeds must have done it all: after() looks.
 */
struct Scenario {
	std::string name;
	std::function<long(Pair &)> call;
	std::function<void(Pair &)> before = [](Pair &) {};
	std::function<void(Pair &, long result)> after = [](Pair &, long) {};
	bool anyErrno = false; /* others than us have a say in it */
};

/* Everything that a socket does; `Pair::round` is different each time. */
std::vector<Scenario> socketScenarios(const Site &site);
/* Memory regions and operations of a socket that is bound to an adapter. */
std::vector<Scenario> regionScenarios();
/* A scenario that needs more than sockets: a network namespace comes and goes. */
Scenario namespaceScenario();
/* This module comes and goes. */
Scenario moduleScenario(const std::string &path);

} // namespace rdstest
