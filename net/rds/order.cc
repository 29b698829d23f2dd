// SPDX-License-Identifier: GPL-2.0
#include "order.h"

#include "conn/connection.h"
#include "hash.h"

namespace rds
{
namespace
{

bool is_unordered(const Message &m)
{
	return m.flags & kMsgUnordered;
}

bool is_ordered(const Message &m)
{
	return !(m.flags & (kMsgUnordered | kMsgHalf));
}

/* Numbers of a flow begin anywhere and wrap. */
bool before(uint32_t a, uint32_t b)
{
	return static_cast<int32_t>(a - b) < 0;
}

Path *home_of(const Conn &c, const Message &m)
{
	return c.path_for(wire::get16(m.hdr.sport), wire::get16(m.hdr.dport));
}

bool spreads(const Conn &c)
{
	return c.fan.n_paths() > 1 && c.orders.load();
}

/* All paths that @c may send on are there. */
bool is_furnished(const Conn &c)
{
	uint32_t n = c.fan.n_paths();

	for (uint32_t i = 0; i < n; i++)
		if (!c.paths[i].load())
			return false;
	return true;
}

/* Where least is under way, of those that are up; those that are not are called. */
Path &least_loaded(const Conn &c, Path &home)
{
	uint32_t n = c.fan.n_paths();
	Path *best = &home;
	uint64_t least = home.state() == PathState::kUp ? home.in_flight() : ~uint64_t{0};

	if (!spreads(c) || c.fan.is_gated())
		return home;
	for (uint32_t i = 0; i < n; i++) {
		Path *p = c.paths[i].load_acquire();

		if (!p || p == &home)
			continue;
		if (p->state() != PathState::kUp) {
			p->call();
		} else if (p->in_flight() < least) {
			best = p;
			least = p->in_flight();
		}
	}
	return *best;
}

/* The messages sent before there was a flow have arrived, if they went where @home is. */
bool old_are_delivered(const Flow &f, const Path &home)
{
	return f.old_path != home.index || home.has_all(f.old_seq);
}

uint32_t &ordered_count(Flow &f, const Message &m)
{
	return m.flags & (kMsgAway | kMsgWaiting) ? f.ordered_else : f.ordered_home;
}

Flow::Messages &list_of(Flow &f, const Message &m)
{
	if (m.flags & kMsgLate)
		return f.late;
	return m.flags & kMsgWaiting ? f.waiting : m.flags & kMsgAway ? f.away : f.home;
}

/* Something is away that a message has to wait for which is sent now. */
bool any_away(const Flow &f)
{
	return !f.away.empty() || f.late_away;
}

/* The same, of @m that waits: the late ones have waited before it. */
bool away_before(const Flow &f, const Message &m)
{
	const Message *oldest = f.away.front();

	return f.late_away || (oldest && before(oldest->order.number, m.order.number));
}

bool is_late_away(const Message &m)
{
	return m.flags & kMsgLate && m.flags & kMsgAway;
}

void note_low(Flow &f)
{
	const Message *oldest[] = {f.home.front(), f.away.front(), f.waiting.front(),
				   f.late.front()};
	uint32_t low = f.next;

	for (const Message *m : oldest)
		if (m && before(m->order.number, low))
			low = m->order.number;
	f.low.store(low);
}

void put_on(Flow &f, Message &m, uint16_t where)
{
	m.flags = static_cast<uint16_t>((m.flags & ~(kMsgAway | kMsgWaiting | kMsgLate)) | where);
	list_of(f, m).push_back(&m);
	f.late_away += is_late_away(m);
	if (is_ordered(m))
		ordered_count(f, m)++;
}

void take_off(Flow &f, Message &m)
{
	list_of(f, m).remove(&m);
	f.late_away -= is_late_away(m);
	if (is_ordered(m))
		ordered_count(f, m)--;
}

} // namespace

Flow::Flow(Flows &owner, const Conn &c, uint16_t port, const Path &home)
	: owner(owner), conn(&c), gen(c.gen), port(port), old_path(home.index),
	  old_seq(home.next_tx_seq() - 1), next(rds_random()), low(next)
{
}

Status Flows::expect(Atomic<Flows *> &of, uint32_t order)
{
	if (order > static_cast<uint32_t>(Order::kUnordered))
		return Status::fail(err::kEinval);
	/* Half-ordered alone has nothing to do with anybody. */
	return order != static_cast<uint32_t>(Order::kUnordered) || of.load() ? Status() : make(of);
}

Status Flows::make(Atomic<Flows *> &of)
{
	void *p = rds_alloc(sizeof(Flows), may_sleep());

	if (!p)
		return Status::fail(err::kEnomem);

	Flows *flows = new (p) Flows, *none = nullptr;

	if (of.compare_exchange(none, flows))
		rds_rcu_defer(&flows->rcu_, settle_fn);
	else
		destroy(flows);
	return Status();
}

/* The messages sent past us are queued: a flow that begins behind them knows of them. */
void Flows::settle_fn(struct rds_rcu_head *h)
{
	Flows *flows = container_of(h, &Flows::rcu_);

	flows->settled_.store_release(true);
	flows->put();
}

void Flows::put()
{
	if (refs_.put())
		destroy(this);
}

Flows::~Flows()
{
	for (Bucket &b : buckets_)
		while (Flow *f = b.pop_front())
			destroy(f);
}

Flows::Bucket &Flows::bucket(const Conn &c, uint16_t port)
{
	return buckets_[hash_mix(c.gen ^ uint64_t{port} << 32) % kBuckets];
}

Flow *Flows::find(const Conn &c, uint16_t port)
{
	Bucket &b = bucket(c, port);
	Flow *f = b.front();

	while (f && (f->conn != &c || f->gen != c.gen || f->port != port))
		f = b.next(f);
	return f;
}

/* nullptr without memory: hints may be ignored. */
Flow *Flows::begin(const Conn &c, uint16_t port, const Path &home, Bucket &gone)
{
	if (count_ >= many_)
		forget_idle(gone);

	Flow *f = create<Flow>(RDS_ATOMIC, *this, c, port, home);

	if (!f)
		return nullptr;
	bucket(c, port).push_back(f);
	count_++;
	return f;
}

/* Those that have nothing under way; also of connections that are gone. */
void Flows::forget_idle(Bucket &gone)
{
	for (Bucket &b : buckets_) {
		Flow *next;

		for (Flow *f = b.front(); f; f = next) {
			next = b.next(f);
			if (f->low.load() != f->next)
				continue;
			b.remove(f);
			count_--;
			gone.push_back(f);
		}
	}
	many_ = count_ * 2 > kFewFlows ? count_ * 2 : kFewFlows;
}

Result<Queued> Flows::enqueue(Conn &c, Message *m, bool more, Path *&path, Batch &batch)
{
	Result<Queued> how = Queued::kMoved;
	Bucket gone; /* nothing is freed under the lock */
	{
		Guard g(lock_);

		how = enqueue_locked(c, m, more, path, batch, gone);
	}
	while (Flow *f = gone.pop_front())
		destroy(f);
	return how;
}

Result<Queued> Flows::enqueue_locked(Conn &c, Message *m, bool more, Path *&path, Batch &batch,
				     Bucket &gone)
{
	uint16_t port = wire::get16(m->hdr.dport);
	Path *home = home_of(c, *m);

	path = home;
	if (!home)
		return Queued::kMoved;

	Flow *f = find(c, port);

	/* Messages that wait for the port have no number yet: no flow could begin behind them. */
	if (!f && is_unordered(*m) && spreads(c) && settled_.load_acquire() && !home->holds(port))
		f = begin(c, port, *home, gone);
	if (!f)
		return home->enqueue(m, more, &batch);
	if (is_unordered(*m) && !f->furnished && spreads(c)) {
		f->furnished = true;
		if (!is_furnished(c))
			return Queued::kMoved;
	}
	return enter(*f, c, m, more, path, batch);
}

/* @m is the flow's next; @path is its home. */
Result<Queued> Flows::enter(Flow &f, Conn &c, Message *m, bool more, Path *&path, Batch &batch)
{
	Path *home = path;
	Result<Queued> how = Queued::kMoved;

	m->order.number = f.next;
	if (is_unordered(*m) ? f.ordered_else != 0 : any_away(f) || !f.waiting.empty()) {
		if (!home->count_waiting())
			return Queued::kMoved;
		f.next++;
		wait(f, c, m);
		return Queued::kDone;
	}
	if (is_unordered(*m) && !f.ordered_home && old_are_delivered(f, *home)) {
		path = &least_loaded(c, *home);
		if (path != home)
			how = place(f, m, more, &batch, *path, home);
		if (how.ok() && how.value() != Queued::kMoved)
			c.net.count(RDS_S_send_order_away);
	}
	if (how.ok() && how.value() == Queued::kMoved) {
		path = home;
		how = place(f, m, more, &batch, *home, home);
	}
	return how;
}

/* On a path; unless it is taken, everything is as it was. */
Result<Queued> Flows::place(Flow &f, Message *m, bool more, Batch *batch, Path &path,
			    const Path *home)
{
	const bool news = m->order.number == f.next;
	const int where = (&path == home ? 0 : kMsgAway) | (news ? 0 : kMsgLate);

	/* Others may transmit it, and it may leave, before enqueue() is back. */
	put_on(f, *m, static_cast<uint16_t>(where));
	m->order.on = &f;
	m->flags |= kMsgInFlow;
	refs_.get();
	f.next += news;
	note_low(f);

	auto how = path.enqueue(m, more, batch, &path != home);

	if (how.ok() && how.value() != Queued::kMoved)
		return how;
	take_off(f, *m);
	m->flags &= static_cast<uint16_t>(~kMsgInFlow);
	refs_.put(); /* not the last: the caller's socket has one */
	f.next -= news;
	note_low(f);
	return how;
}

/* Its home has counted it. */
void Flows::wait(Flow &f, Conn &c, Message *m)
{
	put_on(f, *m, kMsgWaiting);
	note_low(f);
	c.net.count(RDS_S_send_order_wait);
}

/* Messages that wait for nothing any more go home: by the worker, for we may be in a softirq.  A
 * few in one hold of the lock: each that went leaves its path as well, and releases others then.
 * True: none went, and there may be more. */
bool Flows::release(Flow &f, Conn &c, MsgList &dropped)
{
	bool any_went = false;

	for (unsigned int n = 0; n < kQueueStep; n++) {
		Message *m = f.waiting.front();

		if (!m || away_before(f, *m))
			return false;

		Path *home = home_of(c, *m);
		Result<Queued> how = Queued::kMoved;

		take_off(f, *m);
		if (home)
			how = place(f, m, false, nullptr, *home, home);
		/* It has no home yet, or another since: away, then, on the path that every
		 * connection has, and where all that is older is that has not arrived. */
		if (how.ok() && how.value() == Queued::kMoved)
			how = place(f, m, false, nullptr, c.first(), nullptr);
		if (!how.ok() || how.value() == Queued::kMoved)
			dropped.push_back(m);
		else
			any_went = true;
		c.waiting.fetch_sub(1);
	}
	return !any_went;
}

/* Some of those that wait in @f are given to @done: as many as @left says. */
void Flows::cancel_some(Flow &f, Conn &c, unsigned int &left, MsgList &done)
{
	for (Message *m; left && (m = f.waiting.front()); left--) {
		take_off(f, *m);
		c.waiting.fetch_sub(1);
		done.push_back(m);
	}
	note_low(f);
}

void Flows::cancel(Conn &c, int to_port)
{
	for (unsigned int left = 0; !left; let_others_run()) {
		RcuReader rcu;
		MsgList done;
		unsigned int step;
		{
			Guard g(lock_);

			/* To find them costs a look at each flow. */
			left = step = kQueueStep + count_;
			for (Bucket &b : buckets_)
				for (Flow *f = b.front(); f; f = b.next(f))
					if (f->conn == &c && f->gen == c.gen &&
					    (to_port < 0 || f->port == to_port))
						cancel_some(*f, c, left, done);
		}
		c.net.count(RDS_S_send_cancelled, step - left);
		c.first().finish(done, kRdmaCanceled);
	}
}

void flow_left(Message &m, Conn &c, MsgList &done)
{
	Flow &f = *m.order.on;
	Flows &owner = f.owner;

	m.flags &= static_cast<uint16_t>(~kMsgInFlow);
	owner.depart(f, m, c, done);
	owner.put();
}

void Flows::depart(Flow &f, Message &m, Conn &c, MsgList &done)
{
	const uint16_t port = f.port;
	bool more;
	{
		Guard g(lock_);

		take_off(f, m);
		more = release(f, c, done);
		note_low(f);
	}
	/* Of a flow that others have emptied meanwhile nothing may be left, nor it itself. */
	while (RDS_UNLIKELY(more)) {
		Guard g(lock_);
		Flow *left = find(c, port);

		more = left && release(*left, c, done);
		if (left)
			note_low(*left);
	}
}

void flow_stamp(Message &m, bool numbered)
{
	__builtin_memset(m.hdr.ext, 0, sizeof(m.hdr.ext));
	if (numbered)
		(void)wire::ExtWriter(m.hdr).order(m.order.number, m.order.on->low.load());
}

} // namespace rds
