// SPDX-License-Identifier: GPL-2.0
/*
 * cong_wait.cc: the sockets that wait for ports, and those that watch them.
 */
#include "cong.h"

namespace rds
{
namespace
{

constexpr unsigned int kWakeBatch = 16;

void wake_sender(Net &net, CongWatch &s) RDS_READS(kRcu)
{
	net.count(RDS_S_cong_wakeups);
	s.cong_event.store(true);
	wake(s, RDS_WAKE_CONG | RDS_WAKE_WRITE | RDS_WAKE_READ);
}

/* @take gives up to kWakeBatch that are on no list any more, with the lock, and @wake wakes each
 * without it; until there are no more. */
template <typename T, typename Take, typename Wake>
void wake_in_batches(Take take, Wake wake)
{
	RcuReader rcu; /* keeps the sockets' memory */
	T *batch[kWakeBatch];
	unsigned int n;

	do {
		n = take(batch);
		for (unsigned int i = 0; i < n; i++)
			wake(*batch[i]);
	} while (n == kWakeBatch);
}

template <typename T, ListNode T::*M>
unsigned int pop(List<T, M> &from, T **out)
{
	unsigned int n = 0;

	while (n < kWakeBatch && !from.empty())
		out[n++] = from.pop_front();
	return n;
}

/* Are more than a few of these ports set? */
bool are_many(const uint64_t *words)
{
	unsigned int n = 0;

	for (uint32_t i = 0; i < kCongMapWords && n <= kWakeBatch; i++)
		for (uint64_t left = words[i]; left && n <= kWakeBatch; left &= left - 1)
			n++;
	return n > kWakeBatch;
}

void wake_waiter(Net &net, CongWaiter &w) RDS_READS(kRcu)
{
	wake_sender(net, *w.who);
	net.cong.put(*w.map);
	destroy(&w);
}

} // namespace

/* By the map's hash, which has the namespace's key: nobody can choose ports that share a list. */
CongTable::PortList *CongTable::list_of(const CongMap &map, uint16_t port) const
{
	Index *index = index_.load_acquire();
	uint32_t h = hash_mix(uint64_t{port} << 32 | map.node.hash);

	return index ? &index->lists[h % kCongIndexLists] : nullptr;
}

CongWaiter *CongTable::first_of(const CongMap &map, uint16_t port) const
{
	PortList *all = list_of(map, port);
	CongWaiter *w = all ? all->front() : nullptr;

	while (w && (w->map != &map || w->port != port))
		w = all->next(w);
	return w;
}

bool CongTable::ensure_index()
{
	Index *none = nullptr, *made;

	if (index_.load_acquire())
		return true;
	made = create<Index>(may_sleep());
	if (made && !index_.compare_exchange(none, made))
		destroy(made); /* somebody else was faster */
	return index_.load_acquire();
}

void CongTable::add(CongWatch &s, CongMap &map, uint16_t port, CongWaiter &w)
{
	bug_on(s.n_waits >= kMaxCongWaits, "a socket waits for too many ports");
	map.refs.get();
	w.who = &s;
	w.map = &map;
	w.port = port;
	map.waiters.push_back(&w);

	CongWaiter *first = first_of(map, port);

	(first ? first->others : *list_of(map, port)).push_back(&w);
	s.waits.push_back(&w);
	write_once(s.n_waits, s.n_waits + 1);
}

void CongTable::unlink(CongWaiter &w)
{
	PortList &firsts = *list_of(*w.map, w.port);

	w.map->waiters.remove(&w);
	if (CongWaiter *next = w.others.pop_front()) {
		next->others.splice_back(w.others);
		firsts.insert_before(&w, next);
	}
	firsts.remove(&w); /* or from the others of the first */
	w.who->waits.remove(&w);
	write_once(w.who->n_waits, w.who->n_waits - 1);
}

Status CongTable::wait(CongWatch &s, CongMap &map, uint16_t port)
{
	auto *spare = ensure_index() ? create<CongWaiter>(may_sleep()) : nullptr;
	bool waits = true;
	{
		Guard g(lock);
		CongWaiter *w = s.waits.front();

		while (w && (w->map != &map || w->port != port))
			w = s.waits.next(w);
		if (w || s.any_link.linked()) {
			/* It is woken anyway. */
		} else if (s.n_waits >= kMaxCongWaits) {
			any.push_back(&s);
		} else if (spare) {
			add(s, map, port, *spare);
			spare = nullptr;
		} else {
			waits = false;
		}
	}
	destroy(spare);
	if (!waits)
		return Status::fail(err::kEnomem);
	map.wanted.store(true);
	/* Registered first, looked second: a clear in between finds us or is seen here.  For the
	 * waiter the lock would do, but not for @wanted. */
	full_fence();
	return map.test(port) ? Status::fail(err::kEnobufs) : Status();
}

bool CongTable::arm_monitor(CongWatch &s, CongMap &map, uint16_t port)
{
	if (s.monitor_on.load())
		s.armed.fetch_or(1ull << (port % 64));
	map.wanted.store(true);
	full_fence(); /* as in wait() */
	return map.test(port);
}

void CongTable::forget(CongWatch &s)
{
	List<CongWaiter, &CongWaiter::sock_link> gone;
	{
		Guard g(lock);

		while (CongWaiter *w = s.waits.front()) {
			unlink(*w);
			gone.push_back(w);
		}
		if (s.any_link.linked())
			any.remove(&s);
		if (s.monitor_link.linked())
			monitors.remove(&s);
		if (s.waking_link.linked())
			waking.remove(&s);
	}
	while (CongWaiter *w = gone.pop_front()) {
		put(*w->map);
		destroy(w);
	}
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
	if (on)
		return;
	s.armed.store(0);
	s.cong_notice.store(0);
}

/* ---- a port of @map has cleared ---- */

void CongTable::port_cleared(Net &net, CongMap &map)
{
	/* The bit was cleared before; pairs with the fences in wait() and hold_port_locked(). */
	full_fence();
	if (map.held.load())
		return_held(net);
}

void CongTable::wake_port(Net &net, CongMap &map, uint16_t port)
{
	auto take = [&](CongWaiter **out) {
		Guard g(lock);
		CongWaiter *next, *w = first_of(map, port);
		unsigned int n = 0;

		for (; w && n < kWakeBatch; w = next) {
			next = w->others.front();
			unlink(*w);
			out[n++] = w;
		}
		return n;
	};

	wake_in_batches<CongWaiter>(take,
				    [&](CongWaiter &w) RDS_READS(kRcu) { wake_waiter(net, w); });
}

bool CongTable::has_waiters(const CongMap &map)
{
	Guard g(lock);

	return !map.waiters.empty();
}

/* All whose bit is set in @words.  A few ports are looked up.  For more the map's waiters are gone
 * through, once: the peer chooses how many ports clear, and we how many wait. */
void CongTable::wake_ports(Net &net, CongMap &map, const uint64_t *words)
{
	if (!has_waiters(map))
		return;
	if (are_many(words)) {
		wake_listed(net, map, words);
		return;
	}
	for (uint32_t i = 0; i < kCongMapWords; i++)
		for (uint64_t left = words[i]; left; left &= left - 1)
			wake_port(net, map, static_cast<uint16_t>(i * 64 + __builtin_ctzll(left)));
}

void CongTable::wake_listed(Net &net, CongMap &map, const uint64_t *words)
{
	List<CongWaiter, &CongWaiter::map_link> now;
	RcuReader rcu; /* keeps the sockets' memory */
	{
		Guard g(lock);

		for (CongWaiter *next, *w = map.waiters.front(); w; w = next) {
			next = map.waiters.next(w);
			if (words[w->port / 64] >> w->port % 64 & 1) {
				unlink(*w);
				now.push_back(w);
			}
		}
	}
	while (CongWaiter *w = now.pop_front())
		wake_waiter(net, *w);
}

void CongTable::wake_all(Net &net, CongMap &map)
{
	auto take = [&](CongWaiter **out) {
		Guard g(lock);
		unsigned int n = 0;

		for (; n < kWakeBatch && !map.waiters.empty(); n++) {
			out[n] = map.waiters.front();
			unlink(*out[n]);
		}
		return n;
	};

	wake_in_batches<CongWaiter>(take,
				    [&](CongWaiter &w) RDS_READS(kRcu) { wake_waiter(net, w); });
}

/* Those that wait for too many ports: not once more those that do so again meanwhile.  On @now they
 * are where forget() finds them. */
void CongTable::wake_any(Net &net)
{
	List<CongWatch, &CongWatch::any_link> now;
	{
		Guard g(lock);

		now.splice_back(any);
	}
	wake_in_batches<CongWatch>(
		[&](CongWatch **out) {
			Guard g(lock);

			return pop(now, out);
		},
		[&](CongWatch &s) RDS_READS(kRcu) { wake_sender(net, s); });
}

/* Those that have the notice already were woken for it.  Any task that wakes monitors wakes all
 * that are about to be. */
void CongTable::wake_monitors(uint64_t mask)
{
	{
		Guard g(lock);

		for (CongWatch *s = monitors.front(); s; s = monitors.next(s)) {
			uint64_t hit = mask & s->monitor_mask.load();

			if (s->armed.load() & mask)
				hit |= s->armed.fetch_and(~mask) & mask;
			if (hit && (s->cong_notice.fetch_or(hit) & hit) != hit &&
			    !s->waking_link.linked())
				waking.push_back(s);
		}
	}
	wake_in_batches<CongWatch>(
		[&](CongWatch **out) {
			Guard g(lock);

			return pop(waking, out);
		},
		[](CongWatch &s) RDS_READS(kRcu) { wake(s, RDS_WAKE_READ); });
}

} // namespace rds
