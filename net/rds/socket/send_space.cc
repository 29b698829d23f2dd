// SPDX-License-Identifier: GPL-2.0
/*
 * send_space.cc: what is given back, and the case that there was too little.
 */
#include "send_space.h"

#include "../rds_core.h"

namespace rds
{

/* For the second looks: in one order with the read-modify-writes before them. */
bool SendSpace::has_room(struct rds_socket *s) const
{
	uint32_t bytes = bytes_.load_seq();
	uint64_t mem = mem_.used_seq();

	return below(bytes, mem, rds_socket_sndbuf(s));
}

bool SendSpace::wait_for_room(struct rds_socket *s)
{
	if (has_room(s))
		return true;
	waiting_.exchange(true);
	return has_room(s);
}

bool SendSpace::wait_or_take(struct rds_socket *s, uint32_t bytes, uint32_t mem)
{
	while (wait_for_room(s))
		if (try_take(s, bytes, mem))
			return true;
	return false;
}

void SendSpace::give(struct rds_socket *s, uint32_t bytes, uint32_t mem, unsigned int wake)
{
	bug_on_hot(bytes_.fetch_sub(bytes) < bytes, "more is given back than was to be sent");
	mem_.sub(mem);
	if (RDS_UNLIKELY(mem_.overpaid()))
		mem_.take_back(s);
	if (RDS_UNLIKELY(waiting_.load_seq()) && has_room(s) && waiting_.exchange(false))
		wake |= RDS_WAKE_WRITE;
	if (wake)
		rds_socket_wake(s, wake);
}

bool SendSpace::short_of_room(struct rds_socket *s) const
{
	uint32_t half = rds_socket_sndbuf(s) / 2;

	return bytes_.load() >= half || mem_.used() / kMemFactor >= half;
}

} // namespace rds
