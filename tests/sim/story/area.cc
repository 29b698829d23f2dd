// SPDX-License-Identifier: GPL-2.0
#include "area.h"

#include <cstring>

#include "include/uapi/linux/rds.h"

namespace story
{

Area::Area(unsigned int owner, unsigned int user, sim::Rng &r)
	: owner(owner), user(user),
	  mem(kCells + r.below(64 * 1024), true, static_cast<uint32_t>(r.below(host::kPageBytes)))
{
	flags = (r.chance(850) ? RDS_RDMA_READWRITE : 0) | (r.chance(150) ? RDS_RDMA_USE_ONCE : 0) |
		(r.chance(300) ? RDS_RDMA_INVALIDATE : 0);
	for (uint32_t i = sizeof(uint64_t); i < kCells; i++)
		mem.data()[i] = static_cast<unsigned char>(i * 7 + owner + (i >> 8));
}

uint32_t Area::take_cell(uint32_t n)
{
	uint32_t at = next_cell_;

	if (at + n > mem.size())
		return 0;
	next_cell_ += (n + 7) & ~7u;
	return at;
}

uint64_t Area::counter()
{
	uint64_t v;

	memcpy(&v, mem.data(), sizeof(v));
	return v;
}

bool Area::added(uint64_t old)
{
	return old < adds && olds_.insert(old).second;
}

void Area::freeze()
{
	frozen_.assign(mem.data(), mem.data() + mem.size());
}

std::string Area::complaint()
{
	if (counter() < olds_.size() || counter() > adds)
		return "rdma: a counter is at " + std::to_string(counter()) + ", it was added to " +
		       std::to_string(olds_.size()) + " to " + std::to_string(adds) + " times";
	if (!frozen_.empty() && memcmp(frozen_.data(), mem.data(), mem.size()))
		return "rdma: memory was written to after it was out of reach";
	return "";
}

} // namespace story
