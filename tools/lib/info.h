/* SPDX-License-Identifier: GPL-2.0 */
/*
 * RDS_INFO_* snapshots. The kernel says ENOSPC and the size it wants when the buffer is too
 * small, and the snapshot may have grown again by the next call; the loop here asks until it fits.
 */
#ifndef RDSTOOLS_INFO_H
#define RDSTOOLS_INFO_H

#include <sys/socket.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

namespace rdstools
{

struct InfoBlock {
	std::size_t each = 0; /* the kernel's element size: the positive return value */
	std::vector<std::byte> bytes;

	std::size_t count() const
	{
		return each ? bytes.size() / each : 0;
	}
};

/* getsockopt() reduced to what varies: returns as it does and sets errno. */
using InfoCall = std::function<int(void *buffer, socklen_t *size)>;

/* nothing: the code is not registered (its transport is not loaded). Throws Error. */
std::optional<InfoBlock> fetch_info(const InfoCall &call, std::string_view subject);
std::optional<InfoBlock> fetch_info(int fd, int code, std::string_view subject);

/*
 * Elements as structures. A kernel with a longer structure (fields are only ever appended)
 * is read as far as we know it, one with a shorter structure leaves zeros.
 */
template <typename T>
std::vector<T> records(const InfoBlock &block)
{
	std::vector<T> list(block.count());

	for (std::size_t i = 0; i < list.size(); i++) {
		std::memset(static_cast<void *>(&list[i]), 0, sizeof(T));
		std::memcpy(static_cast<void *>(&list[i]), block.bytes.data() + i * block.each,
			    std::min(block.each, sizeof(T)));
	}
	return list;
}

} // namespace rdstools

#endif
