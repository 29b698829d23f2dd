// SPDX-License-Identifier: GPL-2.0
#include "check_order.h"

namespace check
{

void Order::sent(uint32_t flow, uint32_t number)
{
	flows_[flow].sent = number + 1;
}

void Order::not_sent(uint32_t flow, uint32_t number)
{
	flows_[flow].sent = number;
}

void Order::received(uint32_t flow, uint32_t number)
{
	Flow &f = flows_[flow];
	std::string what =
		"flow " + std::to_string(flow) + " message " + std::to_string(number) + " ";

	received_++;
	f.got++;
	if (number >= f.sent)
		complain(what + "was never sent");
	else if (number < f.next)
		complain(what + "came twice or too late, " + std::to_string(f.next) +
			 " was expected");
	else
		f.next = number + 1;
}

void Order::complain(const std::string &what)
{
	if (complaint_.empty())
		complaint_ = what;
}

uint64_t Order::lost() const
{
	uint64_t n = 0;

	for (const auto &[id, f] : flows_)
		n += f.sent - f.got;
	return n;
}

bool Order::complete() const
{
	for (const auto &[id, f] : flows_)
		if (f.got != f.sent)
			return false;
	return true;
}

} // namespace check
