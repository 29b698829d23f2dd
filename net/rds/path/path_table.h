/* SPDX-License-Identifier: GPL-2.0 */
/*
 * path_table.h: the states of a path, and the one table that says what each event does in each.
 *
 * The connection's worker alone takes events, one at a time (path.cc, step()); everybody else posts
 * them.  An entry is an action, and the states to which it may lead beside the one that it began
 * in.  step() holds each change of state against it; docs/connection-states.md is written from this
 * file (tests/model/doc.py), and tests/model asks that every entry be seen to lead where it may.
 */
#ifndef RDS_PATH_TABLE_H
#define RDS_PATH_TABLE_H

#include <stdint.h>

#include "../path_event.h"

namespace rds
{

enum class PathState : uint32_t { kDown = 0, kConnecting, kDisconnecting, kUp, kDead };

/* Bits: several may be pending, none is lost, each is idempotent. */
enum PathEvent : uint32_t {
	kEvDie = 1 << RDS_EV_die,
	kEvFold = 1 << RDS_EV_fold,
	kEvRecvRetry = 1 << RDS_EV_recv_retry,
	kEvDrop = 1 << RDS_EV_drop,
	kEvDrained = 1 << RDS_EV_drained,
	kEvConnected = 1 << RDS_EV_connected,
	kEvAccepted = 1 << RDS_EV_accepted,
	kEvRetire = 1 << RDS_EV_retire,
	kEvKnocked = 1 << RDS_EV_knocked,
	kEvDoubted = 1 << RDS_EV_doubted,
	kEvTimer = 1 << RDS_EV_timer,
	kEvWant = 1 << RDS_EV_want,
	kEvIdle = 1 << RDS_EV_idle,
	kEvHello = 1 << RDS_EV_hello,
	kEvHeard = 1 << RDS_EV_heard,
};
/* Nobody posts these: the connection's worker decides on them itself (connection.h). */
inline constexpr uint32_t kOwnEvents = kEvDie | kEvFold | kEvRetire | kEvIdle;

/* X(name, text): each but the first two is a function of rds_path, act_NAME() in path.cc. */
#define RDS_PATH_ACTS(X)                                                                           \
	X(none, "")                                                                                \
	X(keep, "waits for another state")                                                         \
	X(die, "close, forget what is queued")                                                     \
	X(give_up, "close; the queue goes to path 0")                                              \
	X(receive, "receive on")                                                                   \
	X(end_call, "close")                                                                       \
	X(end, "close; to end in order towards a peer that does not acknowledge: our end first")   \
	X(end_drain, "close, unless what is to come is an end in order")                           \
	X(finish, "both have ended: close")                                                        \
	X(come_up, "say hello, send")                                                              \
	X(adopt, "adopt it")                                                                       \
	X(adopt_instead, "close ours, adopt it; it may be dead by then")                           \
	X(ask, "ask the one that is up; ended: read it empty, close, then adopt")                  \
	X(retire, "close")                                                                         \
	X(answer_knock, "connect at once; if path 0 leads: as soon as it is up")                   \
	X(probe, "ask whether it lives; send on")                                                  \
	X(doubt, "ask whether it lives, which has to be answered soon")                            \
	X(call, "connect; if path 0 leads: as soon as it is up")                                   \
	X(stop_call, "give up")                                                                    \
	X(yield, "no answer: read this one empty, close; then adopt another that waits")           \
	X(stop_drain, "close")                                                                     \
	X(want, "connect, unless a pause is running")                                              \
	X(end_idle, "if still so: our end first")                                                  \
	X(greet, "say hello, send")                                                                \
	X(go_on, "that is the answer, if it was asked; send what waited for a first frame")

enum class PathAct : uint8_t {
#define RDS_X(name, text) name,
	RDS_PATH_ACTS(RDS_X)
#undef RDS_X
};

/* Whether the turn goes on after an action. */
enum class Went : uint8_t {
	kOn,
	kOver, /* other events are void */
	kKept, /* the event waits for another state */
	kWait, /* for a sender: it, and all that follow, are taken once more */
};

struct PathEntry {
	PathAct act;
	uint8_t to; /* a bit for each state */
};

struct PathRow {
	PathEvent event;
	PathEntry in[4]; /* by PathState: all but kDead, in which no event means anything */
};

namespace path_table
{
using enum PathAct;

constexpr uint8_t bit(PathState s)
{
	return static_cast<uint8_t>(1u << static_cast<unsigned int>(s));
}
constexpr uint8_t kDown = bit(PathState::kDown), kConn = bit(PathState::kConnecting),
		  kDisc = bit(PathState::kDisconnecting), kUp = bit(PathState::kUp),
		  kDead = bit(PathState::kDead);
constexpr PathEntry kNone = {none, 0}, kKeep = {keep, 0};

/* clang-format off */
inline constexpr PathRow kRows[] = {
	/* in DOWN, in CONNECTING, in DISCONNECTING, in UP */
	{kEvDie, {{die, kDead}, {die, kDead}, {die, kDead}, {die, kDead}}},
	{kEvFold, {{give_up, 0}, {give_up, kDown}, {give_up, kDown}, {give_up, kDown}}},
	{kEvRecvRetry, {kNone, kKeep, {receive, 0}, {receive, 0}}},
	{kEvDrop, {kNone, {end_call, kDown}, {end_drain, kDown}, {end, kDown | kDisc}}},
	{kEvDrained, {kNone, kNone, {finish, kDown}, kNone}},
	{kEvConnected, {kNone, {come_up, kUp}, kNone, kNone}},
	{kEvAccepted, {{adopt, kUp}, {adopt_instead, kUp | kDown}, kKeep, {ask, kDown}}},
	{kEvRetire, {kNone, {retire, kDown}, kNone, kNone}},
	{kEvKnocked, {{answer_knock, kConn}, kNone, kNone, {probe, 0}}},
	{kEvDoubted, {kNone, kNone, kNone, {doubt, 0}}},
	{kEvTimer, {{call, kConn}, {stop_call, kDown}, {stop_drain, kDown}, {yield, kDown}}},
	{kEvWant, {{want, kConn}, kNone, kNone, kNone}},
	{kEvIdle, {kNone, kNone, kNone, {end_idle, kDisc}}},
	{kEvHello, {kNone, kNone, kNone, {greet, 0}}},
	{kEvHeard, {kNone, kNone, kNone, {go_on, 0}}},
};
/* clang-format on */

/* A row for each event, in the order of their bits. */
constexpr bool is_whole()
{
	unsigned int n = 0;

	for (const PathRow &r : kRows)
		if (r.event != 1u << n++)
			return false;
	return n == RDS_EV_COUNT;
}
static_assert(is_whole());

} // namespace path_table

/* The entry of event @e (a bit's position) in state @s, which is not kDead. */
constexpr const PathEntry &path_entry(unsigned int e, PathState s)
{
	return path_table::kRows[e].in[static_cast<unsigned int>(s)];
}
constexpr bool may_lead_to(const PathEntry &entry, PathState s)
{
	return entry.to & path_table::bit(s);
}

} // namespace rds
#endif
