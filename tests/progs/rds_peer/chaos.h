/* SPDX-License-Identifier: GPL-2.0 */
/* Streams that nobody would send: good frames damaged, replayed, cut off and put together anyhow.
 */
#pragma once

#include "peer.h"

#include <cstdint>

namespace rdstest
{

/* Opens and ends that many connections with such streams; what was done, for a report. The same
 * seed makes the same streams. */
nlohmann::json runChaos(Peer &peer, FrameContext context, uint64_t seed, uint32_t connections);

} // namespace rdstest
