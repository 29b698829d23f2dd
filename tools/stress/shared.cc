// SPDX-License-Identifier: GPL-2.0
#include "shared.h"

#include <sys/mman.h>

#include <cerrno>
#include <cstring>
#include <new>

#include "../lib/error.h"
#include "../lib/text.h"

namespace rdstools
{

namespace
{

/* The phase has a cache line of its own: tasks read it all the time. */
constexpr std::size_t head_bytes = 64;

} // namespace

SharedMemory::SharedMemory(unsigned tasks) : tasks_(tasks)
{
	static_assert(alignof(TaskState) <= head_bytes && alignof(PairState) <= alignof(TaskState));
	std::size_t pairs = std::size_t{tasks} * tasks;

	size_ = head_bytes + tasks * sizeof(TaskState) + pairs * sizeof(PairState);
	memory_ = mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (memory_ == MAP_FAILED)
		throw Error(format("no memory for %u tasks: %s", tasks, std::strerror(errno)));
	char *at = static_cast<char *>(memory_);
	phase_ = new (at) std::atomic<Phase>(Phase::wait);
	at += head_bytes;
	states_ = reinterpret_cast<TaskState *>(at);
	for (unsigned i = 0; i < tasks; i++, at += sizeof(TaskState))
		new (at) TaskState();
	pairs_ = reinterpret_cast<PairState *>(at);
	for (std::size_t i = 0; i < pairs; i++, at += sizeof(PairState))
		new (at) PairState();
}

SharedMemory::~SharedMemory()
{
	munmap(memory_, size_);
}

} // namespace rdstools
