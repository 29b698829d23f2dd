// SPDX-License-Identifier: GPL-2.0
#include "wire.h"

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

#include "thread.h"
#include "transports/tcp/tcp_duel.h"
#include "transports/tcp/tcp_frame.h"

namespace
{

constexpr size_t kWindow = 20 * 1000;
constexpr size_t kChunk = 4096;

struct Half;

/* One connection; side 0 has called. */
struct Line {
	unsigned int index = 0; /* of the path that calls */
	std::mutex lock;	/* taken inside a Half's */
	std::string bytes[2];	/* for that side, not read yet */
	bool waiting[2] = {};	/* that side found no room */
	bool fin[2] = {};	/* that side says no more */
	bool dead = false;
	std::shared_ptr<Half> half[2]; /* who is attached */
};
using LineRef = std::shared_ptr<Line>;

/* As rds_tcp's: what a path's end of a line may do. */
enum class Phase { kIdle, kConnecting, kOpen, kDraining, kEnded };

/* The transport's part of a path.  A task that finds it attached under its lock may call the core:
 * close() detaches under the same lock. */
struct Half {
	explicit Half(struct rds_path *path) : path(path)
	{
		rds_tcp_frame_init(&frame, path);
	}
	std::mutex lock; /* the socket's */
	struct rds_path *const path;
	LineRef line;
	int side = 0;
	Phase phase = Phase::kIdle;
	bool paused = false;
	struct rds_tcp_frame frame;

