/* SPDX-License-Identifier: GPL-2.0 */
/*
 * tcp_frame.h: cuts a TCP byte stream into RDS messages.
 *
 * The stream is header (48 bytes), h_len bytes of payload, header, ...; nothing marks a boundary,
 * and TCP delivers it cut anywhere.  A frame keeps what is known of the message under way.  It
 * allocates nothing and judges nothing itself: rds_recv_begin() sees every header and says what
 * becomes of its payload, rds_recv_incoming() takes every whole message (congestion updates are
 * messages too).
 *
 * Pure: runs in the simulator as it runs in the kernel.  One caller at a time; in the kernel that
 * is whoever owns the TCP socket's lock.
 */
#ifndef RDS_TCP_FRAME_H
#define RDS_TCP_FRAME_H

#include "../../net/rds/transport.h"

#ifdef __cplusplus
extern "C" {
#endif

enum rds_tcp_frame_state {
	RDS_TCP_FRAME_HEADER,  /* @have of the header's bytes are here */
	RDS_TCP_FRAME_BEGIN,   /* the header is whole; rds_recv_begin() has not said yes yet */
	RDS_TCP_FRAME_PAYLOAD, /* @left bytes go into @m */
	RDS_TCP_FRAME_SKIP,    /* @left bytes are thrown away */
	RDS_TCP_FRAME_DELIVER, /* @m is whole; rds_recv_incoming() has not taken it yet */
	RDS_TCP_FRAME_BROKEN,  /* the peer does not speak RDS: nothing more is read */
};

/* C layout so that the kernel's side can hold it by value; fields are this file's own.  left,
 * have and state are looked at by rds-info meanwhile: written once, read once. */
struct rds_tcp_frame {
	struct rds_path *path;
	struct rds_msg *m; /* PAYLOAD and DELIVER: ours until it is delivered */
	uint32_t left;	   /* PAYLOAD and SKIP: bytes missing */
	uint8_t have;	   /* header bytes */
	uint8_t state;	   /* enum rds_tcp_frame_state */
	unsigned char header[RDS_HEADER_BYTES];
};

void rds_tcp_frame_init(struct rds_tcp_frame *f, struct rds_path *path);

/*
 * Takes bytes of the stream: @len of them at @off in @src.  *@used says how many were taken.
 * 0: all.  -EAGAIN: the core has no room or no memory for what is under way; the caller keeps the
 * rest and comes again later (rds_recv_later()).  -EPROTO: the stream makes no sense, the path is
 * being dropped, nothing more is ever taken.  With @len 0 (@src may then be NULL) it only tries
 * again what was refused before.
 */
int rds_tcp_frame_feed(struct rds_tcp_frame *f, struct rds_src *src, uint32_t off, uint32_t len,
		       enum rds_ctx ctx, uint32_t *used);

/* The stream has ended: a message received in part is thrown away (its sender sends it again). */
void rds_tcp_frame_reset(struct rds_tcp_frame *f);

/* Bytes of header and payload that the message under way still lacks (RDS_INFO_TCP_SOCKETS). */
uint32_t rds_tcp_frame_header_left(const struct rds_tcp_frame *f);
uint32_t rds_tcp_frame_payload_left(const struct rds_tcp_frame *f);
/* Is one under way? */
int rds_tcp_frame_midway(const struct rds_tcp_frame *f);
/* Bytes without which it does not go on: of its header, or of its payload. */
uint32_t rds_tcp_frame_wants(const struct rds_tcp_frame *f);

#ifdef __cplusplus
}
#endif
#endif
