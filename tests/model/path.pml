/* SPDX-License-Identifier: GPL-2.0 */
/*
 * path.pml: two paths that want each other, as net/rds/path.cc drives them over TCP.
 *
 * Host S has the smaller address and calls; L may only knock (transports/tcp/tcp_duel.h).  They have
 * FROM_S and FROM_L messages for each other.  The network loses BREAKS connections, LOST opening segments and
 * one side ends ADMIN connections in order, whenever it hurts most.  Sequences of statements are
 * the worker's; whatever a callback may do between two of them is a process of its own here.
 *
 * Safety: every change of state is in kPathEdges (edges.h is made from net/rds/path.h), what a
 * host takes is the next message, once; a connection has one owner on each host; a message leaves
 * its queue only when the other has it.
 * Liveness: once the network does no more harm, both are up on one connection and everything has
 * arrived and was acknowledged, whatever the order of events.
 *
 * A message is acknowledged here when the other core has it.  Over TCP the kernel's buffer lies
 * between the two; docs/wire.md says what that means.  Left out: the token (tests/pthread), the
 * end of a host.
 *
 * check.py runs it: -DCHECK_EDGE=n asks for a run that takes edge n, -DBUG=n breaks it.
 */
#include "edges.h"

#ifndef FROM_S
#define FROM_S 1
#endif
#ifndef FROM_L
#define FROM_L 1
#endif
#ifndef BREAKS
#define BREAKS 1
#endif
#ifndef LOST
#define LOST 1
#endif
#ifndef ADMIN
#define ADMIN 0
#endif
#ifndef CONNS
#define CONNS 3
#endif
#ifndef BUG
#define BUG 0
#endif

#define S 0
#define L 1
#define NONE 15
#define KNOCK 14
#define HAS(h) (own[h] < KNOCK)
#define OTHER(h) (1 - (h))
#define MSGS(h) ((h) == S -> FROM_S : FROM_L)
#define W(c, h) ((c) * 2 + (h)) /* what h wrote into connection c */

/* Events, as enum PathEvent. */
#define DROP 1
#define CONNECTED 2
#define DRAINED 4
#define TIMER 8
#define ACCEPTED 16
#define WANT 32
#define KNOCKED 64
#define OF_A_CONNECTION (DROP | CONNECTED | DRAINED)

/* An end of a connection, on one host. */
#define ABSENT 0
#define OPEN 1
#define SHUT 2 /* we send no more */
#define CLOSED 3

/* ---- a path ---- */
byte state[2] = kDown;
byte ev[2];
bool admin[2];			/* drop_reason_ is RDS_DROP_ADMIN */
byte accepted[2] = NONE;
byte own[2] = NONE;		/* the transport's connection */
bool knows[2], over[2];		/* it was told that this one is established, is over */
bool timer[2], retry_armed[2], wanted[2];
byte queued[2], sent[2], acked[2], marked[2]; /* messages 1..queued; marked: went out before */
byte got[2];			/* the last message from the other */

/* ---- the network ---- */
bool used[CONNS], syn[CONNS], lost[CONNS], up[CONNS], dead[CONNS]; /* all called by S */
mtype:knock = { silent, calls, heard };
mtype:knock knock = silent;	/* L's own call, which never carries anything */
byte side[CONNS * 2];
byte has[CONNS * 2];		/* W(c, h): the last of h's that the other took from it */
chan wire[CONNS * 2] = [1] of { byte, bool };
byte breaks = BREAKS, losses = LOST, admins = ADMIN;

#define POST(h, e) ev[h] = ev[h] | (e)
#define CLEAR(h, e) ev[h] = ev[h] & (255 - (e))

/* Nobody has this connection any more. */
inline release(c)
{
	if
	:: used[c] && !syn[c] && (side[W(c, S)] == ABSENT || side[W(c, S)] == CLOSED) &&
	   (side[W(c, L)] == ABSENT || side[W(c, L)] == CLOSED) ->
		used[c] = false; lost[c] = false; up[c] = false; dead[c] = false;
		has[W(c, S)] = 0; has[W(c, L)] = 0;
		side[W(c, S)] = ABSENT; side[W(c, L)] = ABSENT;
		do
		:: nempty(wire[W(c, S)]) -> wire[W(c, S)]?_, _
		:: nempty(wire[W(c, L)]) -> wire[W(c, L)]?_, _
		:: empty(wire[W(c, S)]) && empty(wire[W(c, L)]) -> break
		od
	:: else
	fi
}

