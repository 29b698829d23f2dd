/* SPDX-License-Identifier: GPL-2.0 */
/*
 * pages.h: memory of simulated programs, and its pages while they are pinned.
 *
 * One address space for all programs, in which every Region has a place of its own that is not used
 * again.  Pinned pages outlive their region, as they do in a kernel; what they take comes from
 * rds_alloc(), so they may fail, and whoever forgets them is found out as with any memory.
 */
#ifndef RDS_TESTS_PAGES_H
#define RDS_TESTS_PAGES_H

#include <memory>
#include <vector>

#include "net/platform/platform.h"

namespace host
{

constexpr uint32_t kPageBytes = 4096;

class Region final
{
public:
	/* @at: where in its first page it begins. */
	explicit Region(size_t bytes, bool writable = true, uint32_t at = 0);
	~Region();
	Region(const Region &) = delete;
	Region &operator=(const Region &) = delete;

	uint64_t addr() const;
	unsigned char *data();
	size_t size() const;
	struct rds_iov iov() const
	{
		return {addr(), size()};
	}
	struct rds_iov iov(uint64_t off, uint64_t bytes) const
	{
		return {addr() + off, bytes};
	}

	struct Bytes {
		uint64_t addr;
		bool writable;
		std::vector<unsigned char> v;
	};

private:
	std::shared_ptr<Bytes> bytes_;
};

/* Bytes that may be pinned at a time (RLIMIT_MEMLOCK): -ENOMEM beyond; 0: -EPERM. */
void set_lock_limit(uint64_t bytes);
uint64_t pinned_bytes();

/* ---- what an adapter does with them ---- */
uint32_t pages_bytes(const struct rds_pages *p);
/* Bytes of each of the pages. */
std::vector<uint32_t> page_lengths(const struct rds_pages *p);
void read_pages(const struct rds_pages *p, uint32_t off, uint32_t n, unsigned char *to);
/* Only what was pinned to be written to. */
void write_pages(struct rds_pages *p, uint32_t off, uint32_t n, const unsigned char *from);

} // namespace host
#endif
