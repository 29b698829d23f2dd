/* SPDX-License-Identifier: GPL-2.0 */
/*
 * path.h: one path of a connection: its state, its queue, and the one sender.
 *
 * States, events, and what each does in each: path_table.h.  A path has no worker of its own: its
 * turns are its connection's (connection.h), and what only they may touch says kWorker.
 *
 * Queue (send_queue.h).  One list in sequence order with a cursor.
 *
 * Full ports (path_hold.cc, path_refuse.cc).  A message for a port that the peer calls full, or has
 * refused, steps aside until the port clears.
 *
 * Token.  The task that turned sending_ from false to true under the path's lock is the one sender
 * of the path until it turns it back, and has kSender (rights.h).  It marks up to kXmitBatch
 * messages kMsgInXmit, leaves the lock, and calls ops->xmit; nobody unlinks marked messages
 * meanwhile.  Only a path that is open_ gives the token away, and the worker closes it and waits
 * for the token before it touches the transport.
 *
 * Completion.  A message taken off the queue is finished outside the lock, in the RCU section in
 * which it was taken off: its socket's memory is then still there, even if the socket was
 * released meanwhile.
 *
 * Delivery (path_ack.cc).  Between two of ours a message stays queued until the peer's RDS has it.
 * The hello, the first frame of every connection, says who the peer is; until then nothing is let
 * go.  A peer that says something else first is mainline's: then the transport's ack is delivery,
 * or, over one with RDS_CAP_NUMBERED, h_ack all the same, but of numbers without generation.
 *
 * Several paths (path_fan.cc).  All but path 0 live in its shadow: they connect only while it knows
 * the peer, and only path 0 carries congestion maps.
 */
#ifndef RDS_PATH_H
#define RDS_PATH_H

#include "coalesce.h"
#include "../conn/connection.h"
#include "delivered.h"
#include "dial.h"
#include "held.h"
#include "map_news.h"
#include "path_due.h"
#include "path_table.h"
#include "received.h"
#include "refused.h"
#include "../slot.h"
#include "xmit_token.h"

namespace rds
{
struct Accepted;  /* a connection that the peer has opened, as the transport knows it */
struct Cancelled; /* messages that a socket takes back (path_queue.cc) */
struct QueueWalk; /* a look at all that is queued or waits (queue_walk.h) */

/* Timers, X(name, owner, what for).  name_over() runs when one is over, in hard interrupt. */
#define RDS_PATH_TIMERS(X)                                                                         \
	X(state, StateLimit, "back-off, connect timeout, drain timeout: by state")                 \
	X(hold, Coalesce, "the end of a hold window")                                              \
	X(pause, RecvPause, "the end of a receive pause")                                          \
	X(memory, Retry, "another try: no memory for hello or a map, or a map that may wait")      \
	X(ack, Received, "what was received is to be acknowledged by then")

} // namespace rds

struct rds_path final {
	rds_path(struct rds_conn &conn, unsigned int index);
	~rds_path();

	/* -- queueing (path_queue.cc).  Any context -- */
	/* Numbers and queues @m.  Fails with -ENETUNREACH when the path is dead; then, and with
	 * kMoved, @m stays the caller's.  @more: no need to transmit at once.  @batch: becomes what
	 * the caller is to transmit; nullptr leaves that to the worker.  @away: though its ports
	 * choose another path. */
	rds::Result<rds::Queued> enqueue(rds::Message *m, bool more, rds::Batch *batch,
					 bool away = false) RDS_EXCLUDES(lock);
	/* Counts a message that is going to wait outside of the path (order.h): from here on the
	 * connection does not retire.  False: it has, and another is to be found. */
	bool count_waiting() RDS_EXCLUDES(lock);
	/* Instead: @m goes to @to at once (path_at_once.cc).  False: it is to be queued. */
	bool deliver_at_once(rds::Message &m, rds::Socket &to, rds::Arrival &how) RDS_EXCLUDES(lock)
		RDS_READS(rds::kRcu);
	/* Connects, unless it is at it. */
	RDS_INLINE void want()
	{
		if (state() == rds::PathState::kDown && dial_.want())
			post(rds::kEvWant);
	}
	/* The same, of who has nothing for it yet: not too often, for nobody may be there. */
	void call();
	bool heeds_knock(); /* the peer has knocked: is that news for the worker? */
	/* Takes back what @s sent (@to_port < 0: to any port).  The caller's connection. */
	void cancel(rds::Socket &s, int to_port) RDS_SLEEPS RDS_EXCLUDES(lock);
	void acked(uint64_t bytes) RDS_EXCLUDES(lock);
	void delivered_before(uint64_t seq) RDS_EXCLUDES(lock);
	/* All at the head of the queue that has nothing more to wait for leaves it. */
	void let_go() RDS_EXCLUDES(lock);
	/* The last act of messages that left the queue, or never came on it. */
	void finish(rds::MsgList &done, int unbegun = rds::kRdmaDropped) RDS_READS(rds::kRcu);
	void writable() RDS_EXCLUDES(lock);

