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
	empties_.passed(flow, number);
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
	empties_.excuse(flow);
}

void Loss::excuse_hosts(unsigned int from, unsigned int to)
{
	for (uint32_t i = 0; i < flows_.size(); i++)
		if (flows_[i].from == from && flows_[i].to == to)
			excuse(i);
}

void Loss::booted(unsigned int host)
{
	if (host >= boots_.size())
		boots_.resize(host + 1);
	boots_[host]++;
	for (uint32_t i = 0; i < flows_.size(); i++)
		if (flows_[i].to == host)
			empties_.forget(i);
}

void Loss::plain(unsigned int host, Plain how)
{
	if (host >= plain_.size())
		plain_.resize(host + 1);
	plain_[host] = how;
}

/*
 * Known of the core, each with a seed in tests/sim/seeds.txt; whoever mends one takes its line away
 * here and there.
 *  - Probes say no generation, so 7.x takes what a reborn host of ours sends again for old; and of
 * a reborn host of mainline's ours take it for old, though that of 7.x has said its generation.
 *  - A connect that is given up late, with the answer there, throws away what came behind that; so
 *    does a call that was taken and is given up for a newer one before anybody reads from it.
 */
void Loss::excuse_known(unsigned int self, unsigned int peer, tube::Left left)
{
	if ((how(peer) != Plain::kNo || how(self) != Plain::kNo) && reborn(self))
		excuse_hosts(self, peer);
	if (how(peer) != Plain::kNo &&
	    (left == tube::Left::kUnheard || left == tube::Left::kNoRoom))
		excuse_hosts(peer, self);
}

void Loss::closed(unsigned int self, unsigned int peer, tube::Left left)
{
	/* An orderly end waits for 5 s (decisions/010); with no memory to read into that is too
	 * short. */
	bool expected = left == tube::Left::kAtReset || left == tube::Left::kOutOfTime;

	if ((expected && how(peer) != Plain::kNo) ||
	    (left != tube::Left::kNothing && how(self) != Plain::kNo))
		excuse_hosts(peer, self);
	/* Either way: nothing says whose numbers they are. */
	if ((how(peer) == Plain::kForgetsLives || how(self) == Plain::kForgetsLives) &&
	    reborn(self))
		excuse_hosts(self, peer);
	if (!strict_)
		excuse_known(self, peer, left);
}

void Loss::rest()
{
	empties_.rest();
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
