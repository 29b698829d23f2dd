// SPDX-License-Identifier: GPL-2.0
#include "check_loss.h"

#include <algorithm>

namespace check
{

void Loss::flow(uint32_t flow, unsigned int from, unsigned int to)
{
	if (flow >= flows_.size())
		flows_.resize(flow + 1);
	flows_[flow] = Flow{from, to, 0, 0, 0};
}

void Loss::sent(uint32_t flow, uint32_t number)
{
	flows_[flow].sent = number + 1;
}

void Loss::not_sent(uint32_t flow, uint32_t number)
{
	flows_[flow].sent = number;
	flows_[flow].excused = std::min(flows_[flow].excused, number);
}

/* All before @upto that have not come are lost. */
void Loss::gap(uint32_t flow, uint32_t upto)
{
	Flow &f = flows_[flow];
	uint32_t first = std::max(f.next, f.excused);

	if (first < upto && complaint_.empty())
		complaint_ = "loss: flow " + std::to_string(flow) + " from host " +
			     std::to_string(f.from) + " to host " + std::to_string(f.to) +
			     " lost message " + std::to_string(first) + " of " +
			     std::to_string(f.sent);
	f.next = std::max(f.next, upto);
}

void Loss::received(uint32_t flow, uint32_t number)
{
	gap(flow, number);
	flows_[flow].next = std::max(flows_[flow].next, number + 1);
}

void Loss::excuse(uint32_t flow)
{
	flows_[flow].excused = flows_[flow].sent;
}

void Loss::excuse_hosts(unsigned int from, unsigned int to)
{
	for (Flow &f : flows_)
		if (f.from == from && f.to == to)
			f.excused = f.sent;
}

void Loss::booted(unsigned int host)
{
	if (host >= boots_.size())
		boots_.resize(host + 1);
	boots_[host]++;
}

void Loss::plain(unsigned int host)
{
	if (host >= plain_.size())
		plain_.resize(host + 1);
	plain_[host] = true;
}

void Loss::closed(unsigned int self, unsigned int peer, bool unread)
{
	if (promise_ == Promise::kAlways && !is_plain(self) && !is_plain(peer))
		return;
	if (unread)
		excuse_hosts(peer, self);
	if (self < boots_.size() && boots_[self] > 1)
		excuse_hosts(self, peer);
}

void Loss::rest()
{
	for (uint32_t i = 0; i < flows_.size(); i++)
		gap(i, flows_[i].sent);
}

} // namespace check
