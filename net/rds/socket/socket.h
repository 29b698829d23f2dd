/* SPDX-License-Identifier: GPL-2.0 */
/*
 * socket.h: one PF_RDS socket: its names, what it has sent and not heard of, what it has received
 * and not read, and what it waits for.
 *
 * Sending: room in snd_space is taken before a message is made and given back when it is
 * acknowledged, cancelled or dropped, or not sent after all; messages that are sent live on the
 * path's queue.
 *
 * Receiving: paths push to arrived_ under recv_lock_ (softirq); the one reader that holds reader_
 * moves everything to reading_ at once and takes messages from there without a lock.  recvmsg
 * pops a message only after all of it was copied, so a fault loses nothing.  Beyond the limit the
 * port is congested (cong.h) until half is read.
 *
 * Life: storage belongs to the glue.  rds_socket_release() runs once, when no other call is inside;
 * softirqs may still look at the memory until an RCU grace period later.
 */
#ifndef RDS_SOCKET_H
#define RDS_SOCKET_H

#include "bind.h"
#include "../cong.h"
#include "../lock.h"
#include "../mem_account.h"
#include "../message.h"
#include "../netns.h"
#include "../rdma.h"
#include "../rds_core.h"
#include "send_space.h"
#include "sent_to.h"
#include "unread_since.h"
#include "../transport.h"

namespace rds
{
struct XmitToken;
class Flows;
class RecvFlows;

/* The consequences of a message's arrival (after_arrival()). */
struct Arrival {
	uint32_t limit; /* of the receive queue */
	uint32_t len;	/* of the message */
	bool first;	/* the queue was empty: its reader may sleep */
	bool congested; /* the port has become full */
};

enum class Deliver {
	kTaken, /* queued; the socket owns the message now */
	kClosed,
	kFull, /* over the hard limit: try again later */
};
} // namespace rds

struct rds_socket final : rds::Bound {
	rds_socket(rds::Net *net, rds::User &user);
	~rds_socket();

	/* -- names (socket.cc).  Written once by bind under bind_lock_, then constant -- */
	rds::Status bind(const struct rds_endpoint &want) RDS_SLEEPS;
	rds::Status connect(const struct rds_endpoint &to);
	rds::Status set_transport(unsigned int type);
	rds::Status set_tos(uint8_t tos);
	RDS_INLINE bool is_bound() const
	{
		return bound_flag.load_acquire();
	}
	bool get_peer(struct rds_endpoint &ep);
	void release() RDS_SLEEPS;

	/* -- sending (socket_send.cc) -- */
	/* Room for a message to @to, of @len bytes and @mem bytes of memory. */
	rds::Status admit(const struct rds_endpoint &to, uint32_t len, uint32_t mem) RDS_SLEEPS;
	void give_room(uint32_t len, uint32_t mem);
	rds::Status send(const struct rds_endpoint &to, rds::Message *m, bool more) RDS_SLEEPS;
	/* One that does not wait met that the port of @to is full.  False: it is clear by now. */
	bool refused(const struct rds_endpoint &to) RDS_SLEEPS;
	bool writable()
	{
		return snd_space.wait_for_room(this);
	}
	bool congested_to(const struct rds_endpoint &to);
	void cancel(const struct rds_endpoint *to) RDS_SLEEPS;