	/* -- transmitting (path_xmit.cc).  Process -- */
	/* The caller holds the token, and @b is what enqueue() gave it (empty: nothing yet).  The
	 * token is given back before this returns. */
	void transmit(rds::Batch &b) RDS_SLEEPS RDS_EXCLUDES(lock);
	void transmit() RDS_SLEEPS RDS_EXCLUDES(lock);

	/* -- state (path_worker.cc).  Any context -- */
	void post(uint32_t events); /* none of kOwnEvents */
	void kick();		    /* there is something to transmit, and the caller may not */
	void drop(enum rds_drop_reason why);
	/* @handle is the path's from now on.  False: too late, the connection ends as idle. */
	bool accepted(void *handle);
	void pause_recv(); /* receiving stopped: ops->recv_retry after kRetryNs */
	RDS_INLINE rds::PathState state() const
	{
		return static_cast<rds::PathState>(state_.load_acquire());
	}
	void bug(const char *what); /* a promise is broken (bug.h): the connection ends, too */
	/* -- the worker's (path.cc) -- */
	/* All events that have come. */
	void turn() RDS_TURN;
	/* Event @e (enum rds_path_event), one of kOwnEvents; the table has what it does. */
	void step_own(unsigned int e) RDS_TURN;
	/* No new sender from now on; false: the last one is at it, whose end wakes the worker. */
	bool quiesce() RDS_TURN RDS_EXCLUDES(lock);
	/* All that @from has comes where the fold @f began.  Neither has a connection. */
	using Fold = rds::SendQueue::Fold;
	void take_over(rds_path &from, Fold &f) RDS_TURN RDS_EXCLUDES(lock, from.lock);
	void end_fold(Fold &f) RDS_TURN RDS_EXCLUDES(lock);
	/* The path is dead, and a grace period over: nothing of it runs any more.  Process. */
	void reap() RDS_SLEEPS;

