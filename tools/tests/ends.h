/* SPDX-License-Identifier: GPL-2.0 */
/* Both ends of a control connection, in one process. */
#ifndef RDSTOOLS_TESTS_ENDS_H
#define RDSTOOLS_TESTS_ENDS_H

#include <sys/socket.h>

#include <stdexcept>

#include "../stress/control.h"

struct Both {
	rdstools::Control near, far;

	Both() : Both(pair())
	{
	}

private:
	struct Fds {
		int fds[2];
	};
	explicit Both(Fds both)
		: near(rdstools::UniqueFd(both.fds[0])), far(rdstools::UniqueFd(both.fds[1]))
	{
	}
	static Fds pair()
	{
		Fds both;

		if (::socketpair(AF_UNIX, SOCK_STREAM, 0, both.fds) != 0)
			throw std::runtime_error("socketpair");
		return both;
	}
};

#endif
