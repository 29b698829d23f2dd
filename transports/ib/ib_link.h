/* SPDX-License-Identifier: GPL-2.0 */
/*
 * ib_link.h: what RDS makes of one reliable connection (RC queue pair) of an adapter: messages to
 * frames and back, the rings, credits.
 *
 * A message goes out in frames, each with the message's whole header and up to @frame bytes of
 * payload: RDS_IB_FRAME, or as many times that as both hosts have buffers for.  Acknowledgement is
 * the core's business (RDS_CAP_NUMBERED): every header that it hands over carries h_ack, every
 * header that comes is shown to it.  A link adds what belongs to the hop: the header's checksum,
 * credits, and which of the adapter's buffers is free.
 *
 * A message's operation goes before its first frame, in as many slots as its pieces take, the last
 * one with a completion; there is room for both when it is posted.  How it ended the link tells the
 * core: done when a completion says so, an error where the adapter names one of its slots, dropped
 * when the connection has ended before either.  One that the adapter does not take fails by itself:
 * its message does not go, and everything else does.
 *
 * An end in order.  A reliable connection that goes takes with it what is on its way, and its end
 * says nothing of what either host had.  So a host that ends one in order says that in the
 * connection, by an END frame behind all that it has posted, and says nothing after it; the other
 * one, when it has read that far, does the same, and its core hears that the peer has closed when
 * the adapter says that its own END has arrived.  Each then knows that it was heard to its end.
 * Only hosts that both say so while they connect (RDS_IB_CAN_END) do this.
 *
 * Heartbeats (ib_link_beat.cc).  An adapter acknowledges frames for a host whose RDS does not run
 * any more.  So hosts that both say so while they connect (RDS_IB_CAN_BEAT) ask each other now and
 * then.
 *
 * Credits.  Two hosts of ours count each other's buffers, as mainline's do where an administrator
 * wants it, so that no message's frame finds none.  A host whose messages wait for some is dry:
 *nothing of it is with the adapter then, which would not notice that the peer has gone
 *(rds_ib_link_doubt()).
 *
 * Pure: runs in the simulator as in the kernel.  Everything of a link is guarded by one lock,
 * which the hardware side owns and holds around each call below; rds_ib_hw_*() are called with it
 * held and must not call back.  A frame posted is the adapter's until rds_ib_link_sent() (or
 * _end()) gives its slot back: the message keeps its memory till then.
 *
 * Slots.  Send slots and receive slots are numbered 0..n-1 and used round and round, because the
 * adapter completes either queue in the order in which it was posted.  Counters run free (mod
 * 2^32); slot = counter % size, and sizes are powers of two.
 *
 *	send:  done <= posted <= done + send_wr
 *	recv:  taken <= arrived <= offered <= taken + depth, depth <= recv_wr
 *
 * Of the receive slots few have a buffer at first: most connections of a cluster carry little, and
 * each would hold 4 MiB.  There are twice as many as have ever come at once, or waited for the core
 * (@depth), so a stream has all of them after 512 frames.  There are never fewer, for an
 * adapter gives none back.
 */
#ifndef RDS_IB_LINK_H
#define RDS_IB_LINK_H

#include "../../net/rds/transport.h"