	/* -- receiving (socket_recv.cc) -- */
	/* A message that was taken beyond the hard limit is gone (message.h). */
	void unspill(const rds::Message &m) RDS_EXCLUDES(recv_lock);
	/* From a path, any context, RCU reader, no lock held.  @arriving: the path's, done with
	 * when the message is taken.  @spills: its sender may not have known that we are full. */
	rds::Deliver deliver(rds::Message *m, rds::Atomic<uint64_t> &arriving, bool spills)
		RDS_READS(rds::kRcu);
	/* The same, of @path's sender, whose call this is.  False: @path has to queue @m. */
	bool deliver_at_once(rds::Message &m, struct rds_path &path) RDS_READS(rds::kRcu);
	bool arrive(rds::Message &m, rds::Arrival &how) RDS_REQUIRES(recv_lock);
	rds::Message *recv_head() RDS_REQUIRES(reader);
	rds::Message *recv_next(rds::Message &m) RDS_REQUIRES(reader);
	void recv_pop(unsigned int n) RDS_REQUIRES(reader);
	bool readable() const;
	unsigned int poll();
	/* The messages not read, of @peer (nullptr: of everybody), with those that are arriving on
	 * these paths, of which the caller has references; see recv_query.h. */
	struct rds_recv_counts count_held(struct rds_path *const *paths, unsigned int n,
					  const struct rds_endpoint *peer) RDS_REQUIRES(reader);
	/* Everything that arrived and was not read, oldest first; what a reader has at hand this
	 * very moment may be missing.  Any context that may take mutexes, RCU reader. */
	template <typename F>
	void for_each_received(F fn) RDS_READS(rds::kRcu);
	rds::Net *const net;
	rds::User &user; /* whose it is, until it is released */
	rds::Atomic<bool> bound_flag;
	rds::Atomic<bool> dead; /* released */
	rds::Atomic<bool> recverr;
	rds::Atomic<bool> tracing;
	rds::Atomic<bool> pinged; /* it has sent to port 0; stays set */

	rds::Mutex<RDS_RANK_BIND> bind_lock; /* bind, set_transport, set_tos */
	/* Pinned; set under bind_lock, and constant once we are bound, or it was asked for. */
	const struct rds_transport *trans = nullptr;
	uint8_t tos = 0;

	rds::Spinlock<RDS_RANK_SOCKET> small_lock; /* what is small and rare */
	struct rds_endpoint peer RDS_GUARDED_BY(small_lock) = {};
	bool has_peer RDS_GUARDED_BY(small_lock) = false;
	rds::List<rds::ZcopyNote, &rds::ZcopyNote::link> zcopy_done RDS_GUARDED_BY(small_lock);
	rds::Atomic<uint32_t> zcopy_count;

	/* Connection of the last send, good while the table's generation is the same. */
	rds::Atomic<struct rds_conn *> conn_cache;
	rds::Atomic<uint64_t> conn_gen{~0ull};
	rds::SentTo sent_to;
	rds::SendSpace snd_space;
	rds::Atomic<rds::Flows *> send_flows; /* made with the first hint; ours until destroyed */
	rds::Atomic<uint32_t> order;	      /* an rds::Order, of messages that say nothing else */

	rds::Spinlock<RDS_RANK_RECV> recv_lock;
	rds::List<rds::Message, &rds::Message::recv_link> arrived RDS_GUARDED_BY(recv_lock);
	rds::UnreadSince unread;     /* whether arrived and reading have any, and since when */
	rds::Atomic<bool> wake_each; /* wake for every message; stays set */
	rds::Atomic<bool> congested; /* our port's bit is set; written under recv_lock */
	rds::CoarseTime congested_since;
	rds::Atomic<uint64_t> rcv_bytes; /* payload not read yet */
	rds::MemAccount rcv_mem;	 /* memory of the same messages */
	rds::Mutex<RDS_RANK_READER> reader;
	rds::List<rds::Message, &rds::Message::recv_link> reading RDS_GUARDED_BY(reader);
	rds::Atomic<bool> has_read; /* a message, see sender_converses() */
	/* The part of rcv_mem that recv_flows has: paid for, but no reading frees it, so it fills
	 * no queue.  Raised after that, lowered before. */
	rds::Atomic<uint32_t> flow_bytes;
	/* Made when first needed; given back under both locks. */
	rds::RecvFlows *recv_flows RDS_GUARDED_BY(recv_lock) = nullptr;
	/* Made with the first message that spills; it goes with the last, or with us. */
	rds::PeerShares *spill RDS_GUARDED_BY(recv_lock) = nullptr;

	/* Map of our own address, with a reference from bind to release. */
	rds::CongMap *lcong = nullptr;

