// SPDX-License-Identifier: GPL-2.0
#include "stream.h"

#include <algorithm>
#include <memory>

#include "aged.h"
#include "sim.h"
#include "net/rds/path/path.h"
#include "transports/tcp/tcp_duel.h"
#include "transports/tcp/tcp_frame.h"

namespace stream
{

void (*on_closed)(const struct rds_addr &self, const struct rds_addr &peer, tube::Left left);

namespace
{

using tube::End;
using tube::Locked;
using tube::Ref;

constexpr uint32_t kCaps = RDS_CAP_PREFER_LOOP | RDS_CAP_ZEROCOPY | RDS_CAP_COALESCE |
			   RDS_CAP_PROBE | RDS_CAP_DELIVERY_ACK | RDS_CAP_TOS_ZERO;

enum class Phase { kIdle, kConnecting, kOpen, kDraining, kEnded };

/* The transport's part of a path. */
struct Wire final : tube::User {
	explicit Wire(struct rds_path *path) : path(path)
	{
		rds_tcp_frame_init(&frame, path);
	}
	void established() override;
	void arrived(enum rds_ctx ctx) override;
	void acked(uint64_t bytes) override;
	void room() override;

	void begin(const Ref &p, unsigned int s, Phase ph);
	int feed(End &e, enum rds_ctx ctx);
	void settle(int status);
	End &end() const
	{
		return tube->end[side];
	}

	uint64_t drains_since_ns = 0;
	struct rds_path *const path;
	struct rds_tcp_frame frame;
	Ref tube; /* changed by the path's worker alone */
	unsigned int side = 0;
	Phase phase = Phase::kIdle;
	bool paused = false; /* the core refused something */
	/* The bytes that TCP has acknowledged, as rds_tcp.ko counts them: by numbers of 32 bits. */
	uint32_t first_byte = 0, una = 0;
	uint64_t acked_bytes = 0;
	bool tells = true; /* the core wanted to hear of them when it sent last */
	/* The core said that more follows at once, so TCP keeps the end of what it was given ... */
	uint64_t kept_since_ns = 0; /* ... since then; 0: it does not */
	bool keep_is_watched = false;
	void keep(bool more);
	void watch_keep(uint64_t ns);
	void kept_too_long();
};

/* A namespace that accepts. */
struct Node final : tube::Listener {
	void incoming(const Ref &p) override;

