// SPDX-License-Identifier: GPL-2.0
#include "adapter.h"

#include <bit>
#include <cstring>

#include "aged.h"
#include "pages.h"
#include "sim.h"
#include "verbs.h"

namespace verbs
{

std::array<uint64_t, RDS_IB_LINK_STAT_COUNT> counts;

namespace
{

constexpr int kBroken = -5, kNoMemory = -12, kRefused = -22;
constexpr uint64_t kKeepaliveNs = 5ull * 1000 * 1000 * 1000;
constexpr uint64_t kDoubtNs = 1000ull * 1000 * 1000;
constexpr uint64_t kBeatNs = 10ull * 1000 * 1000 * 1000;
constexpr uint64_t kWorkerNs = 100 * 1000;
constexpr uint64_t kRefillNs = 1000 * 1000;
constexpr uint64_t kRoomNs = 100 * 1000;

/* Later, if it is still there, with the queue pair locked. */
template <typename F>
void later(const Adapter &a, uint64_t ns, const char *what, F fn)
{
	sim::after(ns, what, [p = a.pair, s = a.side, fn] {
		fabric::Locked l(p->qp[s]);

		if (fabric::User *u = p->qp[s].user)
			fn(*static_cast<Adapter *>(u));
	});
}

/* A mapping fails; that may be tried again in a moment. */
bool unmapped(const Adapter &a)
{
	if (!sim::chance(verbs::params().unmapped_per_1000))
		return false;
	later(a, kRefillNs, "mappings",
	      [](Adapter &a) { rds_ib_link_settle(&a.link, RDS_ATOMIC); });
	return true;
}

void keep_alive(Adapter &a)
{
	later(a, kKeepaliveNs, "keepalive", [](Adapter &a) {
		rds_ib_link_keepalive(&a.link);
		keep_alive(a);
	});
}

uint32_t ring(unsigned int wanted)
{
	return std::bit_floor(std::max(wanted, 4u));
}

bool is_atomic(const struct rds_op &op)
{
	return op.kind == RDS_OP_FADD || op.kind == RDS_OP_CSWP;
}

/* The work requests of @op; none: this adapter does not have it. */
std::vector<fabric::Request> requests(const struct rds_op &op)
{
	const unsigned int kind = op.masked ? RDS_ATOMICS_MASKED : RDS_ATOMICS_PLAIN;
	const unsigned int sges = is_atomic(op) ? 8 : verbs::params().sges;
	std::vector<fabric::Request> all;
	unsigned int pages = 0;
	uint32_t off = 0;

	if (is_atomic(op) && !(verbs::params().atomics & kind))
		return {};
	for (uint32_t bytes : host::page_lengths(op.pages)) {
		if (pages++ % sges == 0)
			all.push_back({&op, off, 0});
		all.back().len += bytes;
		off += bytes;
	}
	return all;
}

} // namespace

bool decode(const fabric::Pair &p, unsigned int from, struct rds_ib_offer *o)
{
	const fabric::Data &d = p.said[from];
	const auto *bytes = reinterpret_cast<const unsigned char *>(&p.addr[from]);
	bool v6 = memcmp(bytes, "\0\0\0\0\0\0\0\0\0\0\xff\xff", 12) != 0;

	*o = {};
	o->saddr = p.addr[from];
	o->daddr = p.addr[!from];
	return !rds_ib_offer_decode(d.data(), static_cast<unsigned int>(d.size()), v6, o) &&
	       !rds_ib_offer_agree(o);
}

Adapter::Adapter(struct rds_path *path) : path(path)
{
	rds_ib_link_init(&link, path, this);
}

bool Adapter::begin(const fabric::Ref &p, unsigned int s, Phase ph)
{
	struct rds_ib_link_params params = {.send_wr = ring(verbs::params().send_ring),
					    .recv_wr = ring(verbs::params().recv_ring),
					    .first_buffers = ring(verbs::params().recv_ring / 4),
					    .max_unsignaled = 8,
					    .order = verbs::params().orders[p->qp[s].host % 2],
					    .flow = verbs::params().credits ||
						    verbs::params().counts,
					    .named = verbs::params().credits,
					    .csum = 1,
					    .hears_first = verbs::params().iwarp && s == 1};

	pair = p;
	side = s;
	phase = ph;
	heard = doubting = false;
	tx.assign(params.send_wr, Tx());
	rx.assign(params.recv_wr, Buffer());
	rds_ib_link_prepare(&link, &params);
	aged::age(link);
	rds_ib_link_offer(&link, RDS_MAY_SLEEP);
	return link.offered - link.taken >= RDS_IB_FEWEST_BUFFERS;
}

fabric::Data Adapter::say(struct rds_ib_offer o)
{
	const uint32_t claimed = rds_ib_link_claim(&link);
	unsigned char out[RDS_IB_OFFER_BYTES_V6];

	o.saddr = *rds_path_laddr(path);
	o.daddr = *rds_path_faddr(path);
	o.ack_seq = rds_path_received(path);
	o.credit = link.p.flow && link.p.named ? claimed : 0;
	o.buffers = verbs::params().counts ? static_cast<uint8_t>(std::countr_zero(claimed)) : 0;
	o.tos = rds_path_tos(path);
	o.order = link.p.order;
	o.can = RDS_IB_CAN_END | (verbs::params().iwarp ? 0 : RDS_IB_CAN_BEAT);
	return fabric::Data(out, out + rds_ib_offer_encode(&o, out));
}

void Adapter::hear(const struct rds_ib_offer &o)
{
	rds_path_delivered(path, o.ack_seq);
	rds_ib_link_peer_credit(&link, rds_ib_offer_counted(&o, link.p.named));
	rds_ib_link_peer_order(&link, o.order);
	if (o.can & RDS_IB_CAN_END)
		rds_ib_link_peer_ends(&link);
	if (o.can & RDS_IB_CAN_BEAT && !verbs::params().iwarp)
		rds_ib_link_peer_beats(&link);
}

void Adapter::end()
{
	rds_ib_link_end(&link);
	tx.clear();
	rx.clear();
	phase = Phase::kIdle;
	pair.reset();
}

void Adapter::up()
{
	phase = Phase::kOpen;
	rds_ib_link_open(&link);
	keep_alive(*this);
	unanswered = 0;
	beat();
}

/* Slow is not dead: a host answers as long as it is there. */
void Adapter::beat()
{
	later(*this, kBeatNs, "heartbeat", [](Adapter &a) {
		a.unanswered = rds_ib_link_unanswered(&a.link) ? a.unanswered + 1 : 0;
		const auto *peer = static_cast<Adapter *>(a.pair->qp[!a.side].user);

		/* Its answer may be on a slow way, or it has had no memory for a hello in all that
		 * time, before which it says nothing: then it is given up all the same. */
		if (a.unanswered > 1 && peer && !peer->link.own_out && peer->link.begun)
			sim::fail("a host that lives does not answer a heartbeat");
		if (a.unanswered > 1)
			rds_ib_link_broken(&a.link, RDS_DROP_ERROR);
		(void)rds_ib_link_ask(&a.link);
		a.beat();
	});
}

void Adapter::established()
{
	struct rds_ib_offer o;

	if (phase == Phase::kAsking) {
		if (!decode(*pair, 1, &o)) {
			rds_ib_link_broken(&link, RDS_DROP_CONNECT);
			return;
		}
		hear(o);
		rds_ib_proof_begin(&proof, o.secret);
		up();
		rds_path_connected(path);
	} else if (phase == Phase::kAnswering) {
		up();
	}
	completed(RDS_ATOMIC);
}

void Adapter::use(uint32_t slot)
{
	if (tx[slot].used)
		sim::fail("a send slot is used twice");
	if (link.p.hears_first && !heard)
		sim::fail("the answering end of an iWARP connection speaks first");
	tx[slot].used = true;
}

/* Looks at everything that came, and at how it ended. */
void Adapter::completed(enum rds_ctx ctx)
{
	fabric::Qp &q = qp();

	/* A frame is as good as the word that we are connected, which may be lost. */
	if (phase == Phase::kAnswering && !q.arrived.empty())
		up();
	for (; !q.sent.empty(); q.sent.pop_front())
		rds_ib_link_sent(&link, q.sent.front());
	for (; !q.arrived.empty() && phase == Phase::kOpen; q.arrived.pop_front()) {
		rx[link.arrived % link.p.recv_wr].frame = std::move(q.arrived.front());
		heard = true;
		rds_ib_link_arrived(&link);
	}
	rds_ib_link_settle(&link, ctx);
	rds_ib_link_heard_all(&link);
	if (q.failed && link.state != RDS_IB_LINK_ENDED)
		rds_ib_link_failed(&link, q.failed_slot, q.failed);
	q.failed = 0;
	if (q.dead)
		rds_ib_link_broken(&link,
				   phase == Phase::kAsking ? RDS_DROP_CONNECT : RDS_DROP_ERROR);
}

/* Takes a part now and then though it has room for more. */
long Adapter::xmit(const struct rds_xmit &x)
{
	struct rds_xmit part = x;

	if (x.n > 1 && sim::chance(verbs::params().partial_per_1000)) {
		part.n = 1 + static_cast<unsigned int>(sim::random_below(x.n - 1));
		part.more = 1;
		later(*this, kRoomNs, "room", [](Adapter &a) { rds_path_writable(a.path); });
	}

	const long taken = rds_ib_link_xmit(&link, &part);

	if (rds_ib_link_dry(&link) && !doubting && !verbs::params().iwarp)
		doubt();
	return taken;
}

void Adapter::doubt()
{
	doubting = true;
	later(*this, kDoubtNs, "doubt", [](Adapter &a) {
		a.doubting = false;
		rds_ib_link_doubt(&a.link);
		if (rds_ib_link_dry(&a.link))
			a.doubt();
	});
}

void Adapter::recv_retry()
{
	rds_ib_link_retry(&link);
}

} // namespace verbs

