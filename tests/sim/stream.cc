// SPDX-License-Identifier: GPL-2.0
#include "stream.h"

#include <algorithm>
#include <cstring>
#include <memory>

#include "sim.h"
#include "transports/tcp/tcp_duel.h"
#include "transports/tcp/tcp_frame.h"

namespace stream
{
namespace
{

using host::Bytes;

enum class Phase { kConnecting, kOpen, kDraining, kEnded };

struct End;
struct Pipe;

/* The transport's part of a path. */
struct Wire {
	struct rds_path *path = nullptr;
	struct rds_tcp_frame frame;
	std::shared_ptr<Pipe> pipe; /* changed by the path's worker alone */
	unsigned int side = 0;
	bool paused = false; /* the core refused something */
};

/* One end of a connection: a TCP socket. */
struct End {
	bool locked =
		false; /* as the kernel's socket lock: callbacks and calls exclude each other */
	Wire *wire = nullptr;
	Phase phase = Phase::kConnecting;
	Bytes tx; /* accepted and not arrived at the peer */
	Bytes rx; /* arrived and not read */
	uint64_t accepted = 0;
	uint64_t acked = 0;
	bool fin_out = false; /* the end follows tx */
	bool fin_sent = false;
	bool fin_in = false; /* the peer's end follows rx */
	bool dead = false;   /* reset or timed out */
	bool blocked = false;
	bool moving = false; /* a segment is on its way */
};

struct Pipe {
	End end[2]; /* 0 called 1 */
	struct rds_addr addr[2];
	uint32_t scope = 0;
	bool broken = false; /* nothing moves any more */
};

struct Node {
	host::Net *net;
	std::vector<struct rds_addr> addrs;
	unsigned int accepting = 0;
};

struct State {
	Params params;
	std::vector<std::unique_ptr<Node>> nodes;
	std::vector<std::weak_ptr<Pipe>> pipes;
	struct rds_module module;
	uint64_t cuts = 0;
};

State &state()
{
	static auto *s = new State;
	return *s;
}

class Locked final
{
public:
	explicit Locked(End &e) : e_(e)
	{
		sim::wait_until([this] { return !e_.locked; });
		e_.locked = true;
	}
	~Locked()
	{
		e_.locked = false;
	}
	Locked(const Locked &) = delete;
	Locked &operator=(const Locked &) = delete;

private:
	End &e_;
};

uint64_t delay()
{
	const Params &p = state().params;

	return p.delay_min_ns + sim::random_below(p.delay_max_ns - p.delay_min_ns + 1);
}

Node *node_at(const struct rds_addr &a)
{
	for (auto &n : state().nodes)
		for (const auto &own : n->addrs)
			if (!memcmp(&own, &a, sizeof(a)))
				return n.get();
	return nullptr;
}

/* Any cut point: often all there is, else some of it. */
size_t some_of(size_t n)
{
	return sim::chance(500) ? n : 1 + sim::random_below(n);
}

void move_soon(const std::shared_ptr<Pipe> &p, unsigned int side);

/* ---- receiving ---- */

void settle(Wire &w, End &e, int status)
{
	if (status == -11) {
		w.paused = true;
		rds_recv_later(w.path);
	} else if (status) {
		e.phase = Phase::kEnded;
	}
}

/* Reads what is there; the end is told when all before it was taken.  Locked. */
void receive(const std::shared_ptr<Pipe> &p, unsigned int side, enum rds_ctx ctx)
{
	End &e = p->end[side];
	Wire *w = e.wire;
	int status = 0;

	if (!w || w->paused || (e.phase != Phase::kOpen && e.phase != Phase::kDraining))
		return;
	while (!status && !e.rx.empty()) {
		size_t n = some_of(e.rx.size());
		struct rds_src src;
		uint32_t used = 0;
		Bytes chunk(e.rx.begin(), e.rx.begin() + static_cast<long>(n));

		src.data = chunk.data();
		src.len = chunk.size();
		status = rds_tcp_frame_feed(&w->frame, &src, 0, static_cast<uint32_t>(n), ctx,
					    &used);
		e.rx.erase(e.rx.begin(), e.rx.begin() + static_cast<long>(used));
		if (!status && used != n)
			sim::fail("the frame kept bytes without saying why");
	}
	settle(*w, e, status);
	move_soon(p, !side); /* the window may have opened */
	if (status || (!e.fin_in && !e.dead))
		return;

	bool draining = e.phase == Phase::kDraining;

	e.phase = Phase::kEnded;
	if (draining)
		rds_path_drained(w->path);
	else
		rds_path_drop(w->path, e.dead ? RDS_DROP_ERROR : RDS_DROP_PEER_CLOSED);
}

/* ---- the network ---- */

void acked(const std::shared_ptr<Pipe> &p, unsigned int side, uint64_t upto)
{
	End &e = p->end[side];
	Locked l(e);

	if (p->broken || e.dead || upto <= e.acked)
		return;
	e.acked = upto;
	if (!e.wire || e.phase == Phase::kEnded)
		return;
	rds_path_acked(e.wire->path, upto);
	if (e.blocked && e.accepted - e.acked <= state().params.send_window * 2 / 3) {
		e.blocked = false;
		rds_path_writable(e.wire->path);
	}
}

/* A segment of @side's bytes arrives at the other end. */
void segment(const std::shared_ptr<Pipe> &p, unsigned int side)
{
	End &from = p->end[side];
	End &to = p->end[!side];
	Locked l(to);

	from.moving = false;
	if (p->broken)
		return;

	size_t window = state().params.recv_window;
	size_t space = to.rx.size() < window ? window - to.rx.size() : 0;
	size_t n = std::min(from.tx.size(), space);

	if (n) {
		n = some_of(n);
		to.rx.insert(to.rx.end(), from.tx.begin(), from.tx.begin() + static_cast<long>(n));
		from.tx.erase(from.tx.begin(), from.tx.begin() + static_cast<long>(n));

		uint64_t upto = from.accepted - from.tx.size();

		sim::after(delay(), "ack", [p, side, upto] { acked(p, side, upto); });
	}
	if (from.fin_out && !from.fin_sent && from.tx.empty())
		from.fin_sent = to.fin_in = true;
	receive(p, !side, RDS_ATOMIC);
	move_soon(p, side);
}

void move_soon(const std::shared_ptr<Pipe> &p, unsigned int side)
{
	End &from = p->end[side];
	bool fin = from.fin_out && !from.fin_sent;
	bool bytes = !from.tx.empty() && p->end[!side].rx.size() < state().params.recv_window;

	if (p->broken || from.moving || (!bytes && !(fin && from.tx.empty())))
		return;
	from.moving = true;
	sim::after(delay(), "segment", [p, side] { segment(p, side); });
}

/* This end hears that the connection is no more. */
void hear_reset(const std::shared_ptr<Pipe> &p, unsigned int side)
{
	End &e = p->end[side];
	Locked l(e);

	if (e.dead)
		return;
	e.dead = true;
	if (e.wire && e.phase == Phase::kConnecting) {
		e.phase = Phase::kEnded;
		rds_path_drop(e.wire->path, RDS_DROP_CONNECT);
		return;
	}
	receive(p, side, RDS_ATOMIC);
}

void cut(const std::shared_ptr<Pipe> &p)
{
	if (p->broken)
		return;
	p->broken = true;
	for (unsigned int side = 0; side < 2; side++)
		sim::after(delay(), "reset", [p, side] { hear_reset(p, side); });
}

/* ---- connecting ---- */

/* The listener's work: what becomes of a caller. */
void accept(const std::shared_ptr<Pipe> &p, Node *n)
{
	const struct rds_addr &laddr = p->addr[1], &faddr = p->addr[0];
	enum rds_tcp_meaning meaning = rds_tcp_accepted_is(&laddr, &faddr);
	struct rds_conn *conn = nullptr;
	int err = 0;

	if (meaning != RDS_TCP_REFUSE && !n->net->is_local(faddr))
		conn = rds_conn_get(n->net->core(), ops(), &laddr, &faddr, p->scope, 0, &err);
	if (!conn) {
		cut(p);
	} else if (meaning == RDS_TCP_KNOCK) {
		rds_path_knocked(rds_conn_path(conn, 0));
		cut(p);
	} else {
		rds_path_accepted(rds_conn_path(conn, 0), new std::shared_ptr<Pipe>(p));
	}
	if (conn)
		rds_conn_put(conn);
	n->accepting--;
}

/* The caller hears that it was accepted. */
void established(const std::shared_ptr<Pipe> &p)
{
	End &e = p->end[0];
	Locked l(e);

	if (!e.wire || e.phase != Phase::kConnecting || e.dead)
		return;
	if (rds_tcp_established_is(&p->addr[0], &p->addr[1]) == RDS_TCP_USE) {
		e.phase = Phase::kOpen;
		rds_path_connected(e.wire->path);
		receive(p, 0, RDS_ATOMIC); /* the network may have overtaken this */
	} else {
		e.phase = Phase::kEnded;
		rds_path_drop(e.wire->path, RDS_DROP_KNOCKED);
	}
}

/* The call arrives at the host of the called address. */
void ring(const std::shared_ptr<Pipe> &p)
{
	Node *n = node_at(p->addr[1]);

	if (!n || p->broken || sim::chance(state().params.refuse_per_1000)) {
		cut(p);
		return;
	}
	n->accepting++;
	sim::spawn("accept", [p, n] { accept(p, n); });
	sim::after(delay(), "established", [p] { established(p); });
}

/* ---- ops ---- */

void *path_alloc(struct rds_path *path)
{
	void *mem = rds_alloc(sizeof(Wire), RDS_MAY_SLEEP);

	if (!mem)
		return nullptr;

	auto *w = new (mem) Wire;

	w->path = path;
	rds_tcp_frame_init(&w->frame, path);
	return w;
}

void path_free(void *tp)
{
	auto *w = static_cast<Wire *>(tp);

	if (w->pipe)
		sim::fail("a path with an open connection is freed");
	w->~Wire();
	rds_free(w);
}

int initiates(const void *tp)
{
	auto *w = static_cast<const Wire *>(tp);

	return rds_tcp_is_caller(rds_path_laddr(w->path), rds_path_faddr(w->path));
}

int connect(void *tp)
{
	auto *w = static_cast<Wire *>(tp);
	auto p = std::make_shared<Pipe>();

	if (w->pipe)
		sim::fail("connects twice");
	p->addr[0] = *rds_path_laddr(w->path);
	p->addr[1] = *rds_path_faddr(w->path);
	p->scope = rds_path_scope(w->path);
	if (!rds_tcp_may_connect(&p->addr[0], &p->addr[1], 0))
		return -22;
	p->end[0].wire = w;
	w->pipe = p;
	w->side = 0;
	state().pipes.push_back(p);
	sim::after(delay(), "ring", [p] { ring(p); });
	return 0;
}

int adopt(void *tp, void *handle)
{
	auto *w = static_cast<Wire *>(tp);
	std::unique_ptr<std::shared_ptr<Pipe>> h(static_cast<std::shared_ptr<Pipe> *>(handle));
	std::shared_ptr<Pipe> p = *h;
	End &e = p->end[1];
	Locked l(e);

	if (w->pipe)
		sim::fail("adopts while it has a connection");
	if (e.dead && e.rx.empty()) {
		cut(p);
		return -104;
	}
	e.wire = w;
	e.phase = Phase::kOpen;
	w->pipe = p;
	w->side = 1;
	w->paused = false;
	receive(p, 1, RDS_MAY_SLEEP);
	return 0;
}

void discard(void *handle)
{
	std::unique_ptr<std::shared_ptr<Pipe>> h(static_cast<std::shared_ptr<Pipe> *>(handle));

	cut(*h);
}

void shutdown(void *tp)
{
	auto *w = static_cast<Wire *>(tp);
	End &e = w->pipe->end[w->side];
	Locked l(e);

	if (e.phase != Phase::kOpen) {
		rds_path_drained(w->path);
		return;
	}
	e.phase = Phase::kDraining;
	e.fin_out = true;
	move_soon(w->pipe, w->side);
	receive(w->pipe, w->side, RDS_MAY_SLEEP);
}

void close(void *tp)
{
	auto *w = static_cast<Wire *>(tp);
	std::shared_ptr<Pipe> p = w->pipe;

	if (!p)
		return;

	End &e = p->end[w->side];
	{
		Locked l(e);

		e.wire = nullptr;
		e.phase = Phase::kEnded;
		w->pipe = nullptr;
	}
	w->paused = false;
	rds_tcp_frame_reset(&w->frame);
	if (e.fin_in && !e.dead) {
		e.fin_out = true;
		move_soon(p, w->side);
	} else {
		cut(p);
	}
}

size_t gather(Bytes &out, const struct rds_xmit *x)
{
	for (unsigned int i = 0; i < x->n; i++) {
		const unsigned char *h = rds_msg_header(x->msgs[i]);
		uint32_t len = rds_msg_len(x->msgs[i]);
		size_t at = out.size() + RDS_HEADER_BYTES;

		out.insert(out.end(), h, h + RDS_HEADER_BYTES);
		out.resize(at + len);
		if (len)
			rds_payload_to_mem(rds_msg_payload(x->msgs[i]), 0, len, out.data() + at);
	}
	return out.size() - x->off;
}

long xmit(void *tp, const struct rds_xmit *x)
{
	auto *w = static_cast<Wire *>(tp);
	std::shared_ptr<Pipe> p = w->pipe;

	if (!p)
		sim::fail("xmit() without a connection");

	End &e = p->end[w->side];
	Locked l(e);

	if (e.dead || e.phase != Phase::kOpen)
		return -32;

	Bytes bytes;
	size_t want = gather(bytes, x);
	size_t used = static_cast<size_t>(e.accepted - e.acked);
	size_t window = state().params.send_window;
	size_t n = std::min(want, used < window ? window - used : 0);

	if (n > 1 && sim::chance(state().params.partial_per_1000))
		n = 1 + sim::random_below(n);
	e.blocked = n < want;
	if (!n)
		return -11;
	e.tx.insert(e.tx.end(), bytes.begin() + x->off,
		    bytes.begin() + static_cast<long>(x->off + n));
	e.accepted += n;
	move_soon(p, w->side);
	return static_cast<long>(n);
}

void recv_retry(void *tp)
{
	auto *w = static_cast<Wire *>(tp);
	std::shared_ptr<Pipe> p = w->pipe;

	if (!p)
		return;

	End &e = p->end[w->side];
	Locked l(e);

	if (w->paused) {
		uint32_t used = 0;

		w->paused = false;
		settle(*w, e, rds_tcp_frame_feed(&w->frame, nullptr, 0, 0, RDS_MAY_SLEEP, &used));
	}
	receive(p, w->side, RDS_MAY_SLEEP);
}

struct rds_transport table = {
	.name = "tcp",
	.type = 2,
	.caps = RDS_CAP_PREFER_LOOP | RDS_CAP_ZEROCOPY | RDS_CAP_COALESCE | RDS_CAP_PROBE |
		RDS_CAP_TOS_ZERO,
	.max_paths = 1,
	.owner = nullptr,
	.laddr_check = host::laddr_is_local,
	.path_alloc = path_alloc,
	.path_free = path_free,
	.initiates = initiates,
	.connect = connect,
	.adopt = adopt,
	.discard = discard,
	.shutdown = shutdown,
	.close = close,
	.xmit = xmit,
	.recv_retry = recv_retry,
	.n_stats = 0,
	.stat_names = nullptr,
	.stats = nullptr,
};

/* Connections that can still be cut. */
std::vector<std::shared_ptr<Pipe>> living()
{
	std::vector<std::shared_ptr<Pipe>> out;
	auto &all = state().pipes;

	std::erase_if(all, [](const std::weak_ptr<Pipe> &p) { return p.expired(); });
	for (auto &weak : all) {
		auto p = weak.lock();

		if (p && !p->broken && (p->end[0].wire || p->end[1].wire))
			out.push_back(p);
	}
	return out;
}

} // namespace

void reset()
{
	state().params = Params();
	state().nodes.clear();
	state().pipes.clear();
	state().module.refs = 0;
	state().module.dying = false;
	state().cuts = 0;
	table.owner = &state().module;
}

Params &params()
{
	return state().params;
}

const struct rds_transport *ops()
{
	return &table;
}

struct rds_module &module()
{
	return state().module;
}

void listen(host::Net &net, std::vector<struct rds_addr> addrs)
{
	auto n = std::make_unique<Node>();

	n->net = &net;
	n->addrs = std::move(addrs);
	state().nodes.push_back(std::move(n));
}

void stop_listening(host::Net &net)
{
	auto &nodes = state().nodes;
	auto it = std::find_if(nodes.begin(), nodes.end(),
			       [&](const auto &n) { return n->net == &net; });

	if (it == nodes.end())
		return;

	Node *n = it->get();

	n->addrs.clear();
	sim::wait_until([n] { return !n->accepting; });
	std::erase_if(nodes, [n](const auto &own) { return own.get() == n; });
}

bool cut_one()
{
	auto all = living();

	if (all.empty())
		return false;
	state().cuts++;
	cut(all[sim::random_below(all.size())]);
	return true;
}

unsigned int cut_all()
{
	auto all = living();

	for (auto &p : all) {
		state().cuts++;
		cut(p);
	}
	return static_cast<unsigned int>(all.size());
}

unsigned int alive()
{
	return static_cast<unsigned int>(living().size());
}

uint64_t cuts()
{
	return state().cuts;
}

} // namespace stream
