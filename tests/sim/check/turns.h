/* SPDX-License-Identifier: GPL-2.0 */
/*
 * turns.h: what a turn of a path's worker may do: the table of docs/connection-states.md.
 *
 * A turn begins in a state with some events and ends in a state: the same one, or one to which one
 * of these events leads.  Written down here once more, apart from the code; every turn that anybody
 * plays in the simulator is held against it (check_states.h), and tests/model shows that each of
 * its entries is taken.
 */
#ifndef RDS_TESTS_TURNS_H
#define RDS_TESTS_TURNS_H

#include <string>

#include "net/rds/path.h"

namespace check
{

constexpr unsigned int kStates = 4; /* in which a turn may begin: all but kDead */
constexpr unsigned int kPathEvents = 14;

constexpr unsigned int bit(rds::PathState s)
{
	return 1u << static_cast<unsigned int>(s);
}

inline constexpr unsigned int kNot = 0, kDown = bit(rds::PathState::kDown),
			      kConn = bit(rds::PathState::kConnecting),
			      kDisc = bit(rds::PathState::kDisconnecting),
			      kUp = bit(rds::PathState::kUp), kDead = bit(rds::PathState::kDead);

struct Turns {
	uint32_t event;
	const char *name;
	unsigned int to[kStates]; /* beside staying; by PathState */
};

/* In the order of the bits.          from kDown, kConnecting, kDisconnecting, kUp */
inline constexpr Turns kTurns[kPathEvents] = {
	{rds::kEvDie, "kEvDie", {kDead, kDead, kDead, kDead}},
	{rds::kEvDrop, "kEvDrop", {kNot, kDown, kDown, kDown | kDisc}},
	{rds::kEvConnected, "kEvConnected", {kNot, kUp, kNot, kNot}},
	{rds::kEvDrained, "kEvDrained", {kNot, kNot, kDown, kNot}},
	{rds::kEvTimer, "kEvTimer", {kConn, kDown, kDown, kDown}},
	{rds::kEvAccepted, "kEvAccepted", {kUp, kUp | kDown, kNot, kDown}},
	{rds::kEvWant, "kEvWant", {kConn, kNot, kNot, kNot}},
	{rds::kEvKnocked, "kEvKnocked", {kConn, kNot, kNot, kNot}},
	{rds::kEvRecvRetry, "kEvRecvRetry", {kNot, kNot, kNot, kNot}},
	{rds::kEvSend, "kEvSend", {kNot, kNot, kNot, kNot}},
	{rds::kEvFold, "kEvFold", {kNot, kDown, kDown, kDown}},
	{rds::kEvIdle, "kEvIdle", {kNot, kNot, kNot, kDisc}},
	{rds::kEvRetire, "kEvRetire", {kNot, kDown, kNot, kNot}},
	{rds::kEvHeard, "kEvHeard", {kNot, kNot, kNot, kNot}},
};

/* One turn, as it was seen. */
struct Turn {
	const struct rds_path *path;
	uint32_t events; /* that were there when it began */
	unsigned int from, to;
};

const char *state_name(unsigned int state);
/* "kDown --kEvWant--> kConnecting" */
std::string show(const Turn &t);
bool legal(const Turn &t);

/* Calls @fn for every turn from now on. */
void watch_turns(void (*fn)(const Turn &t));

} // namespace check
#endif
