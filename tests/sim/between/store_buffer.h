/* SPDX-License-Identifier: GPL-2.0 */
/*
 * store_buffer.h: what a processor may do with the stores of the task that it runs.
 *
 * Every task has a processor of its own.  Its stores wait in a buffer, where only it sees them, and
 * reach memory when they like: at the latest at a fence, when the task sleeps or ends, or when the
 * scheduler picks the buffer.
 *
 * kX86: in order; every locked operation (read-modify-write, taking a lock) empties the buffer
 * first; giving a spin lock back is a store like any other.
 *
 * kWeak, what C11 leaves to arm64 and ppc: stores to different places pass each other unless the
 * later one is a release; a read-modify-write acts on memory at once for others that modify or
 * store to that place, but whoever only loads may still see the value before, and what its task
 * loads next may be older than it.  Taking a lock empties nothing.  Loads are not reordered with
 * each other.
 */
#ifndef RDS_TESTS_BETWEEN_STORE_BUFFER_H
#define RDS_TESTS_BETWEEN_STORE_BUFFER_H

#include <cstddef>
#include <cstdint>
#include <vector>

namespace sim
{

/* kBySeed: x86 for odd seeds, weak for even ones.  Without hooks.h always kSequential. */
enum class Memory : uint8_t { kBySeed, kSequential, kX86, kWeak };

struct Store {
	void *at;
	uint64_t value;
	uint8_t bytes;
	bool release;  /* after all that were stored before it */
	bool modifies; /* the second half of a read-modify-write */
};

/* The stores of one task, oldest first. */
class StoreBuffer final
{
public:
	bool empty() const
	{
		return stores_.empty();
	}
	void put(const Store &s);
	/* The value that this task sees at [@at, @at + @bytes); a part of a store cannot be
	 * seen. */
	bool newest(const void *at, size_t bytes, uint64_t &value) const;
	/* A store into [@at, @at + @bytes) waits. */
	bool touches(const void *at, size_t bytes) const;
	/* Lets one reach memory: any that may be next. */
	void drain_one();
	void drain();
	/* Lets those reach memory that come before the last into [@at, @at + @bytes), and it. */
	void drain_to(const void *at, size_t bytes);
	/* Stores that were to go to [@at, @at + @bytes) do not, and nothing waits for them.  True:
	 * there was something. */
	bool discard(const void *at, size_t bytes);
	/* Lets those reach memory that come before a read-modify-write of @at, and it. */
	void settle(const void *at);

private:
	bool may_go(size_t nth) const;
	void commit(size_t nth);

	std::vector<Store> stores_;
};

/* The build has hooks.h. */
extern const bool hooked;
/* Of this world. */
Memory memory();
/* One in so many atomics, a store reaches memory by itself. */
unsigned int drain_every();
inline bool buffered()
{
	return memory() != Memory::kSequential;
}
/* A full barrier of the current task, as the kernel's calls contain them. */
void barrier();
/* All tasks': a grace period of RCU, or the test looks. */
void barrier_everywhere();
/* Read-modify-writes of @at by other tasks than @mine's are done before this one goes on. */
void settle_others(const StoreBuffer &mine, const void *at);

/* Somebody's store into [@at, @at + @bytes) waits. */
bool store_waits(const void *at, size_t bytes);

} // namespace sim
#endif
