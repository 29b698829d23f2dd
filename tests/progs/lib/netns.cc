// SPDX-License-Identifier: GPL-2.0
#include "netns.h"

#include "check.h"
#include "socket.h"

#include <fcntl.h>
#include <sched.h>

#include <exception>
#include <thread>

namespace rdstest
{

void inNetns(const std::string &path, const std::function<void()> &call)
{
	std::exception_ptr error;

	std::thread([&] {
		try {
			const Fd ns(open(path.c_str(), O_RDONLY | O_CLOEXEC));

			same(sys(setns(ns, CLONE_NEWNET)), 0, "setns " + path);
			call();
		} catch (...) {
			error = std::current_exception();
		}
	}).join();
	if (error)
		std::rethrow_exception(error);
}

} // namespace rdstest
