// SPDX-License-Identifier: GPL-2.0
#include "check_memory.h"

#include <algorithm>

#include "host.h"

namespace check
{
namespace
{

/* docs: a sender's messages hold at most 8 times its payload limit, a receiver's 32 times; one more
 * message each may overshoot. */
constexpr size_t kSendFactor = 8;
constexpr size_t kRecvFactor = 32;
/* A message's own part, and its part of a transport's. */
constexpr size_t kMessage = 1024;
/* A full receiver takes so much more of what was sent before it was known to be full. */
constexpr size_t kSpill = host::kSpillBytes;
/* And has a table of the peers that sent it. */
constexpr size_t kShares = 3 * 1024;
/* The memory that waits for a grace period. */
constexpr size_t kGrace = 32 * 1024;
/* A host's tables. */
constexpr size_t kHost = 64 * 1024;
/* One end of a connection: congestion maps of either side, one of them going. */
constexpr size_t kConnection = 32 * 1024;
constexpr size_t kPath = 4 * 1024;
/* Some connections of a stranger, each in the midst of a message: twice what came of it. */
constexpr size_t kStranger = 4 * (kConnection + 2 * 32 * 1024);

} // namespace

Memory::Limit::Limit(size_t message) : message_(message), bytes_(kGrace)
{
}

void Memory::Limit::add_host()
{
	bytes_ += kHost;
}

void Memory::Limit::add_socket(size_t sndbuf, size_t rcvbuf)
{
	bytes_ += kSendFactor * sndbuf + kRecvFactor * rcvbuf + kSpill + kShares +
		  2 * (2 * message_ + kMessage);
}

void Memory::Limit::add_connection(size_t paths)
{
	bytes_ += kConnection + paths * (kPath + 2 * message_ + kMessage);
}

void Memory::Limit::add_stranger()
{
	bytes_ += kStranger;
}

void Memory::look(size_t bytes_in_use, const Limit &limit)
{
	peak_ = std::max(peak_, bytes_in_use);
	if (bytes_in_use > limit.bytes() && complaint_.empty())
		complaint_ = "memory: " + std::to_string(bytes_in_use) + " bytes in use, " +
			     std::to_string(limit.bytes()) + " would be enough";
}

} // namespace check
