/* SPDX-License-Identifier: GPL-2.0 */
/* Others on the same host, and all that they do while a call waits for its memory. */
#pragma once

#include "calls.h"

#include <string>

namespace rdstest
{

/* A process that does everything once, on sockets of its own. */
class Others
{
public:
	/* @module: a file that registers tables as it comes, and takes them back as it goes. */
	Others(const Places &places, const std::string &module);
	~Others();

	/* "", or the deed that it is still at when the time is over, or that has failed. */
	std::string result(std::chrono::milliseconds patience);

private:
	struct Shared {
		char deed[128];
	};
	Shared *shared_;
	int pid_;
};

} // namespace rdstest
