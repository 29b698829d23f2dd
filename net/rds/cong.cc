// SPDX-License-Identifier: GPL-2.0
#include "cong.h"

namespace rds
{
namespace
{

constexpr unsigned int kWakeBatch = 16;

RDS_INLINE uint64_t le64(uint64_t v)
{
	return __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? v : __builtin_bswap64(v);
}

} // namespace

/* The ports that cleared: one port, a whole array of words, or all that was set. */
struct CongTable::Cleared {
	const uint64_t *words; /* nullptr: just @port */
	uint16_t port;
	bool all = false;

	bool has(uint16_t p) const
	{
		return all || (words ? words[p / 64] >> (p % 64) & 1 : p == port);
	}
};

Status CongMap::ensure_bits(enum rds_ctx ctx)
{
	if (bits_.load_acquire())
		return Status();

	void *p = rds_alloc(kCongMapBytes, ctx);
	Atomic<uint64_t> *none = nullptr;

	if (!p)
		return Status::fail(err::kEnomem);
	__builtin_memset(p, 0, kCongMapBytes);
	if (!bits_.compare_exchange(none, static_cast<Atomic<uint64_t> *>(p)))
		rds_free(p); /* somebody else was faster */
	return Status();
}

/* A word of the map has changed. */
void CongMap::note_word(uint64_t was, uint64_t is)
{
	if (!was && is)
		used_words_.fetch_add(1);
	else if (was && !is)
		used_words_.fetch_sub(1);
}

bool CongMap::set(uint16_t port)
{
	Atomic<uint64_t> *w = bits_.load_acquire();
	uint64_t bit = 1ull << (port % 64);
	uint64_t was = w ? w[port / 64].fetch_or(bit) : bit;

	if (was & bit)
		return false;
	note_word(was, was | bit);
	version_.fetch_add(1);
	return true;
}

bool CongMap::clear(uint16_t port)
{
	Atomic<uint64_t> *w = bits_.load_acquire();
	uint64_t bit = 1ull << (port % 64);
	uint64_t was = w ? w[port / 64].fetch_and(~bit) : 0;

	if (!(was & bit))
		return false;
	note_word(was, was & ~bit);
	version_.fetch_add(1);
	return true;
}

void CongMap::snapshot(uint64_t *words) const
{
	const Atomic<uint64_t> *w = bits_.load_acquire();

	for (uint32_t i = 0; i < kCongMapWords; i++)
		words[i] = w ? le64(w[i].load()) : 0;
}

Status CongMap::replace(uint64_t *words)
{
	Atomic<uint64_t> *w = bits_.load_acquire();
	uint64_t any = 0;

	if (!w) {
		for (uint32_t i = 0; i < kCongMapWords; i++)
			any |= words[i];
		if (!any)
			return Status();
		if (!ensure_bits(RDS_ATOMIC).ok())
			return Status::fail(err::kEnomem);
		w = bits_.load_acquire();
	}
	for (uint32_t i = 0; i < kCongMapWords; i++) {
		uint64_t now = le64(words[i]);
		uint64_t was = w[i].exchange(now);

		note_word(was, now);
		words[i] = was & ~now;
	}
	version_.fetch_add(1);
	return Status();
}

uint64_t CongMap::clear_all()
{
	Atomic<uint64_t> *w = bits_.load_acquire();
	uint64_t ports = 0;

	for (uint32_t i = 0; w && i < kCongMapWords; i++) {
		uint64_t was = w[i].load() ? w[i].exchange(0) : 0;

		note_word(was, 0);
		ports |= was;
	}
	return ports;
}

CongTable::~CongTable()
{
	/* Last use of the namespace: no reader is left, so objects may go one by one. */
	for (;;) {
		CongMap *any = nullptr;

		table_.for_each([&](CongMap &m) { any = &m; });
		if (!any)
			return;
		table_.remove(any);
		destroy(any);
	}
}

CongMap *CongTable::get(const struct rds_addr &addr, uint32_t seed)
{
	uint32_t h = hash_addr(addr, seed);
	auto match = [&](const CongMap &m) { return same_addr(m.addr, addr); };
	{
		RcuReader rcu;
		CongMap *found = table_.find(h, match);

		if (found)
			return found;
	}
	auto *made = create<CongMap>(RDS_MAY_SLEEP, addr);

	if (!made)
		return nullptr;

	CongMap *old = table_.insert(h, made, match);

	if (!old)
		return made;
	destroy(made);
	return old;
}

void CongTable::local_changed(Net &net, CongMap &map, uint16_t port, bool set)
{
	rds_trace_cong(&map.addr, port, set ? RDS_CONG_FULL : RDS_CONG_CLEAR);
	tell_peers(net, map);
	if (set)
		return;
	net.cong.wake_waiters(net, map, Cleared{nullptr, port});
	net.cong.wake_monitors(1ull << (port % 64));
}

Status CongTable::received(Net &net, CongMap &map, Message &m)
{
	auto *words = static_cast<uint64_t *>(rds_alloc(kCongMapBytes, RDS_ATOMIC));

	if (!words)
		return Status::fail(err::kEnomem);
	rds_payload_to_mem(m.payload(), 0, kCongMapBytes, words);

	Status st = map.replace(words);

	if (st.ok()) {
		uint64_t mask = 0;

		for (uint32_t i = 0; i < kCongMapWords; i++)
			mask |= words[i];
		net.count(RDS_S_cong_update_received);
		rds_trace_cong(&map.addr, 0, RDS_CONG_MAP);
		if (mask) {
			net.cong.wake_waiters(net, map, Cleared{words, 0});
			net.cong.wake_monitors(mask);
		}
	}
	rds_free(words);
	return st;
}

void CongTable::lost_peer(Net &net, CongMap &map)
{
	uint64_t ports = map.clear_all();

	if (!ports)
		return;
	rds_trace_cong(&map.addr, 0, RDS_CONG_FORGOTTEN);
	net.cong.wake_waiters(net, map, Cleared{nullptr, 0, true});
	net.cong.wake_monitors(ports);
}

Message *CongTable::make_update(const CongMap &map)
{
	auto *words = static_cast<uint64_t *>(rds_alloc(kCongMapBytes, RDS_MAY_SLEEP));

	if (!words)
		return nullptr;

	Message *m = message_create(kCongMapBytes, RDS_MAY_SLEEP);

	if (m) {
		map.snapshot(words);
		rds_payload_from_mem(m->payload(), words);
		wire::encode(m->hdr, kCongMapBytes, 0, 0, wire::kCongBitmap);
		m->flags = kMsgOnce;
		message_charge_payload(*m);
	}
	rds_free(words);
	return m;
}

Status CongTable::wait(CongWatch &s, CongMap &map, uint16_t port)
{
	auto *made = create<CongWaiter>(RDS_MAY_SLEEP);
	CongWaiter *spare = made;
	CongWaiter *w;
	{
		Guard g(lock);

		w = s.waits.front();
		while (w && !(w->map == &map && (w->any || w->port == port)))
			w = s.waits.next(w);
		if (!w && made) {
			w = made;
			spare = nullptr;
			made->who = &s;
			made->map = &map;
			made->port = port;
			made->any = s.n_waits >= kMaxCongWaits;
			map.waiters.push_back(made);
			s.waits.push_back(made);
			s.n_waits++;
		}
	}
	destroy(spare);
	if (!w)
		return Status::fail(err::kEnomem);
	if (s.monitor_on.load())
		s.monitor_mask.fetch_or(1ull << (port % 64));
	/* Registered first, looked second: a clear in between finds us or is seen here.  For the
	 * waiter the lock would do, but not for the mask. */
	full_fence();
	return map.test(port) ? Status::fail(err::kEnobufs) : Status();
}

void CongTable::forget(CongWatch &s)
{
	List<CongWaiter, &CongWaiter::sock_link> gone;
	{
		Guard g(lock);

		for (CongWaiter *w = s.waits.front(); w; w = s.waits.next(w))
			w->map->waiters.remove(w);
		gone.splice_back(s.waits);
		s.n_waits = 0;
		if (s.monitor_link.linked())
			monitors.remove(&s);
	}
	while (CongWaiter *w = gone.pop_front())
		destroy(w);
}

void CongTable::set_monitor(CongWatch &s, bool on, uint64_t mask)
{
	Guard g(lock);

	s.monitor_on.store(on);
	s.monitor_mask.store(mask);
	if (on && !s.monitor_link.linked())
		monitors.push_back(&s);
	else if (!on && s.monitor_link.linked())
		monitors.remove(&s);
	if (!on)
		s.cong_notice.store(0);
}

/* Takes up to kWakeBatch waiters of cleared ports off their lists. */
unsigned int CongTable::pick_waiters(CongMap &map, const Cleared &c, CongWaiter **out)
{
	unsigned int n = 0;
	CongWaiter *next;

	for (CongWaiter *w = map.waiters.front(); w && n < kWakeBatch; w = next) {
		next = map.waiters.next(w);
		if (!w->any && !c.has(w->port))
			continue;
		map.waiters.remove(w);
		w->who->waits.remove(w);
		w->who->n_waits--;
		w->who->cong_event.store(true);
		out[n++] = w;
	}
	return n;
}

void CongTable::wake_waiters(Net &net, CongMap &map, const Cleared &c)
{
	/* The bit was cleared before; pairs with the fences in wait() and step_aside_locked(). */
	full_fence();
	if (map.held.load())
		return_held(net, map);

	RcuReader rcu; /* keeps the sockets' memory */
	CongWaiter *w[kWakeBatch];
	unsigned int n;

	do {
		{
			Guard g(lock);
			n = pick_waiters(map, c, w);
		}
		net.count(RDS_S_cong_wakeups, n);
		for (unsigned int i = 0; i < n; i++) {
			wake(*w[i]->who, RDS_WAKE_CONG | RDS_WAKE_WRITE | RDS_WAKE_READ);
			destroy(w[i]);
		}
	} while (n == kWakeBatch);
}

void CongTable::wake_monitors(uint64_t mask)
{
	RcuReader rcu;
	CongWatch *woken[kWakeBatch];
	unsigned int n;

	do {
		n = 0;
		{
			Guard g(lock);
			CongWatch *s = monitors.front();

			for (; s && n < kWakeBatch; s = monitors.next(s)) {
				uint64_t hit = mask & s->monitor_mask.load();

				/* One that has the notice already was woken for it. */
				if (hit && (s->cong_notice.fetch_or(hit) & hit) != hit)
					woken[n++] = s;
			}
		}
		for (unsigned int i = 0; i < n; i++)
			wake(*woken[i], RDS_WAKE_READ);
	} while (n == kWakeBatch);
}

} // namespace rds
