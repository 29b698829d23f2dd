// SPDX-License-Identifier: GPL-2.0
#include "check_memory.h"

#include <algorithm>

#include "host.h"

namespace check
{
namespace
{

/* docs: a sender's messages hold at most 8 times its payload limit, a receiver's 32 times; one more
 * message of the largest size may overshoot. */
constexpr size_t kSendFactor = 8;
constexpr size_t kRecvFactor = 32;
constexpr size_t kOvershoot = 2 * (1 << 20);
/* A full receiver takes so much more of what was sent before it was known to be full. */
constexpr size_t kSpill = host::kSpillBytes;
/* A host's tables; a connection's two ends, with a congestion map coming and one going. */
constexpr size_t kHost = 64 * 1024;
constexpr size_t kConnection = 128 * 1024;

} // namespace

void Memory::allow_socket(size_t sndbuf, size_t rcvbuf)
{
	limit_ += kSendFactor * sndbuf + kRecvFactor * rcvbuf + kSpill + kOvershoot;
}

void Memory::allow_hosts(unsigned int n)
{
	limit_ += n * kHost + size_t{n} * n * kConnection;
}

void Memory::look(size_t bytes_in_use)
{
	peak_ = std::max(peak_, bytes_in_use);
	if (bytes_in_use > limit_ && complaint_.empty())
		complaint_ = "memory: " + std::to_string(bytes_in_use) + " bytes in use, " +
			     std::to_string(limit_) + " would be enough";
}

} // namespace check
