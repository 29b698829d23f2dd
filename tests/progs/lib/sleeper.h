/* SPDX-License-Identifier: GPL-2.0 */
#pragma once

#include <sys/types.h>

#include <atomic>
#include <functional>
#include <thread>

namespace rdstest
{

/*
 * A thread that makes one call which must block. When the constructor returns it sleeps in
 * the call; whatever the test does next is what wakes it.
 */
class Sleeper
{
public:
	explicit Sleeper(const std::function<long()> &call);
	/* Gets the thread out of its call with signals if it is still there. */
	~Sleeper();

	/* Waits for the end of the call, at most 10 s, and returns what it returned. */
	long result();

	bool done() const
	{
		return done_;
	}
	void signal();

	/* Installs a handler that does nothing for the signal that signal() sends. */
	static void handleSignal(int flags);

private:
	bool sleeps();
	void end();

	std::atomic<pid_t> tid_ = 0;
	std::atomic<bool> done_ = false;
	long result_ = 0;
	std::thread thread_;
};

} // namespace rdstest
