/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * User ABI of PF_RDS, reliable datagram sockets.
 *
 * A drop-in for the <linux/rds.h> that distributions install: every name, number, size and
 * offset of that header is here and means the same, so a program compiles unchanged against
 * either (tests/abi compares the two). The additions of this project stand in the section
 * "Extensions" at the end.
 *
 * How a program uses it, in short; rds(7) tells the rest:
 *
 *	fd = socket(PF_RDS, SOCK_SEQPACKET, 0);
 *	bind(fd, local address and port)	chooses the transport as well
 *	sendmsg(fd, msg_name = destination)	whole messages, in order, delivered once
 *	recvmsg(fd)				one message per call, msg_name = its sender
 *
 * Plain C, and clean in C++. The kernel side includes this file too.
 */
#ifndef _LINUX_RDS_H
#define _LINUX_RDS_H

#include <linux/types.h>
#include <linux/socket.h>	/* struct __kernel_sockaddr_storage */
#include <linux/in6.h>		/* struct in6_addr */

/* Version of the RDMA part of this ABI. */
#define RDS_IB_ABI_VERSION	0x301

/* Level of setsockopt, getsockopt and control messages. */
#define SOL_RDS			276

/*
 * Socket options, level SOL_RDS.
 *
 * CANCEL_SENT_TO takes a sockaddr and drops what this socket has sent there and the peer has
 * not acknowledged. The MR options manage memory for RDMA. CONG_MONITOR asks to be told when
 * ports that were congested take messages again. SO_RDS_TRANSPORT picks the transport before
 * bind (an int, see RDS_TRANS_*), and reads which one a socket has.
 * RXPATH_LATENCY asks for a struct rds_cmsg_rx_trace with every message. Number 4 was
 * RDS_BARRIER once and must not be used again; 9 is SO_RDS_TRANSPORT in Oracle's kernels.
 */
#define RDS_CANCEL_SENT_TO		1
#define RDS_GET_MR			2
#define RDS_FREE_MR			3
#define RDS_RECVERR			5
#define RDS_CONG_MONITOR		6
#define RDS_GET_MR_FOR_DEST		7
#define SO_RDS_TRANSPORT		8
#define SO_RDS_MSG_RXPATH_LATENCY	10

/* Values of SO_RDS_TRANSPORT. GAP was iWARP, whose transport no longer exists. */
#define RDS_TRANS_IB		0
#define RDS_TRANS_GAP		1
#define RDS_TRANS_TCP		2
#define RDS_TRANS_COUNT		3	/* the number of values that can be set */
#define RDS_TRANS_NONE		(~0)	/* read from a socket that has no transport yet */
#define RDS_TRANS_IWARP		RDS_TRANS_GAP

/* ioctls: set once, and read, the type of service (rds_tos_t *) of a socket. */
#define SIOCRDSSETTOS		(SIOCPROTOPRIVATE)
#define SIOCRDSGETTOS		(SIOCPROTOPRIVATE + 1)

typedef __u8	rds_tos_t;

/*
 * Control messages, level SOL_RDS.
 *
 *	type			direction	payload
 *	RDMA_ARGS		to the kernel	struct rds_rdma_args
 *	RDMA_DEST		both		rds_rdma_cookie_t
 *	RDMA_MAP		to the kernel	struct rds_get_mr_args
 *	RDMA_STATUS		from it		struct rds_rdma_notify
 *	CONG_UPDATE		from it		__u64, one bit for each port modulo 64
 *	ATOMIC_*, MASKED_*	to it		struct rds_atomic_args
 *	RXPATH_LATENCY		from it		struct rds_cmsg_rx_trace
 *	ZCOPY_COOKIE		to it		__u32, goes with MSG_ZEROCOPY
 *	ZCOPY_COMPLETION	from it		struct rds_zcopy_cookies
 */
#define RDS_CMSG_RDMA_ARGS		1
#define RDS_CMSG_RDMA_DEST		2
#define RDS_CMSG_RDMA_MAP		3
#define RDS_CMSG_RDMA_STATUS		4
#define RDS_CMSG_CONG_UPDATE		5
#define RDS_CMSG_ATOMIC_FADD		6
#define RDS_CMSG_ATOMIC_CSWP		7
#define RDS_CMSG_MASKED_ATOMIC_FADD	8
#define RDS_CMSG_MASKED_ATOMIC_CSWP	9
#define RDS_CMSG_RXPATH_LATENCY		11
#define RDS_CMSG_ZCOPY_COOKIE		12
#define RDS_CMSG_ZCOPY_COMPLETION	13

