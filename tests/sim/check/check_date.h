/* SPDX-License-Identifier: GPL-2.0 */
/*
 * check_date.h: a message's time stamp is a time of day that the host's clock has shown.
 *
 * That clock is set forwards and backwards while everything else goes by the one that never does.
 */
#ifndef RDS_TESTS_CHECK_DATE_H
#define RDS_TESTS_CHECK_DATE_H

#include <cstddef>
#include <cstdint>
#include <vector>

namespace check
{

class Date final
{
public:
	/* From @now on the time of day is @now + @ahead (a time in the past: modulo 2^64). */
	void set(uint64_t now, uint64_t ahead);
	/* Did it show @stamp before @now? */
	bool shown(uint64_t stamp, uint64_t now) const;

private:
	struct Setting {
		uint64_t from, ahead;
	};
	std::vector<Setting> settings_;
};

} // namespace check
#endif
