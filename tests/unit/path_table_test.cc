// SPDX-License-Identifier: GPL-2.0
/*
 * The table of a path's states and events (path_table.h): what it promises by itself, and that
 * paths keep to it, each event in each state.  What an event asks for beside that:
 * path_ways_test.cc.
 */
#include "table_fixture.h"

namespace
{

using rds::PathAct;
using rds::PathState;

/* ---- the table alone ---- */

/* @fn(event, state, entry) for each. */
template <typename F>
void for_each_entry(F fn)
{
	for (unsigned int e = 0; e < RDS_EV_COUNT; e++)
		for (PathState s : kStates)
			fn(e, s, rds::path_entry(e, s));
}

TEST(PathTable, EachEventHasARow)
{
	ASSERT_EQ(std::size(rds::path_table::kRows), size_t{RDS_EV_COUNT});
	for (unsigned int e = 0; e < RDS_EV_COUNT; e++)
		EXPECT_EQ(rds::path_table::kRows[e].event, 1u << e) << kEventNames[e];
}

TEST(PathTable, NoEntryLeadsWhereItBegan)
{
	for_each_entry([](unsigned int e, PathState s, const rds::PathEntry &entry) {
		EXPECT_FALSE(rds::may_lead_to(entry, s)) << kEventNames[e] << " in " << name_of(s);
	});
}

TEST(PathTable, WhatDoesNothingLeadsNowhere)
{
	for_each_entry([](unsigned int e, PathState s, const rds::PathEntry &entry) {
		if (entry.act == PathAct::none || entry.act == PathAct::keep) {
			EXPECT_EQ(entry.to, 0) << kEventNames[e] << " in " << name_of(s);
		}
	});
}

TEST(PathTable, DeathAloneLeadsToDeathFromEverywhere)
{
	for_each_entry([](unsigned int e, PathState s, const rds::PathEntry &entry) {
		EXPECT_EQ(rds::may_lead_to(entry, PathState::kDead), e == RDS_EV_die)
			<< kEventNames[e] << " in " << name_of(s);
	});
}

/* An event that waits for another state is taken in one to which the path comes by itself. */
TEST(PathTable, WhatWaitsIsTakenLater)
{
	for (unsigned int e = 0; e < RDS_EV_COUNT; e++) {
		bool waits = false, taken = false;

		for (PathState s : kStates) {
			const PathAct act = rds::path_entry(e, s).act;

			waits = waits || act == PathAct::keep;
			taken = taken || (act != PathAct::keep && act != PathAct::none);
		}
		EXPECT_TRUE(!waits || taken) << kEventNames[e];
		EXPECT_TRUE(taken) << kEventNames[e] << " is for nothing";
	}
}

/* No state but death is for ever: a time comes when it ends. */
TEST(PathTable, TimeEndsEachStateOfTransition)
{
	for (PathState s : {PathState::kConnecting, PathState::kDisconnecting})
		EXPECT_TRUE(rds::may_lead_to(rds::path_entry(RDS_EV_timer, s), PathState::kDown))
			<< name_of(s);
	for (PathState s : kStates) {
		bool reached = false;

		for_each_entry([&](unsigned int, PathState, const rds::PathEntry &entry) {
			reached = reached || rds::may_lead_to(entry, s);
		});
		EXPECT_TRUE(reached) << name_of(s);
	}
}

/* ---- paths ---- */

/* An event in a state, on path 0 or on a further one. */
struct Entry {
	unsigned int index;
	PathState state;
	unsigned int event;
};

bool is_void(const rds::PathEntry &entry)
{
	return entry.act == PathAct::none || entry.act == PathAct::keep;
}

/* Every event in every state, or those that do nothing there.  What is on the other paths comes to
 * path 0: that has no fold. */
std::vector<Entry> entries(bool all)
{
	std::vector<Entry> out;

	for (unsigned int index : {0u, 3u})
		for_each_entry([&](unsigned int e, PathState s, const rds::PathEntry &entry) {
			if ((all || is_void(entry)) && (index || e != RDS_EV_fold))
				out.push_back({index, s, e});
		});
	return out;
}

class EachEntry : public TableTest, public testing::WithParamInterface<Entry>
{
protected:
	void SetUp() override
	{
		TableTest::SetUp();
		choose(GetParam().index);
		bring(state);
	}
	const PathState state = GetParam().state;
	const unsigned int event = GetParam().event;
	const rds::PathEntry &entry = rds::path_entry(event, state);
};

class EachVoidEntry : public EachEntry
{
};

std::string entry_name(const testing::TestParamInfo<Entry> &p)
{
	return std::string(kEventNames[p.param.event]) + "_in_" + name_of(p.param.state) +
	       "_of_path_" + std::to_string(p.param.index);
}

INSTANTIATE_TEST_SUITE_P(Table, EachEntry, testing::ValuesIn(entries(true)), entry_name);
INSTANTIATE_TEST_SUITE_P(Table, EachVoidEntry, testing::ValuesIn(entries(false)), entry_name);

/* With all that it asks for it leads where the table lets it; the first way, if there are two. */
TEST_P(EachEntry, LeadsWhereItMay)
{
	arrange(event, state);
	give(event);

	const Step step = taken(event);

	EXPECT_EQ(step.from, state);
	if (entry.to) {
		EXPECT_TRUE(rds::may_lead_to(entry, step.to)) << name_of(step.to);
	} else {
		EXPECT_EQ(step.to, state) << name_of(step.to);
		EXPECT_EQ(path().state(), state) << name_of(path().state());
	}
}

/* Of a void one the transport does not even hear; one that waits is still there. */
TEST_P(EachVoidEntry, DoesNothing)
{
	const uint32_t before = events();
	const size_t sent = wire->sent.size();

	give(event);
	expect_move(event, state, state);
	EXPECT_EQ(path().state(), state);
	EXPECT_EQ(wire->history(), "");
	EXPECT_EQ(wire->sent.size(), sent);
	EXPECT_TRUE(fake::discarded().empty());
	EXPECT_EQ(events(), before | (entry.act == PathAct::keep ? 1u << event : 0));
}

} // namespace