/*
 * getsockopt(SOL_RDS, RDS_INFO_*) copies a snapshot out as an array of packed structs.
 * Success returns the size of one element, a positive number, not 0, and sets optlen to the
 * length of the whole. A buffer that is too small gives ENOSPC with the needed length in
 * optlen; optlen 0 asks just for that. Newer kernels may append members: step by the size
 * that was returned, not by sizeof.
 *
 * The RDS6_ codes show IPv6 and, as v4-mapped addresses, IPv4; the others show IPv4 only.
 * FLOWS (10002), CONNECTION_STATS and IWARP_CONNECTIONS are numbers without a table.
 */
#define RDS_INFO_FIRST			10000
#define RDS_INFO_COUNTERS		10000
#define RDS_INFO_CONNECTIONS		10001
#define RDS_INFO_SEND_MESSAGES		10003
#define RDS_INFO_RETRANS_MESSAGES	10004
#define RDS_INFO_RECV_MESSAGES		10005
#define RDS_INFO_SOCKETS		10006
#define RDS_INFO_TCP_SOCKETS		10007
#define RDS_INFO_IB_CONNECTIONS		10008
#define RDS_INFO_CONNECTION_STATS	10009
#define RDS_INFO_IWARP_CONNECTIONS	10010
#define RDS6_INFO_CONNECTIONS		10011
#define RDS6_INFO_SEND_MESSAGES		10012
#define RDS6_INFO_RETRANS_MESSAGES	10013
#define RDS6_INFO_RECV_MESSAGES		10014
#define RDS6_INFO_SOCKETS		10015
#define RDS6_INFO_TCP_SOCKETS		10016
#define RDS6_INFO_IB_CONNECTIONS	10017
#define RDS_INFO_LAST			10017

/* RDS_INFO_COUNTERS: one per counter; the name is padded with zeros. */
struct rds_info_counter {
	__u8	name[32];
	__u64	value;
} __attribute__((packed));

/* rds_info_connection.flags; neither of the last two means down. */
#define RDS_INFO_CONNECTION_FLAG_SENDING	0x01
#define RDS_INFO_CONNECTION_FLAG_CONNECTING	0x02
#define RDS_INFO_CONNECTION_FLAG_CONNECTED	0x04

/* Length of the transport's name in the connection structs, and of an InfiniBand GID. */
#define TRANSNAMSIZ		16
#define RDS_IB_GID_LEN		16

/* RDS_INFO_CONNECTIONS: one per pair of addresses. */
struct rds_info_connection {
	__u64	next_tx_seq;
	__u64	next_rx_seq;
	__be32	laddr;
	__be32	faddr;
	__u8	transport[TRANSNAMSIZ];		/* "tcp", "loopback", "infiniband" */
	__u8	flags;
	__u8	tos;
} __attribute__((packed));

/* RDS6_INFO_CONNECTIONS; it has no tos. */
struct rds6_info_connection {
	__u64	next_tx_seq;
	__u64	next_rx_seq;
	struct in6_addr	laddr;
	struct in6_addr	faddr;
	__u8	transport[TRANSNAMSIZ];
	__u8	flags;
} __attribute__((packed));

/* rds_info_message.flags, both defined for long and never set. */
#define RDS_INFO_MESSAGE_FLAG_ACK	0x01
#define RDS_INFO_MESSAGE_FLAG_FAST_ACK	0x02

/* RDS_INFO_{SEND,RETRANS,RECV}_MESSAGES: to be sent, sent but not acknowledged, to be read. */
struct rds_info_message {
	__u64	seq;
	__u32	len;
	__be32	laddr;
	__be32	faddr;
	__be16	lport;
	__be16	fport;
	__u8	flags;
	__u8	tos;
} __attribute__((packed));