/* ---- what the link asks for ---- */

using namespace verbs;

extern "C" {

int rds_ib_hw_send(void *hw, uint32_t slot, const unsigned char *header, struct rds_msg *m,
		   uint32_t off, uint32_t len, unsigned int flags)
{
	auto &a = *static_cast<Adapter *>(hw);
	fabric::Work w = {};

	if (len && unmapped(a))
		return kNoMemory;
	if (sim::chance(verbs::params().broken_per_1000))
		return kBroken;
	a.use(slot);
	memcpy(w.header, header, sizeof(w.header));
	w.slot = slot;
	w.signaled = flags & RDS_IB_SIGNALED;
	w.solicited = flags & RDS_IB_SOLICITED;
	w.fence = flags & RDS_IB_FENCE;
	if (len) {
		rds_msg_get(m);
		a.tx[slot].m = m;
		w.m = m;
		w.off = off;
		w.len = len;
	}
	fabric::post_send(a.pair, a.side, w);
	return 0;
}

uint32_t rds_ib_hw_op_slots(void *, struct rds_msg *m)
{
	return static_cast<uint32_t>(requests(*rds_msg_op(m)).size());
}

int rds_ib_hw_op(void *hw, uint32_t slot, struct rds_msg *m)
{
	auto &a = *static_cast<Adapter *>(hw);
	auto all = requests(*rds_msg_op(m));

	if (unmapped(a))
		return kNoMemory;
	if (sim::chance(verbs::params().refused_per_1000))
		return kRefused;
	rds_msg_get(m);
	for (const fabric::Request &r : all) {
		fabric::Work w = {};
		bool last = &r == &all.back();

		a.use(slot);
		a.tx[slot] = {m, true, last, true};
		w.slot = slot;
		w.signaled = last;
		w.request = r;
		fabric::post_send(a.pair, a.side, w);
		slot = (slot + 1) % a.link.p.send_wr;
	}
	return 0;
}

struct rds_msg *rds_ib_hw_op_of(void *hw, uint32_t slot, int *last)
{
	const Adapter::Tx &t = static_cast<Adapter *>(hw)->tx[slot];

	*last = t.last;
	return t.op ? t.m : nullptr;
}

void rds_ib_hw_sent(void *hw, uint32_t slot)
{
	auto &a = *static_cast<Adapter *>(hw);
	Adapter::Tx t = a.tx[slot];

	if (!t.used)
		sim::fail("a send slot is given back twice");
	a.tx[slot] = {};
	if (t.m && (!t.op || t.last))
		rds_msg_put(t.m);
}

int rds_ib_hw_offer(void *hw, uint32_t slot, enum rds_ctx)
{
	auto &a = *static_cast<Adapter *>(hw);

	if (sim::chance(sim::options().fail_per_1000)) {
		later(a, kRefillNs, "refill", [](Adapter &a) { a.completed(RDS_ATOMIC); });
		return kNoMemory;
	}
	a.rx[slot] = {};
	fabric::post_recv(a.pair, a.side);
	return 0;
}

void rds_ib_hw_asked(void *hw)
{
	later(*static_cast<Adapter *>(hw), kWorkerNs, "answer",
	      [](Adapter &a) { rds_ib_link_answer(&a.link); });
}

int rds_ib_hw_may_grow(void *, uint32_t)
{
	return !sim::chance(sim::options().fail_per_1000);
}

const unsigned char *rds_ib_hw_frame(void *hw, uint32_t slot, struct rds_src **src, uint32_t *len)
{
	auto &b = static_cast<Adapter *>(hw)->rx[slot];

	b.src.data = b.frame.bytes.data();
	b.src.len = b.frame.bytes.size();
	*src = &b.src;
	*len = static_cast<uint32_t>(b.src.len);
	return b.frame.header;
}

void rds_ib_hw_taken(void *hw, uint32_t slot)
{
	static_cast<Adapter *>(hw)->rx[slot] = {};
}

void rds_ib_hw_count(void *hw, enum rds_ib_link_stat id)
{
	(void)hw;
	verbs::counts[id]++;
}

} // extern "C"
