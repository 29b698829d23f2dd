/* SPDX-License-Identifier: GPL-2.0 */
/*
 * message.h: one datagram in memory: header, payload, and where it is queued.
 *
 * The same object serves both directions: sendmsg makes it for a path's queue, a transport makes it
 * for a socket's receive queue, and on loopback it moves from one to the other without a copy.  The
 * payload is the platform's and trails the object, so that a small message is one allocation.
 *
 * Life: created with one reference.  Sending: the path's queue owns that reference until the
 * message is acknowledged, cancelled or dropped (path.cc).  Receiving: the socket's queue owns it
 * until recvmsg has copied everything.  Loopback holds one for each side of what was queued.
 */
#ifndef RDS_MESSAGE_H
#define RDS_MESSAGE_H

#include "limits.h"
#include "list.h"
#include "ref.h"
#include "result.h"
#include "rights.h"
#include "wire.h"

struct rds_conn;
struct rds_socket;

namespace rds
{

/* Guarded by the lock of the path that the message is queued on. */
enum MsgFlag : uint16_t {
	kMsgInXmit = 1 << 0,	/* the token holder reads it without the lock: do not unlink */
	kMsgCancelled = 1 << 1, /* taken back while half sent: goes once its last byte is out */
	kMsgOnce = 1 << 2,	/* not sent again after a reset (congestion update, probe) */
	kMsgPong = 1 << 3,	/* counted in the path's pongs */
	kMsgPinned = 1 << 4,	/* payload is the caller's own pages */
	/* Of its sender, constant while it is queued (order.h). */
	kMsgHalf = 1 << 5, /* half-ordered */
	kMsgUnordered = 1 << 6,
	kMsgAway = 1 << 7,    /* not on the path that its ports choose */
	kMsgWaiting = 1 << 8, /* on no path yet */
	kMsgInFlow = 1 << 9,  /* order.on counts it */
	kMsgProbe = 1 << 10,  /* the one that its path may have queued */
	kMsgLate = 1 << 11,   /* has waited, and found younger ones on their paths */
};

/* RDS_RDMA_* of the UAPI that operations end with; the glue asserts that they agree. */
enum RdmaStatus : int {
	kRdmaSuccess = 0,
	kRdmaRemoteError = 1,
	kRdmaCanceled = 2,
	kRdmaDropped = 3,
	kRdmaOtherError = 4,
};
struct Arrival; /* socket.h */
struct MsgRdma;
struct Flow;
class Assembly;
using Conn = ::rds_conn;
using Socket = ::rds_socket;

/* A part that few messages have.  One of them at most: the one is for transports with zerocopy,
 * the other for those with RDMA, one is for those that are not whole yet, and the last for those
 * that are and wait in a full socket. */
enum class MsgHas : uint8_t { kNothing, kZcopy, kRdma, kAssembly, kSpilled };

/* "The pages of this send are yours again": goes to the socket's completion list, and holds
 * kZcopyNoteBytes of the send queue's room until it is read. */
struct ZcopyNote {
	ListNode link;
	uint32_t cookie;
};
static_assert(sizeof(ZcopyNote) <= kZcopyNoteBytes && kZcopyNoteBytes < sizeof(wire::Header) * 2);

/*
 * The pages that a program has lent with one send, as its message holds them: they are given back
 * once, by the note that message_complete() hands out and nobody else can reach.  A message must
 * not be freed with pages that a sender waits for.
 */
class PinnedPages
{
public:
	explicit PinnedPages(ZcopyNote *note) : note_(note)
	{
	}

private:
	friend ZcopyNote *message_complete(::rds_msg &m);
	friend void message_forget_pages(::rds_msg &m);

	ZcopyNote *note_;
};

} // namespace rds

struct alignas(8) rds_msg final {
	rds_msg(uint32_t len, uint32_t charge) : refs(1), len(len), charge(charge)
	{
	}

	rds::ListNode path_link; /* on its path's queue, in sequence order */
	rds::ListNode recv_link; /* on the receiving socket's queue; on its flow's list (order.h) */
	rds::RefCount refs;
	uint32_t len;	    /* payload bytes */
	uint32_t charge;    /* bytes of memory it holds, for both queues' limits */
	uint16_t flags = 0; /* MsgFlag */
	uint8_t tos = 0;
	/* The receiver's: made by rds_recv_begin(), not looked at yet; its peer numbers its flows;
	 * it counts as a stranger's, in its peer's share, and has had its turn (assembly.h). */
	bool fresh : 1 = false, numbered : 1 = false, stranger : 1 = false, shared : 1 = false,
		     had_turn : 1 = false;
	uint64_t end_off = 0; /* byte of the transport's stream behind it, once all is accepted */
	/* Sender; nullptr for the kernel's own and for cancelled ones.  Guarded by the path's lock
	 * while queued; valid inside an RCU section, see path.h "Completion". */
	rds::Socket *sock = nullptr;
	union {
		struct rds_addr saddr = {}; /* source, on the receiving side */
		struct {
			rds::Flow *on;	    /* the sender's flow, kMsgInFlow, and ... */
			uint32_t number;    /* ... which of it this is (order.h) */
			uint32_t queued_ms; /* when, by rds_coarse_ms() */
		} order;
	};
	uint32_t scope = 0;
	rds::MsgHas has = rds::MsgHas::kNothing;
	uint16_t assembling = 0;   /* kAssemblyUnits that are counted in @assembly */
	uint64_t stamp_ns = 0;	   /* arrival, time of day */
	uint64_t trace_ns[3] = {}; /* RXPATH_LATENCY: header, whole, delivered */
	union {
		rds::MsgRdma *rdma_side = nullptr; /* of what there is to do with RDMA (rdma.h) */
		rds::PinnedPages lent;
		rds::Assembly *assembly; /* of the namespace in which it arrives */
		rds::Socket *spilled_at; /* its spill has it counted (peer_shares.h) */
	};
	rds::wire::Header hdr;