/* RDS6_INFO_{SEND,RETRANS,RECV}_MESSAGES */
struct rds6_info_message {
	__u64	seq;
	__u32	len;
	struct in6_addr	laddr;
	struct in6_addr	faddr;
	__be16	lport;
	__be16	fport;
	__u8	flags;
	__u8	tos;
} __attribute__((packed));

/* RDS_INFO_SOCKETS: sndbuf and rcvbuf are the usable halves of SO_SNDBUF and SO_RCVBUF. */
struct rds_info_socket {
	__u32	sndbuf;
	__be32	bound_addr;
	__be32	connected_addr;
	__be16	bound_port;
	__be16	connected_port;
	__u32	rcvbuf;
	__u64	inum;
} __attribute__((packed));

/* RDS6_INFO_SOCKETS */
struct rds6_info_socket {
	__u32	sndbuf;
	struct in6_addr	bound_addr;
	struct in6_addr	connected_addr;
	__be16	bound_port;
	__be16	connected_port;
	__u32	rcvbuf;
	__u64	inum;
} __attribute__((packed));

/*
 * RDS_INFO_TCP_SOCKETS: one per TCP connection of every path. hdr_rem and data_rem are what
 * is missing of the message being received; the last three are TCP sequence numbers: those of
 * the wire to a caller with CAP_NET_ADMIN over the network namespace, to others the distances
 * from last_seen_una, which is then 0.
 */
struct rds_info_tcp_socket {
	__be32	local_addr;
	__be16	local_port;
	__be32	peer_addr;
	__be16	peer_port;
	__u64	hdr_rem;
	__u64	data_rem;
	__u32	last_sent_nxt;
	__u32	last_expected_una;
	__u32	last_seen_una;
	__u8	tos;
} __attribute__((packed));

/* RDS6_INFO_TCP_SOCKETS; it has no tos. */
struct rds6_info_tcp_socket {
	struct in6_addr	local_addr;
	__be16	local_port;
	struct in6_addr	peer_addr;
	__be16	peer_port;
	__u64	hdr_rem;
	__u64	data_rem;
	__u32	last_sent_nxt;
	__u32	last_expected_una;
	__u32	last_seen_una;
} __attribute__((packed));

/* RDS_INFO_IB_CONNECTIONS: the only info structs that are not packed. */
struct rds_info_rdma_connection {
	__be32	src_addr;
	__be32	dst_addr;
	__u8	src_gid[RDS_IB_GID_LEN];
	__u8	dst_gid[RDS_IB_GID_LEN];

	__u32	max_send_wr;
	__u32	max_recv_wr;
	__u32	max_send_sge;
	__u32	rdma_mr_max;
	__u32	rdma_mr_size;
	__u8	tos;
	__u8	sl;
	__u32	cache_allocs;
};

/* RDS6_INFO_IB_CONNECTIONS */
struct rds6_info_rdma_connection {
	struct in6_addr	src_addr;
	struct in6_addr	dst_addr;
	__u8	src_gid[RDS_IB_GID_LEN];
	__u8	dst_gid[RDS_IB_GID_LEN];

	__u32	max_send_wr;
	__u32	max_recv_wr;
	__u32	max_send_sge;
	__u32	rdma_mr_max;
	__u32	rdma_mr_size;
	__u8	tos;
	__u8	sl;
	__u32	cache_allocs;
};

/* Where a message spent its time on the way in; each is a span in nanoseconds. */
enum rds_message_rxpath_latency {
	RDS_MSG_RX_HDR_TO_DGRAM_START = 0,	/* header seen to first byte of the data */
	RDS_MSG_RX_DGRAM_REASSEMBLE,		/* first byte to the whole message */
	RDS_MSG_RX_DGRAM_DELIVERED,		/* put on the socket to recvmsg */
	RDS_MSG_RX_DGRAM_TRACE_MAX
};

/* SO_RDS_MSG_RXPATH_LATENCY: which spans are wanted, at most all of them. */
struct rds_rx_trace_so {
	__u8	rx_traces;				/* how many of rx_trace_pos are used */
	__u8	rx_trace_pos[RDS_MSG_RX_DGRAM_TRACE_MAX];
};

