/* SPDX-License-Identifier: GPL-2.0 */
/*
 * ib_offer.h: what two hosts tell each other while they connect (the private data of rdma_cm's REQ
 * and REP), which version they speak then, and whose call it is when both call.
 *
 * Pure: allocates nothing, trusts nothing.  Layout: docs/wire.md, mainline.md B.5.
 */
#ifndef RDS_IB_OFFER_H
#define RDS_IB_OFFER_H

#include "../../net/rds/transport.h"

#ifdef __cplusplus
extern "C" {
#endif

#define RDS_IB_OFFER_BYTES_V4 32
#define RDS_IB_OFFER_BYTES_V6 56
/* A reject's private data, le32 or be32: the versions have nothing in common. */
#define RDS_IB_REJECT_VERSION 1

/* rds_ib_offer.can: this host ends connections in order (ib_link.h). */
#define RDS_IB_CAN_END 1
/* ... and answers heartbeats (ib_link_beat.cc).  Not over iWARP, where a frame without a buffer is
 * the end of a connection. */
#define RDS_IB_CAN_BEAT 2
#define RDS_IB_CAN_ALL 3

struct rds_ib_offer {
	struct rds_addr saddr; /* who speaks */
	struct rds_addr daddr;
	uint64_t ack_seq; /* last number that the speaker had taken of the other; 0: none */
	uint32_t credit;  /* receive buffers posted, in mainline's way; 0: counts none so */
	uint16_t minors;  /* bit n: minor version n of @major is understood */
	uint8_t major, minor;
	uint8_t tos;
	uint8_t can;	 /* RDS_IB_CAN_*; mainline says 0 */
	uint8_t buffers; /* 2 to the power of this are posted, and counted; 0: not so; likewise */
	uint8_t order;	 /* its buffers hold 4096 bytes of payload << this, 0 to 2; likewise */
	uint32_t secret; /* 24 bits, rds_ib_proof; mainline says 0 */
};

/* Writes what @o says; its length.  IPv4 and IPv6 by @o->daddr. */
unsigned int rds_ib_offer_encode(const struct rds_ib_offer *o,
				 unsigned char out[RDS_IB_OFFER_BYTES_V6]);

/*
 * Reads a request's or a reply's private data: @len bytes, which may be padded with zeros, of a
 * connection of IPv4 or (@v6) IPv6.  0, or -EINVAL when they make no sense.  None, too few, or
 * version 0: taken as version 4.0 with the addresses given in @o before, as mainline does.
 */
int rds_ib_offer_decode(const void *data, unsigned int len, int v6, struct rds_ib_offer *o);

/*
 * Answers a request of @o's: 0 and @o has the version that both speak (3.1, or 4.x by
 * the highest minor in common) and those that we understand, or -EPROTO: reject with
 * RDS_IB_REJECT_VERSION.
 */
int rds_ib_offer_agree(struct rds_ib_offer *o);

/* Is the version of a peer's answer one that we speak?  0 or -EPROTO. */
int rds_ib_offer_accepted(const struct rds_ib_offer *o);

/*
 * The receive buffers that the sender of @o says it has, and counts; 0: it counts none.  Hosts of
 * ours always say so in bits of ours; in mainline's field it counts only if this host says it
 * there, too (@named).
 */
uint32_t rds_ib_offer_counted(const struct rds_ib_offer *o, int named);

/* The version that we propose, and the next one after a reject for it; 0: no more. */
int rds_ib_offer_propose(struct rds_ib_offer *o, unsigned int attempt);

/*
 * The host that answers a call names a secret, and the one that calls shows that of the last
 * connection.  So a host knows, without asking over a connection that seems to be up, that its peer
 * has left it: any program of the peer's host can call, but none knows the secret.
 */
struct rds_ib_proof {
	uint32_t secret; /* of the last connection; 0: none, and nothing proves anything */
	uint8_t shown;	 /* the peer has called with it: the connection is over */
};

/* A connection begins whose @secret both ends know. */
void rds_ib_proof_begin(struct rds_ib_proof *p, uint32_t secret);
/* The peer's call shows @secret.  1: it is the other end of the last connection.  A wrong one ends
 * the proof, so that nobody has a second guess. */
int rds_ib_proof_show(struct rds_ib_proof *p, uint32_t secret);
/* May a call be answered?  If one has proved that the connection is over, none but such.  The
 * answer to a proof is given once. */
int rds_ib_proof_admits(struct rds_ib_proof *p, int proven);

/*
 * Both hosts have called: does @self go on with its own call, made @age_ns ago, and refuse @peer's?
 * The one with the smaller address (128 bits, big-endian, IPv4 mapped) does, for a second; equal
 * ones do not meet here.  A call that was not answered in that time may be lost, and as long as it
 * is waited for the peer would not get through either.
 */
int rds_ib_keeps_call(const struct rds_addr *self, const struct rds_addr *peer,
		      unsigned long long age_ns);

#ifdef __cplusplus
}
#endif
#endif
