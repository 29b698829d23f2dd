/* SPDX-License-Identifier: GPL-2.0 */
#pragma once

#include <functional>
#include <string>

namespace rdstest
{

/* Calls something in another network namespace, which is named by its file. */
void inNetns(const std::string &path, const std::function<void()> &call);

} // namespace rdstest