/* RDS_CMSG_RXPATH_LATENCY: the answer, in the order asked for. */
struct rds_cmsg_rx_trace {
	__u8	rx_traces;
	__u8	rx_trace_pos[RDS_MSG_RX_DGRAM_TRACE_MAX];
	__u64	rx_trace[RDS_MSG_RX_DGRAM_TRACE_MAX];
};

/*
 * Congestion monitor. A 64-bit mask stands for the 65536 ports: port p is bit p % 64. The
 * kernel says in RDS_CMSG_CONG_UPDATE which bits were cleared.
 */
#define RDS_CONG_MONITOR_SIZE		64
#define RDS_CONG_MONITOR_BIT(port)	(((unsigned int)(port)) % RDS_CONG_MONITOR_SIZE)
#define RDS_CONG_MONITOR_MASK(port)	(1ULL << RDS_CONG_MONITOR_BIT(port))

/*
 * RDMA. A cookie names memory that a peer registered: key in the low half, offset in the
 * high half; to applications it is opaque.
 */
typedef __u64	rds_rdma_cookie_t;

struct rds_iovec {
	__u64	addr;
	__u64	bytes;
};

/* RDS_GET_MR and RDS_CMSG_RDMA_MAP: register vec, store the cookie at cookie_addr. */
struct rds_get_mr_args {
	struct rds_iovec vec;
	__u64	cookie_addr;
	__u64	flags;
};

/* RDS_GET_MR_FOR_DEST: the same, for use by one peer. */
struct rds_get_mr_for_dest_args {
	struct __kernel_sockaddr_storage dest_addr;
	struct rds_iovec vec;
	__u64	cookie_addr;
	__u64	flags;
};

/* RDS_FREE_MR; cookie 0 flushes everything that is unused. */
struct rds_free_mr_args {
	rds_rdma_cookie_t cookie;
	__u64	flags;
};

/* RDS_CMSG_RDMA_ARGS: local_vec_addr points at nr_local struct rds_iovec. */
struct rds_rdma_args {
	rds_rdma_cookie_t cookie;
	struct rds_iovec remote_vec;
	__u64	local_vec_addr;
	__u64	nr_local;
	__u64	flags;
	__u64	user_token;
};

/* RDS_CMSG_ATOMIC_* and RDS_CMSG_MASKED_ATOMIC_*: the control message says which member. */
struct rds_atomic_args {
	rds_rdma_cookie_t cookie;
	__u64	local_addr;
	__u64	remote_addr;
	__extension__ union {
		struct {
			__u64	compare;
			__u64	swap;
		} cswp;
		struct {
			__u64	add;
		} fadd;
		struct {
			__u64	compare;
			__u64	swap;
			__u64	compare_mask;
			__u64	swap_mask;
		} m_cswp;
		struct {
			__u64	add;
			__u64	nocarry_mask;
		} m_fadd;
	};
	__u64	flags;
	__u64	user_token;
};

/* RDS_CMSG_RDMA_STATUS: what became of the operation with this token. */
struct rds_rdma_notify {
	__u64	user_token;
	__s32	status;
};

/* rds_rdma_notify.status */
#define RDS_RDMA_SUCCESS	0
#define RDS_RDMA_REMOTE_ERROR	1
#define RDS_RDMA_CANCELED	2
#define RDS_RDMA_DROPPED	3
#define RDS_RDMA_OTHER_ERROR	4

/* RDS_CMSG_ZCOPY_COMPLETION: cookies of the sends whose pages are free again. */
#define RDS_MAX_ZCOOKIES	8
struct rds_zcopy_cookies {
	__u32	num;
	__u32	cookies[RDS_MAX_ZCOOKIES];
};

/* flags of rds_rdma_args, rds_atomic_args and of the MR calls */
#define RDS_RDMA_READWRITE	0x0001	/* write to the remote side, or memory it may write */
#define RDS_RDMA_FENCE		0x0002	/* complete before the message that goes with it */
#define RDS_RDMA_INVALIDATE	0x0004	/* drop the key when the memory is freed */
#define RDS_RDMA_USE_ONCE	0x0008	/* free the memory after one use */
#define RDS_RDMA_DONTWAIT	0x0010	/* belonged to RDS_BARRIER, has no effect */
#define RDS_RDMA_NOTIFY_ME	0x0020	/* say how it ended, always */
#define RDS_RDMA_SILENT		0x0040	/* do not tell the remote side */

