/* SPDX-License-Identifier: GPL-2.0 */
/*
 * path_state.h: the states of a path, the changes that are legal, and the events that cause them.
 *
 * The path's worker alone changes its state; everybody else posts events:
 *
 *	kDown --want, timer, knocked--> kConnecting --connected--> kUp
 *	kUp --drop--> kDisconnecting --drained--> kDown
 *	kDown, kConnecting --accepted--> kUp
 *	kConnecting, kUp (already dead) --drop--> kDown
 *	any --die--> kDead
 *
 * docs/connection-states.md has what each event does in each state.  Beside its state a path has an
 * end: one that is down can retire (conn_idle.cc), and take that back.
 */
#ifndef RDS_PATH_STATE_H
#define RDS_PATH_STATE_H

#include <stdint.h>

namespace rds
{

enum class PathState : uint32_t { kDown = 0, kConnecting, kDisconnecting, kUp, kDead };

/* Bits: several may be pending, none is lost, each is idempotent. */
enum PathEvent : uint32_t {
	kEvDie = 1 << 0,       /* namespace or transport goes */
	kEvDrop = 1 << 1,      /* the connection is to end, for the reason that is noted */
	kEvConnected = 1 << 2, /* our connect succeeded */
	kEvDrained = 1 << 3,   /* the peer has ended too */
	kEvTimer = 1 << 4,     /* back-off, connect timeout or drain timeout */
	kEvAccepted = 1 << 5,  /* a connection was accepted */
	kEvWant = 1 << 6,      /* somebody queued a message while down */
	kEvKnocked = 1 << 7,   /* the peer wants to be called */
	kEvRecvRetry = 1 << 8, /* receiving stopped for memory or a full socket */
	kEvSend = 1 << 9,      /* something to transmit, from a context that may not */
	kEvFold = 1 << 10,     /* all that is queued is to go to path 0 (path_fan.cc) */
	kEvIdle = 1 << 11,     /* to end in order if there is nothing to say (conn_idle.cc) */
	kEvRetire = 1 << 12,   /* to take nothing more, if neither end is owed anything */
	kEvHeard = 1 << 13,    /* the peer's first frame came, or the first since it was asked */
};

/* A legal change of state, and what causes it. */
struct PathEdge {
	PathState from, to;
	const char *cause;
};
inline constexpr PathEdge kPathEdges[] = {
	{PathState::kDown, PathState::kConnecting, "want, knock or back-off timer"},
	{PathState::kDown, PathState::kUp, "accepted"},
	{PathState::kConnecting, PathState::kUp, "connected, or accepted instead"},
	{PathState::kConnecting, PathState::kDown, "connect failed, timed out or was a knock"},
	{PathState::kUp, PathState::kDisconnecting, "drop: end in order"},
	{PathState::kUp, PathState::kDown, "drop: connection already dead, or left by the peer"},
	{PathState::kDisconnecting, PathState::kDown, "drained, timed out or died"},
	{PathState::kDown, PathState::kDead, "die"},
};

/* The end of a path, and so the fate of a message that is to be queued. */
enum class PathEnd : uint8_t {
	kNone,
	kRetired, /* it calls that off, or another connection takes it */
	kDead,
};

/* The sweep asks, the worker grants or refuses, a task that needs the path after all says kNone. */
enum class Retirement : uint8_t { kNone, kAsked, kGranted, kRefused };

} // namespace rds
#endif
