/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * Generic netlink family "rds": what the RDS of a network namespace has and does just now: its
 * paths, sockets and counters, and what happens to its paths.  It only tells; whom the namespace
 * speaks to is said by the family "rds_peers" (<linux/rds_peers.h>).
 *
 * Anybody may ask.  Where net.rds.info_restrict is set, users without CAP_NET_ADMIN in the user
 * namespace that owns the network namespace see no path (EPERM), and of the sockets their own.
 * Events are for those that have it.
 *
 * docs/netlink/rds.yaml describes the messages; rdsctl(8) speaks them.  What is not known is left
 * out of a message.  Attributes are only ever added.
 */
#ifndef _LINUX_RDS_STATE_H
#define _LINUX_RDS_STATE_H

#define RDS_STATE_FAMILY_NAME "rds"
#define RDS_STATE_FAMILY_VERSION 1
/* Multicast: RDS_STATE_CMD_PATH_EVENT. */
#define RDS_STATE_MCGRP_EVENTS "events"

enum {
	RDS_STATE_CMD_UNSPEC,
	RDS_STATE_CMD_PATH_GET,	   /* dump: a PATH_GET for each path */
	RDS_STATE_CMD_SOCKET_GET,  /* dump: a SOCKET_GET for each socket */
	RDS_STATE_CMD_COUNTER_GET, /* dump: a COUNTER_GET for each counter */
	/*
	 * Event: LOCAL, REMOTE, SCOPE, TOS, INDEX, TRANSPORT, EVENT, and LAST_REASON where a
	 * connection has ended or was not made.  Of a port: EVENT, CONGESTED_PORTS, and LOCAL if it
	 * is one of this host, REMOTE if it is a peer's; 20 in a second, and no more.  Whoever
	 * reads too slowly is told ENOBUFS by recvmsg(2), and then what comes later.
	 */
	RDS_STATE_CMD_PATH_EVENT,

	__RDS_STATE_CMD_MAX,
	RDS_STATE_CMD_MAX = __RDS_STATE_CMD_MAX - 1
};

/* Of a path. */
enum {
	RDS_PATH_A_UNSPEC,
	RDS_PATH_A_PAD,
	RDS_PATH_A_LOCAL,	    /* binary, network order: 4 bytes for IPv4, 16 for IPv6 */
	RDS_PATH_A_REMOTE,	    /* the same */
	RDS_PATH_A_SCOPE,	    /* u32: interface, of link-local addresses only */
	RDS_PATH_A_TOS,		    /* u8 */
	RDS_PATH_A_INDEX,	    /* u8: of the connection's paths, this one */
	RDS_PATH_A_TRANSPORT,	    /* string */
	RDS_PATH_A_STATE,	    /* u8: enum rds_path_state */
	RDS_PATH_A_STATE_MS,	    /* u64: milliseconds in this state */
	RDS_PATH_A_LAST_REASON,	    /* string: why it ended last, or a call failed; "-": never */
	RDS_PATH_A_ATTEMPTS,	    /* u32: calls begun */
	RDS_PATH_A_RESETS,	    /* u32: times it was up and ended */
	RDS_PATH_A_NEXT_TX,	    /* u64: number of the next message to be sent */
	RDS_PATH_A_NEXT_RX,	    /* u64: number of the next one to be received */
	RDS_PATH_A_UNACKED,	    /* u64: messages queued and not delivered, at most */
	RDS_PATH_A_UNSENT_BYTES,    /* u32: of them, what the transport has not taken yet */
	RDS_PATH_A_HOLDS,	    /* flag: more wait for ports of the peer that are full */
	RDS_PATH_A_CONGESTED,	    /* u32: ports of the peer that are full, by its map */
	RDS_PATH_A_CONGESTED_PORTS, /* binary, u16 each: the first of them */
	RDS_PATH_A_REFUSED,	    /* u32: ports that the peer has refused messages for */
	RDS_PATH_A_REFUSES,	    /* flag: this host has, for ports of its own */
	/* Of the connection of a path that is up, where the transport knows. */
	RDS_PATH_A_RTT_US,   /* u32: microseconds from a byte to the transport's ack, smoothed */
	RDS_PATH_A_HEARD_MS, /* u32: milliseconds since the last of these acks */
	RDS_PATH_A_TX_BYTES, /* u64: acknowledged so, since the connection began */
	RDS_PATH_A_RX_BYTES, /* u64: received */
	RDS_PATH_A_SIGNED,   /* u8: enum rds_peers_method of <linux/rds_peers.h> */
	RDS_PATH_A_EVENT,    /* u8: enum rds_path_news */
	/* u32: milliseconds since the oldest message was queued that is not delivered, 10 less at
	 * most.  Not of loopback. */
	RDS_PATH_A_WAITS_MS,
	RDS_PATH_A_CONGESTED_MS, /* u32: milliseconds for which a port of the peer has been full */
	RDS_PATH_A_PEER,	 /* u8: enum rds_path_peer */
	/* Nest of RDS_PORT_A_*, many times: of the REFUSED ports the lowest, in order. */
	RDS_PATH_A_REFUSED_PORTS,
	/* u32: microseconds from a message to the ack of the peer's RDS, of those that ask for one,
	 * smoothed.  Of the connection of a path that is up. */
	RDS_PATH_A_ACK_US,

