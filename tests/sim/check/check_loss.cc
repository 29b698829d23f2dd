// SPDX-License-Identifier: GPL-2.0
#include "check_loss.h"

#include <algorithm>

namespace check
{

void Loss::flow(uint32_t flow, unsigned int from, unsigned int to)
{
	if (flow >= flows_.size())
		flows_.resize(flow + 1);
	flows_[flow] = Flow();
	flows_[flow].from = from;
	flows_[flow].to = to;
}

void Loss::sent(uint32_t flow, uint32_t number, bool loose)
{
	Flow &f = flows_[flow];

	f.sent = number + 1;
	if (loose && !f.loose) {
		f.loose = true;
		f.came.assign(f.next, true);
	}
	if (f.loose)
		f.came.resize(f.sent);
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

	if (first < upto)
		miss(flow, first);
	f.next = std::max(f.next, upto);
}

void Loss::miss(uint32_t flow, uint32_t number)
{
	const Flow &f = flows_[flow];

	if (complaint_.empty())
		complaint_ = "loss: flow " + std::to_string(flow) + " from host " +
			     std::to_string(f.from) + " to host " + std::to_string(f.to) +
			     " lost message " + std::to_string(number) + " of " +
			     std::to_string(f.sent);
}

void Loss::received(uint32_t flow, uint32_t number)
{
	if (flows_[flow].loose) {
		if (number < flows_[flow].sent)
			flows_[flow].came[number] = true;
		return;
	}
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
	for (uint32_t i = 0; i < flows_.size(); i++) {
		const Flow &f = flows_[i];

		if (!f.loose)
			gap(i, f.sent);
		for (uint32_t n = f.excused; f.loose && n < f.sent; n++)
			if (!f.came[n])
				miss(i, n);
	}
}

} // namespace check