/* A reset: what was on its way is gone. */
inline kill(c)
{
	dead[c] = true;
	do
	:: nempty(wire[W(c, S)]) -> wire[W(c, S)]?_, _
	:: nempty(wire[W(c, L)]) -> wire[W(c, L)]?_, _
	:: empty(wire[W(c, S)]) && empty(wire[W(c, L)]) -> break
	od
}

/* close(2): with something unread it is a reset; else the other still reads what we wrote. */
inline close_end(c, h)
{
	atomic {
		side[W(c, h)] = CLOSED;
		if
		:: nempty(wire[W(c, OTHER(h))]) -> kill(c)
		:: empty(wire[W(c, OTHER(h))])
		fi;
		release(c)
	}
}

inline close_own(h)
{
	atomic {
		if
		:: own[h] == KNOCK -> own[h] = NONE; knock = (knock == heard -> silent : knock)
		:: own[h] < KNOCK -> tmp = own[h]; own[h] = NONE; close_end(tmp, h)
		:: else
		fi
	}
}

inline enter(h, to)
{
	assert(LEGAL(state[h], to));
#ifdef CHECK_EDGE
	assert(!EDGE(CHECK_EDGE, state[h], to));
#endif
	state[h] = to
}

inline disarm(h)
{
	atomic {
		timer[h] = false;
#if BUG != 1
		CLEAR(h, TIMER)
#endif
	}
}

inline schedule_retry(h)
{
	wanted[h] = false;
	if
	:: acked[h] == queued[h] && h == L
	:: else -> atomic { wanted[h] = true; retry_armed[h] = true; CLEAR(h, TIMER); timer[h] = true }
	fi
}

inline go_down(h)
{
	atomic {
#if BUG != 2
		marked[h] = (sent[h] > marked[h] -> sent[h] : marked[h]);
#endif
		sent[h] = acked[h]
	}
	disarm(h);
	enter(h, kDown);
	if
	:: accepted[h] != NONE -> POST(h, ACCEPTED)
	:: else -> schedule_retry(h)
	fi
}

inline come_up(h)
{
	retry_armed[h] = false;
	enter(h, kUp)
}

/* @live: whether what was accepted could be taken over. */
inline adopt(h)
{
	atomic { tmp = accepted[h]; accepted[h] = NONE }
	if
	:: tmp == NONE -> live = false
	:: else ->
#if BUG != 3
		CLEAR(h, OF_A_CONNECTION);
#endif
		atomic {
			assert(own[h] == NONE);
			if
			:: dead[tmp] -> live = false; close_end(tmp, h)
			:: else -> live = true; own[h] = tmp; knows[h] = true; over[h] = false
			fi
		}
	fi;
	tmp = 0
}

inline start_connect(h)
{
	retry_armed[h] = false;
	wanted[h] = true;
	CLEAR(h, OF_A_CONNECTION);
	enter(h, kConnecting);
	disarm(h);
	timer[h] = true;
	if
	:: h == L -> own[h] = KNOCK; knock = calls
	:: else ->
		/* If none is free the network makes us wait. */
		if
		:: !used[0] -> tmp = 0
		:: used[0] && !used[1] -> tmp = 1
		:: used[0] && used[1] && !used[2] -> tmp = 2
		fi;
		used[tmp] = true; syn[tmp] = true; side[W(tmp, h)] = OPEN;
		own[h] = tmp; tmp = 0
	fi;
	knows[h] = false; over[h] = false
}

/* One message of connection @c comes to host @h. */
inline take(c, h)
{
	wire[W(c, OTHER(h))]?n, again;
	if
	:: again && n <= got[h]		/* RETRANSMITTED, and below what is expected next */
	:: else ->
		assert(n == got[h] + 1); /* none lost, none twice, none overtaken */
		got[h] = n
	fi;
	has[W(c, OTHER(h))] = n
}

