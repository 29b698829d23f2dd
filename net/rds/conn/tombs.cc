// SPDX-License-Identifier: GPL-2.0
#include "tombs.h"

#include "../bug.h"

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

/* Memory of @n bytes, as the allocator has it: a power of two. */
uint32_t memory_of(uint64_t n)
{
	uint32_t bytes = sizeof(uint64_t);

	while (bytes < n)
		bytes *= 2;
	return n ? bytes : 0;
}

constexpr uint64_t kMostBelow = (1ull << 43) - 1;
constexpr uint32_t kPastBytes = kMaxPaths * sizeof(GenCounts);

} // namespace

bool TombPorts::make_room(uint32_t n)
{
	if (n)
		notes_ = static_cast<uint64_t *>(rds_alloc(n * sizeof(*notes_), may_sleep()));
	room_ = notes_ ? n : 0;
	return room_ == n;
}

void TombPorts::add(unsigned int path, unsigned int ago, uint16_t port, uint64_t below)
{
	if (bug_on(n_ == room_, "more ports were refused than were counted"))
		return;
	notes_[n_++] =
		(below < kMostBelow ? below : kMostBelow) << 21 | ago << 19 | path << 16 | port;
}

void TombPorts::add_others(const TombPorts &from, uint32_t which)
{
	for (uint32_t i = 0; i < from.n_; i++) {
		const uint64_t note = from.notes_[i];

		if (!(which >> path_of(note) & 1))
			add(path_of(note), ago_of(note), static_cast<uint16_t>(note),
			    below_of(note));
	}
}

void TombPorts::remove(uint32_t which)
{
	uint32_t left = 0;

	for (uint32_t i = 0; i < n_; i++)
		if (!(which >> path_of(notes_[i]) & 1))
			notes_[left++] = notes_[i];
	n_ = left;
}

void TombPorts::swap(TombPorts &other)
{
	uint64_t *notes = notes_;
	const uint32_t n = n_, room = room_;

	notes_ = other.notes_;
	n_ = other.n_;
	room_ = other.room_;
	other.notes_ = notes;
	other.n_ = n;
	other.room_ = room;
}

uint32_t TombPorts::count(unsigned int path) const
{
	uint32_t n = 0;

	each_of(path, [&](unsigned int, uint16_t, uint64_t) { return ++n; });
	return n;
}

uint32_t TombPorts::count_others(uint32_t which) const
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < n_; i++)
		n += !(which >> path_of(notes_[i]) & 1);
	return n;
}

uint32_t TombPorts::spare() const
{
	constexpr uint64_t note = sizeof(*notes_);

	return room_ > kTombPorts ? memory_of(room_ * note) - memory_of(kTombPorts * note) : 0;
}

bool TombPast::make_room()
{
	of_ = static_cast<GenCounts *>(rds_alloc(kPastBytes, may_sleep()));
	for (unsigned int i = 0; of_ && i < kMaxPaths; i++)
		of_[i] = {};
	return of_;
}

void TombPast::set(unsigned int path, const GenCounts &past)
{
	if (of_)
		of_[path] = past;
}

bool TombPast::any_others(uint32_t which) const
{
	bool any = false;

	for (unsigned int i = 0; of_ && i < kMaxPaths; i++)
		any = any || (!(which >> i & 1) && of_[i].any());
	return any;
}

void TombPast::swap(TombPast &other)
{
	GenCounts *of = of_;

	of_ = other.of_;
	other.of_ = of;
}

