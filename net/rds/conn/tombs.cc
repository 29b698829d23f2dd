// SPDX-License-Identifier: GPL-2.0
#include "tombs.h"

namespace rds
{
namespace
{

constexpr uint32_t kBucketBytes = kTombBuckets * sizeof(Tomb *);

uint32_t hash_key(const TombKey &key, const HashKey &secret)
{
	const uint64_t words[] = {key.faddr.w[0], key.faddr.w[1], key.laddr.w[0], key.laddr.w[1]};

	return hash_words(words, 4, secret);
}

/* Of the paths in @which @t has @ports from now on.  The other ones of @t stay, and what is to be
 * freed is in @ports then. */
void replace_ports(Tomb &t, uint32_t which, TombPorts *&ports)
{
	TombPorts *old = t.ports;

	if (old)
		old->remove(which);
	if (!ports && old && !old->is_empty())
		return;
	if (ports && old)
		ports->add_all(*old);
	t.ports = ports;
	ports = old;
}

} // namespace

void TombPorts::add(unsigned int path, uint16_t port, uint64_t first)
{
	if (n_ == kTombPorts)
		return;
	first_[n_] = first;
	port_[n_] = port;
	path_[n_] = static_cast<uint8_t>(path);
	n_++;
}

void TombPorts::remove(uint32_t which)
{
	uint32_t left = 0;

	for (uint32_t i = 0; i < n_; i++) {
		if (which >> path_[i] & 1)
			continue;
		first_[left] = first_[i];
		port_[left] = port_[i];
		path_[left] = path_[i];
		left++;
	}
	n_ = left;
}

void TombPorts::add_all(const TombPorts &other)
{
	for (uint32_t i = 0; i < other.n_; i++)
		add(other.path_[i], other.port_[i], other.first_[i]);
}

uint32_t TombPorts::count(unsigned int path) const
{
	uint32_t n = 0;

	each_of(path, [&](uint16_t, uint64_t) { return ++n; });
	return n;
}

bool TombKey::operator==(const TombKey &o) const
{
	return faddr.w[0] == o.faddr.w[0] && faddr.w[1] == o.faddr.w[1] &&
	       laddr.w[0] == o.laddr.w[0] && laddr.w[1] == o.laddr.w[1] && scope == o.scope &&
	       tos == o.tos && transport == o.transport;
}

/* The namespace ends: nobody asks any more. */
Tombs::~Tombs()
{
	List<Tomb, &Tomb::age> all;
	{
		Guard g(lock_);

		all.splice_back(ages_);
	}
	while (Tomb *t = all.pop_front())
		destroy(t);
	rds_free(buckets_.load());
}

bool Tombs::make_buckets()
{
	Tomb **none = nullptr;

	if (buckets_.load_acquire())
		return true;

	void *p = rds_alloc(kBucketBytes, may_sleep());

	if (!p)
		return false;
	__builtin_memset(p, 0, kBucketBytes);
	if (!buckets_.compare_exchange(none, static_cast<Tomb **>(p)))
		rds_free(p); /* somebody else was faster */
	return true;
}

/* The one of @key, the youngest from now on; or nullptr. */
Tomb *Tombs::touch(const TombKey &key, uint32_t hash)
{
	Tomb **b = buckets_.load();
	Tomb *t = b ? b[hash % kTombBuckets] : nullptr;

	while (t && !(t->hash == hash && t->key == key))
		t = t->next;
	if (t) {
		ages_.remove(t);
		ages_.push_back(t);
	}
	return t;
}

void Tombs::enter(Tomb *t)
{
	Tomb *&head = buckets_.load()[t->hash % kTombBuckets];

	t->next = head;
	head = t;
	ages_.push_back(t);
	count_.store(count_.load() + 1);
}

void Tombs::take_out(Tomb *t)
{
	Tomb **at = &buckets_.load()[t->hash % kTombBuckets];

	while (*at != t)
		at = &(*at)->next;
	*at = t->next;
	ages_.remove(t);
	count_.store(count_.load() - 1);
}

Status Tombs::remember(const TombKey &key, uint32_t which, const TombCount (&counts)[kMaxPaths],
		       TombPorts *ports, const HashKey &secret)
{
	uint32_t hash = hash_key(key, secret);
	Tomb *made = make_buckets() ? create<Tomb>(may_sleep(), key, hash) : nullptr;
	Tomb *spare = made;

	if (!made) {
		destroy(ports);
		return Status::fail(err::kEnomem);
	}
	{
		Guard g(lock_);
		Tomb *t = touch(key, hash);

		if (!t) {
			spare = count_.load() >= kMaxTombstones ? ages_.front() : nullptr;
			if (spare)
				take_out(spare);
			t = made;
			enter(t);
		}
		t->which |= which;
		for (unsigned int i = 0; i < kMaxPaths; i++) {
			if (!(which >> i & 1))
				continue;
			t->gen[i] = counts[i].gen;
			t->next_rx_seq[i] = counts[i].next_rx_seq;
		}
		replace_ports(*t, which, ports);
	}
	destroy(spare);
	destroy(ports);
	return Status();
}

bool Tombs::recall(const TombKey &key, unsigned int index, TombCount &count, TombPorts *ports,
		   const HashKey &secret)
{
	if (!count_.load())
		return false;

	Guard g(lock_);
	const Tomb *t = touch(key, hash_key(key, secret));

	if (!t || !(t->which >> index & 1))
		return false;
	count = {t->next_rx_seq[index], t->gen[index], t->ports ? t->ports->count(index) : 0};
	if (t->ports && ports)
		t->ports->each_of(index, [&](uint16_t port, uint64_t first) {
			ports->add(index, port, first);
			return true;
		});
	return true;
}

bool Tombs::knows(const TombKey &key, const HashKey &secret)
{
	if (!count_.load())
		return false;

	Guard g(lock_);

	return touch(key, hash_key(key, secret)) != nullptr;
}

void Tombs::forget(const TombKey &key, uint32_t which, const HashKey &secret)
{
	TombPorts *ports = nullptr;
	Tomb *t;

	if (!count_.load())
		return;
	{
		Guard g(lock_);

		t = touch(key, hash_key(key, secret));
		if (t) {
			t->which &= ~which;
			replace_ports(*t, which, ports);
		}
		if (t && !t->which)
			take_out(t);
		else
			t = nullptr;
	}
	destroy(ports);
	destroy(t);
}

} // namespace rds