	/* -- receiving (recv.cc, path_ack.cc): one caller at a time -- */
	/* Every header, before anything else is made of it.  False: the connection ends. */
	RDS_INLINE bool heard_header(const rds::wire::Header &h, const rds::wire::Fields &f)
		RDS_REQUIRES(rds::kReceiver)
	{
		/* Of one that is not whom we take it for nothing was heard: we stay silent. */
		if (RDS_UNLIKELY(peer() == rds::Peer::kUnknown) && !meet(h, f))
			return false;
		if (RDS_UNLIKELY(!heard.load()))
			first_heard();
		heard_ack(f.ack);
		return true;
	}
	/* h_ack of any header, a later one of the same message too. */
	RDS_INLINE void heard_ack(uint64_t seq)
	{
		if (RDS_UNLIKELY(seq > delivered()))
			peer_has(seq);
	}
	/* A message with a number was dealt with: delivered, or nobody wants it. */
	RDS_INLINE void received(const rds::wire::Fields &f) RDS_REQUIRES(rds::kReceiver)
	{
		tell(received_.add(f.seq, f.flags & rds::wire::kAckRequired));
	}
	/* It had been before. */
	RDS_INLINE void received_again(const rds::wire::Fields &f) RDS_REQUIRES(rds::kReceiver)
	{
		tell(received_.repeat(f.seq, f.flags & rds::wire::kAckRequired));
	}
	RDS_INLINE uint64_t next_rx_seq() const
	{
		return received_.next();
	}
	RDS_INLINE rds::Peer peer() const
	{
		return received_.peer();
	}
	/* One of ours: its numbers are of a generation, and never come twice. */
	RDS_INLINE bool peer_has_gen() const
	{
		return peer() == rds::Peer::kAcks && received_.generation();
	}
	/* ... and its orderly end means that it is owed nothing and owes nothing. */
	bool peer_drains() const;
	/* The peer that was met last, on this connection or one before, counts in @gen. */
	bool knows(uint32_t gen) const
	{
		return received_.is_of(gen);
	}
	/* Number of the last message that came on this connection, as far as it may be told. */
	uint64_t last_received() const
	{
		return received_.last();
	}
	/* -- refused ports (path_refuse.cc) -- */
	bool refuse(const rds::wire::Fields &f) RDS_REQUIRES(rds::kReceiver) RDS_EXCLUDES(lock);
	bool refuses(uint16_t port) RDS_EXCLUDES(lock);
	RDS_INLINE bool refused_any() const RDS_NO_TSA /* anybody may ask */
	{
		return refused_.any();
	}
	int hear_of_port(const rds::wire::Header &h) RDS_REQUIRES(rds::kReceiver);
	bool has_all(uint64_t seq) const; /* the peer, what it had refused, too */
	/* Ports and number of what is arriving (recv_query.h), 0: none; cleared under recv_lock. */
	rds::Atomic<uint64_t> arriving;
	/* When the header of the current message came, and its last byte. */
	uint64_t trace_head_ns RDS_GUARDED_BY(rds::kReceiver) = 0;
	uint64_t trace_whole_ns RDS_GUARDED_BY(rds::kReceiver) = 0;

	struct rds_conn &conn;
	void *priv = nullptr; /* the transport's */
	/* The sweep's: is_stalled(). */
	uint32_t stall_mark = 0, stalled_since_ms = 0;

	/* Accepted, and the peer has not spoken: nothing but hello goes out. */
	RDS_INLINE bool is_silent() const
	{
		return passive_open_.load() && !spoken_.load();
	}

	/* -- several paths (path_fan.cc) -- */
	bool delivered_all_locked(uint64_t seq) RDS_REQUIRES(lock);
	bool fan_out_locked() RDS_REQUIRES(lock);
	void begin_fold_locked(Fold &f) RDS_REQUIRES(lock);
	/* -- conn_idle.cc -- */
	bool owes_ack();
	bool peer_knows_all() const;
	bool unheard() const;
	bool is_stalled(uint64_t now); /* a frame's rest does not come.  The sweep */
	/* None is up, and what this end owes and is owed may be forgotten. */
	bool has_drained(rds::Care care) const;
	/* -- conn_strangers.cc -- */
	/* It goes on where a connection before it ended.  False: no memory for that. */
	bool begin_with(const rds::TombCount &count, const rds::TombPorts &ports) RDS_SLEEPS;
	/* Counts that peers may still need; ports that were refused to them go to @ports. */
	rds::TombCount count(rds::TombPorts *ports = nullptr);
	/* Down, nobody calls but for company: it was called as often as it may ask for. */
	bool is_resting() const;
	bool is_mute(uint64_t now) const; /* up, and the peer has not said one frame */
	bool holds_up(uint64_t now);	  /* the same, and messages wait for that: it had called */
	/* No peer is called that cannot tell whose numbers it has kept, and waits to be called. */
	bool is_calling() const;
	bool has_messages() RDS_EXCLUDES(lock);
	/* Down, nothing is owed or queued, no call waits: the connection may end.  Worker. */
	bool is_free() RDS_TURN RDS_EXCLUDES(lock);
	bool has_queued() RDS_EXCLUDES(lock);
	/* -- full ports (path_hold.cc) -- */
	bool holds(uint16_t port) RDS_EXCLUDES(lock);
	void port_cleared();   /* what waits for one is to be queued again; any context */
	bool owes_map() const; /* it has changed since it was sent last; any context */
	void port_is_full();   /* the peer sends to one of ours; any context */