	rds::CongWatch watch;
	rds::RdmaSeat rdma;

private:
	rds::Status attach(const struct rds_endpoint &want) RDS_SLEEPS;
	void choose(const struct rds_transport *t);
	void give_transport_back();
	void remember(struct rds_conn *c, uint64_t gen);
	struct rds_conn *known_conn(const struct rds_endpoint &to) RDS_READS(rds::kRcu);
	bool send_over(struct rds_conn &c, uint16_t port, rds::Message *m, bool more,
		       rds::XmitToken &token, rds::Status &st) RDS_READS(rds::kRcu);
	bool send_at_once(struct rds_path &path, uint16_t port, rds::Message &m)
		RDS_READS(rds::kRcu);
	bool queue_on(struct rds_path &path, uint16_t port, rds::Message *m, bool more,
		      rds::XmitToken &token, rds::Status &st) RDS_READS(rds::kRcu);
	rds::Status send_anew(const struct rds_endpoint &to, rds::Message *m, bool more,
			      rds::XmitToken &token) RDS_SLEEPS;
	void cancel_on(struct rds_conn &c, int to_port) RDS_SLEEPS;
	rds::Status copy_pages(rds::Message &m) RDS_SLEEPS;
	/* The interface of a connection to @to, if either end is of one. */
	RDS_INLINE uint32_t scope_to(const struct rds_endpoint &to) const
	{
		return RDS_UNLIKELY(to.scope) ? to.scope : bound.scope;
	}
	rds::Result<rds::CongMap *> map_to(const struct rds_endpoint &to) RDS_SLEEPS;
	rds::Status ask_way(const struct rds_endpoint &to) RDS_SLEEPS;
	rds::Status try_send(const struct rds_endpoint &to, rds::Message *m, bool more) RDS_SLEEPS;
	void take_arrived() RDS_REQUIRES(reader, recv_lock);
	void note_place(const rds::Message &m) RDS_REQUIRES(recv_lock);
	bool may_spill(rds::Message &m, uint32_t limit) RDS_EXCLUDES(recv_lock);
	bool take_share(rds::Message &m, const rds::PeerShares::Room &room) RDS_EXCLUDES(recv_lock);
	bool pays_for(const rds::Message &m);
	uint32_t recv_limit() const;
	/* Memory of the messages not read. */
	uint64_t unread_mem() const
	{
		uint64_t flows = flow_bytes.load_seq();

		return rcv_mem.used_seq() - flows;
	}
	/* The sum of messages that the reader has read. */
	struct ReadSum {
		unsigned int n = 0;
		uint64_t bytes = 0, charge = 0;
	};
	rds::Message *take_read(ReadSum &sum) RDS_REQUIRES(reader);
	void after_read(const ReadSum &sum);
	void pop_many(unsigned int n) RDS_REQUIRES(reader);
	bool has_room_for(rds::Message &m, uint32_t limit, bool spill);
	bool expects(rds::Message &m, rds::Arrival &how, bool spills) RDS_EXCLUDES(recv_lock);
	void after_arrival(const rds::Arrival &how) RDS_EXCLUDES(recv_lock);
	rds::Deliver refuse() RDS_EXCLUDES(recv_lock);
	bool congest() RDS_REQUIRES(recv_lock);
	bool below_low_water() const;
	void maybe_uncongest() RDS_EXCLUDES(recv_lock);
	void drop_received();
};

template <typename F>
void rds_socket::for_each_received(F fn)
{
	if (reader.try_lock()) {
		for (rds::Message *m = reading.front(); m; m = reading.next(m))
			fn(*m);
		reader.unlock();
	}

	rds::Guard g(recv_lock);

	for (rds::Message *m = arrived.front(); m; m = arrived.next(m))
		fn(*m);
}

namespace rds
{

RDS_INLINE Socket *BindTable::find(const struct rds_addr &addr, uint32_t scope, uint16_t port,
				   const rds::HashKey &key) const
{
	return static_cast<Socket *>(look_up(addr, scope, port, key));
}

template <typename F>
uint64_t BindTable::walk(uint64_t pos, F fn) const
{
	return table_.walk(pos, [&](Bound &b) RDS_READS(kRcu) { fn(static_cast<Socket &>(b)); });
}

} // namespace rds
#endif
