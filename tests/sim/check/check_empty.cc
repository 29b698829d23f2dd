// SPDX-License-Identifier: GPL-2.0
#include "check_empty.h"

#include <algorithm>

namespace check
{

void Empties::complain(uint32_t flow, const std::string &what)
{
	if (complaint_.empty())
		complaint_ = "empty: flow " + std::to_string(flow) + " " + what;
}

void Empties::sent(uint32_t pair, uint32_t flow, uint32_t number)
{
	auto [at, fresh] = flows_.try_emplace(flow);
	Pair &p = pairs_[pair];

	at->second.pair = pair;
	if (fresh) {
		/* The socket before this one is gone, and what it left may come or not. */
		if (auto old = flows_.find(p.flow); old != at && old != flows_.end())
			p.spare += old->second.behind.size() - old->second.judged;
		p.flow = flow;
	}
	at->second.behind.push_back(number);
}

void Empties::not_sent(uint32_t flow)
{
	Flow &f = flows_[flow];

	f.behind.pop_back();
	f.excused = std::min(f.excused, f.behind.size());
}

void Empties::received(uint32_t pair)
{
	Pair &p = pairs_[pair];
	auto f = flows_.find(p.flow);
	size_t most = p.spare;

	if (f != flows_.end() && f->second.pair == pair)
		most += f->second.behind.size() - f->second.judged;
	if (++p.came > most)
		complain(p.flow, "brought more empty messages than were sent");
}

/* The first @upto of @f have come by now, or never will; what came beside them did not belong. */
void Empties::judge(uint32_t id, Flow &f, size_t upto)
{
	Pair &p = pairs_[f.pair];

	if (p.flow != id || upto < f.judged)
		return;

	size_t most = upto - f.judged;
	size_t excused = std::clamp(f.excused, f.judged, upto) - f.judged;

	if (p.came > most + p.spare)
		complain(id, "brought an empty message before what was sent before it");
	if (p.came + excused < most)
		complain(id, "lost " + std::to_string(most - excused - p.came) + " of " +
				     std::to_string(most) + " empty messages");
	if (p.came > most)
		p.spare -= std::min(p.spare, p.came - most);
	p.came = 0;
	f.judged = upto;
}

void Empties::passed(uint32_t flow, uint32_t number)
{
	auto it = flows_.find(flow);

	if (it == flows_.end())
		return;

	Flow &f = it->second;
	auto before = std::upper_bound(f.behind.begin(), f.behind.end(), number);
	size_t upto = static_cast<size_t>(before - f.behind.begin());

	if (upto < f.judged && f.judged > f.excused)
		complain(flow, "brought message " + std::to_string(number) +
				       " behind an empty one that was sent after it");
	judge(flow, f, upto);
}

void Empties::excuse(uint32_t flow)
{
	if (auto it = flows_.find(flow); it != flows_.end())
		it->second.excused = it->second.behind.size();
}

void Empties::forget(uint32_t flow)
{
	auto it = flows_.find(flow);

	if (it == flows_.end())
		return;
	pairs_[it->second.pair].spare += it->second.behind.size();
	it->second.excused = it->second.behind.size();
}

void Empties::rest()
{
	for (auto &[id, f] : flows_)
		judge(id, f, f.behind.size());
}

} // namespace check
