/* SPDX-License-Identifier: GPL-2.0 */
/*
 * area.h: memory that an application lets another one operate on, and what both know of it.
 *
 *	0		a counter, which is added to
 *	8 .. kCells	never changes, and is read
 *	kCells ..	cells: each is written once, by one operation
 */
#ifndef RDS_TESTS_AREA_H
#define RDS_TESTS_AREA_H

#include <map>
#include <memory>
#include <set>
#include <string>

#include "pages.h"
#include "rng.h"

namespace story
{

struct Area {
	static constexpr uint32_t kCells = 12288;

	/* Of the application in slot @owner, for that in slot @user. */
	Area(unsigned int owner, unsigned int user, sim::Rng &r);
	/* Where @n bytes may be written, a multiple of 8; 0: nowhere. */
	uint32_t take_cell(uint32_t n);
	uint64_t counter();
	/* One more was added, to @old. */
	bool added(uint64_t old);
	/* No peer reaches it from now on. */
	void freeze();
	/* At rest. */
	std::string complaint();

	const unsigned int owner, user;
	host::Region mem;
	uint64_t flags; /* RDS_RDMA_* */
	uint64_t cookie = 0;
	uint64_t adds = 0; /* sent */

private:
	uint32_t next_cell_ = kCells;
	std::set<uint64_t> olds_; /* of those that succeeded */
	std::vector<unsigned char> frozen_;
};

/* All there ever were, by their cookies. */
using Areas = std::map<uint64_t, std::shared_ptr<Area>>;

} // namespace story
#endif
