/* SPDX-License-Identifier: GPL-2.0 */
/* Small text helpers: printf into a string, and the number formats the command lines accept. */
#ifndef RDSTOOLS_TEXT_H
#define RDSTOOLS_TEXT_H

#include <cstdint>
#include <string>
#include <string_view>

namespace rdstools
{

/* The tools' own version, shown by --version and exchanged by rds-stress. */
inline constexpr const char *version = "1.0";

/* printf into a std::string. */
[[gnu::format(printf, 1, 2)]] std::string format(const char *fmt, ...);

/*
 * "1", "0.2", "5ms", "250usec", "2s" as nanoseconds: seconds unless a unit is appended.
 * Throws Error when the text is not a duration or does not fit.
 */
std::uint64_t parse_duration(std::string_view text);

/* "1024", "64k", "1m": bytes, powers of two. Throws Error on anything else. */
std::uint64_t parse_size(std::string_view text);

/* CLOCK_MONOTONIC in nanoseconds. */
std::uint64_t now_ns();

} // namespace rdstools

#endif