	/* Snapshots (path_walk.h): each queued message goes to @fn, under the lock; @sent: those
	 * that the transport has, else all others.  Process, with a reference on the connection. */
	template <typename F>
	void for_each_queued(bool sent, F fn) RDS_SLEEPS RDS_EXCLUDES(lock);
	void look(struct rds_path_facts &f) RDS_EXCLUDES(lock); /* path_facts.cc; process */
	uint64_t next_tx_seq() const RDS_NO_TSA /* a counter that anybody may read */
	{
		return queue_.next_number();
	}
	/* The last number that the peer's RDS has. */
	RDS_INLINE uint64_t delivered() const RDS_NO_TSA /* the same */
	{
		return delivered_.up_to();
	}
	uint64_t in_flight() const /* messages that it has not, about */
	{
		return next_tx_seq() - delivered();
	}
	bool sending() const
	{
		return sending_flag_.load();
	}
	const rds::Dial &dial() const
	{
		return dial_;
	}
	rds::Atomic<uint64_t> since_ns;	   /* when it entered its state; 0: it was made in it */
	rds::Atomic<uint32_t> resets;	   /* times it went down, or began to, from up */
	rds::Atomic<uint32_t> last_reason; /* rds_drop_reason of the last end or failed connect */
	rds::Atomic<uint32_t> pongs;	   /* queued and not sent */
	/* Something came on this connection, and since it was asked last; until we go down. */
	rds::Atomic<bool> heard;
	/* Both ends ended the last connection in order: nothing is owed, nobody calls unasked. */
	rds::Atomic<bool> drained;
	/* A message of it has reached a socket here, on this object or on one before it (tombs.h):
	 * the numbers have to be remembered.  Pings, knocks and maps are forgotten. */
	rds::Atomic<bool> reached;
	const uint8_t index; /* of the connection's paths, this one */

private:
	/* Which act is the token holder's next. */
	enum class Next : uint8_t {
		kXmit,	  /* the batch goes to the transport */
		kPrepare, /* there is something to queue first */
		kAck,	  /* the same, an ack that no message carries perhaps */
		kStop,	  /* none: the token was given back */
	};

	using Went = rds::Went;
	/* path_worker.cc */
	static void send_fn(struct rds_work *w);
	void end_in_order(unsigned int why);
	void disarm() RDS_TURN;
	void arm(rds::Due<rds::StateLimit> due) RDS_TURN;

	/* path.cc */
	Went step(unsigned int e) RDS_TURN;
	Went act(rds::PathAct a) RDS_TURN;
#define RDS_X(name, text) Went act_##name() RDS_TURN;
	RDS_PATH_ACTS(RDS_X)
#undef RDS_X
	Went finish_drain(bool answered) RDS_TURN;
	Went make_way() RDS_TURN;
	void close_down(unsigned int why) RDS_TURN;
	void enter(rds::PathState to, unsigned int why) RDS_TURN;
	void start_connect() RDS_TURN;
	bool peer_gets_again() const;
	void end_connection(unsigned int why) RDS_TURN;
	bool adopt() RDS_TURN;
	void come_up() RDS_TURN;
	void go_down(unsigned int why) RDS_TURN;
	void schedule_retry(unsigned int why) RDS_TURN;
	bool quiesce_idle() RDS_TURN RDS_EXCLUDES(lock);

