// SPDX-License-Identifier: GPL-2.0
#include "peer_shares.h"

#include "bug.h"

namespace rds
{

PeerShares::~PeerShares()
{
	bug_on(peers_, "shares of peers end that have messages");
}

/* No size is more than kAssembly, so no product is as much as 2^64. */
bool PeerShares::allows(const Room &room, uint64_t has, uint64_t more)
{
	if (more >= room.free)
		return false;

	const uint64_t left = room.free - more;

	return has + more <= kPeerShare * left * left / room.size * left / room.size;
}

/* Where the share of this peer is, or would be. */
PeerShares::Share **PeerShares::find(const struct rds_addr &addr, uint32_t scope)
{
	Share **at = &buckets_[hash_addr(addr, scope, key_) % kPeerShareBuckets];

	while (*at && !((*at)->scope == scope && same_addr((*at)->addr, addr)))
		at = &(*at)->next;
	return at;
}

Status PeerShares::take(const struct rds_addr &addr, uint32_t scope, uint32_t bytes,
			const Room &room)
{
	if (!allows(room, bytes_of(addr, scope), bytes))
		return Status::fail(err::kEnobufs);
	return count(addr, scope, bytes);
}

Status PeerShares::count(const struct rds_addr &addr, uint32_t scope, uint64_t bytes)
{
	Share **at = find(addr, scope);

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

void PeerShares::grow(const struct rds_addr &addr, uint32_t scope, uint64_t bytes)
{
	Share *share = *find(addr, scope);

	if (!bug_on(!share, "a message grows that is in no peer's share"))
		share->bytes += bytes;
}

PeerShares::Share *PeerShares::give(const struct rds_addr &addr, uint32_t scope, uint64_t bytes)
{
	Share **at = find(addr, scope), *share = *at;

	if (bug_on(!share || share->bytes < bytes, "more of a share comes back than was taken"))
		return nullptr;
	share->bytes -= bytes;
	if (--share->messages)
		return nullptr;
	*at = share->next;
	peers_--;
	return share;
}

uint64_t PeerShares::bytes_of(const struct rds_addr &addr, uint32_t scope) const
{
	const Share *share = *const_cast<PeerShares *>(this)->find(addr, scope);

	return share ? share->bytes : 0;
}

} // namespace rds
