// SPDX-License-Identifier: GPL-2.0
#include "verbs.h"

#include <algorithm>
#include <map>

#include "adapter.h"
#include "aged.h"
#include "regions.h"
#include "sim.h"
#include "transports/ib/ib_offer.h"

namespace verbs
{

void (*on_closed)(const struct rds_addr &self, const struct rds_addr &peer, tube::Left left);

namespace
{

using fabric::Locked;
using fabric::Ref;

/* A namespace that takes requests. */
struct Node final : fabric::Listener {
	void incoming(const Ref &p) override;

	host::Net *net = nullptr;
	std::vector<struct rds_addr> addrs;
};

struct State {
	Params params;
	std::vector<std::unique_ptr<Node>> nodes;
	struct rds_module module;
	std::map<network::HostId, unsigned int> device_users;
	uint64_t cuts = 0;
};

State &state()
{
	static auto *s = new State;
	return *s;
}

/* Did we ask, too, and is ours the request that counts? */
bool ours_wins(struct rds_path *path)
{
	auto *l = static_cast<Adapter *>(rds_path_priv(path));

	return l->phase == Phase::kAsking &&
	       rds_ib_keeps_call(rds_path_laddr(path), rds_path_faddr(path),
				 rds_now_ns() - l->called_ns);
}

bool same(const struct rds_addr &a, const struct rds_addr &b)
{
	return a.w[0] == b.w[0] && a.w[1] == b.w[1];
}

void Node::incoming(const Ref &p)
{
	struct rds_ib_offer o;
	struct rds_conn *conn = nullptr;
	int err = 0;

	if (!decode(*p, 0, &o)) {
		fabric::reject(p, {0, 0, 0, RDS_IB_REJECT_VERSION});
		return;
	}
	/* As rds_rdma.ko: nobody speaks in another's name. */
	if (!same(o.saddr, p->addr[0]) || !same(o.daddr, p->addr[1])) {
		fabric::reject(p);
		return;
	}
	if (!net->is_local(o.saddr))
		conn = rds_conn_get(net->core(), ops(), &o.daddr, &o.saddr, p->scope, o.tos, &err);
	if (!conn || ours_wins(rds_conn_path(conn, 0))) {
		fabric::reject(p);
	} else {
		auto *l = static_cast<Adapter *>(rds_path_priv(rds_conn_path(conn, 0)));

		p->proven = rds_ib_proof_show(&l->proof, o.secret);
		device_users(p->qp[1].host)++;
		rds_path_accepted(rds_conn_path(conn, 0), new Ref(p));
	}
	if (conn)
		rds_conn_put(conn);
}

/* ---- ops ---- */

int laddr_check(struct rds_os_net *os, const struct rds_addr *addr, uint32_t scope)
{
	int err = host::laddr_is_local(os, addr, scope);

	return err || fabric::has_device(network::host_of(*addr)) ? err : -99;
}

void *path_alloc(struct rds_path *path)
{
	void *mem = rds_alloc(sizeof(Adapter), RDS_MAY_SLEEP);

	if (!mem)
		return nullptr;
	aged::age(path);
	return new (mem) Adapter(path);
}

void path_free(void *tp)
{
	auto *l = static_cast<Adapter *>(tp);

	if (l->pair)
		sim::fail("a path with an open connection is freed");
	l->~Adapter();
	rds_free(l);
}

/* Both do, so that they meet. */
int initiates(const void *)
{
	return 1;
}

int connect(void *tp)
{
	auto *l = static_cast<Adapter *>(tp);
	struct rds_ib_offer o = {};

	if (l->pair)
		sim::fail("connects twice");

	Ref p = fabric::create(*rds_path_laddr(l->path), *rds_path_faddr(l->path),
			       rds_path_scope(l->path), l);

	if (!p)
		return -19;
	device_users(p->qp[0].host)++;
	l->called_ns = rds_now_ns();
	if (!l->begin(p, 0, Phase::kAsking))
		return -12; /* close() follows */
	rds_ib_offer_propose(&o, 0);
	o.secret = l->proof.secret;
	fabric::request(p, l->say(o));
	return 0;
}

int adopt(void *tp, void *handle)
{
	auto *l = static_cast<Adapter *>(tp);
	std::unique_ptr<Ref> h(static_cast<Ref *>(handle));
	Ref p = *h;
	Locked lock(p->qp[1]);
	struct rds_ib_offer o;

	if (l->pair)
		sim::fail("adopts while it has a connection");
	if (rds_ib_proof_admits(&l->proof, p->proven) && decode(*p, 0, &o) &&
	    l->begin(p, 1, Phase::kAnswering)) {
		l->hear(o);
		o.secret = 1 + static_cast<uint32_t>(sim::random_below(0xffffff));
		rds_ib_proof_begin(&l->proof, o.secret);
		if (fabric::accept(p, l->say(o), l))
			return 0;
	}
	l->end();
	device_users(p->qp[1].host)--;
	fabric::reject(p);
	return -104;
}

void discard(void *handle)
{
	std::unique_ptr<Ref> h(static_cast<Ref *>(handle));

	device_users((*h)->qp[1].host)--;
	fabric::reject(*h);
}

int ended(const void *tp)
{
	return static_cast<const Adapter *>(tp)->proof.shown;
}

int midway(const void *tp)
{
	return rds_ib_link_midway(&static_cast<const Adapter *>(tp)->link);
}

void shutdown(void *tp)
{
	auto *l = static_cast<Adapter *>(tp);
	Locked lock(l->qp());

	rds_ib_link_shutdown(&l->link);
}

void close(void *tp)
{
	auto *l = static_cast<Adapter *>(tp);
	Ref p = l->pair;

	if (!p)
		return;

	Locked lock(l->qp());

	fabric::destroy(p, l->side);
	if (on_closed)
		on_closed(p->addr[l->side], p->addr[!l->side], tube::Left::kNothing);
	l->end();
	device_users(p->qp[l->side].host)--;
}

long xmit(void *tp, const struct rds_xmit *x)
{
	auto *l = static_cast<Adapter *>(tp);

	if (!l->pair)
		sim::fail("xmit() without a connection");

	Locked lock(l->qp());

	return l->xmit(*x);
}

uint32_t wants(const void *tp)
{
	return rds_ib_link_wants(&static_cast<const Adapter *>(tp)->link);
}

void recv_retry(void *tp)
{
	auto *l = static_cast<Adapter *>(tp);

	if (!l->pair)
		return;

	Locked lock(l->qp());

	l->recv_retry();
}

struct rds_transport table = {
	.name = "infiniband",
	.type = 0,
	.caps = RDS_CAP_PREFER_LOOP | RDS_CAP_RDMA | RDS_CAP_DELIVERY_ACK | RDS_CAP_NUMBERED,
	.max_paths = 1,
	.call_ms = 5000,
	.owner = nullptr,
	.use = nullptr,
	.unuse = nullptr,
	.laddr_check = laddr_check,
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
	.mr_get = mr_get,
	.mr_free = mr_free,
	.mr_sync = mr_sync,
	.mr_flush = mr_flush,
	.atomics = atomics,
	.n_stats = 0,
	.stat_names = nullptr,
	.stats = nullptr,
};

} // namespace

unsigned int &device_users(network::HostId h)
{
	return state().device_users[h];
}

void reset(const Params &p)
{
	fabric::reset(p.fabric);
	regions_reset();
	state().params = p;
	state().nodes.clear();
	state().device_users.clear();
	state().module.refs = 0;
	state().module.dying = false;
	state().cuts = 0;
	counts = {};
	table.owner = &state().module;
	on_closed = nullptr;
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

	if (network::host_of(addrs[0]) == network::kNobody)
		network::add_host(addrs);
	n->net = &net;
	n->addrs = std::move(addrs);
	for (const auto &a : n->addrs)
		fabric::listen(a, n.get());
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
		fabric::listen(a, nullptr);
	sim::wait_until([n] { return !n->busy; });
	std::erase_if(nodes, [n](const auto &own) { return own.get() == n; });
}

void unplug(network::HostId h)
{
	sim::say("device of host %u gone", h);
	fabric::remove_device(h, true);
	sim::wait_until([h] { return !device_users(h); });
}

unsigned int users(network::HostId h)
{
	return device_users(h);
}

void plug(network::HostId h)
{
	fabric::remove_device(h, false);
}

bool cut_one(bool half)
{
	unsigned int n = alive();
	Ref p = n ? fabric::living(sim::random_below(n)) : nullptr;

	if (!p)
		return false;
	state().cuts++;
	sim::say("fault of connection %u%s", p->number, half ? ", at one end" : "");
	if (half) {
		fabric::fail(p, static_cast<unsigned int>(sim::random_below(2)));
	} else {
		fabric::fail(p, 0);
		fabric::fail(p, 1);
	}
	return true;
}

unsigned int cut_all()
{
	unsigned int n = alive();

	for (unsigned int i = 0; i < n; i++) {
		Ref p = fabric::living(i);

		fabric::fail(p, 0);
		fabric::fail(p, 1);
	}
	state().cuts += n;
	return n;
}

unsigned int alive()
{
	return fabric::count_living();
}

uint64_t counted(enum rds_ib_link_stat id)
{
	return counts[id];
}

uint64_t cuts()
{
	return state().cuts;
}

} // namespace verbs