/* ---- the worker: run() and the steps of path.cc, in their order ---- */
inline step_down(h)
{
	if
	:: e & ACCEPTED ->
		adopt(h);
		if
		:: live -> come_up(h)
		:: else -> schedule_retry(h)
		fi
	:: !(e & ACCEPTED) && ((e & (KNOCKED | TIMER)) || ((e & WANT) && !retry_armed[h])) ->
		start_connect(h)
	:: else
	fi
}

inline step_connecting(h)
{
	if
	:: e & DROP -> close_own(h); go_down(h)
	:: !(e & DROP) && (e & CONNECTED) ->
		come_up(h);
		if
		:: e & ACCEPTED -> close_own(h); go_down(h)
		:: else
		fi
	:: !(e & (DROP | CONNECTED)) && (e & ACCEPTED) ->
		close_own(h);
		adopt(h);
		if
		:: live -> come_up(h)
		:: else -> go_down(h)
		fi
	:: !(e & (DROP | CONNECTED | ACCEPTED)) && (e & TIMER) -> close_own(h); go_down(h)
	:: else
	fi
}

inline step_up(h)
{
	if
	:: (e & DROP) && admin[h] ->
		enter(h, kDisconnecting);
		atomic { CLEAR(h, TIMER); timer[h] = true };
		atomic {
			if
			:: HAS(h) && side[W(own[h], h)] == OPEN -> side[W(own[h], h)] = SHUT
			:: else
			fi
		}
	:: !((e & DROP) && admin[h]) && (e & (DROP | ACCEPTED)) ->
		if
		:: !(e & DROP) -> /* replaced: read it empty */
			atomic {
				do
				:: nempty(wire[W(own[h], OTHER(h))]) -> take(own[h], h)
				:: empty(wire[W(own[h], OTHER(h))]) -> break
				od
			}
		:: else
		fi;
		close_own(h);
		go_down(h)
	:: else
	fi
}

inline step_disconnecting(h)
{
	if
	:: (e & (DRAINED | TIMER)) || ((e & DROP) && !admin[h]) -> close_own(h); go_down(h)
	:: else
	fi
}

proctype worker(bit h)
{
	byte e, tmp, n;
	bool live, again;

end:	do
	:: atomic { ev[h] != 0 -> e = ev[h]; ev[h] = 0 }
		/* What comes between these two is what a step must not throw away, or must. */
		atomic {
#if BUG != 5
			if
			:: accepted[h] == NONE -> e = e & (255 - ACCEPTED)
			:: else
			fi;
#endif
			if
			:: state[h] == kDown -> step_down(h)
			:: state[h] == kConnecting -> step_connecting(h)
			:: state[h] == kUp -> step_up(h)
			:: state[h] == kDisconnecting -> step_disconnecting(h)
			fi;
			e = 0; live = false; tmp = 0; n = 0; again = false
		}
	od
}

/* ---- applications, one sender of the path ---- */
proctype app(bit h)
{
	do
	:: queued[h] < MSGS(h) ->
		queued[h]++;
		atomic {
			if
			:: state[h] == kDown && !wanted[h] -> wanted[h] = true; POST(h, WANT)
			:: else
			fi
		}
	:: else -> break
	od
}

proctype sender(bit h)
{
end:	do
	:: atomic {
		state[h] == kUp && HAS(h) && sent[h] < queued[h] &&
		!dead[own[h]] && nfull(wire[W(own[h], h)]) ->
			sent[h]++;
			wire[W(own[h], h)]!sent[h], (sent[h] <= marked[h])
	   }
	od
}

/* ---- callbacks: never after close(), that is, only of what the path owns ---- */
proctype receives(bit h)
{
	byte n;
	bool again;

end:	do
	:: atomic {
		HAS(h) && nempty(wire[W(own[h], OTHER(h))]) ->
			take(own[h], h); n = 0; again = false
	   }
	od
}

