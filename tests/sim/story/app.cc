// SPDX-License-Identifier: GPL-2.0
#include "app.h"

#include "check_conns.h"
#include "network.h"
#include "traffic.h"

namespace story
{
namespace
{

constexpr int kEagain = -11, kEnomem = -12, kEnobufs = -105;
/* How long a program waits that was told that there is no memory. */
constexpr uint64_t kHungry = 1000 * 1000;
constexpr uint64_t kSecond = 1000 * 1000 * 1000ull;

/* Of a message that is tried again the same. */
check::Hint hint_of(const Job &j, uint32_t flow, uint32_t number)
{
	uint64_t dice = sim::mix(uint64_t{flow} << 32 | number) % 1000;

	if (dice < j.unordered_per_1000)
		return check::Hint::kUnordered;
	return dice < j.unordered_per_1000 + j.half_per_1000 ? check::Hint::kHalf
							     : check::Hint::kOrdered;
}

} // namespace

App::App(host::Net &net, unsigned int slot, const struct rds_endpoint &at, const Habits &h,
	 Watch &w)
	: slot(slot), at(at), watch_(w), instance_(w.next_instance++), habits_(h), net_(net),
	  socket_(net), rng_(instance_)
{
	set_habits(h);
}

std::string App::who() const
{
	return "socket " + std::to_string(instance_) + " at " + host::show(at.addr) + " port " +
	       std::to_string(at.port);
}

std::string App::show()
{
	struct rds_socket *s = socket_.core();
	std::string out = who() +
			  (habits_.event_loop ? ", event loop"
			   : habits_.edge     ? ", edge-triggered"
					      : ", threads") +
			  (habits_.monitor ? ", monitor" : "") +
			  (rds_socket_readable(s) ? ", readable" : "") +
			  (rds_socket_writable(s) ? "" : ", full");

	for (auto &t : tasks_)
		out += "; " + std::to_string(t->job.count) + " for slot " +
		       std::to_string(t->job.to) +
		       (rds_socket_congested(s, &t->job.at) ? " (congested)" : "") +
		       (t->stopped_by ? " after " + std::to_string(t->stopped_by) : "");
	return out;
}

int App::open()
{
	int ret = socket_.bind(at);

	if (ret) {
		failed_ = true;
		return ret;
	}
	rds_socket_set_recverr(socket_.core(), habits_.recverr);
	if (habits_.tos && rds_socket_set_tos(socket_.core(), habits_.tos))
		watch_.complain("no TOS for " + who());
	running_++;
	if (habits_.event_loop)
		sim::spawn("event loop", [this] { event_loop(); });
	else
		sim::spawn("reader", [this] { read_loop(); });
	return 0;
}

void App::set_habits(const Habits &h)
{
	const Habits born = habits_;

	habits_ = h;
	habits_.event_loop = born.event_loop;
	habits_.batch = born.batch;
	habits_.edge = born.edge;
	habits_.stamps = born.stamps;
	habits_.tos = born.tos;
	habits_.recverr = born.recverr;
	most_sent_ = std::max(most_sent_, h.sndbuf);
	most_held_ = std::max(most_held_, h.rcvbuf);
	socket_.sock().sndbuf = h.sndbuf;
	socket_.sock().rcvbuf = h.rcvbuf;
	socket_.sock().stamps = habits_.stamps;
	rds_socket_set_cong_monitor(socket_.core(), h.monitor, h.monitor ? ~0ull : 0);
	/* An errno of the old way was not for the new one: try again. */
	for (auto &t : tasks_)
		t->stopped_by = 0;
	kicked_ = true;
	resized_++; /* SO_SNDBUF tells of room */
	nudge();
}

void App::set_stuck(bool on)
{
	stuck_ = on;
	nudge();
}

void App::nudge()
{
	nudges_++;
	sim::wake(socket_.core());
}

/* Looks whether it is @ready, and again when there was a wakeup of the @kinds that it waits for. */
template <typename Kinds, typename Ready>
void App::sleep_for_news(Kinds kinds, Ready ready)
{
	host::News seen(socket_.sock());
	uint32_t nudged = nudges_ - 1;

	sim::wait_on(socket_.core(), [&] {
		/* A signal ends the wait, and the call is made again. */
		if (sim::chance(sim::options().signals_per_1000))
			nudged = nudges_ - 1;
		if (nudged == nudges_ && !seen.came(socket_.sock(), kinds()))
			return stop_;
		nudged = nudges_;
		seen = host::News(socket_.sock());
		return ready() || stop_;
	});
}

void App::calm()
{
	stuck_ = false;
	habits_.pause_ns = 0;
	nudge();
	sim::wake(&habits_);
}

/* Between two messages that are read: peace ends it. */
void App::pause()
{
	const void *channel = &habits_;
	const uint64_t until = sim::now_ns() + habits_.pause_ns;

	sim::after(
		habits_.pause_ns, "pause", [channel] { sim::wake(channel); },
		sim::Context::kHardirq);
	sim::wait_on(channel, [this, until] {
		return stop_ || !habits_.pause_ns || sim::now_ns() >= until;
	});
}

App::Flow *App::flow_in(Flows &flows, unsigned int to)
{
	for (auto &[slot, flow] : flows)
		if (slot == to)
			return flow.get();
	flows.emplace_back(to, std::make_unique<Flow>(Flow{watch_.new_flow(slot, to)}));
	return flows.back().second.get();
}

bool App::send(Job job)
{
	Flow *flow = flow_in(flows_, job.to);

	if (flow->busy || stop_ || tasks_.size() > 8)
		return false;
	flow->busy = true;
	tasks_.push_back(std::make_unique<Task>(Task{std::move(job), flow}));
	if (habits_.event_loop) {
		nudge();
		return true;
	}
	running_++;
	sim::spawn("sender", [this, t = tasks_.back().get()] { sender(t); });
	return true;
}

void App::cancel(const struct rds_endpoint *to, unsigned int to_slot)
{
	watch_.cancels++;
	if (to)
		watch_.excuse_pair(slot, to_slot);
	else
		watch_.excuse_from(slot);
	rds_socket_cancel(socket_.core(), to);
	/* Those that were being sent meanwhile. */
	if (to)
		watch_.excuse_pair(slot, to_slot);
	else
		watch_.excuse_from(slot);
}

void App::stop()
{
	stop_ = true;
	nudge();
	sim::wake(&habits_);
	sim::run_until([this] { return !running_; }, 600 * kSecond);
	if (running_)
		watch_.complain("a task of " + who() + " does not end");
}

bool App::idle() const
{
	return tasks_.empty() && !socket_.readable();
}

/* ---- sending ---- */

int App::send_empty(Task &t)
{
	uint32_t id = watch_.empty_flow(slot, t.job.to);

	watch_.order.sent_empty(id);
	watch_.loss.sent_empty(id, t.flow->id, t.flow->sent);

	int ret = socket_.send(t.job.at, {});

	if (ret) {
		watch_.order.not_sent_empty(id);
		watch_.loss.not_sent_empty(t.flow->id);
	}
	return ret;
}

/* The next message of @t, once. */
int App::try_send(Task &t)
{
	Job &j = t.job;
	sim::Rng rng = j.rng; /* a refused message is tried again as it was */

	if (rng.chance(j.empty_per_1000)) {
		int ret = send_empty(t);

		if (!ret)
			j.rng = rng;
		return ret;
	}
	traffic::fill(t.data, t.flow->id, t.flow->sent, j.min + rng.below(j.max - j.min + 1));

	bool more = rng.chance(j.more_per_1000);
	bool zcopy =
		rng.chance(j.zcopy_per_1000) && rds_socket_caps(socket_.core()) & RDS_CAP_ZEROCOPY;
	int ret = send_numbered(t, more, zcopy);

	if (ret)
		return ret;
	j.rng = rng;
	t.flow->sent++;
	return 0;
}

int App::send_numbered(Task &t, bool more, bool zcopy)
{
	uint32_t number = t.flow->sent;
	check::Hint hint = hint_of(t.job, t.flow->id, number);
	uint32_t order = static_cast<uint32_t>(hint);

	/* Noted first: it may be received before send() returns. */
	watch_.order.sent(t.flow->id, number, hint);
	watch_.loss.sent(t.flow->id, number, hint != check::Hint::kOrdered);
	zcopy_sent_ += zcopy;

	int ret = zcopy ? socket_.send_zcopy(t.job.at, t.data, number, order)
			: socket_.send(t.job.at, t.data, more, order);

	if (ret) {
		watch_.order.not_sent(t.flow->id, number);
		watch_.loss.not_sent(t.flow->id, number);
		zcopy_sent_ -= zcopy;
	}
	return ret;
}

/* A transport without priorities takes every TOS for 0, and so does loopback.  The connection may
 * have been collected since the message was sent, but not twice. */
void App::check_connection(Task &t)
{
	bool none = rds_socket_caps(socket_.core()) & RDS_CAP_TOS_ZERO ||
		    watch_.host_of(slot) == watch_.host_of(t.job.to);

	unsigned int n =
		check::connections(net_, at.addr, t.job.at.addr, none ? uint8_t{0} : habits_.tos);

	if (n > 1 || (!n && t.flow->missed))
		watch_.complain(who() + " sends to " + host::show(t.job.at.addr) + " over " +
				std::to_string(n) + " connections");
	t.flow->missed = !n;
	t.flow->begun = n;
}

int App::push(Task &t)
{
	int ret = try_send(t);

	if (!ret) {
		t.job.count--;
		n_sent_++;
		watch_.sent++;
		if (!t.flow->begun)
			check_connection(t);
	} else if (ret != kEagain && ret != kEnobufs && ret != kEnomem && !stop_) {
		watch_.complain("a send of " + who() + " failed with " + std::to_string(ret));
		t.job.count = 0;
	}
	return ret;
}

/* As net/linux does it: enlisted first and tried second, for only a send that is refused makes the
 * socket a waiter of the port, and the wakeup for it may come at once. */
int App::push_waiting(Task &t)
{
	int ret = kEagain;

	sleep_for_news([&] { return ret == kEagain ? RDS_WAKE_WRITE : RDS_WAKE_CONG; },
		       [&] {
			       ret = push(t);
			       return ret != kEagain && ret != kEnobufs;
		       });
	return ret;
}

/* As a program with EPOLLOUT | EPOLLET: after -EAGAIN it sleeps until it is woken, and asks for
 * nothing in between. */
int App::push_edge(Task &t)
{
	auto news = [this] { return socket_.sock().woken_write.load() + resized_; };
	const uint32_t before = news();
	int ret = push(t);

	if (ret == kEagain)
		sim::wait_on(socket_.core(), [&] { return stop_ || news() != before; });
	return ret == kEagain ? 0 : ret;
}

int App::speak(const struct rds_endpoint &to, const host::Bytes &data)
{
	int ret = kEagain;

	sleep_for_news([&] { return ret == kEagain ? RDS_WAKE_WRITE : RDS_WAKE_CONG; },
		       [&] {
			       ret = socket_.send(to, data);
			       n_sent_ += !ret;
			       return ret != kEagain && ret != kEnobufs;
		       });
	return ret;
}

void App::sender(Task *t)
{
	while (t->job.count && !stop_)
		if ((habits_.edge ? push_edge(*t) : push(*t)) && push_waiting(*t))
			sim::sleep_for(kHungry); /* no memory */
	t->flow->busy = false;
	std::erase_if(tasks_, [t](const auto &o) { return o.get() == t; });
	running_--;
}

/* ---- receiving ---- */

void App::check_stamp(const struct rds_recv_info &info)
{
	if (habits_.stamps ? !watch_.date.shown(info.stamp_ns, sim::now_ns()) : info.stamp_ns != 0)
		watch_.complain("date: " + who() + " got a message stamped " +
				std::to_string(info.stamp_ns) + ", a time that never was");
}

/* Message @m, and what is told of it: false, a fault. */
bool App::copy_one(struct rds_msg *m, Read &r, bool faulty)
{
	struct rds_uio to;

	r.data.resize(r.info.len);
	to.base = r.data.data();
	to.len = r.data.size();
	to.fault_at = faulty ? r.info.len / 2 : SIZE_MAX;

	const bool copied = !rds_recv_copy(socket_.core(), m, r.info.len, &to);

	if (!copied && !faulty)
		watch_.complain("a read without faults failed");
	return copied;
}

/* One recvmsg, which may take many messages of a sender's: all are copied first, and then taken.
 * False: there was none. */
bool App::read_some()
{
	struct rds_socket *s = socket_.core();
	bool faulty = habits_.faulty_reads && rng_.chance(50);
	const size_t most = habits_.batch;
	size_t n = 0;

	/* A signal: recvmsg is restarted. */
	while (rds_recv_lock(s))
		;
	in_.resize(most);

	struct rds_msg *m = rds_recv_head(s, &in_[0].info);
	const bool any = m;

	while (m && copy_one(m, in_[n], faulty) && ++n < most)
		m = rds_recv_next(s, m, &in_[n].info);
	rds_recv_pop(s, static_cast<unsigned int>(n));
	for (size_t i = 0; i < n; i++) {
		const Read &r = in_[i];

		n_read_++;
		check_stamp(r.info);
		if (r.info.cookie)
			learn(r.info);
		watch_.received(slot, instance_, r.info.from, r.data);
	}
	rds_recv_unlock(s);
	return any;
}

/* Takes the reports of recvmsg beside messages. */
void App::notices()
{
	struct rds_socket *s = socket_.core();
	uint32_t cookies[16];
	uint64_t mask = rds_socket_cong_notice(s);
	unsigned int n = rds_socket_zcopy(s, cookies, 16);

	ops_ended();
	if (mask)
		rds_socket_cong_notice_done(s, mask);
	zcopy_back_ += n;
	if (n)
		rds_socket_zcopy_done(s, n);
	if (mask)
		for (auto &t : tasks_)
			t->stopped_by = t->stopped_by == kEnobufs ? 0 : t->stopped_by;
}

/* Edge-triggered, without a poll: that would say that somebody waits for room. */
bool App::readable()
{
	uint32_t cookie;

	if (habits_.edge)
		return rds_socket_readable(socket_.core()) ||
		       rds_socket_zcopy(socket_.core(), &cookie, 1);
	return rds_socket_poll(socket_.core()) & RDS_POLL_IN;
}

void App::read_loop()
{
	while (!stop_) {
		sleep_for_news([] { return RDS_WAKE_READ; },
			       [this] { return !stuck_ && readable(); });
		notices();
		while (!stop_ && !stuck_ && read_some())
			if (habits_.pause_ns)
				pause();
	}
	running_--;
}

void App::drain()
{
	notices();
	while (read_some())
		;
}

void App::listen()
{
	stop_ = false;
	running_++;
	sim::spawn("listener", [this] { read_loop(); });
}

/* ---- the event loop ---- */

/* The wakeups by which epoll hears of what is wanted. */
unsigned int App::wanted_news() const
{
	unsigned int want = wanted(), news = 0;

	if (want & RDS_POLL_IN)
		news |= RDS_WAKE_READ;
	if (want & RDS_POLL_OUT)
		news |= RDS_WAKE_WRITE;
	if (want & RDS_POLL_CONG)
		news |= RDS_WAKE_CONG;
	return news;
}

unsigned int App::wanted() const
{
	unsigned int want = RDS_POLL_CONG | (stuck_ ? 0 : RDS_POLL_IN);

	for (const auto &t : tasks_)
		if (t->stopped_by == kEagain)
			want |= RDS_POLL_OUT;
	return want;
}

/* Sends until something stops it, but not all day. */
void App::work(Task &t)
{
	for (int i = 0; i < 32 && t.job.count && !t.stopped_by && !stop_; i++) {
		int ret = push(t);

		if (ret == kEagain || ret == kEnobufs)
			t.stopped_by = ret;
		else if (ret)
			hungry_ = true;
		if (hungry_)
			return;
	}
}

void App::event_loop()
{
	while (!stop_) {
		bool more = false;

		hungry_ = false;
		seen_ |= rds_socket_poll(socket_.core());
		if (seen_ & RDS_POLL_IN && !stuck_) {
			notices();
			while (!stop_ && read_some())
				if (habits_.pause_ns)
					pause();
		}
		for (size_t i = 0; i < tasks_.size(); i++) {
			Task &t = *tasks_[i];

			if ((t.stopped_by == kEagain && seen_ & RDS_POLL_OUT) ||
			    (t.stopped_by == kEnobufs && seen_ & RDS_POLL_CONG))
				t.stopped_by = 0;
			work(t);
			more = more || (t.job.count && !t.stopped_by);
		}
		std::erase_if(tasks_, [](const auto &t) {
			if (!t->job.count)
				t->flow->busy = false;
			return !t->job.count;
		});
		seen_ = 0;
		if (more) {
			if (hungry_)
				sim::sleep_for(kHungry);
			else
				sim::yield();
			continue;
		}

		size_t known = tasks_.size();

		sleep_for_news([this] { return wanted_news(); },
			       [&] {
				       seen_ |= rds_socket_poll(socket_.core());
				       return kicked_ || tasks_.size() != known || seen_ & wanted();
			       });
		kicked_ = false;
	}
	tasks_.clear();
	running_--;
}

/* ---- the end ---- */

void App::check_rest()
{
	struct rds_socket *s = socket_.core();

	drain();
	if (zcopy_sent_ != zcopy_back_)
		watch_.complain("memory: " + who() + " lent its pages " +
				std::to_string(zcopy_sent_) + " times and got them back " +
				std::to_string(zcopy_back_) + " times");
	/* With next to no room for sending, only an empty queue is writable. */
	socket_.sock().sndbuf = 1;
	if (!rds_socket_writable(s))
		watch_.complain("memory: " + who() +
				" has nothing under way and still owes bytes for it");
	most_sent_ = most_held_ = 0;
	set_habits(habits_);
}

} // namespace story