/*
 * Extensions: only this project's modules. A program that wants to run on mainline's as well
 * must cope with the refusal that is named here.
 */

/*
 * SO_RDS_TRANSPORT reads this on a socket bound to 127.0.0.0/8 or ::1. Mainline answers the
 * same number but has no public name for it. It cannot be set (EINVAL).
 */
#define RDS_TRANS_LOOP		3

/*
 * RDS_CONG_MONITOR with an optlen of 8 takes a __u64 mask of ports instead of an int that
 * means on or off; getsockopt reads it back by the same rule. Mainline looks at the first
 * four bytes as a truth value and refuses getsockopt with ENOPROTOOPT.
 */
#define RDS_CONG_MONITOR_ALL	(~0ULL)

/*
 * Ordering hints: may a message overtake earlier ones of the same socket to the same
 * destination? Of two messages the second must not overtake the first where it says "no":
 *
 *				second ORDERED	HALF	UNORDERED
 *	first	ORDERED		no		no	no
 *		HALF		no		no	yes
 *		UNORDERED	no		no	yes
 *
 * ORDERED is the default, and what mainline knows. RDS_ORDER (int, setsockopt and getsockopt)
 * is for all messages of a socket that are sent from then on, the control message
 * RDS_CMSG_ORDER (__u32) for one. They are hints: where there is one path, everything is
 * ordered. Each message arrives whole, and once. EINVAL: another value; or a control message
 * that asks for a hint and an RDMA operation with RDS_RDMA_FENCE in the same call. Mainline
 * answers ENOPROTOOPT and EINVAL.
 */
#define RDS_ORDER		64
#define RDS_CMSG_ORDER		128
#define RDS_ORDER_ORDERED	0
#define RDS_ORDER_HALF		1
#define RDS_ORDER_UNORDERED	2

/*
 * getsockopt(SOL_RDS, RDS_RECV_QUERY) tells how much of what peers have sent to this socket
 * waits to be read. Mainline refuses it with ENOPROTOOPT. Both numbers are of one moment.
 *
 * nbufs_allocated counts messages, from the moment their header has arrived until recvmsg
 * has taken them (MSG_PEEK does not).
 *
 * bufs_alloc_span is how many messages can be received before the newest of those is, all
 * that are missing before it included: the highest number of a message that has come, less
 * the highest below which all have been received, messages of one peer being numbered as it
 * sent them. Of several peers it is the sum. It is never less than nbufs_allocated, and 0
 * when that is 0. Messages overtake each other, and leave gaps, only where a peer sends
 * unordered ones; of all other peers it is nbufs_allocated. A message that a peer has cancelled
 * counts as missing until a later message of its says so. It is UNKNOWN when a peer with messages
 * held is more than 4096 messages ahead of what it knows to have arrived, or is one of hundreds
 * that number their messages to this socket.
 *
 * Before the call optval holds whom and what is asked about, optlen is the size of the
 * structure or more; after it optlen is that size.
 *
 *	ENOTCONN	the socket is not bound
 *	EINVAL		optlen is too small; another bit in want, reserved is not 0; peer is
 *			neither all zero nor a unicast address of IPv4 or IPv6
 *	EINTR		a signal came while another thread was receiving
 */
#define RDS_RECV_QUERY		65

struct rds_recv_query {
	/* A sockaddr_in or sockaddr_in6, port 0: all ports there. Family 0: every peer. */
	struct __kernel_sockaddr_storage peer;
	__u32	want;			/* RDS_RECV_QUERY_*: what is not wanted stays as it is */
	__u32	nbufs_allocated;
	__u32	bufs_alloc_span;
	__u32	reserved;		/* 0 */
};

/* rds_recv_query.want */
#define RDS_RECV_QUERY_NBUFS	0x1
#define RDS_RECV_QUERY_SPAN	0x2

#define RDS_RECV_QUERY_UNKNOWN	0xffffffffU

