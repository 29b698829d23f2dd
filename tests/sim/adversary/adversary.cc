// SPDX-License-Identifier: GPL-2.0
#include "adversary.h"

#include <cstring>

#include "sim.h"

namespace adversary
{
namespace
{

constexpr uint64_t kMs = 1000 * 1000;
/* So long it waits for an answer, ns. */
constexpr uint64_t kAnswerNs = 40 * kMs;
constexpr unsigned int kSmaller = 10, kLarger = 100;
constexpr unsigned int kBuffers = 64;
/* A port that names path 0. */
constexpr uint16_t kPort = 32768;
constexpr uint32_t kTooLong = (1u << 20) + 1;

bool same(const struct rds_addr &a, const struct rds_addr &b)
{
	return !memcmp(&a, &b, sizeof(a));
}

} // namespace

Adversary::Adversary(bool pairs, const struct rds_addr &victim, unsigned int n)
	: pairs(pairs), victim_(victim)
{
	std::vector<struct rds_addr> addrs;

	for (unsigned int i = 0; i < n; i++) {
		Name name = {host::addr4(i % 2 ? kLarger + i / 2 : kSmaller + i / 2), i % 2 == 0};

		name.known = i < 4;
		name.used = i < 2;
		name.self.generation = static_cast<uint32_t>(sim::random()) | 1;
		names.push_back(name);
		addrs.push_back(name.addr);
	}
	network::add_host(addrs);
	for (const auto &a : addrs) {
		if (pairs)
			fabric::listen(a, this);
		else
			tube::listen(a, this);
	}
}

Adversary::~Adversary()
{
	leave();
}

Name &Adversary::any()
{
	return names[sim::random_below(names.size())];
}

Name &Adversary::any(bool known)
{
	return names[known ? sim::random_below(4) : 4 + sim::random_below(names.size() - 4)];
}

Name *Adversary::name_of(const struct rds_addr &a)
{
	for (Name &n : names)
		if (same(n.addr, a))
			return &n;
	return nullptr;
}

Talk *Adversary::call(Name &n, uint16_t port, const struct rds_addr *as)
{
	const struct rds_addr &from = as ? *as : n.addr;
	Talk *t = nullptr;

	if (pairs) {
		auto talk = std::make_unique<PairTalk>(from, victim_, n.tally);

		if (!talk->call(peer::say(from, victim_, {.credits = 0}), kBuffers))
			return nullptr;
		talks.push_back(std::move(talk));
	} else {
		auto talk = std::make_unique<StreamTalk>(from, victim_, n.tally);

		talk->call(port ? port
				: static_cast<uint16_t>(kPort + 8 * sim::random_below(3000)));
		talks.push_back(std::move(talk));
	}
	t = talks.back().get();
	sim::run_until([t] { return t->is_open() || t->is_over(); }, kAnswerNs);
	return t->is_open() ? t : nullptr;
}

void Adversary::ask(Name &n, const fabric::Data &offer, unsigned int buffers)
{
	auto talk = std::make_unique<PairTalk>(n.addr, victim_, n.tally);

	if (talk->call(offer, buffers))
		talks.push_back(std::move(talk));
}

Talk *Adversary::find(const Name &n)
{
	for (size_t i = talks.size(); i-- > 0;) {
		Talk &t = *talks[i];

		if (same(t.self, n.addr) && t.is_open() && t.greeted && t.met && !t.half)
			return &t;
	}
	return nullptr;
}

/* By a larger address: the host calls, soon if it has heeded that. */
Talk *Adversary::knock(Name &n)
{
	call(n);
	sim::run_until([&] { return find(n) != nullptr; }, kAnswerNs);
	return find(n);
}

Talk *Adversary::talk_of(Name &n)
{
	if (Talk *t = find(n))
		return t;
	if (!pairs && !n.smaller)
		return knock(n);

	Talk *t = call(n);

	if (!t)
		return nullptr;
	t->greet(n.self);
	sim::run_until([t] { return t->met || t->is_over(); }, kAnswerNs);
	return t->met && t->is_open() ? t : nullptr;
}

/* The first words on a connection that has come up. */
void Adversary::answer(Name &n, Talk &t)
{
	switch (n.answer) {
	case Answer::kBad:
		t.first = peer::frame(1, 2, 3, 0, {});
		peer::put_be(t.first, peer::kLenAt, 4, kTooLong);
		break;
	case Answer::kMute:
		t.mute = true;
		break;
	default:
		t.said = n.self;
		t.greeted = true;
		t.first = hello(n.self);
		break;
	}
}

void Adversary::incoming(const tube::Ref &p)
{
	Name *n = name_of(p->addr[1]);

	n->tally.called++;
	silent_calls += silent_;
	if (silent_ || gone_ || n->answer == Answer::kRefuse) {
		tube::refuse(p, 1);
		return;
	}

	auto talk = std::make_unique<StreamTalk>(n->addr, p->addr[0], n->tally);

	/* Of one with a smaller address the host wants to be called, and hangs up itself. */
	n->tally.badly += n->answer == Answer::kBad && !n->smaller;
	{
		tube::Locked l(p->end[1]);

		answer(*n, *talk);
		talk->take(p);
	}
	talks.push_back(std::move(talk));
}

void Adversary::incoming(const fabric::Ref &p)
{
	Name *n = name_of(p->addr[1]);

	n->tally.called++;
	silent_calls += silent_;

	auto talk = std::make_unique<PairTalk>(n->addr, p->addr[0], n->tally);
	bool taken = false;

	answer(*n, *talk);

	{
		fabric::Locked l(p->qp[1]);

		if (!silent_ && !gone_ && n->answer != Answer::kRefuse)
			taken = talk->take(p, peer::say(n->addr, p->addr[0], {.credits = 0}),
					   kBuffers);
		if (!taken)
			fabric::reject(p);
	}
	n->tally.badly += taken && n->answer == Answer::kBad;
	if (taken)
		talks.push_back(std::move(talk));
}

void Adversary::go_silent()
{
	silent_ = true;
	for (size_t i = 0; i < talks.size(); i++) {
		talks[i]->mute = true;
		if (!talks[i]->is_over())
			talks[i]->deafen(0);
	}
}

void Adversary::leave()
{
	if (gone_)
		return;
	gone_ = silent_ = true;
	for (const Name &n : names) {
		if (pairs)
			fabric::listen(n.addr, nullptr);
		else
			tube::listen(n.addr, nullptr);
	}
	sim::wait_until([this] { return !tube::Listener::busy && !fabric::Listener::busy; });
	for (size_t i = 0; i < talks.size(); i++)
		talks[i]->end(sim::chance(500));
}

} // namespace adversary
