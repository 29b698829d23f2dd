/* SPDX-License-Identifier: GPL-2.0 */
/*
 * glue.h: system calls that wait, in the simulator: net/linux/wait.c itself over a kernel of
 * tasks.
 */
#ifndef RDS_TESTS_GLUE_H
#define RDS_TESTS_GLUE_H

#include <functional>
#include <memory>

#include "host.h"

namespace glue
{

constexpr long kForever = INT64_MAX;

/* From now on, until the next sim::reset(): the core's wakeups go through the glue, and @signalled
 * says whether the task at hand has a signal. */
void start(std::function<bool()> signalled = nullptr);
/* Nobody is on a wait queue: what tests check at their end. */
bool nobody_waits();

/* sendmsg(): blocks for @ns.  0 or -errno, -512 for a signal. */
int send(host::Socket &s, const struct rds_endpoint &to, std::span<const unsigned char> data,
	 long ns = kForever);
/* Blocks until there is something to read.  0 or -errno. */
int wait_to_recv(host::Socket &s, long ns = kForever);

/* A program's epoll with one socket in it; EPOLLET: an event is told once for each wakeup. */
class Poll final
{
public:
	explicit Poll(host::Socket &s, unsigned int flags = 0);
	~Poll();
	Poll(const Poll &) = delete;
	Poll &operator=(const Poll &) = delete;
	/* Blocks until there are some of @events (EPOLL*): which, or 0 for a signal. */
	unsigned int wait(unsigned int events);

private:
	struct State;

	unsigned int look(unsigned int events);

	std::unique_ptr<State> state_;
};

} // namespace glue
#endif