	__RDS_PATH_A_MAX,
	RDS_PATH_A_MAX = __RDS_PATH_A_MAX - 1
};

/* Of a port of a path's peer. */
enum {
	RDS_PORT_A_UNSPEC,
	RDS_PORT_A_PORT,       /* u16, host order */
	RDS_PORT_A_REFUSED_MS, /* u32: milliseconds for which messages for it have been refused */

	__RDS_PORT_A_MAX,
	RDS_PORT_A_MAX = __RDS_PORT_A_MAX - 1
};

/* Of a socket. */
enum {
	RDS_SOCKET_A_UNSPEC,
	RDS_SOCKET_A_PAD,
	RDS_SOCKET_A_LOCAL,	  /* as of a path; of one that is bound */
	RDS_SOCKET_A_LOCAL_PORT,  /* u16, host order */
	RDS_SOCKET_A_REMOTE,	  /* of one that is connected */
	RDS_SOCKET_A_REMOTE_PORT, /* u16 */
	RDS_SOCKET_A_SCOPE,	  /* u32: interface of a link-local LOCAL */
	RDS_SOCKET_A_TRANSPORT,	  /* u8: RDS_TRANS_* */
	RDS_SOCKET_A_TOS,	  /* u8 */
	RDS_SOCKET_A_INODE,	  /* u64: as /proc/PID/fd has it */
	RDS_SOCKET_A_UID,	  /* u32: whose it is */
	RDS_SOCKET_A_SNDBUF,	  /* u32: payload that may be queued */
	RDS_SOCKET_A_RCVBUF,	  /* u32 */
	RDS_SOCKET_A_UNACKED,	  /* u32: bytes of payload that are, and no peer has */
	RDS_SOCKET_A_UNREAD,	  /* u64: bytes that have come, and nobody has read */
	RDS_SOCKET_A_CONGESTED,	  /* flag: peers are told that its port is full */
	/* u32, milliseconds: for which they have been; since the oldest message came that nobody
	 * has read, at most while a reader takes those that came with it. */
	RDS_SOCKET_A_CONGESTED_MS,
	RDS_SOCKET_A_UNREAD_MS,

	__RDS_SOCKET_A_MAX,
	RDS_SOCKET_A_MAX = __RDS_SOCKET_A_MAX - 1
};

/* Of a counter. */
enum {
	RDS_COUNTER_A_UNSPEC,
	RDS_COUNTER_A_PAD,
	RDS_COUNTER_A_NAME,  /* string */
	RDS_COUNTER_A_VALUE, /* u64 */

	__RDS_COUNTER_A_MAX,
	RDS_COUNTER_A_MAX = __RDS_COUNTER_A_MAX - 1
};

/* The RDS at the other end, as the first frame of the last connection said. */
enum rds_path_peer {
	RDS_PATH_PEER_UNKNOWN, /* nothing came yet */
	RDS_PATH_PEER_OTHER,   /* mainline's, or another: what may be lost is in docs/wire.md */
	RDS_PATH_PEER_PF_RDS,  /* of this project: it acknowledges what it has delivered */
};

enum rds_path_state {
	RDS_PATH_DOWN,
	RDS_PATH_CONNECTING,
	RDS_PATH_DISCONNECTING,
	RDS_PATH_UP,
	RDS_PATH_DEAD
};

enum rds_path_news {
	RDS_PATH_CAME_UP,
	RDS_PATH_WENT_DOWN, /* or begins to end in order */
	RDS_PATH_FAILED,    /* a call was not answered */
	RDS_PATH_REFUSED,   /* the table of peers refuses this one, or its key may be wrong */
	RDS_PATH_FOLDED,    /* its messages went to path 0: the peer is another now */
	RDS_PATH_FULL,	    /* a port takes no more messages */
	RDS_PATH_CLEAR	    /* it does again */
};

#endif
