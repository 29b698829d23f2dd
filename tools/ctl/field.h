/* SPDX-License-Identifier: GPL-2.0 */
/* A field of a row, which is null where the kernel did not tell it. */
#ifndef RDSCTL_FIELD_H
#define RDSCTL_FIELD_H

#include <cstdint>
#include <string>

#include "../lib/table.h"

namespace rdstools
{

/* 0: not known. */
inline std::uint64_t number(const Json &value)
{
	return value.is_number() ? value.get<std::uint64_t>() : 0;
}

inline double real(const Json &value)
{
	return value.is_number() ? value.get<double>() : 0;
}

/* "-": not known. */
inline std::string word(const Json &value)
{
	if (value.is_null())
		return "-";
	return value.is_string() ? value.get<std::string>() : value.dump();
}

/* Messages by "unacked", which counts numbers: some may have been taken back, but of 0 none is. */
inline std::string at_most(std::uint64_t messages)
{
	return (messages ? "at most " : "") + std::to_string(messages);
}

/* Microseconds in which messages of this path are acknowledged: by the peer's RDS, or, as long as
 * none of its acks has come, by its transport; null: not known. */
inline const Json &round_trip(const Json &path)
{
	return path["ack-us"].is_null() ? path["rtt-us"] : path["ack-us"];
}

} // namespace rdstools
#endif
