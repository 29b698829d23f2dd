// SPDX-License-Identifier: GPL-2.0
/*
 * Call sequences on the socket interface: two hosts joined by simulated TCP, a handful of sockets,
 * and every call of rds_core.h in any order, while connections are cut, memory fails and the
 * network's own tasks are stopped in the middle.
 *
 * Beside it runs a model that says which errno a call must give, and an account of every message:
 * nothing is duplicated, reordered, changed or made up, and what was accepted while nobody closed,
 * cancelled or cut arrives.
 */
#include <algorithm>
#include <array>
#include <set>

#include "net/rds/hash.h"
#include "net/rds/result.h"
#include "stream.h"
#include "traffic.h"
#include "world.h"

using fuzz::must;
using host::Bytes;
namespace err = rds::err;

namespace
{

constexpr uint64_t kMs = 1000 * 1000;
constexpr size_t kApps = 6;
constexpr size_t kMaxSteps = 150;
constexpr int kTcp = 2, kLoop = 3, kNoTransport = -1;

/* fe80::@n, as it lies in memory. */
struct rds_addr link_local(unsigned int n)
{
	return {{0x80fe, uint64_t{n} << 56}};
}

struct rds_addr loopback()
{
	struct rds_addr a = host::addr4(1);

	/* ::ffff:127.0.0.1 */
	reinterpret_cast<unsigned char *>(&a)[12] = 127;
	reinterpret_cast<unsigned char *>(&a)[15] = 1;
	return a;
}

bool same(const struct rds_addr &a, const struct rds_addr &b)
{
	return a.w[0] == b.w[0] && a.w[1] == b.w[1];
}

bool same(const struct rds_endpoint &a, const struct rds_endpoint &b)
{
	return same(a.addr, b.addr) && a.port == b.port && a.scope == b.scope;
}

/* One socket as its owner knows it. */
struct App {
	std::unique_ptr<host::Socket> s;
	size_t net = 0;
	bool bound = false;
	bool tried = false; /* a send got as far as a connection; or perhaps so */
	bool perhaps_tried = false;
	int transport = kNoTransport;
	struct rds_endpoint at = {};
	std::optional<struct rds_endpoint> peer;
	std::set<uint32_t> pinned; /* cookies that have not come back */
};

/* Messages of one socket to one other. */
struct Flow {
	const App *from; /* nullptr: closed since */
	const App *to;	 /* nullptr: nobody was there, or closed since */
	struct rds_endpoint source, target;
	uint32_t sent = 0;
	uint32_t got = 0;
	bool may_lose;
};

class Harness final
{
public:
	explicit Harness(FuzzedDataProvider &in);
	~Harness();
	void run();

private:
	void step();
	void open(App &a);
	void close(App &a);
	void bind(App &a);
	void connect(App &a);
	void set_transport(App &a);
	void set_tos(App &a);
	void options(App &a);
	void send(App &a);
	int send_pinned(App &a, const struct rds_endpoint &to, Bytes &data);
	bool recv(App &a);
	void recv_fault(App &a);
	void cookies(App &a);
	void poll(App &a);
	void cancel(App &a);
	void world();
	void snapshots();
	void finish();

	struct rds_addr pick_addr();
	struct rds_endpoint pick_endpoint();
	const App *bound_at(size_t net, const struct rds_endpoint &ep) const;
	const App *receiver(const App &from, const struct rds_endpoint &to) const;
	uint32_t flow_of(const App &from, const struct rds_endpoint &to);
	bool local(size_t net, const struct rds_addr &a) const
	{
		return same(a, loopback()) || nets_[net]->is_local(a);
	}
	/* An allocation was made to fail since @before. */
	bool failed(uint64_t before) const
	{
		return sim::failed_allocs() != before;
	}