#ifdef __cplusplus
extern "C" {
#endif

#define RDS_IB_FRAME 4096U
/* Frames may be up to RDS_IB_FRAME << so much. */
#define RDS_IB_MOST_ORDER 2

/* Flags of a posted frame, for the adapter. */
enum rds_ib_send_flags {
	RDS_IB_SIGNALED = 1 << 0,  /* a completion, which stands for all frames before it too */
	RDS_IB_SOLICITED = 1 << 1, /* wake the receiver */
	RDS_IB_FENCE = 1 << 2,	   /* not before all RDMA reads and atomics are complete */
};

enum rds_ib_link_state {
	RDS_IB_LINK_IDLE, /* no connection, or it is not up yet: nothing may be sent */
	RDS_IB_LINK_OPEN,
	RDS_IB_LINK_ENDED, /* broken or given up; the core knows */
};

/* How the connection was made. */
struct rds_ib_link_params {
	uint32_t send_wr; /* powers of two, 4 at least */
	uint32_t recv_wr;
	uint32_t first_buffers;	 /* posted before anything has come: recv_wr at most */
	uint32_t max_unsignaled; /* frames in a row without a completion asked for */
	uint8_t order;	     /* our buffers hold RDS_IB_FRAME << this; RDS_IB_MOST_ORDER at most */
	uint8_t flow;	     /* we would count buffers, and do if the peer does ... */
	uint8_t named;	     /* ... and say so in mainline's way, too */
	uint8_t csum;	     /* headers carry a checksum and are checked (docs/wire.md) */
	uint8_t hears_first; /* the peer called, and speaks first: iWARP (RFC 5044, 7.1.2) */
};

/* Named counters; ib_stats.h has their texts. */
#define RDS_IB_LINK_STATS(X)                                                                       \
	X(tx_ring_full)                                                                            \
	X(tx_throttle)                                                                             \
	X(tx_credit_updates)                                                                       \
	X(tx_frames)                                                                               \
	X(tx_keepalive)                                                                            \
	X(tx_heartbeat)                                                                            \
	X(rx_heartbeat)                                                                            \
	X(rx_frames)                                                                               \
	X(rx_bad_frame)                                                                            \
	X(rx_bad_csum)                                                                             \
	X(rx_credit_updates)                                                                       \
	X(rx_paused)

enum rds_ib_link_stat {
#define RDS_IB_LINK_STAT_ENUM(name) RDS_IB_LINK_##name,
	RDS_IB_LINK_STATS(RDS_IB_LINK_STAT_ENUM)
#undef RDS_IB_LINK_STAT_ENUM
		RDS_IB_LINK_STAT_COUNT,
};

/* Room for something. */
struct rds_ib_need {
	uint32_t slots;
	uint8_t frame; /* one of them is for a frame, which takes a credit */
};

/* Held by value on the C side; the fields are ib_link.cc's own. */
struct rds_ib_link {
	struct rds_path *path;
	void *hw; /* given back in every rds_ib_hw_*() */
	struct rds_ib_link_params p;
	uint32_t frame; /* payload bytes of all frames of a message but its last, both ways */
	uint8_t state;	/* enum rds_ib_link_state */

	/* sending */
	uint32_t posted, done;
	uint32_t unsignaled;
	int32_t credits;     /* that we may use; below 0: a keepalive went without */
	uint32_t given;	     /* those that frames have given back (mod 2^32) */
	uint32_t ops;	     /* operations with the adapter that nothing was said of yet */
	uint8_t failed;	     /* rds_ib_link_failed() was called ... */
	uint8_t op_reported; /* ... of an operation, the rest of which is the oldest that is out */
	struct rds_ib_need need; /* what the core waits for ... */
	uint8_t blocked;	 /* ... and then is owed rds_path_writable() */
	uint8_t quiet;		 /* nothing was posted since the last rds_ib_link_keepalive() ... */
	uint8_t deaf;		 /* ... and nothing came */
	uint8_t begun;		 /* the core has said something: so may we */
	uint8_t own_out;	 /* a frame of our own is with the adapter: one at a time ... */
	uint32_t own;		 /* ... this one (posted) */
	uint8_t cut;		 /* of the message last begun a part has gone */
	uint64_t last_ack;	 /* h_ack as the core last gave it */

	/* the end in order */
	uint8_t ends;	   /* the peer knows END, too */
	uint8_t end_said;  /* ours is with the adapter, or was: we say nothing more */
	uint8_t end_heard; /* the peer's has come: nothing does after it */

	/* heartbeats */
	uint8_t beats;	   /* the peer answers them */
	uint8_t asked;	   /* ours is not answered yet ... */
	uint32_t asked_at; /* ... and is this frame (posted) */
	uint32_t ahead;	   /* frames from @taken on that were looked at for one */
	uint8_t answers;   /* the peer's is not: enum Answer of ib_link_beat.cc */
	uint8_t spoke;	   /* a message's frame came since rds_ib_link_spoke() */
	uint32_t heard;	   /* of @arrived, at the last rds_ib_link_doubt() */

	/* receiving */
	uint32_t offered, arrived, taken;
	uint32_t depth;	    /* buffers that may be out, or wait to be taken */
	uint32_t burst;	    /* frames that came since the adapter had no more to tell of */
	uint32_t to_return; /* buffers posted again that the peer does not know of */
	uint8_t gives;	    /* the peer counts them: headers give them back */
	uint8_t paused;	    /* the core refused something: rds_ib_link_retry() goes on */
	uint8_t stage;	    /* of the frame in slot @taken */
	uint8_t under_way;  /* a message has begun to come: */
	struct rds_msg *m;  /* NULL: nobody wants it */
	uint32_t left;	    /* payload bytes that it lacks */
	unsigned char header[RDS_HEADER_BYTES]; /* of its first frame */
};

/* Payload bytes that the peer owes of the message under way; 0: none is, or frames are here that
 * were not taken.  Any context, without a lock. */
uint32_t rds_ib_link_wants(const struct rds_ib_link *l);

/* ---- the link, called by the hardware side; link locked ---- */
void rds_ib_link_init(struct rds_ib_link *l, struct rds_path *path, void *hw);
/* The connection is up, says rdma_cm; a frame that arrives says the same, and one that hears first
 * waits for that. */
void rds_ib_link_open(struct rds_ib_link *l);
/* Before the connection is asked for or accepted: its sizes; nothing else is known of it yet. */
void rds_ib_link_prepare(struct rds_ib_link *l, const struct rds_ib_link_params *p);
/* The buffers that our offer tells the peer of, before the link is opened: a power of two of those
 * that are posted.  The peer hears of the others as of new ones. */
uint32_t rds_ib_link_claim(struct rds_ib_link *l);
/* The buffers that the peer has by its offer, before the link is opened; 0: it names none, and we
 * count none.  It counts ours all the same if a header of it gives some back: mainline's reply to a
 * call names none, for it posts its buffers later. */
void rds_ib_link_peer_credit(struct rds_ib_link *l, uint32_t credits);
/* The peer's buffers hold RDS_IB_FRAME << @order, by its offer; before the link is opened. */
void rds_ib_link_peer_order(struct rds_ib_link *l, unsigned int order);
/* The peer ends connections in order, by its offer; before the link is opened. */
void rds_ib_link_peer_ends(struct rds_ib_link *l);
/* The peer answers heartbeats, by its offer; before the link is opened. */
void rds_ib_link_peer_beats(struct rds_ib_link *l);
/* Posts receive buffers until @depth are out or memory is: 0, -ENOMEM (some or none posted), or
 * what rds_ib_hw_offer() said.  rds_ib_link_settle() does it too; who lacks memory tries again. */
int rds_ib_link_offer(struct rds_ib_link *l, enum rds_ctx ctx);
/* With fewer posted no connection begins: a host that counts them keeps one back for telling of
 * more, and is told of two at a time; two that know of fewer each would never go on. */
#define RDS_IB_FEWEST_BUFFERS 4
/* ops->xmit.  Before the link is open there is no room. */
long rds_ib_link_xmit(struct rds_ib_link *l, const struct rds_xmit *x);
/* The completion of send slot @slot: it and all before it are done.  _settle() follows. */
void rds_ib_link_sent(struct rds_ib_link *l, uint32_t slot);
/* The adapter failed at send slot @slot, and with it the connection (_broken() follows): all before
 * it are done, and an operation there ended with @status, RDS_RDMA_REMOTE_ERROR or _OTHER_ERROR. */
void rds_ib_link_failed(struct rds_ib_link *l, uint32_t slot, int status);
/* One more receive slot was filled, in order; before the link was open, that opens it.  _settle()
 * follows. */
void rds_ib_link_arrived(struct rds_ib_link *l);
/* After a batch of completions: takes what arrived, posts buffers, gives credits back, tells the
 * core of room.  Softirq or process. */
void rds_ib_link_settle(struct rds_ib_link *l, enum rds_ctx ctx);
/* The adapter has no more to tell of: what comes from now on did not come at once with what did.
 * After _settle(). */
void rds_ib_link_heard_all(struct rds_ib_link *l);
/* ops->recv_retry. */
void rds_ib_link_retry(struct rds_ib_link *l);
/* ops->midway.  1: the connection is not to be ended in order now, for a message has come in part,
 * an operation is with the adapter, or the peer does not know how.  Any context, without a lock. */
int rds_ib_link_midway(const struct rds_ib_link *l);
/* ops->shutdown: our END goes, and rds_path_drained() follows with the peer's; at once where the
 * peer knows none. */
void rds_ib_link_shutdown(struct rds_ib_link *l);
/* Our END was said, and there is still to come what makes it an end in order: the peer's, or the
 * adapter's word that ours, in answer, has arrived. */
int rds_ib_link_ending(const struct rds_ib_link *l);
/* The core waits for the peer, which counts its buffers, to have more of them. */
int rds_ib_link_dry(const struct rds_ib_link *l);
/* Every second while it is dry: if nothing is with the adapter, which so would not notice that the
 * peer has gone, and nothing has come since, an empty frame goes. */
void rds_ib_link_doubt(struct rds_ib_link *l);
/* Does the adapter owe a completion?  Nobody hears of frames that none was asked for. */
int rds_ib_link_owed(const struct rds_ib_link *l);
/* Every few seconds once it is up: sends an empty frame if nothing was sent since, so that the
 * adapter notices a dead peer.  A peer that has to speak first, and does not until the second time,
 * is one. */
void rds_ib_link_keepalive(struct rds_ib_link *l);
/* Asks whether the peer's RDS is there, if it answers that, and has answered the last question, and
 * there is room.  1: it was asked now. */
int rds_ib_link_ask(struct rds_ib_link *l);
/* Something has happened to the port: an empty frame goes now, if there is room, so that the
 * adapter finds out whether the peer is there. */
void rds_ib_link_probe(struct rds_ib_link *l);
/* The peer's adapter has our question, ours a buffer for the answer, and among all that has come
 * since, and was taken, there is none. */
int rds_ib_link_unanswered(const struct rds_ib_link *l);
/* 1: since this was asked last, messages came, or parts of one: an answer may be behind more. */
int rds_ib_link_spoke(struct rds_ib_link *l);
/* The worker that rds_ib_hw_asked() has called is there: the peer's question is answered, now or as
 * soon as there is room. */
void rds_ib_link_answer(struct rds_ib_link *l);
/* The adapter says that it is broken, or the peer ended it: the core hears @why once. */
void rds_ib_link_broken(struct rds_ib_link *l, enum rds_drop_reason why);
/* The queue pair is gone and calls nobody any more: gives back every slot, and what arrived in
 * part. */
void rds_ib_link_end(struct rds_ib_link *l);

/* ---- the hardware side, called by the link; link locked ---- */
/*
 * Posts a frame in send slot @slot: @header (copied before this returns) and @len payload bytes
 * at @off of @m (NULL: none).  The hardware side takes a reference on @m of its own (rds_msg_get).
 * 0; or nothing was posted, and no reference taken: -ENOMEM, the payload could not be mapped, and
 * rds_ib_link_settle() is called when that may be tried again; another -errno: the connection is
 * broken.
 */
int rds_ib_hw_send(void *hw, uint32_t slot, const unsigned char *header, struct rds_msg *m,
		   uint32_t off, uint32_t len, unsigned int flags);
/* Send slots that the operation of @m takes, at least 1; 0: this adapter cannot do it. */
uint32_t rds_ib_hw_op_slots(void *hw, struct rds_msg *m);
/* Posts the operation of @m in slot @slot and those behind it, as many as _op_slots() said (of the
 * ring, round and round); the last one asks for a completion.  Takes a reference on @m.  0; or no
 * slot is in use, and no reference was taken: -ENOMEM, as _send(); -EINVAL: the adapter does not
 * take it, which says nothing of the connection; another -errno: the connection is broken (some of
 * it may be done, or not; @m's memory is the adapter's until the end). */
int rds_ib_hw_op(void *hw, uint32_t slot, struct rds_msg *m);
/* The message whose operation slot @slot belongs to, *@last: it is the operation's last slot; NULL:
 * a frame's. */
struct rds_msg *rds_ib_hw_op_of(void *hw, uint32_t slot, int *last);
/* Send slot @slot is free: its mapping and its reference go. */
void rds_ib_hw_sent(void *hw, uint32_t slot);
/* Posts receive slot @slot with an empty buffer of @frame bytes at least: 0, -ENOMEM, or another
 * -errno when the connection is broken. */
int rds_ib_hw_offer(void *hw, uint32_t slot, enum rds_ctx ctx);
/* May a ring have @more buffers than it has?  Not where they are few: the last ones are for those
 * that have none. */
int rds_ib_hw_may_grow(void *hw, uint32_t more);
/* The peer asks whether RDS is there: a worker is to call rds_ib_link_answer(), for one that stands
 * still is not. */
void rds_ib_hw_asked(void *hw);
/* The frame that arrived in slot @slot: its header (NULL: the frame was shorter than one) and its
 * payload. */
const unsigned char *rds_ib_hw_frame(void *hw, uint32_t slot, struct rds_src **src, uint32_t *len);
/* The frame in @slot is done with; or, at the end, the buffer in it that nothing came into. */
void rds_ib_hw_taken(void *hw, uint32_t slot);
void rds_ib_hw_count(void *hw, enum rds_ib_link_stat id);

#ifdef __cplusplus
}
#endif
#endif
