// SPDX-License-Identifier: GPL-2.0
#include "spill.h"

#include "../bug.h"

namespace rds
{

Spill::~Spill()
{
	bug_on(peers_, "a spill ends that has messages");
}

/* No size is more than kRecvSpillBytes, so no product is as much as 2^64. */
bool Spill::allows(const Room &room, uint64_t has, uint32_t more)
{
	if (more >= room.free)
		return false;

	const uint64_t left = room.free - more;

	return has + more <= kSpillShare * left * left / room.size * left / room.size;
}

/* Where the share of this peer is, or would be. */
Spill::Share **Spill::find(const struct rds_addr &addr, uint32_t scope)
{
	Share **at = &buckets_[hash_addr(addr, scope, key_) % kSpillBuckets];

	while (*at && !((*at)->scope == scope && same_addr((*at)->addr, addr)))
		at = &(*at)->next;
	return at;
}

Status Spill::take(const struct rds_addr &addr, uint32_t scope, uint32_t bytes, const Room &room)
{
	Share **at = find(addr, scope);

	if (!allows(room, *at ? (*at)->bytes : 0, bytes))
		return Status::fail(err::kEnobufs);
	if (!*at) {
		*at = create<Share>(RDS_ATOMIC, addr, scope);
		if (!*at)
			return Status::fail(err::kEnomem);
		peers_++;
	}
	(*at)->bytes += bytes;
	(*at)->messages++;
	return Status();
}

Spill::Share *Spill::give(const struct rds_addr &addr, uint32_t scope, uint32_t bytes)
{
	Share **at = find(addr, scope), *share = *at;

	if (bug_on(!share || share->bytes < bytes, "more of a spill comes back than was taken"))
		return nullptr;
	share->bytes -= bytes;
	if (--share->messages)
		return nullptr;
	*at = share->next;
	peers_--;
	return share;
}

uint64_t Spill::bytes_of(const struct rds_addr &addr, uint32_t scope) const
{
	const Share *share = *const_cast<Spill *>(this)->find(addr, scope);

	return share ? share->bytes : 0;
}

} // namespace rds