	/* path_stream.cc */
	void fresh_stream() RDS_TURN;
	void forget_connection() RDS_TURN;
	rds::Dial::Terms terms(unsigned int why);
	/* conn_idle.cc, path_fan.cc */
	bool may_retire() const;
	bool may_connect();
	/* path_takeover.cc */
	bool discard(rds::Accepted *handle);
	void send_probe() RDS_TURN;
	void ask_who() RDS_TURN;
	void refuse_newcomer() RDS_TURN;
	void first_heard() RDS_REQUIRES(rds::kReceiver);
	/* path_ack.cc */
	bool say_hello() RDS_TURN RDS_EXCLUDES(lock);
	void greet() RDS_TURN RDS_EXCLUDES(lock);
	bool meet(const rds::wire::Header &h, const rds::wire::Fields &f)
		RDS_REQUIRES(rds::kReceiver);
	void peer_has(uint64_t seq) RDS_EXCLUDES(lock);
	RDS_INLINE void tell(rds::Tell when)
	{
		if (when != rds::Tell::kLater)
			arrange_ack(when);
	}
	void arrange_ack(rds::Tell when);
	void queue_ack() RDS_REQUIRES(rds::kSender) RDS_SLEEPS RDS_EXCLUDES(lock);
	void stamp_acks(rds::Batch &b) RDS_REQUIRES(lock, rds::kSender);
	void settle_acks(const rds::Batch &b, uint64_t bytes) RDS_REQUIRES(lock, rds::kSender);
	rds::Delivered::Limits unacked_limits() const;
	/* path_queue.cc */
	void queue_first(rds::Message *m) RDS_EXCLUDES(lock);
	bool is_delivered(rds::Message &m) RDS_REQUIRES(lock);
	bool carries_locked(const rds::Message &m, bool away) RDS_REQUIRES(lock);
	bool is_done(rds::Message &m, rds::Peer who, uint64_t last, bool taken);
	void own_left(const rds::Message &m);
	bool collect_acked(rds::MsgList &done) RDS_REQUIRES(lock);
	bool leaves_at_reset_locked(rds::Message &m) RDS_REQUIRES(lock);
	void left_at_reset_locked(rds::Message &m, rds::MsgList &done) RDS_REQUIRES(lock);
	void reset_queue(bool purge) RDS_TURN RDS_EXCLUDES(lock);
	bool is_untouched_locked() const RDS_REQUIRES(lock);
	/* path_company.cc */
	bool queue_locked(rds::Message &m, bool more, bool may_wait) RDS_REQUIRES(lock);
	bool overtake_locked(rds::Message &m) RDS_REQUIRES(lock);
	void end_hold_locked() RDS_REQUIRES(lock);
	/* path_hold.cc */
	bool may_hold_locked(const rds::Message &m) RDS_REQUIRES(lock);
	bool step_aside_locked(rds::Message *m) RDS_REQUIRES(lock);
	bool join_held_locked(rds::Message *m) RDS_REQUIRES(lock);
	rds::HeldPort *waits_for_locked(const rds::Message &m) RDS_REQUIRES(lock);
	rds::HeldPort *hold_port_locked(const rds::Message &m) RDS_REQUIRES(lock);
	void put_aside_locked(rds::HeldPort &h, rds::Message &m) RDS_REQUIRES(lock);
	bool none_unsent_locked(const rds::HeldPort &h) RDS_REQUIRES(lock);
	bool may_go_back_locked(const rds::HeldPort &h) RDS_REQUIRES(lock);
	void look_at_waits_locked() RDS_REQUIRES(lock);
	bool return_some_locked(rds::HeldPort &h) RDS_REQUIRES(lock);
	void return_clear(rds::MsgList &frames) RDS_SLEEPS RDS_EXCLUDES(lock);
	void begin_return_locked(rds::HeldPorts::Back &back) RDS_REQUIRES(lock);
	void return_held(rds::HeldPorts::Back &back) RDS_SLEEPS RDS_EXCLUDES(lock);
	bool cancel_some(rds::Cancelled &c) RDS_EXCLUDES(lock);
	void cancel_one_locked(rds::Message &m, rds::Cancelled &c) RDS_REQUIRES(lock);
	rds::Message *step_locked(rds::QueueWalk &w) RDS_REQUIRES(lock);
	/* path_refuse.cc */
	void look_at_ports();
	void count_as(const rds::wire::Hello &) RDS_REQUIRES(rds::kReceiver) RDS_EXCLUDES(lock);
	void tell_refused() RDS_REQUIRES(rds::kSender) RDS_SLEEPS RDS_EXCLUDES(lock);
	void settle_ports_locked(const rds::MsgList &done) RDS_REQUIRES(lock, rds::kSender);
	void keep_refused_locked(rds::MsgList &done) RDS_REQUIRES(lock);
	int refused_locked(const rds::wire::Refusal &r) RDS_REQUIRES(lock);
	bool resume_locked(const rds::HeldPort &h, rds::MsgList &frames) RDS_REQUIRES(lock);
	void make_frames(rds::MsgList &frames) RDS_SLEEPS RDS_EXCLUDES(lock);
	void hear_port_news() RDS_REQUIRES(rds::kSender) RDS_SLEEPS RDS_EXCLUDES(lock);