	bool reads() const
	{
		return phase == Phase::kOpen || phase == Phase::kDraining;
	}
};
using HalfRef = std::shared_ptr<Half>;

struct Network {
	std::mutex lock;
	std::condition_variable more;
	std::deque<std::function<void()>> tasks;
	std::vector<std::weak_ptr<Line>> lines;
	std::vector<std::pair<struct rds_addr, struct rds_net *>> hosts;
	bool over = false;
	std::thread thread;
} net;

void later(std::function<void()> task)
{
	std::lock_guard g(net.lock);

	net.tasks.push_back(std::move(task));
	net.more.notify_one();
}

HalfRef &half_of(void *tp)
{
	return *static_cast<HalfRef *>(tp);
}

/* Calls @fn with the half that is attached to @side, locked. */
template <typename F>
void with_half(const LineRef &line, int side, F fn)
{
	HalfRef h;
	{
		std::lock_guard g(line->lock);
		h = line->half[side];
	}
	if (!h)
		return;

	std::lock_guard g(h->lock);

	if (h->line == line)
		fn(*h);
}

void arrive(const LineRef &line, int side);

void tell_arrival(const LineRef &line, int side)
{
	later([line, side] { arrive(line, side); });
}

enum class End { kNone, kFin, kDead };

/* Takes up to kChunk bytes; wakes a writer that waits for the room.  @end: behind all of them. */
std::string take(const LineRef &line, int side, End &end)
{
	std::lock_guard g(line->lock);
	size_t n = std::min(kChunk, line->bytes[side].size());
	std::string got = line->bytes[side].substr(0, n);

	line->bytes[side].erase(0, n);
	end = line->dead ? End::kDead : line->fin[!side] ? End::kFin : End::kNone;
	if (n && std::exchange(line->waiting[!side], false))
		later([line, side] {
			with_half(line, !side, [](Half &h) { rds_path_writable(h.path); });
		});
	return got;
}

/* All that was before the other side's end has been read.  @h locked. */
void ended(Half &h, End end)
{
	bool draining = h.phase == Phase::kDraining;

	h.phase = Phase::kEnded;
	if (draining && end == End::kFin)
		rds_path_drained(h.path);
	else
		rds_path_drop(h.path, end == End::kDead ? RDS_DROP_ERROR : RDS_DROP_PEER_CLOSED);
}

/* Reads all bytes that are there.  @h locked. */
void read(Half &h, enum rds_ctx ctx)
{
	while (h.reads() && !h.paused) {
		End end;
		std::string got = take(h.line, h.side, end);
		struct rds_src src;
		uint32_t used = 0;

		if (got.empty()) {
			if (end != End::kNone)
				ended(h, end);
			return;
		}
		src.data = reinterpret_cast<const unsigned char *>(got.data());
		src.len = got.size();

		int r = rds_tcp_frame_feed(&h.frame, &src, 0, static_cast<uint32_t>(got.size()),
					   ctx, &used);

		if (r == -11) {
			std::lock_guard g(h.line->lock);

			h.line->bytes[h.side].insert(0, got, used);
			h.paused = true;
			rds_recv_later(h.path);
		} else if (r) {
			h.phase = Phase::kEnded;
		}
	}
}

/* The network's thread, in softirq. */
void arrive(const LineRef &line, int side)
{
	pt::self.ctx = pt::Context::kSoftirq;
	with_half(line, side, [](Half &h) { read(h, RDS_ATOMIC); });
	pt::self.ctx = pt::Context::kProcess;
}

void end_line(const LineRef &line, bool unread_too)
{
	{
		std::lock_guard g(line->lock);

		line->dead = true;
		if (unread_too)
			line->bytes[0].clear(), line->bytes[1].clear();
	}
	tell_arrival(line, 0);
	tell_arrival(line, 1);
}

/* The listener's side of a call.  The network's thread, as a worker. */
void answer(const LineRef &line, const struct rds_addr &from, const struct rds_addr &to)
{
	struct rds_net *at = nullptr;
	struct rds_conn *c = nullptr;
	int err;

	{
		std::lock_guard g(net.lock);

		for (const auto &h : net.hosts)
			if (!memcmp(&h.first, &to, sizeof(to)))
				at = h.second;
	}
	/* It stays until remove_host() has found us idle. */
	if (at)
		c = rds_conn_get(at, &wire::ops, &to, &from, 0, 0, &err);

	/* None: the connection is just being killed. */
	struct rds_path *path = c ? rds_conn_path(c, line->index) : nullptr;

	if (path && rds_tcp_accepted_is(&to, &from) == RDS_TCP_USE) {
		rds_path_accepted(path, new LineRef(line));
		with_half(line, 0, [](Half &h) {
			h.phase = Phase::kOpen;
			rds_path_connected(h.path);
			read(h, RDS_MAY_SLEEP);
		});
	} else {
		if (path)
			rds_path_knocked(path);
		with_half(line, 0, [&](Half &h) {
			rds_path_drop(h.path, path ? RDS_DROP_KNOCKED : RDS_DROP_CONNECT);
		});
	}
	if (c)
		rds_conn_put(c);
}

/* ---- ops ---- */

void *path_alloc(struct rds_path *path)
{
	return new HalfRef(std::make_shared<Half>(path));
}

void path_free(void *tp)
{
	delete static_cast<HalfRef *>(tp);
}

int midway(const void *tp)
{
	return rds_tcp_frame_midway(&(*static_cast<const HalfRef *>(tp))->frame);
}

int initiates(const void *tp)
{
	const HalfRef &h = *static_cast<const HalfRef *>(tp);

	return rds_tcp_is_caller(rds_path_laddr(h->path), rds_path_faddr(h->path));
}

/* @h locked. */
void attach(const HalfRef &h, const LineRef &line, int side, Phase phase)
{
	std::lock_guard g(line->lock);

	line->half[side] = h;
	h->line = line;
	h->side = side;
	h->phase = phase;
	h->paused = false;
}

int connect(void *tp)
{
	HalfRef &h = half_of(tp);
	auto line = std::make_shared<Line>();
	struct rds_addr from = *rds_path_laddr(h->path), to = *rds_path_faddr(h->path);

	line->index = rds_path_index(h->path);
	{
		std::lock_guard g(h->lock);
		attach(h, line, 0, Phase::kConnecting);
	}
	{
		std::lock_guard g(net.lock);
		std::erase_if(net.lines, [](const auto &l) { return l.expired(); });
		net.lines.push_back(line);
	}
	later([line, from, to] { answer(line, from, to); });
	return 0;
}

int adopt(void *tp, void *handle)
{
	HalfRef &h = half_of(tp);
	std::unique_ptr<LineRef> line(static_cast<LineRef *>(handle));
	std::lock_guard g(h->lock);

	attach(h, *line, 1, Phase::kOpen);
	read(*h, RDS_MAY_SLEEP);
	return 0;
}

void discard(void *handle)
{
	std::unique_ptr<LineRef> line(static_cast<LineRef *>(handle));

	end_line(*line, true);
}

/* In order: the end of ours follows all that was written, and rds_path_drained() the other's. */
void shutdown(void *tp)
{
	HalfRef &h = half_of(tp);
	std::lock_guard g(h->lock);

	if (h->phase != Phase::kOpen) {
		rds_path_drained(h->path);
		return;
	}
	h->phase = Phase::kDraining;
	{
		std::lock_guard l(h->line->lock);
		h->line->fin[h->side] = true;
	}
	tell_arrival(h->line, !h->side);
	read(*h, RDS_MAY_SLEEP); /* the other may have ended before */
}

void close(void *tp)
{
	HalfRef &h = half_of(tp);
	std::lock_guard g(h->lock);
	LineRef line = std::move(h->line);

	if (!line)
		return;
	h->line = nullptr;
	h->phase = Phase::kIdle;
	rds_tcp_frame_reset(&h->frame);

	bool in_order;
	{
		std::lock_guard l(line->lock);

		line->half[h->side] = nullptr;
		in_order = line->fin[!h->side] && !line->dead && line->bytes[h->side].empty();
		line->fin[h->side] = true;
	}
	if (in_order)
		tell_arrival(line, !h->side);
	else
		end_line(line, false);
}

void append(std::string &out, struct rds_msg *m, size_t off, size_t n)
{
	size_t at = out.size(),
	       head = off < RDS_HEADER_BYTES ? std::min(n, RDS_HEADER_BYTES - off) : 0;

	out.resize(at + n);
	auto *to = reinterpret_cast<unsigned char *>(out.data()) + at;

	memcpy(to, rds_msg_header(m) + off, head);
	if (n > head)
		rds_payload_to_mem(rds_msg_payload(m),
				   static_cast<uint32_t>(off + head - RDS_HEADER_BYTES),
				   static_cast<uint32_t>(n - head), to + head);
}

long xmit(void *tp, const struct rds_xmit *x)
{
	HalfRef &h = half_of(tp);
	std::lock_guard g(h->lock);

	if (!h->reads())
		return -32;

	LineRef line = h->line;
	size_t sent = 0, off = x->off;
	{
		std::lock_guard l(line->lock);
		std::string &out = line->bytes[!h->side];

		if (line->dead)
			return -32;
		for (unsigned int i = 0; i < x->n; i++, off = 0) {
			size_t size = RDS_HEADER_BYTES + rds_msg_len(x->msgs[i]) - off;
			size_t n = std::min(size, kWindow - std::min(kWindow, out.size()));

			append(out, x->msgs[i], off, n);
			sent += n;
			line->waiting[h->side] = n < size;
			if (n < size)
				break;
		}
	}
	if (sent)
		tell_arrival(line, !h->side);
	return sent ? static_cast<long>(sent) : -11;
}

void recv_retry(void *tp)
{
	HalfRef &h = half_of(tp);
	std::lock_guard g(h->lock);
	uint32_t used;

	if (!h->line || !h->reads())
		return;
	if (std::exchange(h->paused, false)) {
		int r = rds_tcp_frame_feed(&h->frame, nullptr, 0, 0, RDS_MAY_SLEEP, &used);

		if (r == -11) {
			h->paused = true;
			rds_recv_later(h->path);
		} else if (r) {
			h->phase = Phase::kEnded;
		}
	}
	read(*h, RDS_MAY_SLEEP);
}

void work()
{
	std::unique_lock l(net.lock);

	for (;;) {
		net.more.wait(l, [] { return net.over || !net.tasks.empty(); });
		if (net.tasks.empty())
			return;

		auto task = std::move(net.tasks.front());

		net.tasks.pop_front();
		l.unlock();
		task();
		task = nullptr;
		l.lock();
	}
}

} // namespace

