// SPDX-License-Identifier: GPL-2.0
#include "turns.h"

#include <map>

#include "chooser.h"
#include "net/rds/net.h"
#include "net/rds/path.h"
#include "reach.h"

RDS_REACH(turns_work, &rds_path::work_)
RDS_REACH(turns_work_fn, &rds_path::work_fn)
RDS_REACH(turns_events, &rds_path::events_)
RDS_REACH(turns_accepted, &rds_path::accepted_)

namespace check
{
namespace
{

constexpr const char *kNames[] = {"kDown", "kConnecting", "kDisconnecting", "kUp", "kDead"};

void (*told)(const Turn &t);
std::map<const void *, Turn> begun; /* by work item */

void seen(const void *work, void (*fn)(struct rds_work *), bool begins)
{
	if (fn != reach(turns_work_fn()))
		return;
	if (!begins) {
		Turn t = begun[work];

		begun.erase(work);
		t.to = static_cast<unsigned int>(t.path->state());
		told(t);
		return;
	}

	auto *w = static_cast<struct rds_work *>(const_cast<void *>(work));
	struct rds_path &p = *rds::container_of(w, reach(turns_work()));
	uint32_t events = (p.*reach(turns_events())).load();

	/* A connection that waits to be adopted is looked at in every turn, whether it was told or
	 * not. */
	if (!(p.*reach(turns_accepted())).empty())
		events |= rds::kEvAccepted;
	begun[work] = {&p, events, static_cast<unsigned int>(p.state()), 0};
}

} // namespace

const char *state_name(unsigned int state)
{
	return kNames[state];
}

std::string show(const Turn &t)
{
	std::string events;

	for (const Turns &row : kTurns)
		if (t.events & row.event)
			events += std::string(events.empty() ? "" : ",") + row.name;
	return std::string(kNames[t.from]) + " --" + events + "--> " + kNames[t.to];
}

bool legal(const Turn &t)
{
	unsigned int to = 1u << t.from;

	for (const Turns &row : kTurns)
		if (t.events & row.event && t.from < kStates)
			to |= row.to[t.from];
	return to & 1u << t.to;
}

void watch_turns(void (*fn)(const Turn &t))
{
	told = fn;
	begun.clear();
	sim::on_work = fn ? seen : nullptr;
}

} // namespace check
