/* SPDX-License-Identifier: GPL-2.0 */
/*
 * platform_pthread.h: the seam on real threads (tests/pthread), for what only races show.
 *
 * Locks, work items, timers and RCU are real: several processors run them, and ThreadSanitizer
 * looks on.  The rules of platform.h are checked as in the simulator (lock order, sleeping where
 * one may not, unlocking what is not held): a breach aborts with a line on stderr.  Payloads,
 * namespaces and sockets are those of tests/sim/host.h.
 */
#ifndef RDS_PLATFORM_PTHREAD_H
#define RDS_PLATFORM_PTHREAD_H

#include <chrono>
#include <functional>
#include <string>

#include "tests/sim/host.h"

namespace pt
{

/* Starts the threads that run work items, timers and RCU callbacks; stop() ends them.  stop()
 * returns what is left: pending work, armed timers, callbacks and memory; empty when all is well.
 */
void start(unsigned int workers);
std::string stop();

/* Says why and aborts. */
[[noreturn]] void fail(const char *why);

/* Waits until @ready, which is asked again after every wakeup of @s.  Fails when no wakeup comes
 * for a minute: it was lost. */
void wait_for(host::Sock &s, const std::function<bool()> &ready);

} // namespace pt
#endif
