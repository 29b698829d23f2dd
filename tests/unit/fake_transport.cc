// SPDX-License-Identifier: GPL-2.0
#include "fake_transport.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <utility>

#include "net/rds/wire.h"
#include "sim.h"

namespace fake
{
namespace
{

struct State {
	std::vector<Wire *> wires;
	std::vector<void *> discarded;
	Wire defaults;
	Regions regions;
	struct rds_module module;
	std::map<struct rds_os_net *, int> users;
};

State &state()
{
	static auto *s = new State;
	return *s;
}

void use(struct rds_os_net *os)
{
	state().users[os]++;
}

void unuse(struct rds_os_net *os)
{
	state().users[os]--;
}

Wire *as_wire(void *tp)
{
	return static_cast<Wire *>(tp);
}

void *path_alloc(struct rds_path *path)
{
	/* Fails when the core's own allocations would. */
	void *probe = rds_alloc(1, RDS_MAY_SLEEP);

	if (!probe)
		return nullptr;
	rds_free(probe);

	auto *w = new Wire(state().defaults);

	w->path = path;
	state().wires.push_back(w);
	return w;
}

void path_free(void *tp)
{
	auto &v = state().wires;

	v.erase(std::find(v.begin(), v.end(), tp));
	delete as_wire(tp);
}

int ended(const void *tp)
{
	return static_cast<const Wire *>(tp)->ended;
}

int midway(const void *tp)
{
	return static_cast<const Wire *>(tp)->midway;
}

uint32_t wants(const void *tp)
{
	return static_cast<const Wire *>(tp)->wants;
}

int initiates(const void *tp)
{
	return static_cast<const Wire *>(tp)->initiates;
}

int connect(void *tp)
{
	as_wire(tp)->calls.push_back("connect");
	as_wire(tp)->sent.clear();
	return as_wire(tp)->connect_result;
}

enum rds_drop_reason unanswered(const void *tp)
{
	return static_cast<const Wire *>(tp)->unanswered;
}

int adopt(void *tp, void *handle)
{
	(void)handle;
	as_wire(tp)->calls.push_back("adopt");
	as_wire(tp)->sent.clear();
	if (auto fn = std::exchange(as_wire(tp)->on_adopt, nullptr))
		fn();
	return as_wire(tp)->adopt_result;
}

void discard(void *handle)
{
	state().discarded.push_back(handle);
}

void takeover_refused(void *tp)
{
	as_wire(tp)->takeovers_refused++;
}

void shutdown(void *tp)
{
	Wire *w = as_wire(tp);

	w->calls.push_back("shutdown");
	if (auto fn = std::exchange(w->on_shutdown, nullptr))
		fn();
}

void close(void *tp)
{
	Wire *w = as_wire(tp);

	if (w->inside)
		sim::fail("close() while xmit() runs");
	w->calls.push_back("close");
	while (!w->ops.empty())
		w->op_done(3); /* dropped */
}

bool is_alone(const struct rds_msg *m)
{
	const struct rds_op *op = rds_msg_op(m);

	return op && op->alone;
}

/* Of @all bytes of @x, of which the first @n were taken: operations begin, frames leave. */
void take(Wire *w, const struct rds_xmit *x, const host::Bytes &all, size_t n)
{
	size_t begin = 0, from = x->off, to = x->off + n;

	for (unsigned int i = 0; i < x->n; i++) {
		struct rds_msg *m = x->msgs[i];
		size_t end = begin + RDS_HEADER_BYTES + rds_msg_len(m);
		bool alone = is_alone(m);

		if (from <= begin && begin < to && rds_msg_op(m)) {
			rds_msg_get(m);
			w->ops.push_back(m);
		}
		const size_t first = std::max(begin, from), last = std::min(end, to);

		if (first < last && !alone)
			w->sent.insert(w->sent.end(), &all[first], &all[first] + (last - first));
		begin = end;
	}
}

int mr_get(struct rds_os_net *, const struct rds_addr *, uint32_t, struct rds_pages *pages,
	   int write, uint32_t *key, uint32_t *at, void **mr)
{
	Regions &r = state().regions;

	if (r.mr_get_result)
		return r.mr_get_result;

	auto *region = new Region{pages, r.next_key++, write != 0, {}};

	r.live.push_back(region);
	*key = region->key;
	*at = r.at;
	*mr = region;
	return 0;
}

void mr_free(void *mr, int now)
{
	auto *region = static_cast<Region *>(mr);
	auto &live = state().regions.live;

	live.erase(std::find(live.begin(), live.end(), region));
	rds_pages_unpin(region->pages);
	state().regions.calls = region->calls;
	delete region;
	state().regions.freed++;
	state().regions.freed_now += now != 0;
}

void mr_sync(void *mr, int for_device)
{
	static_cast<Region *>(mr)->calls.push_back(for_device ? "device" : "sync");
}

void mr_flush(struct rds_os_net *, const struct rds_addr *, uint32_t)
{
	state().regions.flushed++;
}

unsigned int atomics(struct rds_os_net *, const struct rds_addr *, uint32_t)
{
	return state().regions.atomics;
}

void append(host::Bytes &out, struct rds_msg *m)
{
	const unsigned char *h = rds_msg_header(m);
	size_t at = out.size() + RDS_HEADER_BYTES;

	out.insert(out.end(), h, h + RDS_HEADER_BYTES);
	out.resize(at + rds_msg_len(m));
	if (rds_msg_len(m))
		rds_payload_to_mem(rds_msg_payload(m), 0, rds_msg_len(m), out.data() + at);
}

long xmit(void *tp, const struct rds_xmit *x)
{
	Wire *w = as_wire(tp);
	host::Bytes all;

	if (w->inside)
		sim::fail("two callers of xmit()");
	w->inside = true;
	w->xmits++;
	w->last_batch = x->n;
	w->last_more = x->more;
	w->ends += !x->more;
	w->last_acks = x->acks;
	for (unsigned int i = 0; i < x->n; i++)
		append(all, x->msgs[i]);
	/* A place to lose the processor, as a real transport has many. */
	rds_free(rds_alloc(1, RDS_MAY_SLEEP));
	if (auto fn = std::exchange(w->on_xmit, nullptr))
		fn();
	w->inside = false;
	if (w->xmit_error)
		return w->xmit_error;

	size_t n = std::min(all.size() - x->off, w->room);

	if (!n)
		return w->no_room;
	w->room -= w->room == SIZE_MAX ? 0 : n;
	take(w, x, all, n);
	return static_cast<long>(n);
}

void facts(const void *tp, struct rds_link_facts *f)
{
	*f = static_cast<const Wire *>(tp)->facts;
}

void recv_retry(void *tp)
{
	as_wire(tp)->calls.push_back("recv_retry");
}

struct rds_transport table = {
	.name = "fake",
	.type = 2,
	.caps = RDS_CAP_PREFER_LOOP | RDS_CAP_TOS_ZERO,
	.max_paths = 1,
	.call_ms = kCallMs,
	.owner = nullptr,
	.use = use,
	.unuse = unuse,
	.laddr_check = host::laddr_is_local,
	.path_alloc = path_alloc,
	.path_free = path_free,
	.initiates = initiates,
	.connect = connect,
	.unanswered = unanswered,
	.adopt = adopt,
	.discard = discard,
	.takeover_refused = takeover_refused,
	.shutdown = shutdown,
	.close = close,
	.ended = ended,
	.xmit = xmit,
	.other_end = nullptr,
	.recv_retry = recv_retry,
	.midway = midway,
	.wants = wants,
	.facts = facts,
	.mr_get = nullptr,
	.mr_free = mr_free,
	.mr_sync = mr_sync,
	.mr_flush = nullptr,
	.atomics = atomics,
	.n_stats = 0,
	.stat_names = nullptr,
	.stats = nullptr,
};

} // namespace

std::string Wire::history() const
{
	std::string out;

	for (const auto &c : calls)
		out += (out.empty() ? "" : " ") + c;
	return out;
}

void Wire::op_done(int status)
{
	struct rds_msg *m = ops.front();

	ops.erase(ops.begin());
	rds_op_done(path, m, status);
	rds_msg_put(m);
}

void reset()
{
	for (Wire *w : state().wires)
		delete w;
	state().wires.clear();
	state().discarded.clear();
	state().defaults = Wire();
	state().module.refs = 0;
	state().module.dying = false;
	state().users.clear();
	table.owner = &state().module;
	table.caps = RDS_CAP_PREFER_LOOP | RDS_CAP_TOS_ZERO;
	table.max_paths = 1;
	table.call_ms = kCallMs;
	table.midway = midway;
	for (Region *r : state().regions.live)
		delete r;
	state().regions = Regions();
	set_rdma(false);
}

const struct rds_transport *ops()
{
	return &table;
}

struct rds_module &module()
{
	return state().module;
}

int users(host::Net &net)
{
	return state().users[net.os()];
}

void set_caps(unsigned int caps)
{
	table.caps = caps;
}

void set_max_paths(unsigned int n)
{
	table.max_paths = n;
}

void set_call_ms(unsigned int ms)
{
	table.call_ms = ms;
}

void set_midway(bool has)
{
	table.midway = has ? midway : nullptr;
}

void set_rdma(bool has)
{
	table.mr_get = has ? mr_get : nullptr;
	table.mr_flush = has ? mr_flush : nullptr;
}

Regions &regions()
{
	return state().regions;
}

Wire &defaults()
{
	return state().defaults;
}

std::vector<Wire *> &wires()
{
	return state().wires;
}

Wire &wire()
{
	if (state().wires.size() != 1)
		sim::fail("not exactly one path");
	return *state().wires[0];
}

std::vector<void *> &discarded()
{
	return state().discarded;
}

int arrive(struct rds_path *path, rds::wire::Header h, const host::Bytes &data)
{
	struct rds_src src;
	struct rds_msg *m = nullptr;
	int ret;

	src.data = data.data();
	src.len = data.size();
	ret = rds_recv_begin(path, h.sequence, &src, static_cast<uint32_t>(src.len), RDS_ATOMIC,
			     &m);
	if (ret)
		return ret;
	if (!data.empty() &&
	    rds_recv_more(path, m, &src, 0, static_cast<uint32_t>(data.size()), RDS_ATOMIC))
		sim::fail("append failed");
	ret = rds_recv_incoming(path, m);
	if (ret)
		rds_msg_put(m);
	return ret;
}

int arrive(struct rds_path *path, uint64_t seq, uint16_t sport, uint16_t dport,
	   const host::Bytes &data, uint8_t flags)
{
	rds::wire::Header h;

	rds::wire::encode(h, static_cast<uint32_t>(data.size()), sport, dport, flags);
	rds::wire::put64(h.sequence, seq);
	return arrive(path, h, data);
}

std::vector<Frame> frames(const host::Bytes &sent)
{
	std::vector<Frame> out;
	size_t at = 0;

	while (sent.size() - at >= RDS_HEADER_BYTES) {
		rds::wire::Header h;

		memcpy(static_cast<void *>(&h), sent.data() + at, sizeof(h));

		auto f = rds::wire::decode(h);

		at += RDS_HEADER_BYTES;
		if (sent.size() - at < f.len)
			break;
		out.push_back(Frame{f.seq, f.sport, f.dport, f.flags, f.ack, h,
				    host::Bytes(sent.begin() + static_cast<long>(at),
						sent.begin() + static_cast<long>(at + f.len))});
		at += f.len;
	}
	return out;
}

} // namespace fake
