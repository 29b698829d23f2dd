// SPDX-License-Identifier: GPL-2.0
#include "cong.h"

namespace rds
{
namespace
{

void free_map(struct rds_rcu_head *h)
{
	destroy(container_of(h, &CongMap::rcu));
}

} // namespace

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
	else
		make_log(ctx);
	return Status();
}

/* Without memory for it all changes are told by whole maps. */
void CongMap::make_log(enum rds_ctx ctx)
{
	auto *log =
		static_cast<Atomic<uint32_t> *>(rds_alloc(kMapLog * sizeof(Atomic<uint32_t>), ctx));

	if (!log)
		return;
	/* No version that has this place. */
	for (uint32_t i = 0; i < kMapLog; i++)
		log[i].store((i + 1) << 16);
	log_.store_release(log);
}

/* The bit of @port has changed, which raises the version.  Who sees the new one, and not yet the
 * entry, takes the change for one that is not known. */
void CongMap::note_change(uint16_t port)
{
	Atomic<uint32_t> *log = log_.load_acquire();
	const uint32_t version = version_.fetch_add(1) + 1;

	if (log)
		log[version % kMapLog].store_release(version << 16 | port);
}

bool CongMap::changes(uint32_t since, uint32_t upto, wire::MapChanges &out) const
{
	const Atomic<uint32_t> *log = log_.load_acquire();

	if (!log || upto - since > kMapLog)
		return false;
	for (uint32_t v = since + 1; v != upto + 1; v++) {
		const uint32_t entry = log[v % kMapLog].load_acquire();
		const auto port = static_cast<uint16_t>(entry);

		if ((entry ^ v << 16) >> 16 || (!out.has(port) && !out.add(port, test(port))))
			return false;
	}
	return true;
}

/* A word of the map has changed.  The time comes before the count that says that there is one. */
void CongMap::note_word(uint64_t was, uint64_t is)
{
	if (!was && is) {
		if (!any())
			any_since_.set_to_now();
		used_words_.fetch_add(1);
	} else if (was && !is) {
		used_words_.fetch_sub(1);
	}
}

bool CongMap::set(uint16_t port)
{
	Atomic<uint64_t> *w = bits_.load_acquire();
	uint64_t bit = 1ull << (port % 64);
	uint64_t was = w ? w[port / 64].fetch_or(bit) : bit;

	if (was & bit)
		return false;
	note_word(was, was | bit);
	cleared_.store(false);
	note_change(port);
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
	cleared_.store(true);
	note_change(port);
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
	bool news = false;

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
		uint64_t was = w[i].load();

		if (was != now) {
			was = w[i].exchange(now);
			note_word(was, now);
			news = true;
		}
		words[i] = was & ~now;
	}
	if (news)
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

CongTable::CongTable(struct rds_os_net *os) : os_(os)
{
	rds_work_init(&reap_work_, reap_fn, RDS_WORK_LEAF);
}

CongTable::~CongTable()
{
	rds_work_cancel_sync(&reap_work_);
	table_.drain([](CongMap *m) {
		bug_on(m->refs.get_unless_zero(), "a map is left that somebody has");
		destroy(m);
	});
	destroy(index_.load());
}

CongMap *CongTable::get(const struct rds_addr &addr, uint32_t scope, Whose whose,
			const HashKey &key)
{
	const uint64_t words[] = {addr.w[0], addr.w[1], static_cast<uint64_t>(whose) << 32 | scope};
	const uint32_t h = hash_words(words, 3, key);
	auto take = [&](CongMap &m) {
		return same_addr(m.addr, addr) && m.scope == scope && m.whose == whose &&
		       m.refs.get_unless_zero();
	};
	{
		RcuReader rcu;
		CongMap *found = table_.find(h, take);

		if (found)
			return found;
	}
	auto *made = create<CongMap>(may_sleep(), addr, scope, whose);

	if (!made)
		return nullptr;

	CongMap *old = table_.insert(h, made, take);

	if (!old)
		return made;
	destroy(made);
	return old;
}

void CongTable::put(CongMap &map)
{
	if (!map.refs.put())
		return;

	CongMap *before = gone_.load();

	do
		map.next_gone = before;
	while (!gone_.compare_exchange(before, &map));
	rds_work_queue(&reap_work_, os_);
}