proctype is_acked(bit h)
{
end:	do
	:: atomic {
		HAS(h) && state[h] == kUp && !dead[own[h]] &&
		has[W(own[h], h)] > acked[h] && sent[h] >= has[W(own[h], h)] ->
			acked[h] = has[W(own[h], h)];
			assert(acked[h] <= got[OTHER(h)])
	   }
	od
}

#define OVER(c, h) (dead[c] || (up[c] && side[W(c, OTHER(h))] >= SHUT && \
				empty(wire[W(c, OTHER(h))])))

/* Established, ended or broken: told once each, at some time. */
proctype told(bit h)
{
end:	do
	:: atomic {
		HAS(h) && up[own[h]] && !knows[h] && !dead[own[h]] ->
			knows[h] = true;
			POST(h, CONNECTED)
	   }
	:: atomic {
		HAS(h) && !over[h] && OVER(own[h], h) ->
			over[h] = true;
			if
			:: !dead[own[h]] && state[h] == kDisconnecting -> POST(h, DRAINED)
			:: else -> admin[h] = false; POST(h, DROP)
			fi
	   }
	:: atomic { own[h] == KNOCK && knock == heard && !over[h] ->
			over[h] = true; admin[h] = false; POST(h, DROP)
	   }
	od
}

/* Back-off at any time; in the other states only when it is about something. */
proctype timers(bit h)
{
end:	do
	:: atomic { timer[h] && state[h] != kConnecting -> timer[h] = false; POST(h, TIMER) }
	:: atomic { HAS(h) && state[h] == kConnecting && lost[own[h]] && timer[h] ->
			timer[h] = false; POST(h, TIMER) }
	od
}

/* S hears a knock and refuses it; it may be one that L has given up. */
proctype listener_S()
{
end:	do
	:: atomic { knock == calls ->
			knock = (own[L] == KNOCK -> heard : silent);
#if BUG != 4
			POST(S, KNOCKED)
#endif
	   }
	od
}

/* L accepts.  Between handing over and saying so there is time. */
proctype listener_L()
{
	byte c;

end:	do
	:: atomic {
		if
		:: syn[0] -> c = 0
		:: syn[1] -> c = 1
		:: syn[2] -> c = 2
		fi;
		syn[c] = false;
		up[c] = true;
		side[W(c, L)] = OPEN;
		if
		:: side[W(c, S)] == CLOSED -> dead[c] = true
		:: else
		fi;
		if
		:: accepted[L] != NONE -> close_end(accepted[L], L)
		:: else
		fi;
		accepted[L] = c;
		c = 0
	   }
	   POST(L, ACCEPTED)
	od
}

/* What goes wrong, at most so often. */
proctype harm()
{
	byte c;

	do
	:: atomic { breaks > 0 ->
		breaks--;
		if
		:: up[0] && !dead[0] -> c = 0
		:: up[1] && !dead[1] -> c = 1
		:: up[2] && !dead[2] -> c = 2
		:: true -> c = NONE
		fi;
		if
		:: c == NONE
		:: else -> kill(c); release(c)
		fi;
		c = 0
	   }
	:: atomic { losses > 0 ->
		losses--;
		if
		:: syn[0] -> lost[0] = true; syn[0] = false
		:: syn[1] -> lost[1] = true; syn[1] = false
		:: true
		fi
	   }
	:: atomic { admins > 0 ->
		admins--;
		if
		:: state[S] == kUp -> admin[S] = true; POST(S, DROP)
		:: state[L] == kUp -> admin[L] = true; POST(L, DROP)
		:: true
		fi
	   }
	:: breaks == 0 && losses == 0 && admins == 0 -> break
	od
}

init
{
	atomic {
		run worker(S); run worker(L);
		run app(S); run app(L);
		run sender(S); run sender(L);
		run receives(S); run receives(L);
		run is_acked(S); run is_acked(L);
		run told(S); run told(L);
		run timers(S); run timers(L);
		run listener_S(); run listener_L();
		run harm()
	}
}

#define all_is_well (state[S] == kUp && state[L] == kUp && own[S] == own[L] && \
		     acked[S] == FROM_S && acked[L] == FROM_L && got[S] == FROM_L && got[L] == FROM_S)

ltl heals { <> [] all_is_well }
