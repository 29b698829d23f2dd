// SPDX-License-Identifier: GPL-2.0
#include "info.h"

#include <linux/rds.h>

#include <cerrno>

#include "error.h"

namespace rdstools
{

std::optional<InfoBlock> fetch_info(const InfoCall &call, std::string_view subject)
{
	/* Each round adds a quarter, so 40 rounds outgrow any table a kernel can hold. */
	constexpr int rounds = 40;
	/* A sane ceiling, so that a broken answer cannot make us allocate without end. */
	constexpr std::size_t ceiling = std::size_t{1} << 30;
	InfoBlock block;

	for (int round = 0; round < rounds; round++) {
		socklen_t size = static_cast<socklen_t>(block.bytes.size());
		int rc = call(block.bytes.empty() ? nullptr : block.bytes.data(), &size);
		if (rc >= 0) {
			block.each = static_cast<std::size_t>(rc);
			block.bytes.resize(std::min<std::size_t>(size, block.bytes.size()));
			return block;
		}
		if (errno == ENOPROTOOPT)
			return std::nullopt;
		if (errno == EINTR)
			continue;
		if (errno != ENOSPC || size > ceiling)
			fail(Step::info, errno, subject);
		std::size_t wanted = size + size / 4u + 64;
		block.bytes.resize(std::max(wanted, block.bytes.size() + block.bytes.size() / 4));
	}
	fail(Step::info, ENOSPC, subject);
}

std::optional<InfoBlock> fetch_info(int fd, int code, std::string_view subject)
{
	return fetch_info(
		[=](void *buffer, socklen_t *size) {
			/* A null buffer is refused even for length 0 by some kernels. */
			char nothing;
			return ::getsockopt(fd, SOL_RDS, code, buffer ? buffer : &nothing, size);
		},
		subject);
}

} // namespace rdstools
