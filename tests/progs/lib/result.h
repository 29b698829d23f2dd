/* SPDX-License-Identifier: GPL-2.0 */
#pragma once

#include <cerrno>
#include <string>

namespace rdstest
{

/* Turns "-1 and errno" into one number: the result of the call, or minus the errno. */
inline long sys(long result)
{
	return result < 0 ? -errno : result;
}

/* "EINVAL" for -EINVAL, "0", "16" otherwise: how results are named in tables and reports. */
std::string describe(long result);

/* An error after which a test cannot go on at all; main() prints it and exits with 2. */
[[noreturn]] void fail(const std::string &what, long result);

} // namespace rdstest
