// SPDX-License-Identifier: GPL-2.0
#include "info.h"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace rdstest
{

Info readInfo(int fd, int code)
{
	Info info;
	socklen_t length = 0;

	for (;;) {
		const int result = getsockopt(fd, SOL_RDS, code, info.bytes.data(), &length);

		if (result >= 0) {
			info.each = result;
			info.bytes.resize(length);
			return info;
		}
		if (errno != ENOSPC) {
			info.each = -errno;
			info.bytes.clear();
			return info;
		}
		length += length / 4 + 64; /* it may grow before the next call */
		info.bytes.assign(length, '\0');
	}
}

std::vector<std::pair<std::string, uint64_t>> readCounters(int fd)
{
	std::vector<std::pair<std::string, uint64_t>> counters;

	for (const rds_info_counter &counter :
	     readInfo(fd, RDS_INFO_COUNTERS).as<rds_info_counter>()) {
		const char *name = reinterpret_cast<const char *>(counter.name);

		counters.emplace_back(std::string(name, strnlen(name, sizeof(counter.name))),
				      counter.value);
	}
	return counters;
}

std::map<std::string, uint64_t> readCounterMap(int fd)
{
	const auto counters = readCounters(fd);

	return {counters.begin(), counters.end()};
}

} // namespace rdstest