	/* path_xmit.cc */
	bool take_token() RDS_EXCLUDES(lock);
	void take_token_locked() RDS_REQUIRES(lock);
	void begin_locked(rds::Batch &b) RDS_REQUIRES(lock);
	bool map_is_due() const RDS_REQUIRES(rds::kSender);
	bool map_may_wait_locked() RDS_REQUIRES(lock, rds::kSender);
	bool must_prepare_locked() const RDS_REQUIRES(lock, rds::kSender);
	Next prepare(rds::Batch &b) RDS_REQUIRES(rds::kSender) RDS_SLEEPS RDS_EXCLUDES(lock);
	Next next_locked(rds::Batch &b) RDS_REQUIRES(lock, rds::kSender);
	bool mark_batch(rds::Batch &b) RDS_REQUIRES(lock, rds::kSender);
	rds::Message *mark_some_locked(rds::Batch &b, bool gated, bool mute)
		RDS_REQUIRES(lock, rds::kSender);
	void leave_rest();
	Next settle(rds::Batch &b, long n, bool last) RDS_REQUIRES(rds::kSender) RDS_EXCLUDES(lock);
	void note_op(rds::Message &m) RDS_REQUIRES(lock, rds::kSender);
	void note_ops(const rds::Batch &b, unsigned int n) RDS_REQUIRES(lock, rds::kSender);
	void release_token() RDS_REQUIRES(lock, rds::kSender);
	void queue_cong_update() RDS_REQUIRES(rds::kSender) RDS_SLEEPS RDS_EXCLUDES(lock);

	rds::Atomic<uint32_t> state_; /* a PathState; the worker alone writes */
	rds::Atomic<uint32_t> events_;
	rds::Atomic<uint32_t> drop_reason_;
	rds::Atomic<bool> spoken_;	 /* the peer has said something on this connection */
	rds::Atomic<bool> probe_waits_;	 /* one is queued, and not sent; worker sets it */
	rds::Atomic<bool> port_news_;	 /* of full_ports_ one may be clear, refused_ has to tell */
	rds::Atomic<bool> sending_flag_; /* sending_, for rds-info */
	rds::Slot<rds::Accepted> accepted_; /* closed by act_die() */
	rds::Dial dial_;
	struct rds_work send_work_;
#define RDS_X(name, owner, text)                                                                   \
	static void name##_timer_fn(struct rds_timer *t);                                          \
	void name##_over();                                                                        \
	rds::TimerOf<rds::owner>::Type name##_timer_{name##_timer_fn};
	RDS_PATH_TIMERS(RDS_X)
#undef RDS_X
	rds::Atomic<bool> passive_open_; /* the peer opened this one; worker, before it is open_ */
	bool hello_due_ RDS_GUARDED_BY(rds::kWorker) = false; /* up, not open_: no memory for it */
	rds::Reports reports_ RDS_GUARDED_BY(rds::kWorker) = rds::Reports::kNo;
	bool asking_ RDS_GUARDED_BY(rds::kWorker) = false; /* another one waits for the answer */
	uint64_t answered_ns_ RDS_GUARDED_BY(rds::kWorker) = 0; /* when last; 0: never */

	rds::Received received_;

public:
	rds::Spinlock<RDS_RANK_PATH> lock; /* RDS_RANK_FURTHER_PATH of all but path 0 */

private:
	rds::SendQueue queue_ RDS_GUARDED_BY(lock);
	rds::Delivered delivered_ RDS_GUARDED_BY(lock);
	bool open_ RDS_GUARDED_BY(lock) = false;	     /* up: the token may be taken */
	bool sending_ RDS_GUARDED_BY(lock) = false;	     /* the token is out */
	bool blocked_ RDS_GUARDED_BY(lock) = false;	     /* the transport has no room */
	bool room_came_ RDS_GUARDED_BY(lock) = false;	     /* meanwhile: look again */
	bool dead_ RDS_GUARDED_BY(lock) = false;	     /* takes nothing; the namespace goes */
	rds_path *other_end_ RDS_GUARDED_BY(lock) = nullptr; /* of this host, while open_ */
	rds::MapNews map_news_;				     /* path 0's */
	rds::HeldPorts full_ports_ RDS_GUARDED_BY(lock);     /* empty while the path is down */
	rds::Refused refused_ RDS_GUARDED_BY(lock);
	rds::Coalesce coalesce_ RDS_GUARDED_BY(lock);
};

#endif
