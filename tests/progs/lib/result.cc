// SPDX-License-Identifier: GPL-2.0
#include "result.h"

#include <cstring>
#include <stdexcept>

namespace rdstest
{

std::string describe(long result)
{
	if (result >= 0)
		return std::to_string(result);
	const char *name = strerrorname_np(static_cast<int>(-result));
	return name ? name : "errno " + std::to_string(-result);
}

void fail(const std::string &what, long result)
{
	throw std::runtime_error(what + ": " + describe(result));
}

} // namespace rdstest
