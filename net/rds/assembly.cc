// SPDX-License-Identifier: GPL-2.0
#include "assembly.h"

#include "bug.h"

namespace rds
{
namespace
{

constexpr uint64_t kMostUnits = 0xffff; /* of rds_msg.assembling */

uint64_t counted(const Message &m)
{
	return uint64_t{m.assembling} * kAssemblyUnit;
}

/* Bytes that @m holds now.  Its payload is charged when it is whole (message_charge_payload()). */
uint64_t held(Message &m)
{
	return uint64_t{m.charge} + rds_payload_truesize(m.payload());
}

/* Units to count for a message that holds @bytes; a number that its field has room for. */
uint16_t units_for(uint64_t bytes)
{
	const uint64_t n = (bytes + bytes / kAssemblyAhead + kAssemblyUnit - 1) / kAssemblyUnit;

	return static_cast<uint16_t>(n < kMostUnits ? n : kMostUnits);
}

} // namespace

Assembly::~Assembly()
{
	bug_on(strangers_.load() || others_.load(), "a namespace ends and a message still arrives");
}

void Assembly::begin(Message &m, bool stranger)
{
	m.has = MsgHas::kAssembly;
	m.assembly = this;
	m.stranger = stranger;
	count(m);
}

bool Assembly::may_grow(Message &m)
{
	Message *other = nullptr;

	if (RDS_LIKELY(may_begin(m.stranger)))
		return true;
	if (m.stranger)
		return false;
	return goes_on_.compare_exchange(other, &m) || other == &m;
}

void Assembly::count(Message &m)
{
	const uint64_t now = held(m);

	if (now <= counted(m))
		return;

	const auto more = static_cast<uint16_t>(units_for(now) - m.assembling);

	m.assembling = static_cast<uint16_t>(m.assembling + more);
	sum_of(m).fetch_add(uint64_t{more} * kAssemblyUnit);
}

void Assembly::left(Message &m)
{
	Message *me = &m;

	bug_on(sum_of(m).fetch_sub(counted(m)) < counted(m),
	       "more of arriving messages comes back than was counted");
	if (RDS_UNLIKELY(goes_on_.load() == me))
		goes_on_.store(nullptr);
	m.assembling = 0;
	m.has = MsgHas::kNothing;
	m.rdma_side = nullptr;
}

void assembly_left(Message &m)
{
	m.assembly->left(m);
}

} // namespace rds
