// SPDX-License-Identifier: GPL-2.0
#include "check_order.h"

namespace check
{
namespace
{

std::string name(uint32_t flow, uint32_t number)
{
	return "order: flow " + std::to_string(flow) + " message " + std::to_string(number) + " ";
}

} // namespace

Order::Flow &Order::at(uint32_t flow)
{
	if (flow >= flows_.size())
		flows_.resize(flow + 1);
	return flows_[flow];
}

void Order::sent(uint32_t flow, uint32_t number, Hint hint)
{
	Flow &f = at(flow);

	f.sent = number + 1;
	if (hint == Hint::kOrdered && f.hints.empty())
		return;
	if (f.hints.empty()) {
		f.came.assign(f.next, true); /* or never will */
		f.barrier = f.next;
	}
	f.hints.resize(f.sent);
	f.came.resize(f.sent);
	f.hints[number] = hint;
}

void Order::not_sent(uint32_t flow, uint32_t number)
{
	at(flow).sent = number;
}

void Order::sent_empty(uint32_t flow)
{
	at(flow).empty_sent++;
}

void Order::not_sent_empty(uint32_t flow)
{
	at(flow).empty_sent--;
}

Order::Flow &Order::heard_by(uint32_t flow, uint32_t receiver)
{
	Flow &f = at(flow);

	received_++;
	if (receiver == f.receiver)
		return f;
	if (receiver < f.receiver)
		complain("order: flow " + std::to_string(flow) + " reached a socket again after " +
			 "another one had taken its port");
	f.receiver = receiver;
	return f;
}

void Order::forget(uint32_t flow)
{
	Flow &f = at(flow);

	f.next = f.barrier = 0;
	f.came.assign(f.came.size(), false);
	f.empty_heard = 0;
}

/* May not come behind a later one that has to wait for all, nor, ordered, behind any. */
void Order::received_loose(uint32_t flow, Flow &f, uint32_t number)
{
	if (f.came[number])
		complain(name(flow, number) + "came twice");
	else if (number < f.barrier)
		complain(name(flow, number) + "was overtaken by " + std::to_string(f.barrier - 1) +
			 ", which is not un-ordered");
	else if (number < f.next && f.hints[number] == Hint::kOrdered)
		complain(name(flow, number) + "is ordered and was overtaken by " +
			 std::to_string(f.next - 1));
	overtaken_ += number < f.next;
	f.came[number] = true;
	f.next = f.next > number + 1 ? f.next : number + 1;
	if (f.hints[number] != Hint::kUnordered)
		f.barrier = number + 1;
}

void Order::received(uint32_t flow, uint32_t number, uint32_t receiver)
{
	Flow &f = heard_by(flow, receiver);

	f.got++;
	if (number >= f.sent)
		complain(name(flow, number) + "was never sent");
	else if (!f.hints.empty())
		received_loose(flow, f, number);
	else if (number < f.next)
		complain(name(flow, number) + "came twice or too late, " + std::to_string(f.next) +
			 " was expected");
	else
		f.next = number + 1;
}

void Order::received_empty(uint32_t flow, uint32_t receiver)
{
	Flow &f = heard_by(flow, receiver);

	f.empty_got++;
	if (++f.empty_heard > f.empty_sent)
		complain("order: flow " + std::to_string(flow) + " brought " +
			 std::to_string(f.empty_heard) + " empty messages, " +
			 std::to_string(f.empty_sent) + " were sent");
}

void Order::complain(const std::string &what)
{
	if (complaint_.empty())
		complaint_ = what;
}

uint64_t Order::lost() const
{
	uint64_t n = 0;

	for (const Flow &f : flows_) {
		n += f.sent > f.got ? f.sent - f.got : 0;
		n += f.empty_sent > f.empty_got ? f.empty_sent - f.empty_got : 0;
	}
	return n;
}

bool Order::complete() const
{
	for (const Flow &f : flows_)
		if (f.got != f.sent || f.empty_got != f.empty_sent)
			return false;
	return true;
}

} // namespace check
