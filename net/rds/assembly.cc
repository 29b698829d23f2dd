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

/* The peer may have something more. */
bool Assembly::has_share(const struct rds_addr &from, uint32_t scope)
{
	const uint64_t used = others_.load();
	const uint64_t free = used < kAssembly ? kAssembly - used : 0;

	return PeerShares::allows({free, kAssembly}, shares_.bytes_of(from, scope), 1);
}

Assembly::Verdict Assembly::may_begin(const struct rds_addr &from, uint32_t scope, bool stranger)
{
	if (stranger)
		return strangers_have_room() ? Verdict::kTake : Verdict::kNever;
	if (RDS_LIKELY(others_.load() < kAssemblyOpen))
		return Verdict::kTake;

	Guard g(lock_);

	return has_share(from, scope) ? Verdict::kTake : Verdict::kLater;
}

void Assembly::begin(Message &m, const struct rds_addr &from, uint32_t scope, bool stranger)
{
	m.has = MsgHas::kAssembly;
	m.assembly = this;
	m.stranger = stranger;
	m.saddr = from;
	m.scope = scope;
	count(m);
}

/* Without memory for its peer's share it is counted there when it grows next. */
Assembly::Verdict Assembly::without_room(Message &m)
{
	if (m.stranger)
		return Verdict::kNever;

	Guard g(lock_);

	if (!m.shared)
		m.shared = shares_.count(m.saddr, m.scope, counted(m)).ok();
	return has_share(m.saddr, m.scope) ? Verdict::kTake : take_turn(m);
}

Assembly::Verdict Assembly::take_turn(Message &m)
{
	const uint64_t now = rds_now_ns();

	if (m.had_turn)
		return turn_ == &m ? Verdict::kTake : Verdict::kNever;
	if (turn_ && now - turn_ns_ < kAssemblyTurnNs)
		return Verdict::kLater;
	turn_ = &m;
	turn_ns_ = now;
	m.had_turn = true;
	return Verdict::kTake;
}

void Assembly::count(Message &m)
{
	const uint64_t now = held(m);

	if (now <= counted(m))
		return;

	const auto more = static_cast<uint16_t>(units_for(now) - m.assembling);
	const uint64_t bytes = uint64_t{more} * kAssemblyUnit;

	m.assembling = static_cast<uint16_t>(m.assembling + more);
	sum_of(m).fetch_add(bytes);
	if (RDS_UNLIKELY(m.shared)) {
		Guard g(lock_);

		shares_.grow(m.saddr, m.scope, bytes);
	}
}

void Assembly::left(Message &m)
{
	bug_on(sum_of(m).fetch_sub(counted(m)) < counted(m),
	       "more of arriving messages comes back than was counted");
	if (RDS_UNLIKELY(m.shared || m.had_turn)) {
		PeerShares::Share *ended = nullptr;
		{
			Guard g(lock_);

			if (turn_ == &m)
				turn_ = nullptr;
			if (m.shared)
				ended = shares_.give(m.saddr, m.scope, counted(m));
		}
		destroy(ended);
	}
	m.assembling = 0;
	m.has = MsgHas::kNothing;
	m.rdma_side = nullptr;
}

void assembly_left(Message &m)
{
	m.assembly->left(m);
}

} // namespace rds
