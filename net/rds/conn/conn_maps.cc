// SPDX-License-Identifier: GPL-2.0
/*
 * conn_maps.cc: what the change of a congestion map means for connections.
 *
 * A port of ours that fills or clears concerns every connection from its address, and a port of a
 * peer's that clears those on which messages wait for one.  A task that changes the map may be in a
 * softirq, and there may be many connections: the change itself tells those of a few buckets, and a
 * work item tells all of a larger table, in steps.  A further change during its round begins the
 * round anew where it is, so the last connections are reached however often maps change.
 */
#include "conn_table.h"
#include "../path/path.h"

namespace rds
{
namespace
{

void look_at_map(Conn &c, uint32_t what)
{
	if (what & kMapOfOurs && !(c.trans.caps & RDS_CAP_SHARED_CONG) &&
	    c.first().state() == PathState::kUp && c.first().owes_map())
		c.first().kick();
	if (what & kMapOfPeers && c.fcong->held.load())
		c.for_each_path([](Path &p) { p.port_cleared(); });
}

} // namespace

void ConnTable::map_changed(MapChange what)
{
	uint64_t pos = 0;
	{
		RcuReader rcu;

		/* The map has changed, then we look who is up; who comes up looks at the map
		 * (come_up). */
		full_fence();
		for (unsigned int n = 0; n < kMapStep && pos < kWalkEnd; n++)
			pos = table_.walk(pos, [&](Conn &c) { look_at_map(c, what); });
	}
	if (pos == kWalkEnd)
		return;
	maps_due_.fetch_or(what);
	rds_work_queue(&maps_work_, net_->os);
}

void ConnTable::maps_fn(struct rds_work *w)
{
	container_of(w, &ConnTable::maps_work_)->look_at_maps();
}

void ConnTable::look_at_maps()
{
	RcuReader rcu;

	if (uint32_t due = maps_due_.exchange(0)) {
		round_.what |= due;
		round_.left = kWalkEnd;
	}
	for (unsigned int n = 0; n < kMapStep && round_.left; n++) {
		uint64_t next =
			table_.walk(round_.at, [&](Conn &c) { look_at_map(c, round_.what); });

		round_.left -= next - round_.at;
		round_.at = next % kWalkEnd;
	}
	if (round_.left)
		rds_work_queue(&maps_work_, net_->os);
	else
		round_.what = 0;
}

void tell_peers(Net &net)
{
	net.conns.map_changed(kMapOfOurs);
}

void return_held(Net &net)
{
	net.conns.map_changed(kMapOfPeers);
}

} // namespace rds