/*
 * Many datagrams in one sendmsg. The control message RDS_CMSG_SEGMENT (to the kernel) holds
 * the lengths, each a __u32, into which the bytes of the call are cut: one length, and every
 * datagram has that many bytes, the last what is left; or a length for each datagram, whose
 * sum is that of the call. Each is sent as if by a call of its own, in that order, to the one
 * destination: hints of order hold for each, a receiver and a peer on the wire see nothing
 * else than datagrams.
 *
 * sendmsg returns the bytes of all datagrams that were sent, never of a part of one: fewer
 * than asked where one could not be, and the errno only if that was the first. It waits for
 * room and for a full port before each, as long as the call may wait; with MSG_DONTWAIT it
 * sends those that find room.
 *
 *	EINVAL		no length, or one that is 0, or they add up to something else; the call
 *			has no bytes; two such control messages, or one with an RDMA operation, a
 *			cookie, or MSG_ZEROCOPY
 *	EMSGSIZE	more than RDS_MAX_SEGMENTS datagrams; more than 1 MiB in all; one that is
 *			larger than the send buffer
 *
 * Mainline answers EINVAL.
 */
#define RDS_CMSG_SEGMENT	129
#define RDS_MAX_SEGMENTS	1024

/*
 * Many messages in one recvmsg. RDS_RECV_BATCH (int, setsockopt and getsockopt) is the most
 * that one call returns: 0 (the default) and each call returns one, as ever; else up to so
 * many, RDS_MAX_SEGMENTS at most (EINVAL). The first is what a call without the option would
 * return. Others follow in the buffer without a gap, in the order in which calls would return
 * them, as long as they are there, from the same sender (address, port, type of service),
 * and fit whole: what does not fit stays for the next call. A call never waits for a second.
 *
 * The control message RDS_CMSG_RECV_BATCH (from the kernel) holds the length of each, a __u32,
 * one also where there is one message; it comes behind the other control messages, of which
 * each message has its own, in the order of the messages, and as many as any other: one that
 * comes with less (it was there before the socket asked for dates), or brings RDMA_DEST, is the
 * first of its call. Without room for that of a further
 * message (CMSG_SPACE of all lengths) the call returns those before. If it has none at all,
 * there is one message, and MSG_CTRUNC.
 *
 * A first message that is larger than the buffer is cut as ever (MSG_TRUNC), comes alone, and
 * its length is that of the whole. With MSG_PEEK there is one. Notifications come first and
 * alone, as ever. Mainline refuses the option with ENOPROTOOPT.
 */
#define RDS_RECV_BATCH		66
#define RDS_CMSG_RECV_BATCH	130

/*
 * setsockopt(SOL_RDS, RDS_CONN_RESET or RDS6_CONN_RESET) ends connections from src to dst that
 * are of this type of service, over any interface; to all hosts, if dst is all zeros. They are
 * made again for whatever there is to send: between two of ours no message is lost or comes
 * twice, RDMA operations that were under way are told as dropped. The names and numbers are
 * those of Oracle's kernels; the first is the number of SO_RDS_TRANSPORT as well, and the
 * length says which of both is meant.
 *
 *	EACCES		without CAP_NET_ADMIN over the network namespace
 *	EINVAL		optlen is not that of the structure
 *	ENOENT		there is no such connection
 *
 * Mainline refuses them: EINVAL, or EOPNOTSUPP on a bound socket, and ENOPROTOOPT.
 */
#define RDS_CONN_RESET		8
#define RDS6_CONN_RESET		11

struct rds_reset {
	__u8	tos;
	__u8	reserved[3];		/* not looked at */
	__be32	src;
	__be32	dst;
};

struct rds6_reset {
	__u8	tos;
	__u8	reserved[3];
	struct in6_addr	src;
	struct in6_addr	dst;
};

/*
 * SO_RDS_INQ (int, setsockopt and getsockopt; not 0: on): each call that returns messages
 * brings RDS_CMSG_INQ, an int: the bytes of messages that can be read after those, 0 if there
 * are none but empty ones. A message that MSG_PEEK returns counts as one that can be read.
 * With RDS_RECV_BATCH there is one for the call, before the lengths. Oracle's kernels have
 * the names; the numbers are ours. Mainline refuses the option with ENOPROTOOPT.
 */
#define SO_RDS_INQ		67
#define RDS_CMSG_INQ		131

#endif /* _LINUX_RDS_H */
