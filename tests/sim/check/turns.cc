// SPDX-License-Identifier: GPL-2.0
#include "turns.h"

#include "host.h"

namespace check
{
namespace
{

constexpr const char *kNames[] = {"kDown", "kConnecting", "kDisconnecting", "kUp", "kDead"};

void (*told)(const Turn &t);

void seen(const struct rds_path *p, unsigned int event, unsigned int from)
{
	told({p, event, from, static_cast<unsigned int>(p->state())});
}

} // namespace

const char *state_name(unsigned int state)
{
	return kNames[state];
}

std::string show(const Turn &t)
{
	return std::string(kNames[t.from]) + " --" + rds_path_event_name(t.event) + "--> " +
	       kNames[t.to];
}

bool legal(const Turn &t)
{
	return t.from < kStates &&
	       (t.to == t.from || (may_lead(t.event, t.from) & 1u << t.to) != 0);
}

unsigned int may_lead(unsigned int event, unsigned int from)
{
	return rds::path_entry(event, static_cast<rds::PathState>(from)).to;
}

void watch_turns(void (*fn)(const Turn &t))
{
	told = fn;
	host::on_event = fn ? seen : nullptr;
}

} // namespace check
