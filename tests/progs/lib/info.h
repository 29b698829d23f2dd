/* SPDX-License-Identifier: GPL-2.0 */
#pragma once

#include <linux/rds.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace rdstest
{

/* A snapshot read with getsockopt(SOL_RDS, RDS_INFO_*). */
struct Info {
	long each = 0; /* element size, or -errno */
	std::string bytes;

	size_t count() const
	{
		return each > 0 ? bytes.size() / each : 0;
	}

	/* Elements as structs of ours; the kernel's may be longer. */
	template <typename T>
	std::vector<T> as() const
	{
		std::vector<T> found;

		for (size_t i = 0; i < count(); ++i) {
			T value{};

			__builtin_memcpy(&value, bytes.data() + i * each,
					 std::min<size_t>(each, sizeof(T)));
			found.push_back(value);
		}
		return found;
	}
};

/* Reads a whole snapshot, growing the buffer while the kernel says ENOSPC. */
Info readInfo(int fd, int code);

/* The counters in the kernel's order, or by name. */
std::vector<std::pair<std::string, uint64_t>> readCounters(int fd);
std::map<std::string, uint64_t> readCounterMap(int fd);

} // namespace rdstest