	host::Net *net = nullptr;
	std::vector<struct rds_addr> addrs;
};

struct State {
	unsigned int partial_per_1000 = 0;
	std::vector<std::unique_ptr<Node>> nodes;
	struct rds_module module;
	uint64_t cuts = 0;
};

State &state()
{
	static auto *s = new State;
	return *s;
}

/* Any cut point: often all there is, else some of it. */
size_t some_of(size_t n)
{
	return sim::chance(500) ? n : 1 + sim::random_below(n);
}

void tell_closed(const Ref &p, unsigned int side, bool used, bool more = false, bool late = false)
{
	tube::Left left = p->end[side].left(more);

	if (left == tube::Left::kUnread && !used)
		left = tube::Left::kUnheard;
	if (left == tube::Left::kUnread && late)
		left = tube::Left::kOutOfTime;
	if (left == tube::Left::kUnread && more)
		left = tube::Left::kNoRoom;
	if (on_closed)
		on_closed(p->addr[side], p->addr[!side], left);
}

/* ---- the end of a batch ---- */

/* As long TCP keeps it at most (tcp(7), TCP_CORK). */
constexpr uint64_t kKeepNs = 200'000'000;

void Wire::keep(bool more)
{
	kept_since_ns = more ? sim::now_ns() : 0;
	if (more && !keep_is_watched)
		watch_keep(kKeepNs);
}

void Wire::watch_keep(uint64_t ns)
{
	keep_is_watched = true;
	sim::after(ns, "the end of a batch", [p = tube, s = side, this] {
		Locked l(p->end[s]);

		/* Else another path has this end by now, or none. */
		if (p->end[s].user == this)
			kept_too_long();
	});
}

/* It would have gone, in the end; but the core was to give more or to say that there is none. */
void Wire::kept_too_long()
{
	keep_is_watched = false;
	if (!kept_since_ns || phase != Phase::kOpen || end().dead)
		return;

	const uint64_t kept = sim::now_ns() - kept_since_ns;

	if (kept < kKeepNs)
		watch_keep(kKeepNs - kept);
	else if (path->sending())
		watch_keep(kKeepNs);
	else
		sim::fail("the end of a batch waits for more, and nobody sends");
}

/* ---- what a connection tells; its end is locked ---- */

void Wire::begin(const Ref &p, unsigned int s, Phase ph)
{
	tube = p;
	side = s;
	phase = ph;
	paused = false;
	first_byte = una = aged::first_byte();
	acked_bytes = aged::age_stream(path);
	kept_since_ns = 0;
	keep_is_watched = false;
	p->end[s].user = this;
}

void Wire::settle(int status)
{
	if (status == -11) {
		paused = true;
		rds_recv_later(path);
	} else if (status) {
		phase = Phase::kEnded;
	}
}

int Wire::feed(End &e, enum rds_ctx ctx)
{
	int status = 0;

	while (!status && !e.rx.empty()) {
		size_t n = some_of(e.rx.size());
		struct rds_src src;
		uint32_t used = 0;

		src.data = e.rx.data();
		src.len = n;
		status = rds_tcp_frame_feed(&frame, &src, 0, static_cast<uint32_t>(n), ctx, &used);
		e.rx.take(used);
		if (!status && used != n)
			sim::fail("the frame kept bytes without saying why");
	}
	return status;
}

/* Reads what is there; the end is told when all before it was taken. */
void Wire::arrived(enum rds_ctx ctx)
{
	End &e = end();

	if (phase == Phase::kConnecting && e.dead) {
		phase = Phase::kEnded;
		rds_path_drop(path, RDS_DROP_CONNECT);
	}
	if (paused || (phase != Phase::kOpen && phase != Phase::kDraining))
		return;

	int status = feed(e, ctx);

	settle(status);
	tube::read_some(tube, side);
	if (status || (!e.fin_in && !e.dead))
		return;

	bool draining = phase == Phase::kDraining;

	phase = Phase::kEnded;
	if (draining && !e.dead)
		rds_path_drained(path);
	else
		rds_path_drop(path, e.dead ? RDS_DROP_ERROR : RDS_DROP_PEER_CLOSED);
}

void Wire::established()
{
	if (phase != Phase::kConnecting)
		return;
	if (rds_tcp_established_is(&tube->addr[0], &tube->addr[1]) == RDS_TCP_USE) {
		phase = Phase::kOpen;
		rds_path_connected(path);
		arrived(RDS_ATOMIC); /* the network may have overtaken this */
	} else {
		phase = Phase::kEnded;
		rds_path_drop(path, RDS_DROP_KNOCKED);
	}
}

void Wire::acked(uint64_t bytes)
{
	uint32_t now = first_byte + static_cast<uint32_t>(bytes);

	acked_bytes += now - una;
	una = now;
	if (tells && (phase == Phase::kOpen || phase == Phase::kDraining))
		rds_path_acked(path, acked_bytes);
}

void Wire::room()
{
	if (phase == Phase::kOpen || phase == Phase::kDraining)
		rds_path_writable(path);
}

/* ---- accepting ---- */

void Node::incoming(const Ref &p)
{
	const struct rds_addr &laddr = p->addr[1], &faddr = p->addr[0];
	enum rds_tcp_meaning meaning = rds_tcp_accepted_is(&laddr, &faddr);
	struct rds_conn *conn = nullptr;
	int err = 0;

	if (meaning != RDS_TCP_REFUSE && !net->is_local(faddr) &&
	    rds_conn_may_call(net->core(), ops(), &laddr, &faddr, p->scope, 0))
		conn = rds_conn_get(net->core(), ops(), &laddr, &faddr, p->scope, 0, &err);

	struct rds_path *path = conn ? rds_conn_path(conn, rds_tcp_path_of_port(p->port)) : nullptr;

	if (path && meaning == RDS_TCP_USE) {
		rds_path_accepted(path, new Ref(p));
	} else {
		if (path)
			rds_path_knocked(path);
		tube::refuse(p, 1);
	}
	if (conn)
		rds_conn_put(conn);
}

/* ---- ops ---- */

void *path_alloc(struct rds_path *path)
{
	void *mem = rds_alloc(sizeof(Wire), RDS_MAY_SLEEP);

	if (!mem)
		return nullptr;
	aged::age(path);
	return new (mem) Wire(path);
}

void path_free(void *tp)
{
	auto *w = static_cast<Wire *>(tp);

	if (w->tube)
		sim::fail("a path with an open connection is freed");
	w->~Wire();
	rds_free(w);
}

int ended(const void *tp)
{
	const auto *w = static_cast<const Wire *>(tp);

	return w->tube && (w->end().dead || w->end().fin_in);
}

int midway(const void *tp)
{
	return rds_tcp_frame_midway(&static_cast<const Wire *>(tp)->frame);
}

uint32_t wants(const void *tp)
{
	return rds_tcp_frame_wants(&static_cast<const Wire *>(tp)->frame);
}

int initiates(const void *tp)
{
	auto *w = static_cast<const Wire *>(tp);

	return rds_tcp_is_caller(rds_path_laddr(w->path), rds_path_faddr(w->path));
}

int connect(void *tp)
{
	auto *w = static_cast<Wire *>(tp);
	const struct rds_addr *laddr = rds_path_laddr(w->path), *faddr = rds_path_faddr(w->path);

	if (w->tube)
		sim::fail("connects twice");
	if (!rds_tcp_may_connect(laddr, faddr))
		return -22;

	uint16_t port = rds_tcp_port_for(RDS_TCP_MAX_PATHS, rds_path_index(w->path), 32768, 60999,
					 static_cast<uint32_t>(sim::random_below(1000)));

	w->begin(tube::connect(*laddr, *faddr, rds_path_scope(w->path), w, port), 0,
		 Phase::kConnecting);
	return 0;
}

int adopt(void *tp, void *handle)
{
	auto *w = static_cast<Wire *>(tp);
	std::unique_ptr<Ref> h(static_cast<Ref *>(handle));
	Ref p = *h;
	End &e = p->end[1];
	Locked l(e);

	if (w->tube)
		sim::fail("adopts while it has a connection");
	if (e.dead && e.rx.empty()) {
		tube::close(p, 1);
		return -104;
	}
	w->begin(p, 1, Phase::kOpen);
	w->arrived(RDS_MAY_SLEEP);
	return 0;
}

void discard(void *handle)
{
	std::unique_ptr<Ref> h(static_cast<Ref *>(handle));

	tell_closed(*h, 1, false);
	tube::refuse(*h, 1);
}

void shutdown(void *tp)
{
	auto *w = static_cast<Wire *>(tp);
	Locked l(w->end());

	if (w->phase != Phase::kOpen) {
		rds_path_drained(w->path);
		return;
	}
	w->phase = Phase::kDraining;
	w->drains_since_ns = sim::now_ns();
	tube::finish(w->tube, w->side);
	w->arrived(RDS_MAY_SLEEP);
}

void close(void *tp)
{
	auto *w = static_cast<Wire *>(tp);
	Ref p = w->tube;

	if (!p)
		return;

	Locked l(w->end());

	tell_closed(p, w->side, w->phase != Phase::kConnecting, w->paused,
		    w->phase == Phase::kDraining &&
			    sim::now_ns() - w->drains_since_ns >= rds::kDrainTimeoutNs);
	tube::close(p, w->side);
	w->tube = nullptr;
	w->phase = Phase::kIdle;
	w->paused = false;
	rds_tcp_frame_reset(&w->frame);
}

/* Appends up to @n bytes of a message from @off on; the number appended. */
size_t append(tube::ByteQueue &out, struct rds_msg *m, size_t off, size_t n)
{
	size_t size = RDS_HEADER_BYTES + rds_msg_len(m), done = 0;

	n = std::min(n, size - off);

	unsigned char *to = out.grow(n);

	if (off < RDS_HEADER_BYTES) {
		done = std::min(n, RDS_HEADER_BYTES - off);
		memcpy(to, rds_msg_header(m) + off, done);
	}
	if (n > done)
		rds_payload_to_mem(rds_msg_payload(m),
				   static_cast<uint32_t>(off + done - RDS_HEADER_BYTES),
				   static_cast<uint32_t>(n - done), to + done);
	return n;
}

long xmit(void *tp, const struct rds_xmit *x)
{
	auto *w = static_cast<Wire *>(tp);
	Ref p = w->tube;

	if (!p)
		sim::fail("xmit() without a connection");

	End &e = w->end();
	Locked l(e);

	if (e.dead || w->phase != Phase::kOpen)
		return -32;
	w->tells = x->acks;

	size_t want = 0, off = x->off;

	for (unsigned int i = 0; i < x->n; i++)
		want += RDS_HEADER_BYTES + rds_msg_len(x->msgs[i]);
	want -= off;

	size_t n = tube::room(*p, w->side, want);

	if (n > 1 && sim::chance(state().partial_per_1000))
		n = tube::room(*p, w->side, want, 1 + sim::random_below(n));
	if (!n) {
		/* The core waits for room, and what lies here goes as acks make some. */
		w->keep(false);
		return -11;
	}
	for (size_t i = 0, left = n; left; i++, off = 0)
		left -= append(e.tx, x->msgs[i], off, left);
	tube::wrote(p, w->side, n);
	w->keep(x->more && n == want);
	return static_cast<long>(n);
}

void recv_retry(void *tp)
{
	auto *w = static_cast<Wire *>(tp);

	if (!w->tube)
		return;

	Ref p = w->tube;
	Locked l(w->end());

	if (w->paused) {
		uint32_t used = 0;

		w->paused = false;
		w->settle(rds_tcp_frame_feed(&w->frame, nullptr, 0, 0, RDS_MAY_SLEEP, &used));
	}
	w->arrived(RDS_MAY_SLEEP);
}

constinit struct rds_transport table = {
	.name = "tcp",
	.type = 2,
	.caps = kCaps,
	.max_paths = 1,
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
	.ended = ended,
	.xmit = xmit,
	.other_end = nullptr,
	.recv_retry = recv_retry,
	.midway = midway,
	.wants = wants,
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

} // namespace

void reset(const Params &p)
{
	network::reset(network::Params{p.delay_min_ns, p.delay_max_ns});
	tube::reset(tube::Params{p.send_window, p.recv_window, p.refuse_per_1000});
	state().partial_per_1000 = p.partial_per_1000;
	state().nodes.clear();
	state().module.refs = 0;
	state().module.dying = false;
	state().cuts = 0;
	table.owner = &state().module;
	table.max_paths = p.paths;
	table.caps = p.plain ? kCaps & ~uint32_t{RDS_CAP_DELIVERY_ACK} : kCaps;
	on_closed = nullptr;
}

void set_paths(unsigned int n)
{
	table.max_paths = n;
}

void set_faults(unsigned int refuse_per_1000, unsigned int partial_per_1000)
{
	tube::params().refuse_per_1000 = refuse_per_1000;
	state().partial_per_1000 = partial_per_1000;
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

	if (network::host_of(addrs[0]) == network::kNobody)
		network::add_host(addrs);
	n->net = &net;
	n->addrs = std::move(addrs);
	for (const auto &a : n->addrs)
		tube::listen(a, n.get());
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

	for (const auto &a : n->addrs)
		tube::listen(a, nullptr);
	sim::wait_until([n] { return !n->busy; });
	std::erase_if(nodes, [n](const auto &own) { return own.get() == n; });
}

uint64_t digest(const void *priv)
{
	const auto *w = static_cast<const Wire *>(priv);

	return tube::place(w->tube) * 64 + w->side * 32 + w->paused * 16 +
	       static_cast<uint64_t>(w->phase);
}

bool cut_one(bool half)
{
	unsigned int n = alive();
	Ref p = n ? tube::living(sim::random_below(n)) : nullptr;

	if (!p)
		return false;
	state().cuts++;
	sim::say("cut of connection %u%s", p->number, half ? ", one end does not know" : "");
	if (half)
		tube::cut_one_end(p, static_cast<unsigned int>(sim::random_below(2)));
	else
		tube::cut(p);
	return true;
}

unsigned int cut_all()
{
	unsigned int n = alive();

	for (unsigned int i = 0; i < n; i++)
		tube::cut(tube::living(i));
	state().cuts += n;
	return n;
}

unsigned int alive()
{
	return tube::count_living();
}

uint64_t cuts()
{
	return state().cuts;
}

} // namespace stream
