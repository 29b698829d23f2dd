/* SPDX-License-Identifier: GPL-2.0 */
/*
 * table_fixture.h: a path in any of its states, given any of its events, for tests of the table
 * (path_table.h).
 */
#ifndef RDS_TESTS_TABLE_FIXTURE_H
#define RDS_TESTS_TABLE_FIXTURE_H

#include <string>
#include <vector>

#include "fan_fixture.h"

RDS_REACH(table_events, &rds_path::events_)

inline constexpr rds::PathState kStates[] = {rds::PathState::kDown, rds::PathState::kConnecting,
					     rds::PathState::kDisconnecting, rds::PathState::kUp};
inline constexpr const char *kEventNames[] = {
#define RDS_X(name, cause) #name,
	RDS_PATH_EVENTS(RDS_X)
#undef RDS_X
};
inline constexpr const char *kStateNames[] = {"down", "connecting", "disconnecting", "up", "dead"};

inline const char *name_of(rds::PathState s)
{
	return kStateNames[static_cast<unsigned int>(s)];
}

/* One event, and the path's state before and after. */
struct Step {
	unsigned int event;
	rds::PathState from, to;
};

inline const rds_path *watched;
inline std::vector<Step> steps;

/* Path 0 of a connection with a peer of ours, or path 3 behind it; nothing is queued. */
class TableTest : public FanTest
{
protected:
	void SetUp() override
	{
		FanTest::SetUp();
		host::on_event = [](const rds_path *p, unsigned int event, unsigned int from) {
			if (p == watched)
				steps.push_back(
					{event, static_cast<rds::PathState>(from), p->state()});
		};
		watched = nullptr;
		steps.clear();
	}
	void TearDown() override
	{
		host::on_event = nullptr;
		watched = nullptr;
		if (held)
			held->put();
		FanTest::TearDown();
	}
	void choose(unsigned int index)
	{
		fake::Wire *at = nullptr;

		fan_out();
		if (index)
			send(port_for(index));
		for (fake::Wire *w : fake::wires())
			if (w->path->index == index)
				at = w;
		ASSERT_NE(at, nullptr);
		wire = at;
		if (index) {
			up(*wire);
			ASSERT_EQ(hello(*wire, 8, index), RDS_RECV_SKIP);
		}
		rds_socket_cancel(s->core(), nullptr);
		peer_has(*wire, path().next_tx_seq() - 1);
		wire->initiates = false;
		watched = &path();
		held = &conn();
		held->refs.get(); /* it may die */
	}
	/* From up. */
	void bring(rds::PathState state)
	{
		if (state == rds::PathState::kDown || state == rds::PathState::kConnecting) {
			rds_path_drop(&path(), RDS_DROP_PEER_CLOSED);
			sim::run_ready();
		}
		if (state == rds::PathState::kConnecting)
			path().post(rds::kEvKnocked);
		if (state == rds::PathState::kDisconnecting)
			path().step_own(RDS_EV_idle);
		sim::run_ready();
		ASSERT_EQ(path().state(), state);
		steps.clear();
		wire->calls.clear();
	}
	/* All that has to be so that the event moves the path, if any event of its kind does. */
	void arrange(unsigned int e, rds::PathState state)
	{
		if (e == RDS_EV_retire)
			path().drained.store(true);
		if (e == RDS_EV_accepted && state == rds::PathState::kUp)
			wire->ended = true;
		if (e == RDS_EV_timer && state == rds::PathState::kUp) {
			rds_path_accepted(&path(), &newcomer); /* and nobody answers */
			sim::run_ready();
		}
		steps.clear();
	}
	void give(unsigned int e)
	{
		switch (e) {
		case RDS_EV_die:
			conn().kill();
			break;
		case RDS_EV_fold:
			EXPECT_TRUE(path().quiesce());
			[[fallthrough]];
		case RDS_EV_retire:
		case RDS_EV_idle:
			path().step_own(e);
			break;
		case RDS_EV_drop:
			rds_path_drop(&path(), RDS_DROP_ERROR);
			break;
		case RDS_EV_accepted:
			rds_path_accepted(&path(), &newcomer);
			break;
		default:
			path().post(1u << e);
		}
		sim::run_ready();
	}
	/* How the path took the event first. */
	Step taken(unsigned int e)
	{
		for (const Step &step : steps)
			if (step.event == e)
				return step;
		ADD_FAILURE() << kEventNames[e] << " was not taken";
		return {};
	}
	void expect_move(unsigned int e, rds::PathState from, rds::PathState to)
	{
		const Step step = taken(e);

		EXPECT_EQ(step.from, from) << name_of(step.from);
		EXPECT_EQ(step.to, to) << name_of(step.to);
	}
	rds_path &path()
	{
		return *wire->path;
	}
	uint32_t events()
	{
		return (path().*reach(table_events())).load();
	}
	fake::Wire *wire = nullptr;
	rds_conn *held = nullptr;
	int newcomer = 0, another = 0;
};

#endif
