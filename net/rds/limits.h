/* SPDX-License-Identifier: GPL-2.0 */
/*
 * limits.h: every bound of the core, with its unit and its reason.
 */
#ifndef RDS_LIMITS_H
#define RDS_LIMITS_H

#include "../platform/types.h"

namespace rds
{

/* Payload of one message, bytes: what mainline accepts from sendmsg.  A longer h_len resets the
 * path before anything is allocated. */
inline constexpr uint32_t kMaxMessageBytes = 1u << 20;
/* Congestion map: one bit for each port. */
inline constexpr uint32_t kCongMapBytes = 65536 / 8;
inline constexpr uint32_t kCongMapWords = kCongMapBytes / 8;

/* Paths of one connection (mprds). */
inline constexpr unsigned int kMaxPaths = 8;
/* Of them, with a peer of mainline's: more would cost the order
 * (docs/decisions/014-multipath.md). */
inline constexpr uint16_t kMainlinePaths = 1;
/* Times that path 0 had no room before the others are used. */
inline constexpr uint32_t kFanBlocks = 16;

/* Memory that messages may hold, in multiples of the payload limit (half of SO_SNDBUF, SO_RCVBUF):
 * payload bytes alone would let zero-length messages grow without bound.  A message costs some
 * 300 bytes beside its payload, so ordinary traffic meets the payload limit first. */
inline constexpr uint32_t kMemFactor = 8;
/* Beyond this multiple the receiver stops taking at all (the path waits): reached only by a sender
 * that ignores congestion, or by very many that sent before they knew. */
inline constexpr uint32_t kHardMemFactor = 32;
/* A receive limit counts as no more than this, bytes: 32 times it is 2 GiB.  SO_RCVBUF may say more
 * and getsockopt repeats it. */
inline constexpr uint32_t kMostRcvbuf = 64u << 20;

/* ... but what other hosts sent before they could know is taken up to so much, in all, bytes: what
 * TCP has under way, of one fast peer or of some slow ones. */
inline constexpr uint32_t kRecvSpillBytes = 16u << 20;
/* ... and, where the hard limit is near that or beyond, no less than such a part of it more: also a
 * socket with a large buffer has room for a peer's first message when another has filled it. */
inline constexpr uint32_t kLeastSpillPart = 8;
/* Of that room one peer may have half, and each of several the less the more others have: a factor
 * of the threshold in peer_shares.h.  Those that have some are found in so many lists, 2 KiB of
 * each namespace and of a socket whose spill is in use; 48 bytes each. */
inline constexpr uint32_t kPeerShare = 4, kPeerShareBuckets = 256;

/* Full ports of one peer for which messages wait apart, of one path; those for further ones go, and
 * the peer refuses those.  A port stays held when its messages are taken back. */
inline constexpr unsigned int kMaxHeldPorts = 256;

/* Ports of one path that are refused at a time to one generation of its peer's, and that a peer may
 * refuse (refused.h): for one more the path pauses, or the peer's word is ignored. */
inline constexpr unsigned int kMaxRefusedPorts = 64;

/* Memory of messages that are not whole yet, of a namespace, bytes: those of strangers in all,
 * beyond which the one whose grows goes (a stranger calls again, and is none once a message of it
 * was whole and had a reader); and those of all others. */
inline constexpr uint64_t kAssemblyStrangers = 8u << 20, kAssembly = 64u << 20;
/* So much of the latter, bytes, is open to all of them; of the rest each peer has a share, beyond
 * which its paths pause, all but one of the namespace, so that not all wait for each other's rest.
 */
inline constexpr uint64_t kAssemblyOpen = kAssembly / 8;
/* That one has so long to become whole, ns: 1 MiB of a link of 5 Mbit/s. */
inline constexpr uint64_t kAssemblyTurnNs = 2ull * 1000 * 1000 * 1000;
/* It is counted in such units, bytes, and so much ahead, as a part of it: a long message that comes
 * in small pieces touches what all share a few times only. */
inline constexpr uint32_t kAssemblyUnit = 1024, kAssemblyAhead = 4;

/* Room of the send queue's memory, bytes, that a note "these pages are yours again" holds from the
 * end of its message until the program has read it: a program that never reads them is stopped as
 * one whose messages stay. */
inline constexpr uint32_t kZcopyNoteBytes = 64;
/* The same of a note how an operation ended, from the begin of its message. */
inline constexpr uint32_t kOpNoteBytes = 64;

/* Messages handed to one ops->xmit call. */
inline constexpr unsigned int kXmitBatch = 32;
/* Messages of a path's queue that are looked at, moved, or let go each time that a task takes the
 * lock for that. */
inline constexpr unsigned int kQueueStep = 64;
/* The same, of those that a program looks at to take some back: that costs more ... */
inline constexpr unsigned int kCancelStep = 32;
/* ... and to show one as much again. */
inline constexpr unsigned int kLookStep = 8;
/* Buckets of a table that are looked at, for what is rare in it, in one RCU section. */
inline constexpr unsigned int kTableStep = 64;
/* Messages that one caller transmits before it leaves the rest to the worker. */
inline constexpr unsigned int kSendBatchDefault = 1024;

/* Holding back small messages of a stream (path.h): more than kHoldBurst messages within a window,
 * beyond those received in it, make a stream; its messages go out together at the end of the window
 * or when kHoldBytes wait. */
inline constexpr uint64_t kHoldWindowNs = 50 * 1000;
inline constexpr unsigned int kHoldBurst = 2;
/* A window older than this before it has its messages ends the stream.  Longer than a window and
 * the time in which its messages are transmitted and read, on one processor. */
inline constexpr uint64_t kHoldPauseNs = 5 * kHoldWindowNs;
inline constexpr uint32_t kHoldBytes = 32 * 1024;
/* So many that wait are passed by an answer: their numbers change, under the path's lock. */
inline constexpr unsigned int kMostOvertaken = 64;

/* Orderly end: how long the peer's end is waited for, ns (mainline 7.x waits as long). */
inline constexpr uint64_t kDrainTimeoutNs = 5ull * 1000 * 1000 * 1000;
/* After a knock the peer needs time to call; only then another knock, ns. */
inline constexpr uint64_t kKnockPauseNs = 500ull * 1000 * 1000;
/* The end that need not call leaves the peer this long to call after a connection died, ns. */
inline constexpr uint64_t kOwedPauseNs = 50ull * 1000 * 1000;
/* A connection that is up is given so long to show that it lives when another is accepted in its
 * place, ns: a peer that was restarted shall be back within two seconds.  Its sign of life counts
 * so long for the next that comes. */
inline constexpr uint64_t kAskNs = 1000ull * 1000 * 1000;
inline constexpr uint64_t kAnswerGoodNs = 100ull * 1000 * 1000;
/* A path over which messages go times an ack so often at least, ms (path/ack_clock.h). */
inline constexpr uint32_t kAckTimedMs = 1000;
/* How long what was received may stay unacknowledged when nobody asks, ns. */
inline constexpr uint64_t kAckDelayNs = 5 * 1000 * 1000;
/* A path that is down, and might carry un-ordered messages, is called after such a pause, ns. */
inline constexpr uint64_t kCallPauseNs = 10 * 1000 * 1000;
/* Pause before memory is asked for again, or a full receiver tried again, ns. */
inline constexpr uint64_t kRetryNs = 5 * 1000 * 1000;

/* Memory of a socket's messages is charged to its cgroup, and given back, in such steps, bytes. */
inline constexpr uint32_t kPayStep = 16 * 1024;
/* Received messages that nobody could pay for are taken up to so much, bytes of a socket whose
 * cgroup has no more; with half of it the port is full.  While somebody has the socket locked one
 * more is taken, however large. */
inline constexpr uint32_t kMostDebt = 64 * 1024;

/* Idle connections are looked for so often at least, and so soon again while one is on its way
 * out, ns; so many are handed over between two such pauses, and so many buckets of the table looked
 * through before other work has its turn.  One that was looked after and could not go makes way for
 * others so long. */
inline constexpr uint64_t kSweepNs = 15ull * 1000 * 1000 * 1000;
inline constexpr uint64_t kSweepSoonNs = 20 * 1000 * 1000;
inline constexpr uint64_t kSweepAgainNs = 1000 * 1000 * 1000;
inline constexpr unsigned int kSweepBatch = 512, kSweepStep = 256;

/* For so long after addresses have changed connections are looked at, and so long apart, ns: a new
 * address of IPv6 is nobody's for one or two seconds, unless the host was told otherwise (RFC 4862,
 * 5.1 and 5.4.2). */
inline constexpr uint64_t kAddrsSettleNs = 2500ull * 1000 * 1000;
inline constexpr uint64_t kAddrsAgainNs = 100 * 1000 * 1000;

/* A peer that sends nothing is told of a map that changes again so long after the last change that
 * it was told of, or twice that, ns (map_pause.h); one that has sent something in the last
 * kSpeaksNs, at once. */
inline constexpr uint64_t kMapPauseNs = 10 * 1000 * 1000;
inline constexpr uint64_t kSpeaksNs = 100 * 1000 * 1000;

/* A map knows of so many changes which ports they were of; a power of two below 2^16 (cong.h).  Of
 * more a peer is told by the whole map. */
inline constexpr uint32_t kMapLog = 8;

/* So many buckets of the table of connections are looked through at once when a map has changed. */
inline constexpr unsigned int kMapStep = 64;

/* Hosts that did not answer are called again by turns: one of a namespace's in so long, in the long
 * run, ns.  It is work that nobody is charged for, and as much as strangers may cause. */
inline constexpr uint64_t kTurnNs = 500 * 1000;

/* Strangers: hosts that only call us, and have brought nothing for a socket here.  One that is gone
 * is forgotten so soon after, and no stranger sooner than that after its first call, ns. */
inline constexpr uint64_t kStrangerSweepNs = 250 * 1000 * 1000;
/* A stranger that asked to be called is, so often; the same after it was up for less than
 * kSteadyNs. */
inline constexpr uint32_t kStrangerCalls = 3;
inline constexpr uint64_t kSteadyNs = 10ull * 1000 * 1000 * 1000;
/* A host that has brought something and that nobody here has sent to is called so often, the same
 * holds. */
inline constexpr uint32_t kKnownCalls = 200;
/* A knock is heeded so long after the last one whose call was of no use, ns: whoever knocks and
 * says nonsense is called 30 times a minute. */
inline constexpr uint64_t kKnockAgainNs = 2ull * 1000 * 1000 * 1000;
/* The pause after a connection that ended by nonsense, and what it doubles up to, ns; no knock
 * makes it start over, or all that a knock allows would come twice. */
inline constexpr uint64_t kFaultPauseNs = 2ull * 1000 * 1000 * 1000;
inline constexpr uint64_t kMaxFaultPauseNs = 60ull * 1000 * 1000 * 1000;
/* A peer that says no first frame for so long is hung up on, ns, if nobody here has sent to it, or
 * if what was sent waits for that frame. */
inline constexpr uint64_t kMuteNs = 10ull * 1000 * 1000 * 1000;
/* Beyond max_passive_connections a stranger may be silent for so long before it goes sooner than
 * those that are not, one that has delivered something for so long, ns; and there may be so many
 * times as many, of hosts with a tombstone twice that. */
inline constexpr uint64_t kStrangerSilentNs = 1000 * 1000 * 1000;
inline constexpr uint64_t kKnownSilentNs = 60ull * 1000 * 1000 * 1000;
inline constexpr uint32_t kPassiveRoom = 2, kKnownRoom = 4;

/* Calls of strangers, one prefix's: so many at once, and then one in so many ticks; a cluster of
 * two thousand hosts in one prefix that boots comes up at once.  And those of all: fewer than the
 * sweep shows out in the time in which it comes. */
inline constexpr uint64_t kCallTickNs = 250 * 1000;
inline constexpr uint32_t kPrefixCalls = 2048, kPrefixCallTicks = 32;
inline constexpr uint32_t kCalls = 4096, kCallTicks = 2;
/* Prefixes that are told apart: 4 KiB of a namespace; and while room is made for others, 56 KiB for
 * the time of a sweep. */
inline constexpr uint32_t kCallSlots = 1024, kShareSlots = 2048;
/* A prefix's share of max_passive_connections is such a part of it, and no less than all hosts of a
 * /24. */
inline constexpr uint32_t kPrefixShare = 4, kLeastShare = 256;

/* A namespace tells the log of what its peers do wrong so often at most, ns: the log is the host's,
 * and has room for what others say. */
inline constexpr uint64_t kLogPauseNs = 60ull * 1000 * 1000 * 1000;
/* A connection whose peer owes the rest of a frame and brings no byte of it for so long ends, ns:
 * whatever takes longer over TCP is an outage, after which the message is sent again. */
inline constexpr uint64_t kStallNs = 30ull * 1000 * 1000 * 1000;

/* Tombstones of a namespace (tombs.h), some 210 bytes each: more than twice as many as there can be
 * connections that leave one. */
inline constexpr uint32_t kMaxTombstones = 16384;
inline constexpr uint32_t kTombBuckets = 2048;
/* Ports that the paths of one connection had refused, 8 bytes each: every tombstone may keep as
 * many as one path refuses.  Beyond that, and for counts of other generations, all of them have so
 * many bytes.  With 512 for each that is 15 MiB in all. */
inline constexpr unsigned int kTombPorts = kMaxRefusedPorts;
inline constexpr uint32_t kTombSpare = 7u << 20;
/* Generations of a path's peer whose numbers are remembered, the current one included. */
inline constexpr unsigned int kGenerations = 4;

/* Messages of one flow over several paths whose arrival is told apart (recv_query.h): from the
 * oldest on that the sender does not know delivered. */
inline constexpr uint32_t kOrderWindow = 4096;
/* Such flows of one socket, as rows that a peer's name chooses: 160 kB at most. */
inline constexpr unsigned int kFlowRows = 32, kFlowWays = 8;

/* Unsent pongs on one path; further pings are dropped (they are answered by nobody's retry). */
inline constexpr unsigned int kMaxPongs = 64;

/* Ports that one socket waits for at a time; beyond, it waits for any port of any host.  Those that
 * wait are found by host and port in so many lists. */
inline constexpr unsigned int kMaxCongWaits = 64, kCongIndexLists = 512;

/* Addresses that a socket has sent to, of which it keeps a list (sent_to.h). */
inline constexpr unsigned int kMaxSentTo = 32;

/* Sockets and connections that one user may have in a namespace, by default (sysctls): a quarter of
 * the ports of an address, and an eighth of the paths that rds_tcp has. */
inline constexpr uint32_t kUserSockets = 16384, kUserConns = 8192;
/* A user that is refused a connection loses such a part of its own, of those that nobody has used
 * for so long, ns. */
inline constexpr uint32_t kDuePart = 8;
inline constexpr uint64_t kDueIdleNs = 1000ull * 1000 * 1000;

/* Ports 0 (ping) and 1 (probe) are never bound. */
inline constexpr uint16_t kPingPort = 0;
inline constexpr uint16_t kProbePort = 1;
inline constexpr uint16_t kFirstPort = 2;

/* Hash tables start this big; they double when there are more objects than buckets. */
inline constexpr uint32_t kHashMinBuckets = 64;
inline constexpr uint32_t kHashMaxBuckets = 1u << 20;

} // namespace rds
#endif
