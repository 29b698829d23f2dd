// SPDX-License-Identifier: GPL-2.0
/* Applications that operate on each other's memory. */
#include <cstring>

#include "app.h"
#include "include/uapi/linux/rds.h"
#include "network.h"
#include "traffic.h"

namespace story
{
namespace
{

constexpr int kEagain = -11, kEnomem = -12, kEnodev = -19, kEinval = -22, kEopnotsupp = -95,
	      kEnobufs = -105;
constexpr size_t kMostAreas = 8;
constexpr int kTries = 30;
constexpr uint64_t kUs = 1000;

/* An error that an application meets that asks too early. */
bool passes_by(int err)
{
	return err == kEagain || err == kEnomem || err == kEnobufs;
}

using Memory = std::shared_ptr<host::Region>;

/* @m in a few pieces. */
std::vector<struct rds_iov> pieces(const host::Region &m, sim::Rng &r)
{
	std::vector<struct rds_iov> v;
	uint64_t off = 0;

	while (off < m.size()) {
		uint64_t left = m.size() - off;
		uint64_t n = v.size() < 3 && r.chance(400) ? 1 + r.below(left) : left;

		v.push_back(m.iov(off, n));
		off += n;
	}
	return v;
}

struct Intent {
	std::shared_ptr<Area> area;
	Memory local;
	struct rds_op_args args = {};
	std::vector<struct rds_iov> v = {};
	std::function<bool()> there = {};
};

void want_write(Intent &w, uint32_t n, sim::Rng &r)
{
	uint32_t at = w.area->take_cell(n);

	if (!at)
		return;
	w.args.kind = RDS_OP_WRITE;
	w.args.remote_addr = at;
	for (uint32_t i = 0; i < n; i++)
		w.local->data()[i] = static_cast<unsigned char>(r.next() | 1);
	w.there = [a = w.area, m = w.local, at, n] {
		return !memcmp(a->mem.data() + at, m->data(), n);
	};
}

void want_read(Intent &w, uint32_t n, sim::Rng &r)
{
	uint32_t at = 8 + static_cast<uint32_t>(r.below(Area::kCells - 8 - n));

	w.args.kind = RDS_OP_READ;
	w.args.remote_addr = at;
	w.there = [a = w.area, m = w.local, at, n] {
		return !memcmp(a->mem.data() + at, m->data(), n);
	};
}

void want_atomic(Intent &w, sim::Rng &r)
{
	auto old = [m = w.local] {
		uint64_t v;

		memcpy(&v, m->data(), sizeof(v));
		return v;
	};
	uint32_t cell = r.chance(500) ? w.area->take_cell(8) : 0;

	w.args.kind = cell ? RDS_OP_CSWP : RDS_OP_FADD;
	w.args.remote_addr = cell;
	if (!cell) {
		w.args.compare_add = 1;
		w.there = [a = w.area, old] { return a->added(old()); };
		return;
	}
	w.args.swap = r.next();
	w.there = [a = w.area, old, cell, now = w.args.swap] {
		return !old() && !memcmp(a->mem.data() + cell, &now, sizeof(now));
	};
}

/* Something that may be done to @a; rarely something that may not. */
Intent make_intent(const std::shared_ptr<Area> &a, sim::Rng &r)
{
	const bool writable = a->flags & RDS_RDMA_READWRITE;
	const bool atomic = writable && r.chance(250), write = writable && r.chance(600);
	uint32_t n = 1 + static_cast<uint32_t>(r.below(1ull << r.below(14)));
	Intent w = {a, nullptr};

	w.local = std::make_shared<host::Region>(atomic ? 8 : n, true,
						 static_cast<uint32_t>(r.below(512) * 8));
	memset(w.local->data(), 0xee, w.local->size());
	w.args.cookie = a->cookie;
	w.args.remote_bytes = w.local->size();
	if (atomic)
		want_atomic(w, r);
	else if (write)
		want_write(w, n, r);
	else
		want_read(w, n, r);
	w.v = atomic ? std::vector{w.local->iov()} : pieces(*w.local, r);
	if (r.chance(20)) {
		w.args.cookie ^= r.chance(500) ? 0x80 : 0;
		w.args.remote_addr += a->mem.size();
		w.there = [] { return false; };
	}
	w.args.flags = (r.chance(700) ? RDS_RDMA_NOTIFY_ME : 0) |
		       (r.chance(400) ? RDS_RDMA_FENCE : 0) | (r.chance(300) ? RDS_RDMA_SILENT : 0);
	return w;
}

} // namespace

/* A message on @f with what goes with it; @token: of its operation, if any. */
int App::send_tagged(Flow &f, const struct rds_endpoint &to, size_t bytes,
		     const struct rds_op_args *op, uint64_t cookie)
{
	const uint32_t number = f.sent;
	host::Bytes data;

	if (!bytes) {
		int err = socket_.send_rdma(to, {}, op, cookie);

		n_sent_ += !err;
		return err;
	}
	traffic::fill(data, f.id, number, bytes);
	/* It goes the way of its operation, which watch_.rdma judges. */
	watch_.order.sent(f.id, number);
	watch_.loss.sent(f.id, number);
	watch_.loss.excuse(f.id);
	if (op)
		watch_.tokens[{f.id, number}] = op->token;

	int err = socket_.send_rdma(to, data, op, cookie);

	if (err) {
		watch_.order.not_sent(f.id, number);
		watch_.loss.not_sent(f.id, number);
		watch_.tokens.erase({f.id, number});
	} else {
		f.sent++;
		n_sent_++;
	}
	return err;
}

/* Runs @fn as a task of its own that sends on the flow to slot @to. */
template <typename F>
void App::with_flow(const char *name, unsigned int to, F fn)
{
	Flow *f = flow_in(tagged_, to);

	if (f->busy || stop_)
		return;
	f->busy = true;
	running_++;
	sim::spawn(name, [this, f, body = std::make_shared<F>(std::move(fn))] {
		(*body)(*f);
		f->busy = false;
		running_--;
	});
}

void App::expose(unsigned int to, const struct rds_endpoint &at, sim::Rng rng)
{
	if (own_.size() < kMostAreas)
		with_flow("expose", to,
			  [this, to, at, rng](Flow &f) mutable { expose_to(f, to, at, rng); });
}

void App::expose_to(Flow &f, unsigned int to, const struct rds_endpoint &peer, sim::Rng &rng)
{
	auto a = std::make_shared<Area>(slot, to, rng);
	const struct rds_iov all = a->mem.iov();
	int err = rds_mr_get(socket_.core(), &all, a->flags, &a->cookie);

	if (err) {
		if (!passes_by(err) && err != kEnodev)
			watch_.complain("a region of " + who() + " failed with " +
					std::to_string(err));
		return;
	}
	if (!watch_.areas.emplace(a->cookie, a).second)
		watch_.complain("rdma: a cookie was given twice");
	own_.push_back(a);
	for (int i = 0; i < kTries && !stop_; i++) {
		err = send_tagged(f, peer, traffic::kMinBytes + rng.below(100), nullptr, a->cookie);
		if (!err)
			return;
		/* Freed or closed meanwhile. */
		if (!passes_by(err) && err != kEinval && !stop_)
			watch_.complain("a cookie of " + who() + " failed with " +
					std::to_string(err));
		sim::sleep_for(rng.below(100 * kUs));
	}
}

/* A message told of memory. */
void App::learn(const struct rds_recv_info &info)
{
	auto it = watch_.areas.find(info.cookie);

	if (watch_.is_liar(info.from.addr))
		return;
	if (it == watch_.areas.end() || it->second->user != slot ||
	    it->second->owner != watch_.slot_at(info.from))
		watch_.complain("rdma: " + who() + " was told of memory that is not there for it");
	else if (known_.size() < kMostAreas)
		known_.push_back({it->second, info.from});
}

void App::operate(uint32_t count, sim::Rng rng)
{
	if (known_.empty())
		return;

	auto it = known_.begin() + static_cast<long>(rng.below(known_.size()));
	const Known k = *it;

	if (rng.chance(50))
		known_.erase(it);
	with_flow("operate", k.area->owner, [this, k, count, rng](Flow &f) mutable {
		for (uint32_t i = 0; i < count && !stop_; i++)
			operate_once(f, k, rng);
	});
}

void App::operate_once(Flow &f, const Known &k, sim::Rng &rng)
{
	Area *a = k.area.get();
	Intent w = make_intent(k.area, rng);
	const bool silent = w.args.flags & RDS_RDMA_SILENT, alone = silent && rng.chance(500);
	const size_t bytes =
		alone ? 0 : traffic::kMinBytes + rng.below(rng.chance(100) ? 6000 : 200);
	int err = kEagain;

	if (!w.there)
		return; /* nothing left to do there */
	w.args.local = w.v.data();
	w.args.n_local = static_cast<unsigned int>(w.v.size());
	a->adds += w.args.kind == RDS_OP_FADD;
	for (int i = 0; i < kTries && passes_by(err) && !stop_; i++) {
		w.args.token = watch_.rdma.sends(
			{.owner = instance_,
			 .from = slot,
			 .to = a->owner,
			 .always = (w.args.flags & RDS_RDMA_NOTIFY_ME) != 0,
			 .failures = habits_.recverr,
			 .alone = alone,
			 .first = w.args.kind == RDS_OP_WRITE ||
				  (w.args.kind == RDS_OP_READ && w.args.flags & RDS_RDMA_FENCE),
			 .there = w.there});
		sim::say("%s: operation %llx of kind %u on area %llx at %llu, %llu bytes, flags "
			 "%llx",
			 who().c_str(), static_cast<unsigned long long>(w.args.token), w.args.kind,
			 static_cast<unsigned long long>(a->cookie),
			 static_cast<unsigned long long>(w.args.remote_addr),
			 static_cast<unsigned long long>(w.args.remote_bytes),
			 static_cast<unsigned long long>(w.args.flags));
		err = send_tagged(f, k.at, bytes, &w.args, 0);
		if (!err)
			return;
		watch_.rdma.refused(w.args.token);
		sim::sleep_for(rng.below(100 * kUs));
	}
	/* Atomics need the device to be there. */
	if (!passes_by(err) && err != kEopnotsupp && !stop_)
		watch_.complain("an operation of " + who() + " failed with " + std::to_string(err));
}

void App::unmap(sim::Rng &rng)
{
	if (own_.empty() || stop_)
		return;

	auto a = own_[rng.below(own_.size())];
	const bool now = rng.chance(500), all = rng.chance(300);

	std::erase(own_, a);
	running_++;
	sim::spawn("unmap", [this, a, now, all] {
		int err = rds_mr_free(socket_.core(), a->cookie, now ? RDS_RDMA_INVALIDATE : 0);

		if (err && (err != kEinval || !(a->flags & RDS_RDMA_USE_ONCE)))
			watch_.complain("a region of " + who() +
					" could not be freed: " + std::to_string(err));
		if (!err && (now || a->flags & RDS_RDMA_INVALIDATE))
			a->freeze();
		if (all && rds_mr_free(socket_.core(), 0, 0))
			watch_.complain("regions of " + who() + " could not be freed");
		running_--;
	});
}

/* How operations ended. */
void App::ops_ended()
{
	for (const struct rds_notice &n : socket_.notices()) {
		sim::say("%s: operation %llx ended with %d", who().c_str(),
			 static_cast<unsigned long long>(n.token), n.status);
		watch_.rdma.told(instance_, n.token, n.status);
	}
}

} // namespace story
