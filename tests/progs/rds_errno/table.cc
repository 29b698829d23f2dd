// SPDX-License-Identifier: GPL-2.0
#include "table.h"

namespace rdstest
{

void Table::row(const std::string &name, const std::string &want, const LongCall &call)
{
	differs(name, want, want, call);
}

void Table::row(const std::string &name, const std::string &want, const Call &call)
{
	differs(name, want, want, call);
}

void Table::differs(const std::string &name, const std::string &mainline, const std::string &ours,
		    const LongCall &call)
{
	rows_.push_back({name, mainline, ours, [call] { return describe(call()); }});
}

void Table::differs(const std::string &name, const std::string &mainline, const std::string &ours,
		    const Call &call)
{
	rows_.push_back({name, mainline, ours, call});
}

} // namespace rdstest
