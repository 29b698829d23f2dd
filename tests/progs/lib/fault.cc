// SPDX-License-Identifier: GPL-2.0
#include "fault.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>

namespace rdstest
{

Fault::Fault() : file_(open("/proc/thread-self/fail-nth", O_RDWR | O_CLOEXEC))
{
	if (file_ < 0)
		fail("open fail-nth (a debug kernel, and root?)", -errno);
}

void Fault::set(int nth)
{
	const std::string text = std::to_string(nth);
	long result;

	/* The rest of the count may hit this very call, but then it is used up. */
	for (int tries = 0; tries < 3; ++tries) {
		result = sys(pwrite(file_, text.data(), text.size(), 0));
		if (result > 0)
			return;
	}
	fail("write fail-nth", result);
}

void Fault::arm(int nth)
{
	set(nth);
}

bool Fault::disarm()
{
	char text[16] = {};
	const ssize_t got = pread(file_, text, sizeof(text) - 1, 0);

	/* The read itself may have been what failed. */
	set(0);
	return got < 0 || std::atoi(text) == 0;
}

} // namespace rdstest
