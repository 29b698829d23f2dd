// SPDX-License-Identifier: GPL-2.0
/*
 * The conditions that an event of a path has beside its state, and the other way where the table
 * has two (path_table.h); several events at once; events of the dead.
 */
#include <functional>

#include "table_fixture.h"

namespace
{

using fake::wires;
using rds::PathState;

class TableWays : public TableTest
{
protected:
	void begin(PathState state, unsigned int index = 0)
	{
		choose(index);
		bring(state);
	}
};

TEST_F(TableWays, AnOrderlyEndTowardsAPlainPeerIsAnnounced)
{
	send(5000);
	wire = wires()[0];
	up(*wire);
	ASSERT_EQ(fake::arrive(&path(), 1, 5000, 2, pattern(10)), 0);
	watched = &path();
	rds_path_drop(&path(), RDS_DROP_ADMIN);
	sim::run_ready();
	expect_move(RDS_EV_drop, PathState::kUp, PathState::kDisconnecting);
}

TEST_F(TableWays, AnOrderlyEndTowardsOneOfOursIsAtOnce)
{
	begin(PathState::kUp);
	rds_path_drop(&path(), RDS_DROP_ADMIN);
	sim::run_ready();
	expect_move(RDS_EV_drop, PathState::kUp, PathState::kDown);
}

TEST_F(TableWays, WhatIsToEndInOrderWaitsForTheEnd)
{
	begin(PathState::kDisconnecting);
	rds_path_drop(&path(), RDS_DROP_ADMIN);
	sim::run_ready();
	expect_move(RDS_EV_drop, PathState::kDisconnecting, PathState::kDisconnecting);
	EXPECT_EQ(wire->history(), "");
}

TEST_F(TableWays, AnAcceptedOneMayBeDeadByThen)
{
	begin(PathState::kDown);
	wire->adopt_result = -104;
	give(RDS_EV_accepted);
	expect_move(RDS_EV_accepted, PathState::kDown, PathState::kDown);
	EXPECT_EQ(wire->history(), "adopt");
}

TEST_F(TableWays, AnAcceptedOneMayBeDeadWhenTheCallIsClosed)
{
	begin(PathState::kConnecting);
	wire->adopt_result = -104;
	give(RDS_EV_accepted);
	expect_move(RDS_EV_accepted, PathState::kConnecting, PathState::kDown);
	EXPECT_EQ(wire->history(), "close adopt");
}

TEST_F(TableWays, OneThatLivesIsAskedAndStays)
{
	begin(PathState::kUp);
	give(RDS_EV_accepted);
	expect_move(RDS_EV_accepted, PathState::kUp, PathState::kUp);
	EXPECT_EQ(wire->history(), "");
}

/* A timer that nobody waits for any more. */
TEST_F(TableWays, OneThatWasNotAskedYieldsToNobody)
{
	begin(PathState::kUp);
	give(RDS_EV_timer);
	expect_move(RDS_EV_timer, PathState::kUp, PathState::kUp);
	EXPECT_EQ(wire->history(), "");
}

/* It is owed something, perhaps. */
TEST_F(TableWays, ACallThatMayBeOwedSomethingGoesOn)
{
	begin(PathState::kConnecting);
	path().drained.store(false);
	give(RDS_EV_retire);
	expect_move(RDS_EV_retire, PathState::kConnecting, PathState::kConnecting);
	EXPECT_EQ(wire->history(), "");
}

TEST_F(TableWays, OneThatIsNotIdleStays)
{
	begin(PathState::kUp);
	wire->midway = true;
	give(RDS_EV_idle);
	wire->midway = false;
	wire->room = 0;
	send(port_for(0));
	give(RDS_EV_idle);
	ASSERT_EQ(steps.size(), 2u);
	for (const Step &step : steps)
		EXPECT_EQ(step.to, PathState::kUp);
	EXPECT_EQ(wire->history(), "");
}

TEST_F(TableWays, AWishWaitsForThePause)
{
	begin(PathState::kDown);
	wire->connect_result = -111;
	for (int i = 0; i < 20 && !path().dial().is_waiting(); i++)
		send(port_for(0));
	ASSERT_TRUE(path().dial().is_waiting());
	wire->connect_result = 0;
	steps.clear();
	path().post(rds::kEvWant);
	while (steps.empty())
		ASSERT_TRUE(sim::step());
	expect_move(RDS_EV_want, PathState::kDown, PathState::kDown);
}

TEST_F(TableWays, AFurtherOneWaitsForTheFirst)
{
	begin(PathState::kDown, 3);
	wires()[0]->initiates = false;
	rds_path_drop(wires()[0]->path, RDS_DROP_PEER_CLOSED);
	sim::run_ready();
	for (unsigned int e : {RDS_EV_knocked, RDS_EV_timer, RDS_EV_want}) {
		give(e);
		expect_move(e, PathState::kDown, PathState::kDown);
	}
	EXPECT_EQ(wire->history(), "");
	EXPECT_EQ(wires()[0]->path->state(), PathState::kConnecting) << "which is called for it";
}

/* ---- whose events they are ---- */

class EachState : public TableTest, public testing::WithParamInterface<PathState>
{
};

INSTANTIATE_TEST_SUITE_P(Table, EachState, testing::ValuesIn(kStates),
			 [](const auto &p) { return std::string(name_of(p.param)); });

/* Nothing but the worker itself gives its own events. */
TEST_P(EachState, NothingThatATransportPostsIsTheWorkersOwn)
{
	choose(0);
	bring(GetParam());

	rds_path *p = &path();
	const std::function<void()> calls[] = {
		[p] { rds_path_connected(p); },
		[p, this] { rds_path_accepted(p, &another); },
		[p] { rds_path_knocked(p); },
		[p] { rds_path_drained(p); },
		[p] { rds_path_writable(p); },
		[p] { rds_path_acked(p, 0); },
		[p] { rds_recv_later(p); },
		[p] { rds_path_drop(p, RDS_DROP_PEER_CLOSED); },
		[p] { rds_path_drop(p, RDS_DROP_ADMIN); },
		[p] { p->kick(); },
		[p] { p->want(); },
		[p] { p->call(); },
	};

	for (const auto &call : calls) {
		call();
		EXPECT_EQ(events() & rds::kOwnEvents, 0u);
	}
	sim::run_for(2 * rds::kRetryNs);
	for (const Step &step : steps)
		EXPECT_EQ(1u << step.event & rds::kOwnEvents, 0u) << kEventNames[step.event];
	EXPECT_EQ(rds::kOwnEvents, rds::kEvDie | rds::kEvFold | rds::kEvRetire | rds::kEvIdle);
}

/* ---- several at once, and the dead ---- */

/* Those above come first in the table; one that ends the connection makes all below it void. */
TEST_F(TableWays, EventsAreTakenFromTopToBottom)
{
	begin(PathState::kUp);
	path().post(rds::kEvHeard | rds::kEvHello | rds::kEvWant | rds::kEvKnocked |
		    rds::kEvDrained | rds::kEvRecvRetry);
	sim::run_ready();

	std::vector<unsigned int> order;

	for (const Step &step : steps)
		order.push_back(step.event);
	EXPECT_EQ(order,
		  (std::vector<unsigned int>{RDS_EV_recv_retry, RDS_EV_drained, RDS_EV_knocked,
					     RDS_EV_want, RDS_EV_hello, RDS_EV_heard}));
	steps.clear();
	rds_path_knocked(&path());
	rds_path_drop(&path(), RDS_DROP_PEER_CLOSED);
	sim::run_ready();
	ASSERT_EQ(steps.size(), 1u);
	expect_move(RDS_EV_drop, PathState::kUp, PathState::kDown);
	EXPECT_EQ(wire->history(), "recv_retry close");
}

/* The call's own timer says nothing of a question that is asked in the same turn. */
TEST_F(TableWays, ATimerOfTheCallIsNotTheQuestions)
{
	begin(PathState::kConnecting);
	path().post(rds::kEvTimer);
	rds_path_connected(&path());
	rds_path_accepted(&path(), &newcomer);
	sim::run_ready();
	EXPECT_EQ(path().state(), PathState::kUp);
	EXPECT_EQ(wire->history(), "") << "it has time to answer";
	sim::run_for(2 * rds::kAskNs);
	EXPECT_EQ(wire->history(), "recv_retry close adopt");
}

/* Events that came before the path was up are taken as soon as it is, in the same turn. */
TEST_F(TableWays, WhatWasKeptIsTakenOnTheWayUp)
{
	begin(PathState::kConnecting);
	path().post(rds::kEvRecvRetry);
	sim::run_ready();
	EXPECT_EQ(events(), rds::kEvRecvRetry);
	rds_path_connected(&path());
	sim::run_ready();
	EXPECT_EQ(events(), 0u);
	EXPECT_EQ(wire->history(), "recv_retry");
	EXPECT_EQ(path().state(), PathState::kUp);
}

/* Dead it takes nothing, and tells nobody. */
TEST_F(TableWays, TheDeadTakeNothing)
{
	begin(PathState::kUp);
	give(RDS_EV_die);
	expect_move(RDS_EV_die, PathState::kUp, PathState::kDead);
	steps.clear();
	wire->calls.clear();
	for (unsigned int e = 0; e < RDS_EV_COUNT; e++) {
		if (rds::kOwnEvents & 1u << e)
			path().step_own(e);
		else
			path().post(1u << e);
		give(e);
	}
	EXPECT_TRUE(steps.empty());
	EXPECT_EQ(wire->history(), "");
	EXPECT_EQ(path().state(), PathState::kDead);
	EXPECT_EQ(fake::discarded(), std::vector<void *>{&newcomer}) << "it has no place for it";
}

} // namespace