	RDS_INLINE rds::Flow *flow() const
	{
		return RDS_UNLIKELY(flags & rds::kMsgInFlow) ? order.on : nullptr;
	}
	/* No peer has seen any of it, on this connection or one before it, but for the part that
	 * may be leaving now. */
	RDS_INLINE bool is_new() const
	{
		return !end_off && !(hdr.flags & rds::wire::kRetransmitted);
	}
	RDS_INLINE bool zcopy() const
	{
		return has == rds::MsgHas::kZcopy;
	}
	RDS_INLINE rds::MsgRdma *rdma() const
	{
		return has == rds::MsgHas::kRdma ? rdma_side : nullptr;
	}

	/* nullptr for a message without payload. */
	RDS_INLINE struct rds_payload *payload()
	{
		return len ? reinterpret_cast<struct rds_payload *>(this + 1) : nullptr;
	}
};
/* With 64 bytes of payload and what describes them it fills a block of 256: one field more, and the
 * kernel would take 512 for each small message, and clear them. */
static_assert(sizeof(struct rds_msg) <= 176);

namespace rds
{
using Message = ::rds_msg;
using MsgList = List<Message, &Message::path_link>;

/* Room for @len bytes, payload not initialised: nullptr without memory. */
Message *message_alloc(uint32_t len, enum rds_ctx ctx);
/* As message_alloc, but ready to be filled whole (rds_payload_from_user, _from_mem). */
Message *message_create(uint32_t len, enum rds_ctx ctx);
/* One that is received, for rds_payload_append(): @at_hand of its bytes are in @src. */
Message *message_collect(uint32_t len, const struct rds_src *src, uint32_t at_hand,
			 enum rds_ctx ctx);
/* Frees a message whose payload was never initialised (or has no bytes). */
void message_free_raw(Message *m);
/* Pages that @cookie names are lent with @m.  -ENOMEM. */
Status message_lend(Message &m, uint32_t cookie) RDS_SLEEPS;
/* Ends the lending of a message that has lent pages; the note is the caller's. */
[[nodiscard]] ZcopyNote *message_complete(Message &m);
/* Drops a reference; the last one frees payload, note and message. */
void message_put(Message *m);
/* As message_put() for many: their memory is given back together. */
class MessageBin final
{
public:
	MessageBin() /* leaves raw_ as it is: the compiler would clear all of it, each time */
	{
	}
	MessageBin(const MessageBin &) = delete;
	MessageBin &operator=(const MessageBin &) = delete;
	~MessageBin()
	{
		empty();
	}
	void put(Message *m);

private:
	void empty();

	static constexpr unsigned int kMany = 32;
	unsigned int n_ = 0;
	void *raw_[kMany];
};
/* The last reference of the message goes, and its part in RDMA with it (rdma.h, which is above). */
void msg_rdma_free(MsgRdma *r);
/* The budget of what arrives is above as well (assembly.h): @m is whole, or thrown away. */
void assembly_left(Message &m);
/* And the socket that took it beyond its hard limit (socket_spill.cc): @m has left it.  No lock. */
void spill_left(Message &m);
/* Sockets are above the queues that have their messages, and define these (socket_send.cc).
 * @bytes of payload and @mem of memory have left the queue; @note (may be nullptr) is to be
 * reported.  Any context, RCU reader, no lock. */
void sender_done(Socket &s, uint32_t bytes, uint32_t mem, ZcopyNote *note) RDS_READS(kRcu);
/* @m is put on the receive queue of @to, whose lock is inside of a path's; after_arrival() follows
 * without that.  False: @to was released. */
bool arrive(Socket &to, Message &m, Arrival &how) RDS_READS(kRcu);
/* Half of its room is taken: acknowledgements are wanted soon.  Any context. */
bool sender_short_of_room(Socket &s);
/* It counts its messages by their order (order.h). */
bool sender_has_flows(const Socket &s);
/* It has read a message since this was asked last: what it sends may be waited for.  Any context.
 */
bool sender_converses(Socket &s);
/* It was released. */
bool sender_is_gone(const Socket &s);
/* Nothing of it is queued or unacknowledged: a search for that is over. */
bool sender_is_done(const Socket &s);
/* Flows are above as well, and define these (order.cc).  @m has left its queue, delivered or
 * dropped.  Others that could not be queued then join @done.  Any context, RCU reader. */
void flow_left(Message &m, Conn &c, MsgList &done) RDS_READS(kRcu);
/* Writes into @m's header which of its flow it is; @numbered: the peer wants to know. */
void flow_stamp(Message &m, bool numbered);
/* The charge of a message of @len bytes, all of them at hand; @lent: pages that are lent do not
 * count. */
uint32_t message_cost(uint32_t len, bool lent);
/* Called when the payload has got its memory: what it costs the queues. */
void message_charge_payload(Message &m);

} // namespace rds
#endif
