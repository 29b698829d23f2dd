// SPDX-License-Identifier: GPL-2.0
#include "store_buffer.h"

#include <cstring>

#include "chooser.h"
#include "hooks.h"
#include "task.h"

namespace sim
{
namespace
{

/* As many as the least processor of interest holds. */
constexpr size_t kDepth = 24;

bool overlap(const void *a, size_t a_bytes, const void *b, size_t b_bytes)
{
	auto *x = static_cast<const char *>(a);
	auto *y = static_cast<const char *>(b);

	return x < y + b_bytes && y < x + a_bytes;
}

void write(void *at, uint64_t value, size_t bytes)
{
	memcpy(at, &value, bytes);
}

uint64_t read(const void *at, size_t bytes)
{
	uint64_t v = 0;

	memcpy(&v, at, bytes);
	return v;
}

} // namespace

#ifdef RDS_SIM_HOOKED
const bool hooked = true;
#else
const bool hooked = false;
#endif

bool StoreBuffer::may_go(size_t nth) const
{
	const Store &s = stores_[nth];

	if (!nth)
		return true;
	if (memory() != Memory::kWeak || s.release)
		return false;
	for (size_t i = 0; i < nth; i++)
		if (overlap(stores_[i].at, stores_[i].bytes, s.at, s.bytes))
			return false;
	return true;
}

void StoreBuffer::commit(size_t nth)
{
	Store s = stores_[nth];

	stores_.erase(stores_.begin() + static_cast<long>(nth));
	/* Nobody's store comes between the halves of another's read-modify-write. */
	settle_others(*this, s.at);
	write(s.at, s.value, s.bytes);
}

void StoreBuffer::put(const Store &s)
{
	while (stores_.size() >= kDepth)
		commit(0);
	stores_.push_back(s);
}

bool StoreBuffer::newest(const void *at, size_t bytes, uint64_t &value) const
{
	for (size_t i = stores_.size(); i--;) {
		const Store &s = stores_[i];

		if (s.at == at && s.bytes == bytes) {
			value = s.value;
			return true;
		}
		if (overlap(s.at, s.bytes, at, bytes))
			fail("an atomic is loaded in another size than it was stored");
	}
	return false;
}

bool StoreBuffer::touches(const void *at, size_t bytes) const
{
	for (const Store &s : stores_)
		if (overlap(s.at, s.bytes, at, bytes))
			return true;
	return false;
}

void StoreBuffer::drain_one()
{
	size_t nth = random_below(stores_.size());

	while (!may_go(nth))
		nth--;
	commit(nth);
}

void StoreBuffer::drain()
{
	while (!stores_.empty())
		commit(0);
}

void StoreBuffer::drain_to(const void *at, size_t bytes)
{
	while (touches(at, bytes))
		commit(0);
}

bool StoreBuffer::discard(const void *at, size_t bytes)
{
	return std::erase_if(stores_,
			     [=](const Store &s) { return overlap(s.at, s.bytes, at, bytes); });
}

void StoreBuffer::settle(const void *at)
{
	for (;;) {
		size_t last = stores_.size();

		for (size_t i = 0; i < stores_.size(); i++)
			if (stores_[i].modifies && stores_[i].at == at)
				last = i;
		if (last == stores_.size())
			return;
		commit(0);
	}
}

void barrier()
{
	current().stores.drain();
}

namespace between
{
namespace
{

/* Before every operation.  False: it acts on memory at once. */
bool begin()
{
	if (!buffered())
		return false;
	if (!in_task()) {
		barrier_everywhere();
		return false;
	}
	preempt_point();

	StoreBuffer &mine = current().stores;

	if (!mine.empty() && !random_below(drain_every()))
		mine.drain_one();
	return true;
}

uint64_t result(Op op, uint64_t old, uint64_t v)
{
	switch (op) {
	case Op::kExchange:
		return v;
	case Op::kAdd:
		return old + v;
	case Op::kSub:
		return old - v;
	case Op::kOr:
		return old | v;
	case Op::kAnd:
		break;
	}
	return old & v;
}

uint64_t masked(uint64_t v, unsigned int bytes)
{
	return bytes == sizeof(v) ? v : v & ((uint64_t{1} << bytes * 8) - 1);
}

/* The first half of a read-modify-write. */
uint64_t read_to_modify(void *at, unsigned int bytes, bool waits)
{
	StoreBuffer &mine = current().stores;
	uint64_t v;

	if (waits && memory() == Memory::kX86)
		mine.drain();
	settle_others(mine, at);
	return waits && mine.newest(at, bytes, v) ? v : read(at, bytes);
}

void write_modified(void *at, unsigned int bytes, uint64_t v, bool waits)
{
	if (waits && memory() == Memory::kWeak)
		current().stores.put(Store{at, v, static_cast<uint8_t>(bytes), true, true});
	else
		write(at, v, bytes);
}

} // namespace

uint64_t load(const void *at, unsigned int bytes, int order)
{
	uint64_t v;

	if (!begin())
		return read(at, bytes);
	/* In the one order of all that say so, which for a store buffer is: after them. */
	if (order == __ATOMIC_SEQ_CST && memory() == Memory::kWeak)
		barrier();
	if (!current().stores.newest(at, bytes, v))
		v = read(at, bytes);
	/* The use of it may be the end, with no further atomic to stop at. */
	if (is_chosen())
		preempt_point();
	return v;
}

void store(void *at, unsigned int bytes, uint64_t v, int order)
{
	if (!begin()) {
		write(at, v, bytes);
		return;
	}
	current().stores.put(
		Store{at, v, static_cast<uint8_t>(bytes), order != __ATOMIC_RELAXED, false});
	if (order == __ATOMIC_SEQ_CST)
		barrier();
}

uint64_t modify(void *at, unsigned int bytes, Op op, uint64_t v)
{
	bool waits = begin();
	uint64_t old = read_to_modify(at, bytes, waits);

	write_modified(at, bytes, masked(result(op, old, v), bytes), waits);
	return old;
}

bool compare_exchange(void *at, unsigned int bytes, uint64_t *expected, uint64_t desired)
{
	bool waits = begin();
	uint64_t old = read_to_modify(at, bytes, waits);

	if (old != *expected) {
		*expected = old;
		return false;
	}
	write_modified(at, bytes, desired, waits);
	return true;
}

void fence(int order)
{
	if (begin() && order == __ATOMIC_SEQ_CST)
		barrier();
}

} // namespace between
} // namespace sim