	FuzzedDataProvider &in_;
	std::vector<std::unique_ptr<host::Net>> nets_;
	std::array<App, kApps> apps_;
	std::vector<Flow> flows_;
	check::Order order_;
	uint32_t cookie_ = 0;
	unsigned int partial_per_1000_;
	bool lossy_ = false; /* a connection was cut */
};

Harness::Harness(FuzzedDataProvider &in) : in_(in)
{
	stream::Params p;

	p.send_window = 1u << in.ConsumeIntegralInRange<unsigned int>(9, 15);
	p.recv_window = 1u << in.ConsumeIntegralInRange<unsigned int>(9, 15);
	partial_per_1000_ = p.partial_per_1000 = in.ConsumeBool() ? 300 : 0;
	stream::reset(p);
	for (unsigned int n : {1, 2}) {
		std::vector<struct rds_addr> own = {host::addr4(n), link_local(n)};

		nets_.push_back(std::make_unique<host::Net>(own));
		stream::listen(*nets_.back(), own);
	}
	/* Two that can talk at once, the others as it comes. */
	for (size_t n : {0, 1}) {
		App &a = apps_[n];

		a.net = n;
		a.s = std::make_unique<host::Socket>(*nets_[n]);
		a.at = host::endpoint(host::addr4(static_cast<unsigned int>(n) + 1), 4000);
		must(!a.s->bind(a.at), "bind");
		a.bound = true;
		a.transport = kTcp;
		a.peer = host::endpoint(host::addr4(static_cast<unsigned int>(2 - n)), 4000);
		must(!a.s->connect(*a.peer), "connect");
	}
}

Harness::~Harness()
{
	for (App &a : apps_)
		a.s.reset();
	sim::run_ready();
	for (auto &n : nets_)
		stream::stop_listening(*n);
	nets_.clear();
	must(!stream::module().refs.load(), "no reference on the transport is left");
}

/* ---- choices ---- */

struct rds_addr Harness::pick_addr()
{
	switch (in_.ConsumeIntegralInRange<int>(0, 9)) {
	case 0:
		return link_local(1);
	case 1:
		return link_local(2);
	case 2:
		return loopback();
	case 3:
		return host::addr4(77); /* of nobody */
	case 4:
	case 5:
	case 6:
		return host::addr4(1);
	default:
		return host::addr4(2);
	}
}

struct rds_endpoint Harness::pick_endpoint()
{
	constexpr uint16_t kPorts[] = {0, 1, 4000, 4001};
	const struct rds_addr a = pick_addr();
	const uint16_t port = in_.PickValueInArray(kPorts);
	const uint32_t scope = in_.ConsumeIntegralInRange<int>(0, 4) ? 6 : 5;

