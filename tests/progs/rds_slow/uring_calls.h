/* SPDX-License-Identifier: GPL-2.0 */
/* The same calls by io_uring, and requests that nobody waits for any more. */
#pragma once

#include "calls.h"

#include <functional>
#include <string>
#include <vector>

namespace rdstest
{

std::vector<Call> uringCalls();

/* Throws Failed. */
struct UringCase {
	std::string name;
	std::function<void(const Places &)> run;
};
std::vector<UringCase> uringCases();

} // namespace rdstest
