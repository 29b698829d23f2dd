/* SPDX-License-Identifier: GPL-2.0 */
#pragma once

#include "result.h"

#include <stdexcept>
#include <string>

namespace rdstest
{

/* A case did not go as it should. */
class Failed : public std::runtime_error
{
public:
	using std::runtime_error::runtime_error;
};

/* Throw Failed unless the condition holds, or the two are equal. */
inline void want(bool condition, const std::string &what)
{
	if (!condition)
		throw Failed(what);
}

inline void same(long got, long wanted, const std::string &what)
{
	if (got != wanted)
		throw Failed(what + ": got " + describe(got) + " want " + describe(wanted));
}

inline void same(const std::string &got, const std::string &wanted, const std::string &what)
{
	if (got != wanted)
		throw Failed(what + ": got '" + got + "' want '" + wanted + "'");
}

} // namespace rdstest
