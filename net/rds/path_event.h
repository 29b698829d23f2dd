/* SPDX-License-Identifier: GPL-2.0 */
/*
 * path_event.h: the events of a path, by name, for C as well: the table (path_table.h), the
 * kernel's trace and the documents are made of this list.
 *
 * The order is that of precedence: of several events that are there at once the worker takes them
 * from top to bottom.
 */
#ifndef RDS_PATH_EVENT_H
#define RDS_PATH_EVENT_H

/* X(name, cause) */
#define RDS_PATH_EVENTS(X)                                                                         \
	X(die, "the namespace or the transport goes, or the connection is collected")              \
	X(fold, "the peer has another number of paths now; not to path 0")                         \
	X(recv_retry, "the pause for memory or for a full socket is over")                         \
	X(drop, "the connection is broken, closed by the peer, refused, or to end")                \
	X(drained, "the peer has ended too")                                                       \
	X(connected, "our connect succeeded")                                                      \
	X(accepted, "a connection was accepted, and waits")                                        \
	X(retire, "nobody needs the connection: to call nobody any more")                          \
	X(knocked, "the peer wants to be called, or is to show that it lives")                     \
	X(doubted, "another peer came to path 0: this one is to show that it lives")               \
	X(timer, "back-off, connect timeout, drain timeout, no answer")                            \
	X(want, "the first message was queued while down")                                         \
	X(idle, "nothing was said for `idle_timeout_ms`")                                          \
	X(hello, "there may be memory for hello now")                                              \
	X(heard, "the peer's first frame came, or the first since it was asked")

/* Positions of bits. */
enum rds_path_event {
#define RDS_X(name, cause) RDS_EV_##name,
	RDS_PATH_EVENTS(RDS_X)
#undef RDS_X
		RDS_EV_COUNT,
};

#endif