namespace wire
{

const struct rds_transport ops = {
	.name = "wire",
	.type = 2,
	.caps = RDS_CAP_PREFER_LOOP | RDS_CAP_COALESCE | RDS_CAP_PROBE | RDS_CAP_DELIVERY_ACK,
	.max_paths = 4,
	.call_ms = 5000,
	.owner = nullptr,
	.use = nullptr,
	.unuse = nullptr,
	.laddr_check = host::laddr_is_local,
	.path_alloc = path_alloc,
	.path_free = path_free,
	.initiates = initiates,
	.connect = connect,
	.unanswered = nullptr,
	.adopt = adopt,
	.discard = discard,
	.takeover_refused = nullptr,
	.shutdown = shutdown,
	.close = close,
	.ended = nullptr,
	.xmit = xmit,
	.other_end = nullptr,
	.recv_retry = recv_retry,
	.midway = midway,
	.wants = nullptr,
	.facts = nullptr,
	.mr_get = nullptr,
	.mr_free = nullptr,
	.mr_sync = nullptr,
	.mr_flush = nullptr,
	.atomics = nullptr,
	.n_stats = 0,
	.stat_names = nullptr,
	.stats = nullptr,
};

void start()
{
	net.thread = std::thread(work);
}

void stop()
{
	{
		std::lock_guard g(net.lock);
		net.over = true;
		net.more.notify_one();
	}
	net.thread.join();

	/* The last to write here may have been a worker of the core, in connect(): under the lock.
	 */
	std::lock_guard g(net.lock);

	net.hosts.clear();
	net.lines.clear();
}

void add_host(const struct rds_addr &addr, struct rds_net *core)
{
	std::lock_guard g(net.lock);

	net.hosts.emplace_back(addr, core);
}

void remove_host(const struct rds_addr &addr)
{
	std::atomic<bool> passed = false;
	{
		std::lock_guard g(net.lock);

		std::erase_if(net.hosts, [&](const auto &h) {
			return !memcmp(&h.first, &addr, sizeof(addr));
		});
	}
	later([&] {
		passed = true;
		passed.notify_one();
	});
	passed.wait(false);
}

bool cut_one()
{
	LineRef line;
	{
		std::lock_guard g(net.lock);

		if (net.lines.empty())
			return false;
		line = net.lines[rds_random() % net.lines.size()].lock();
	}
	if (line)
		end_line(line, rds_random() % 2);
	return line != nullptr;
}

} // namespace wire
