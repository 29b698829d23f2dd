// SPDX-License-Identifier: GPL-2.0
#include "lifecycle.h"

namespace rds
{

bool Lifecycle::is_idle(uint64_t mark, bool busy, uint64_t limit_ns, uint64_t now)
{
	if (mark != mark_)
		silent_since_ns_ = now;
	if (busy || mark != mark_) {
		mark_ = mark;
		idle_since_ns_ = now;
		return false;
	}
	return now - idle_since_ns_ >= limit_ns;
}

void Lifecycle::keep(uint64_t now, uint64_t pause_ns)
{
	evicted_.store(false);
	idle_since_ns_ = now;
	not_before_ns_ = now + pause_ns;
	give_back();
}

} // namespace rds
