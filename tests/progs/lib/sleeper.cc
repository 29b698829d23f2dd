// SPDX-License-Identifier: GPL-2.0
#include "sleeper.h"

#include "check.h"
#include "socket.h"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <cstdio>

namespace rdstest
{

namespace
{

/* The state of a thread of this process: 'S' when it sleeps. */
char taskState(pid_t tid)
{
	const std::string path = "/proc/self/task/" + std::to_string(tid) + "/stat";
	FILE *file = std::fopen(path.c_str(), "r");
	char state = '?';

	if (!file)
		return state;
	if (std::fscanf(file, "%*d (%*[^)]) %c", &state) != 1)
		state = '?';
	std::fclose(file);
	return state;
}

} // namespace

Sleeper::Sleeper(const std::function<long()> &call)
	: thread_([this, call] {
		  tid_ = gettid();
		  result_ = call();
		  done_ = true;
	  })
{
	if (!sleeps()) {
		end();
		throw Failed("the call did not block, it returned " + describe(result_));
	}
}

Sleeper::~Sleeper()
{
	end();
}

bool Sleeper::sleeps()
{
	int looks = 0;

	/* Asleep in several looks in a row: before the call it may sleep for a moment, too. */
	const bool asleep = eventually([&] {
		looks = tid_ && taskState(tid_) == 'S' ? looks + 1 : 0;
		return looks >= 5 || done_;
	});
	return asleep && !done_;
}

void Sleeper::end()
{
	if (!thread_.joinable())
		return;
	handleSignal(0);
	eventually([&] {
		if (!done_)
			signal();
		return done_.load();
	});
	thread_.join();
}

long Sleeper::result()
{
	want(eventually([&] { return done_.load(); }), "the call was not woken");
	return result_;
}

void Sleeper::signal()
{
	pthread_kill(thread_.native_handle(), SIGUSR1);
}

void Sleeper::handleSignal(int flags)
{
	struct sigaction action {
	};

	action.sa_handler = [](int) {};
	action.sa_flags = flags;
	sigaction(SIGUSR1, &action, nullptr);
}

} // namespace rdstest
