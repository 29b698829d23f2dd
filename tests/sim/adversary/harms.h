/* SPDX-License-Identifier: GPL-2.0 */
/*
 * harms.h: the list of what the adversary does to its victim, each a verb with a name, by which a
 * story is told, made shorter and played again (adversary_run.cc).
 *
 * A verb draws what it needs from sim::random(), which its step has seeded, and takes the adversary
 * as it finds it: what was begun before (windows that are shut, messages that are half, maps that
 * are full) goes on.  It says nothing wrong where the right thing does the harm.
 */
#ifndef RDS_TESTS_ADVERSARY_HARMS_H
#define RDS_TESTS_ADVERSARY_HARMS_H

#include "world.h"

namespace adversary
{

enum class Over { kBoth, kStreams, kPairs };

#define ADVERSARY_HARMS(X)                                                                         \
	X(calls_again, kBoth, "more connections under a name that has one")                        \
	X(lives, kBoth, "another generation at each connection")                                   \
	X(capabilities, kBoth, "other capabilities each time")                                     \
	X(greets_again, kBoth, "a second hello, of another life")                                  \
	X(acks_unsent, kBoth, "acknowledges what was never sent, and others' numbers")             \
	X(acks_never, kBoth, "acknowledges nothing, and reads on")                                 \
	X(acks_late, kBoth, "acknowledges all at once, late")                                      \
	X(asks, kBoth, "wants an ack of each message")                                             \
	X(pings, kBoth, "pings by the hundred, its window shut or not")                            \
	X(pongs, kBoth, "pongs that nobody asked for")                                             \
	X(probes, kBoth, "probes by the hundred")                                                  \
	X(half, kBoth, "half a message, and not a word more")                                      \
	X(halves, kBoth, "nearly a MiB of a message from each name")                               \
	X(announces, kBoth, "a header that announces a MiB, and no byte of it")                    \
	X(nobodys, kBoth, "messages for ports that nobody has")                                    \
	X(floods, kBoth, "more than a socket takes that nobody reads")                             \
	X(fills, kBoth, "fills a socket that is emptied, again and again")                         \
	X(flaps, kBoth, "a map that changes bit by bit")                                           \
	X(refuses, kBoth, "says of ports that they are refused, or are not any more")              \
	X(is_full, kBoth, "says that all its ports are full")                                      \
	X(knocks, kStreams, "calls from where it should not, its window shut or not")              \
	X(knocks_on, kStreams, "knocks for a minute, its window shut")                             \
	X(nonsense, kBoth, "answers calls by nonsense for a minute, knocking or not")              \
	X(many, kBoth, "comes under each of its names")                                            \
	X(more_paths, kStreams, "opens more paths than it said")                                   \
	X(shuts_midway, kStreams, "shuts its window in the middle of a header")                    \
	X(goes_deaf, kBoth, "reads nothing any more")                                              \
	X(ends, kBoth, "ends a connection at any byte")                                            \
	X(numbers, kBoth, "numbers again, with gaps, 0 and the last one there is")                 \
	X(orders, kBoth, "numbers messages of hundreds of flows, whether it said so or not")       \
	X(impostor, kStreams, "calls under the name of an honest host")                            \
	X(answers, kBoth, "answers calls badly, refuses them, or says nothing")                    \
	X(mute, kBoth, "connects and says nothing")                                                \
	X(from_nowhere, kBoth, "messages from port 0 to ordinary sockets")                         \
	X(crumbs, kStreams, "a message byte by byte")                                              \
	X(credits, kPairs, "gives more credits than there are buffers, or none")                   \
	X(sizes, kPairs, "frames of a size that their header does not mean")                       \
	X(versions, kPairs, "requests of other versions, with other private data")                 \
	X(no_buffers, kPairs, "no buffer for what it is sent, or too many")                        \
	X(hears_again, kBoth, "reads and acknowledges as it should again")

struct Harm {
	const char *name;
	Over over;
	const char *what;
	void (*fn)(World &w);
};

#define ADVERSARY_HARM_FN(name, over, what) void harm_##name(World &w);
ADVERSARY_HARMS(ADVERSARY_HARM_FN)
#undef ADVERSARY_HARM_FN

/* All of them, in the order above. */
extern const Harm harms[];
extern const unsigned int n_harms;

} // namespace adversary
#endif
