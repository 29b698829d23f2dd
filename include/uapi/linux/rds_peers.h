/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * Generic netlink family "rds_peers": whom the RDS of a network namespace speaks to, over TCP and
 * over queue pairs.
 *
 * A table of peers for each namespace. An entry says of the hosts of a prefix whether they are
 * accepted, and with which key their connections are signed; the longest prefix that a host is in
 * holds for it, and the default where it is in none. Over queue pairs nothing is signed, and a host
 * whose entry has a key is refused. Every operation needs CAP_NET_ADMIN in the
 * user namespace that owns the network namespace. A key goes in and never comes out again.
 *
 * docs/netlink/rds_peers.yaml describes the messages; rdsctl(8) speaks them.
 */
#ifndef _LINUX_RDS_PEERS_H
#define _LINUX_RDS_PEERS_H

#define RDS_PEERS_FAMILY_NAME "rds_peers"
#define RDS_PEERS_FAMILY_VERSION 1
/* Multicast: RDS_PEERS_CMD_REFUSED. */
#define RDS_PEERS_MCGRP_EVENTS "events"

/* Entries of a namespace. */
#define RDS_PEERS_MAX 4096
#define RDS_PEERS_MAX_KEY 80

enum {
	RDS_PEERS_CMD_UNSPEC,
	/*
	 * An entry: ADDR and LEN, SCOPE or none, POLICY; METHOD and KEY or neither. There must be
	 * none of the prefix yet, unless REPLACE says that the new one is to take its place.
	 *
	 * With TCP_AO also SNDID and RCVID, ALG or none. Where both ids are others than those of
	 * the key that is replaced, that one is taken as well until KEY_FORGET or the next REPLACE,
	 * and connections go over to the new one as they are, once the peer has it too.
	 */
	RDS_PEERS_CMD_PEER_SET,
	RDS_PEERS_CMD_PEER_DEL,	   /* ADDR, LEN, SCOPE */
	RDS_PEERS_CMD_PEER_GET,	   /* dump: a PEER_GET for each entry */
	RDS_PEERS_CMD_DEFAULT_SET, /* POLICY */
	RDS_PEERS_CMD_DEFAULT_GET, /* answered by a DEFAULT_GET with POLICY */
	/* Event: a host, or a connection of it, was refused, is not called, or does not answer:
	 * ADDR, LEN, SCOPE, CAUSE. Some are left out when there are many. */
	RDS_PEERS_CMD_REFUSED,
	/* The key that was replaced is not taken any more: ADDR, LEN, SCOPE. */
	RDS_PEERS_CMD_KEY_FORGET,

	__RDS_PEERS_CMD_MAX,
	RDS_PEERS_CMD_MAX = __RDS_PEERS_CMD_MAX - 1
};

enum {
	RDS_PEERS_A_UNSPEC,
	RDS_PEERS_A_ADDR,    /* binary, network order: 4 bytes for IPv4, 16 for IPv6 */
	RDS_PEERS_A_LEN,     /* u8: bits of ADDR that count, 1 to 32 or 128 */
	RDS_PEERS_A_SCOPE,   /* u32: interface, of link-local addresses only */
	RDS_PEERS_A_POLICY,  /* u8: enum rds_peers_policy */
	RDS_PEERS_A_METHOD,  /* u8: enum rds_peers_method */
	RDS_PEERS_A_KEY,     /* binary, 1 to 80 bytes; never in an answer */
	RDS_PEERS_A_KEY_LEN, /* u8, in answers: bytes of the key */
	RDS_PEERS_A_REPLACE, /* flag */
	RDS_PEERS_A_CAUSE,   /* u8: enum rds_peers_cause */
	RDS_PEERS_A_SNDID,   /* u8: of the key that we sign with; the peer's RCVID */
	RDS_PEERS_A_RCVID,   /* u8: of the key that the peer signs with */
	RDS_PEERS_A_ALG,     /* u8: enum rds_peers_alg */
	/* u8, in answers: ids of the key that was replaced, while it is taken. */
	RDS_PEERS_A_OLD_SNDID,
	RDS_PEERS_A_OLD_RCVID,

	__RDS_PEERS_A_MAX,
	RDS_PEERS_A_MAX = __RDS_PEERS_A_MAX - 1
};

enum rds_peers_policy { RDS_PEERS_ACCEPT, RDS_PEERS_REFUSE };

enum rds_peers_method {
	RDS_PEERS_NONE,	   /* not signed */
	RDS_PEERS_TCP_MD5, /* RFC 2385 */
	RDS_PEERS_TCP_AO   /* RFC 5925; EOPNOTSUPP where the kernel has none */
};

enum rds_peers_alg { RDS_PEERS_HMAC_SHA256, RDS_PEERS_HMAC_SHA1, RDS_PEERS_CMAC_AES128 };

enum rds_peers_cause {
	RDS_PEERS_CALLED_US,  /* its call was refused */
	RDS_PEERS_NOT_CALLED, /* ours was not made */
	RDS_PEERS_UNSIGNED,   /* its call had been made without the key that it has to have */
	RDS_PEERS_NO_ANSWER,  /* our call was signed, and nobody answered it */
	RDS_PEERS_TAKEOVER,   /* another connection from it, while the one that is up answers */
	RDS_PEERS_CANNOT_SIGN /* it has a key, and is called, or calls us, over a queue pair */
};

#endif