uint32_t TombPast::spare() const
{
	return of_ ? memory_of(kPastBytes) : 0;
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
	TombList all;
	{
		Guard g(lock_);

		while (spares_.pop_front())
			;
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
	if (t && t->spare.linked()) {
		spares_.remove(t);
		spares_.push_back(t);
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
	give_spare(*t);
	ages_.remove(t);
	count_.store(count_.load() - 1);
}

/* It is to go, and the spare memory that it has. */
void Tombs::give_spare(Tomb &t)
{
	if (t.spare.linked())
		spares_.remove(&t);
	spare_.store(spare_.load() - t.spare_bytes());
}

/* It had @had bytes of spare memory, and less now. */
void Tombs::account(Tomb &t, uint32_t had)
{
	spare_.store(spare_.load() - had + t.spare_bytes());
	if (t.spare.linked() && !t.spare_bytes())
		spares_.remove(&t);
}

/* All that the tombstone is to have, and room for what is known of paths that are not in @which.
 * Only the connection that is its own adds to it, and that is ours.  False: no memory. */
bool Tombs::gather(const TombKey &key, uint32_t hash, uint32_t which,
		   const TombCount (&counts)[kMaxPaths], const TombPorts &ports, Words &all)
{
	uint32_t others = 0;
	bool past = false;
	{
		Guard g(lock_);
		const Tomb *t = touch(key, hash);

		if (t) {
			others = t->ports.count_others(which);
			past = t->past.any_others(which);
		}
	}
	for (unsigned int i = 0; i < kMaxPaths; i++)
		past = past || (which >> i & 1 && counts[i].past.any());
	if (!all.ports.make_room(ports.size() + others) || (past && !all.past.make_room()))
		return false;
	all.ports.add_others(ports, 0);
	for (unsigned int i = 0; i < kMaxPaths; i++)
		if (which >> i & 1)
			all.past.set(i, counts[i].past);
	return true;
}

/* A tombstone, or @t, which has one already, is to have @spare bytes.  Those that make room join
 * @gone.  -ENOBUFS. */
Status Tombs::make_place(Tomb *t, uint32_t spare, TombsFull full, TombList &gone)
{
	const uint32_t had = t ? t->spare_bytes() : 0;

	if (spare_.load() - had + spare > kTombSpare && full == TombsFull::kFails)
		return Status::fail(err::kEnobufs);
	if (t)
		give_spare(*t);
	while (spare_.load() + spare > kTombSpare) {
		Tomb *oldest = spares_.front();

		take_out(oldest);
		gone.push_back(oldest);
	}
	spare_.store(spare_.load() + spare);
	if (!t && count_.load() >= kMaxTombstones) {
		Tomb *oldest = ages_.front();

		take_out(oldest);
		gone.push_back(oldest);
	}
	return Status();
}

Status Tombs::remember(const TombKey &key, uint32_t which, const TombCount (&counts)[kMaxPaths],
		       const TombPorts &ports, TombsFull full, const HashKey &secret)
{
	const uint32_t hash = hash_key(key, secret);
	Tomb *made = make_buckets() ? create<Tomb>(may_sleep(), key, hash) : nullptr;
	Words all;
	TombList gone;
	Status st = Status::fail(err::kEnomem);

	if (made && gather(key, hash, which, counts, ports, all)) {
		Guard g(lock_);
		Tomb *t = touch(key, hash);

		st = make_place(t, all.ports.spare() + all.past.spare(), full, gone);
		if (st.ok() && !t) {
			t = made;
			made = nullptr;
			enter(t);
		}
		if (st.ok())
			engrave(*t, which, counts, all);
	}
	destroy(made);
	while (Tomb *t = gone.pop_front())
		destroy(t);
	return st;
}

/* @t's spare memory is counted; what is to be freed is in @all then. */
void Tombs::engrave(Tomb &t, uint32_t which, const TombCount (&counts)[kMaxPaths], Words &all)
{
	t.which |= which;
	for (unsigned int i = 0; i < kMaxPaths; i++) {
		if (which >> i & 1) {
			t.gen[i] = counts[i].now.gen;
			t.next_rx_seq[i] = counts[i].now.next;
		} else {
			all.past.set(i, t.past.of(i));
		}
	}
	all.ports.add_others(t.ports, which);
	t.ports.swap(all.ports);
	t.past.swap(all.past);
	if (t.spare_bytes())
		spares_.push_back(&t);
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
	count = {{t->next_rx_seq[index], t->gen[index]}, t->ports.count(index), t->past.of(index)};
	if (ports && count.refused <= ports->room())
		ports->add_others(t->ports, ~(1u << index));
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
	Words gone;
	Tomb *t;

	if (!count_.load())
		return;
	{
		Guard g(lock_);

		t = touch(key, hash_key(key, secret));
		if (t)
			erase(*t, which, gone);
		if (t && !t->which)
			take_out(t);
		else
			t = nullptr;
	}
	destroy(t);
}

/* Memory that @t has no use for any more is in @gone then. */
void Tombs::erase(Tomb &t, uint32_t which, Words &gone)
{
	const uint32_t had = t.spare_bytes();

	t.which &= ~which;
	t.ports.remove(which);
	for (unsigned int i = 0; i < kMaxPaths; i++)
		if (which >> i & 1)
			t.past.set(i, {});
	if (!t.ports.size())
		t.ports.swap(gone.ports);
	if (!t.past.any_others(0))
		t.past.swap(gone.past);
	account(t, had);
}

} // namespace rds
