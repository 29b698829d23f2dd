// SPDX-License-Identifier: GPL-2.0
#include "check_date.h"

namespace check
{

void Date::set(uint64_t now, uint64_t ahead)
{
	settings_.push_back(Setting{now, ahead});
}

bool Date::shown(uint64_t stamp, uint64_t now) const
{
	for (size_t i = 0; i < settings_.size(); i++) {
		uint64_t at = stamp - settings_[i].ahead;
		uint64_t end = i + 1 < settings_.size() ? settings_[i + 1].from : now;

		if (at >= settings_[i].from && at <= end)
			return true;
	}
	return false;
}

} // namespace check
