/* SPDX-License-Identifier: GPL-2.0 */
/*
 * One exception type for everything a user can meet, with texts that say what to do.
 * The errno is kept so that callers can still tell cases apart.
 */
#ifndef RDSTOOLS_ERROR_H
#define RDSTOOLS_ERROR_H

#include <stdexcept>
#include <string>
#include <string_view>

namespace rdstools
{

class Error : public std::runtime_error
{
public:
	explicit Error(const std::string &text, int code = 0)
		: std::runtime_error(text), code_(code)
	{
	}
	int code() const
	{
		return code_;
	}

private:
	int code_;
};

/* Which step failed: the same errno means different things to socket(2) and to bind(2). */
enum class Step { socket, bind, send, receive, option, tos, info, route, rdma };

/* A message for the user. subject is the address, option or section concerned, or empty. */
std::string explain(Step step, int err, std::string_view subject);

[[noreturn]] void fail(Step step, int err, std::string_view subject = {});

} // namespace rdstools

#endif
