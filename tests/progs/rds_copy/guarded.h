/* SPDX-License-Identifier: GPL-2.0 */
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <new>

namespace rdstest
{

/* Memory that ends, at the last byte exactly, where nothing may be touched. */
class Guarded
{
public:
	explicit Guarded(size_t length)
	{
		pages_ = (length + page - 1) / page * page;
		base_ = static_cast<char *>(mmap(nullptr, pages_ + page, PROT_READ | PROT_WRITE,
						 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
		if (base_ == MAP_FAILED || mprotect(base_ + pages_, page, PROT_NONE) != 0)
			throw std::bad_alloc();
		start_ = base_ + pages_ - length;
	}
	Guarded(const Guarded &) = delete;
	Guarded &operator=(const Guarded &) = delete;
	~Guarded()
	{
		munmap(base_, pages_ + page);
	}
	char *get() const
	{
		return start_;
	}

private:
	static constexpr size_t page = 4096;
	char *base_, *start_;
	size_t pages_;
};

} // namespace rdstest