void CongTable::reap_fn(struct rds_work *w)
{
	container_of(w, &CongTable::reap_work_)->reap();
}

void CongTable::reap()
{
	for (CongMap *next, *m = gone_.exchange(nullptr); m; m = next) {
		next = m->next_gone;
		bug_on(!table_.remove(m), "a map is reaped twice");
		rds_rcu_defer(&m->rcu, free_map);
	}
}

void CongTable::local_changed(Net &net, CongMap &map, uint16_t port, bool set)
{
	rds_trace_cong(net.os, 1, &map.addr, port, set ? RDS_CONG_FULL : RDS_CONG_CLEAR);
	tell_peers(net);
	if (set)
		return;
	port_cleared(net, map);
	net.cong.wake_port(net, map, port);
	net.cong.wake_any(net);
	net.cong.wake_monitors(1ull << (port % 64));
}

Status CongTable::received(Net &net, CongMap &map, Message &m)
{
	auto *words = static_cast<uint64_t *>(rds_alloc(kCongMapBytes, RDS_ATOMIC));

	if (!words)
		return Status::fail(err::kEnomem);

	Status st(rds_payload_to_mem(m.payload(), 0, kCongMapBytes, words));

	if (st.ok())
		st = map.replace(words);

	if (st.ok()) {
		uint64_t mask = 0;

		for (uint32_t i = 0; i < kCongMapWords; i++)
			mask |= words[i];
		net.count(RDS_S_cong_update_received);
		rds_trace_cong(net.os, 0, &map.addr, 0, RDS_CONG_MAP);
		if (mask) {
			port_cleared(net, map);
			if (map.wanted.load()) {
				net.cong.wake_ports(net, map, words);
				net.cong.wake_any(net);
				net.cong.wake_monitors(mask);
			}
		}
	}
	rds_free(words);
	return st;
}

Status CongTable::heard(Net &net, CongMap &map, const wire::MapChanges &c)
{
	wire::MapChanges cleared;
	uint64_t mask = 0;

	/* First, for what is heard again would find its ports clear. */
	if (c.full && !map.ensure_bits(RDS_ATOMIC).ok())
		return Status::fail(err::kEnomem);
	net.count(RDS_S_cong_update_received);
	for (uint8_t i = 0; i < c.n; i++) {
		const bool full = c.is_full(i);

		if (full ? !map.set(c.port[i]) : !map.clear(c.port[i]))
			continue;
		rds_trace_cong(net.os, 0, &map.addr, c.port[i],
			       full ? RDS_CONG_FULL : RDS_CONG_CLEAR);
		if (!full && cleared.add(c.port[i], false))
			mask |= 1ull << (c.port[i] % 64);
	}
	if (!cleared.n)
		return Status();
	port_cleared(net, map);
	if (!map.wanted.load())
		return Status();
	for (uint8_t i = 0; i < cleared.n; i++)
		net.cong.wake_port(net, map, cleared.port[i]);
	net.cong.wake_any(net);
	net.cong.wake_monitors(mask);
	return Status();
}

void CongTable::lost_peer(Net &net, CongMap &map)
{
	uint64_t ports = map.clear_all();

	if (!ports)
		return;
	rds_trace_cong(net.os, 0, &map.addr, 0, RDS_CONG_FORGOTTEN);
	port_cleared(net, map);
	if (!map.wanted.load())
		return;
	net.cong.wake_all(net, map);
	net.cong.wake_any(net);
	net.cong.wake_monitors(ports);
}

Message *CongTable::make_update(const CongMap &map)
{
	auto *words = static_cast<uint64_t *>(rds_alloc(kCongMapBytes, may_sleep()));

	if (!words)
		return nullptr;

	Message *m = message_create(kCongMapBytes, may_sleep());

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

Message *CongTable::make_changes(const wire::MapChanges &c)
{
	Message *m = message_create(0, may_sleep());

	if (m) {
		wire::encode_changes(m->hdr, c);
		m->flags = kMsgOnce;
	}
	return m;
}

} // namespace rds