	/* As rds_parse_name() has it: each link-local address with an interface, and no other. */
	return host::endpoint(a, port, rds::scope_of(a, scope));
}

const App *Harness::bound_at(size_t net, const struct rds_endpoint &ep) const
{
	for (const App &a : apps_)
		if (a.s && a.bound && a.net == net && same(a.at, ep))
			return &a;
	return nullptr;
}

/* The application that gets a message from @from to @to. */
const App *Harness::receiver(const App &from, const struct rds_endpoint &to) const
{
	bool here = from.transport == kLoop || local(from.net, to.addr);
	struct rds_endpoint at = to;

	at.scope = rds::scope_of(to.addr, to.scope ? to.scope : from.at.scope);
	return bound_at(here ? from.net : !from.net, at);
}

uint32_t Harness::flow_of(const App &from, const struct rds_endpoint &to)
{
	const App *r = receiver(from, to);

	for (uint32_t i = 0; i < flows_.size(); i++)
		if (flows_[i].from == &from && flows_[i].to == r && same(flows_[i].target, to))
			return i;
	flows_.push_back(Flow{&from, r, from.at, to, 0, 0, !r});
	return static_cast<uint32_t>(flows_.size() - 1);
}

/* ---- calls ---- */

void Harness::open(App &a)
{
	if (a.s)
		return;
	a = App();
	a.net = in_.ConsumeBool();
	a.s = std::make_unique<host::Socket>(*nets_[a.net]);
}

void Harness::close(App &a)
{
	for (Flow &f : flows_) {
		f.may_lose = f.may_lose || f.from == &a || f.to == &a;
		f.from = f.from == &a ? nullptr : f.from;
		f.to = f.to == &a ? nullptr : f.to;
	}
	a = App();
}

void Harness::bind(App &a)
{
	struct rds_endpoint ep = pick_endpoint();
	uint64_t before = sim::failed_allocs();
	int ret = a.s->bind(ep);
	int want = 0;

	if (a.bound || ep.port == 1 ||
	    (a.peer && a.peer->scope && ep.scope && a.peer->scope != ep.scope))
		want = -err::kEinval;
	else if (a.transport != kNoTransport && !nets_[a.net]->is_local(ep.addr))
		want = -err::kEnoprotoopt;
	else if (!local(a.net, ep.addr))
		want = -err::kEaddrnotavail;
	else if (ep.port && bound_at(a.net, ep))
		want = -err::kEaddrinuse;
	must(ret == want || (ret == -err::kEnomem && !want && failed(before)), "errno of bind");
	if (ret)
		return;
	a.bound = true;
	must(rds_socket_bound(a.s->core(), &a.at), "it is bound");
	must(same(a.at.addr, ep.addr) && a.at.scope == ep.scope, "to what it wanted");
	must(ep.port ? a.at.port == ep.port : a.at.port >= 2, "at the port it wanted, or any");
	if (a.transport == kNoTransport)
		a.transport = same(ep.addr, loopback()) ? kLoop : kTcp;
	must(rds_socket_transport(a.s->core()) == a.transport, "by the transport of the address");
}

void Harness::connect(App &a)
{
	struct rds_endpoint to = pick_endpoint(), got;
	int ret = a.s->connect(to);
	bool bad = to.scope && a.bound && a.at.scope && a.at.scope != to.scope;

	must(ret == (bad ? -err::kEinval : 0), "errno of connect");
	if (!ret)
		a.peer = to;
	must(rds_socket_peer(a.s->core(), &got) == a.peer.has_value(), "connected or not");
	must(!a.peer || same(got, *a.peer), "the peer it has");
}

void Harness::set_transport(App &a)
{
	auto type = in_.ConsumeIntegralInRange<unsigned int>(0, 5);
	int ret = rds_socket_set_transport(a.s->core(), type);
	int want = a.transport != kNoTransport ? -err::kEopnotsupp
		   : type == kTcp	       ? 0
					       : -err::kEnoprotoopt;

	must(ret == want, "errno of SO_RDS_TRANSPORT");
	if (!ret)
		a.transport = kTcp;
	must(rds_socket_transport(a.s->core()) == a.transport, "the transport it has");
}

void Harness::set_tos(App &a)
{
	auto tos = in_.ConsumeIntegral<uint8_t>();
	int ret = rds_socket_set_tos(a.s->core(), tos);
	int want = a.transport != kTcp ? -err::kEnoioctlcmd : a.tried ? -err::kEinval : 0;

	must(ret == want || (a.perhaps_tried && ret == -err::kEinval), "errno of SIOCRDSSETTOS");
	must(!rds_socket_tos(a.s->core()), "over TCP there is one TOS");
}

void Harness::options(App &a)
{
	struct rds_socket *s = a.s->core();
	bool on = in_.ConsumeBool();
	uint64_t mask = in_.ConsumeIntegral<uint64_t>(), got_mask;
	int got_on;

	rds_socket_set_cong_monitor(s, on, mask);
	rds_socket_cong_monitor(s, &got_on, &got_mask);
	must(got_on == on && got_mask == mask, "the monitor is as it was set");
	rds_socket_set_recverr(s, on);
	must(rds_socket_recverr(s) == on, "RDS_RECVERR is as it was set");
	rds_socket_set_trace(s, mask & 1);
	a.s->sock().stamps = mask & 2;
	a.s->sock().sndbuf = 1u << in_.ConsumeIntegralInRange<unsigned int>(8, 17);
	a.s->sock().rcvbuf = 1u << in_.ConsumeIntegralInRange<unsigned int>(8, 17);
}

int Harness::send_pinned(App &a, const struct rds_endpoint &to, Bytes &data)
{
	struct rds_uio from;
	struct rds_msg *m = nullptr;

	from.base = data.data();
	from.len = data.size();
	from.fault_at = in_.ConsumeIntegralInRange<int>(0, 9) ? SIZE_MAX : data.size() / 2;

	int ret = rds_msg_create(a.s->core(), &to, static_cast<uint32_t>(data.size()), &from, 1,
				 ++cookie_, &m);

	if (ret) {
		must(ret != -14 || from.fault_at != SIZE_MAX, "errno of bad memory");
		return ret;
	}
	ret = rds_socket_send(a.s->core(), &to, m, 0);
	if (ret)
		rds_msg_drop(a.s->core(), m);
	else
		a.pinned.insert(cookie_);
	return ret;
}

void Harness::send(App &a)
{
	struct rds_endpoint to = a.peer && in_.ConsumeBool() ? *a.peer : pick_endpoint();

	/* sendmsg.c refuses that. */
	if (to.scope && a.at.scope && to.scope != a.at.scope)
		return;

	uint32_t limit = std::min<uint32_t>(a.s->sock().sndbuf, 6000);
	uint32_t size = in_.ConsumeIntegralInRange<uint32_t>(0, limit);
	bool zcopy = size && !in_.ConsumeIntegralInRange<int>(0, 5) &&
		     rds_socket_caps(a.s->core()) & RDS_CAP_ZEROCOPY;
	bool named = size >= traffic::kMinBytes;
	uint32_t flow = flow_of(a, to);
	Bytes data = named ? traffic::make(flow, flows_[flow].sent, size) : Bytes(size, 0xee);
	uint64_t before = sim::failed_allocs();

	if (named)
		order_.sent(flow, flows_[flow].sent);

	int ret = zcopy ? send_pinned(a, to, data) : a.s->send(to, data, in_.ConsumeBool());

	if (!ret && named)
		flows_[flow].sent++;
	else if (named)
		order_.not_sent(flow, flows_[flow].sent);
	a.tried = a.tried || (a.bound && (!ret || ret == -err::kEagain || ret == -err::kEnobufs));
	a.perhaps_tried = a.perhaps_tried || ret == -err::kEnomem;
	if (!a.bound)
		must(ret == -err::kEnotconn || (ret == -err::kEnomem && failed(before)) ||
			     ret == -14,
		     "errno of an unbound send");
	else if (ret == -err::kEagain)
		must(!rds_socket_writable(a.s->core()), "refused because the queue is full");
	else if (ret == -err::kEnobufs)
		must(rds_socket_congested(a.s->core(), &to), "refused because of congestion");
	else if (a.transport == kLoop && !local(a.net, to.addr))
		must(ret == -err::kEaddrnotavail || (ret == -err::kEnomem && failed(before)),
		     "errno of a send from loopback to another host");
	else
		must(!ret || (ret == -err::kEnomem && failed(before)) || (zcopy && ret == -14),
		     "errno of a send");
}

/* False: there was nothing. */
bool Harness::recv(App &a)
{
	bool readable = a.s->readable();
	auto r = a.s->recv();

	must(!r || readable, "what can be read is readable");
	if (!r || r->data.size() < traffic::kMinBytes)
		return r.has_value();

	auto name = traffic::read(r->data);

	must(name && name->flow < flows_.size(), "a message that was sent");

	Flow &f = flows_[name->flow];

	must(same(f.source, r->info.from), "from whom it says");
	must(same(f.target.addr, a.at.addr) && f.target.port == a.at.port, "to whom it was sent");
	order_.received(name->flow, name->number);
	must(order_.complaint().empty(), order_.complaint().c_str());
	f.got++;
	return true;
}

/* A bad buffer loses nothing: the message stays the first. */
void Harness::recv_fault(App &a)
{
	struct rds_recv_info info;
	struct rds_uio to;
	Bytes room(64);

	must(!rds_recv_lock(a.s->core()), "nobody else reads");

	struct rds_msg *m = rds_recv_head(a.s->core(), &info);

	if (m && info.len) {
		to.base = room.data();
		to.len = room.size();
		to.fault_at = std::min<size_t>(info.len - 1, room.size());
		must(rds_recv_copy(a.s->core(), m, info.len, &to) == -14, "a fault is told");
		must(rds_recv_head(a.s->core(), &info) == m, "the message is still there");
	}
	rds_recv_unlock(a.s->core());
}

void Harness::cookies(App &a)
{
	uint32_t got[8];
	auto max = in_.ConsumeIntegralInRange<unsigned int>(0, 8);
	unsigned int n = rds_socket_zcopy(a.s->core(), got, max);

	must(n <= max, "no more cookies than there is room");
	rds_socket_zcopy_done(a.s->core(), n);
	for (unsigned int i = 0; i < n; i++)
		must(a.pinned.erase(got[i]), "a cookie comes back once");
}

void Harness::poll(App &a)
{
	unsigned int got = rds_socket_poll(a.s->core());
	uint32_t one;

	must(!(got & RDS_POLL_IN) == !(a.s->readable() || rds_socket_zcopy(a.s->core(), &one, 1)),
	     "POLLIN is what can be read");
	must(!(got & RDS_POLL_OUT) == !rds_socket_writable(a.s->core()), "POLLOUT is room");
}

void Harness::cancel(App &a)
{
	struct rds_endpoint to = pick_endpoint();
	bool all = in_.ConsumeBool();

	rds_socket_cancel(a.s->core(), all ? nullptr : &to);
	if (all) {
		uint32_t sndbuf = a.s->sock().sndbuf.exchange(1);

		/* A task stopped on its way to give something back does so. */
		sim::run_ready();
		/* Lent pages that have begun to leave stay until the transport lets go of them. */
		must(!a.pinned.empty() || rds_socket_writable(a.s->core()),
		     "who took back everything owes nothing");
		a.s->sock().sndbuf = sndbuf;
	}
	for (Flow &f : flows_)
		if (f.from == &a &&
		    (all || (same(f.target.addr, to.addr) && f.target.port == to.port)))
			f.may_lose = true;
}

/* The events that are no call: time goes on, things fail. */
void Harness::world()
{
	switch (in_.ConsumeIntegralInRange<int>(0, 8)) {
	case 0:
		sim::run_for(in_.ConsumeIntegralInRange<uint64_t>(0, 20) * kMs);
		break;
	case 1: /* stops whatever runs in the middle */
	case 7:
		for (int n = in_.ConsumeIntegralInRange<int>(1, 60); n && sim::step(); n--)
			;
		break;
	case 2:
		sim::fail_nth(in_.ConsumeIntegralInRange<unsigned int>(1, 12));
		break;
	case 3:
	case 8:
		lossy_ = stream::cut_one(in_.ConsumeBool()) || lossy_;
		break;
	case 4:
		rds_transport_net_reset(nets_[in_.ConsumeBool()]->core(), stream::ops());
		break;
	case 5:
		stream::set_faults(in_.ConsumeBool() ? 500 : 0, partial_per_1000_);
		break;
	default:
		snapshots();
	}
}

void Harness::snapshots()
{
	struct Count {
		size_t conns = 0, messages = 0, sockets = 0;
	} n;
	struct rds_net *net = nets_[in_.ConsumeBool()]->core();

	host::info_conns(
		net,
		[](void *arg, const struct rds_conn_info *i) {
			must(i->transport && i->flags < 8, "a connection is described");
			static_cast<Count *>(arg)->conns++;
		},
		&n);
	for (auto q : {RDS_QUEUE_SEND, RDS_QUEUE_RETRANS, RDS_QUEUE_RECV})
		host::info_messages(
			net, q,
			[](void *arg, const struct rds_msg_info *) {
				static_cast<Count *>(arg)->messages++;
			},
			&n);
	host::info_sockets(
		net,
		[](void *arg, const struct rds_socket_info *i) {
			must(i->bound.port >= 2, "a bound socket has a port");
			static_cast<Count *>(arg)->sockets++;
		},
		&n);
	must(n.sockets <= kApps && n.conns < 64, "no more than there can be");
}

void Harness::step()
{
	App &a = apps_[in_.ConsumeIntegralInRange<size_t>(0, kApps - 1)];

	open(a);
	switch (in_.ConsumeIntegralInRange<int>(0, 18)) {
	case 0:
		return close(a);
	case 1:
		return connect(a);
	case 2:
		return set_transport(a);
	case 3:
		return set_tos(a);
	case 4:
		return options(a);
	case 5:
		return recv_fault(a);
	case 6:
		return cookies(a);
	case 7:
		return poll(a);
	case 8:
		return cancel(a);
	case 9:
	case 10:
	case 11:
		return world();
	case 12:
	case 13:
		recv(a);
		return;
	default:
		return a.bound ? send(a) : bind(a);
	}
}

/* All read, memory is there, nothing is refused: what was not given up arrives. */
void Harness::finish()
{
	auto due = [&] {
		return std::any_of(flows_.begin(), flows_.end(),
				   [](const Flow &f) { return !f.may_lose && f.got < f.sent; });
	};

	fuzz::World::calm();
	stream::set_faults(0, partial_per_1000_);
	/* After a cut there may be nothing to wait for. */
	for (int i = 0; i < (lossy_ ? 20 : 200) && (i < 4 || due()); i++) {
		for (App &a : apps_)
			while (a.s && recv(a))
				;
		sim::run_for(10 * kMs * static_cast<uint64_t>(1 + i));
	}
	for (auto &n : nets_)
		lossy_ = lossy_ || n->stat(RDS_S_conn_drain_timeout);
	if (!lossy_)
		for (const Flow &f : flows_)
			if (!f.may_lose && f.got < f.sent)
				fprintf(stderr, "fuzz: %s:%u to %s:%u: %u of %u\n",
					host::show(f.source.addr).c_str(), f.source.port,
					host::show(f.target.addr).c_str(), f.target.port, f.got,
					f.sent);
	must(lossy_ || !due(), "what was accepted arrives");
}

void Harness::run()
{
	for (size_t n = 0; n < kMaxSteps && in_.remaining_bytes(); n++)
		step();
	finish();
}

} // namespace

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	FuzzedDataProvider in(data, size);
	auto seed = in.ConsumeIntegral<uint8_t>();
	unsigned int preempt = in.ConsumeBool() ? 100 : 0;

	stream::reset();

	fuzz::World world(seed, stream::ops(), preempt);

	Harness(in).run();
	return 0;
}
