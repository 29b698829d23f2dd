// SPDX-License-Identifier: GPL-2.0
#include "explore.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <set>

#include "check_states.h"
#include "rng.h"
#include "sim.h"

namespace explore
{
namespace
{

using sim::Option;

/* All hosts are well again by then in every case; and no history is as long as this. */
constexpr uint64_t kHealNs = 300ull * 1000 * 1000 * 1000;
constexpr unsigned int kMaxDecisions = 20000;

std::string playing;
Coverage *coverage;
std::string bad_turn;

void turned(const check::Turn &t)
{
	if (!check::legal(t) && bad_turn.empty())
		bad_turn = "a turn that the table does not have: " + check::show(t);
	if (sim::tracing)
		sim::say("    %s", check::show(t).c_str());
	coverage->add(t);
}

/* States that were met: by which history, and how many deviations it had left. */
struct Visit {
	uint32_t by;
	uint8_t left;
};
using Met = std::unordered_map<uint64_t, Visit>;

/* An answer of pick(): an option, or something of the play. */
struct Move {
	enum Kind { kOption, kPutOff, kAct, kFault, kClockToo, kDone } kind;
	size_t which;
};

/* One history. */
class History final : public sim::Chooser
{
public:
	/* The @number is another one for each; @met: nullptr if it is to go on to its end. */
	History(const play::Play &p, const Choices &choices, Bound bound, uint32_t number, Met *met,
		bool trace)
		: play_(p), choices_(choices), bound_(bound), number_(number), met_(met),
		  trace_(trace),
		  left_(bound.deviations - static_cast<unsigned int>(choices.size())),
		  faults_left_(p.faults.size(), true)
	{
	}
	void run();
	size_t pick(const std::vector<Option> &options) override;
	bool interrupts() override;
	uint64_t state() const override
	{
		return state_;
	}

	std::string failure;
	/* Choice lists that begin like this one and are to be played as well. */
	std::vector<Choices> more;
	uint64_t states = 0;
	unsigned int decisions = 0;

private:
	std::vector<Move> moves(const std::vector<Option> &options);
	Move usual(const std::vector<Option> &options);
	void add_acts(std::vector<Move> &to);
	unsigned int decide(size_t n);
	bool come_to_an_end();
	size_t perform(const Move &m, const std::vector<Option> &options);
	const play::Step *next_act(unsigned int host) const;
	bool was_here();
	uint64_t id(const Option &o) const
	{
		return o.kind >= Option::kEvent ? o.serial * 2
						: reinterpret_cast<uintptr_t>(o.what) | 1;
	}
	bool is_put_off(const Option &o) const
	{
		return put_off_.count(id(o));
	}
	void say(const Move &m, const std::vector<Option> &options, unsigned int n, size_t of);

	const play::Play &play_;
	const Choices &choices_;
	const Bound bound_;
	const uint32_t number_;
	Met *const met_;
	const bool trace_;
	const unsigned int left_;
	std::unique_ptr<play::World> world_;
	std::set<size_t> acted_;
	std::vector<bool> faults_left_;
	std::set<uint64_t> put_off_;
	size_t deviated_ = 0, interrupted_ = 0;
	uint64_t state_ = 0;
	bool act_starts_ = false, finishing_ = false, enough_ = false, again_ = false;
};

/* ---- which moves there are ---- */

const play::Step *History::next_act(unsigned int host) const
{
	for (size_t i = 0; i < play_.acts.size(); i++)
		if (play_.acts[i].host == host && !acted_.count(i))
			return &play_.acts[i];
	return nullptr;
}

void History::add_acts(std::vector<Move> &to)
{
	for (unsigned int host = 0; host < 2; host++)
		if (const play::Step *s = world_->busy(host) ? nullptr : next_act(host))
			to.push_back({Move::kAct, static_cast<size_t>(s - play_.acts.data())});
	for (size_t i = 0; i < faults_left_.size(); i++)
		if (faults_left_[i])
			to.push_back({Move::kFault, i});
}

Move History::usual(const std::vector<Option> &options)
{
	for (size_t i = 0; i < options.size(); i++)
		if (options[i].kind != Option::kClock && !is_put_off(options[i]))
			return {Move::kOption, i};
	for (size_t i = 0; i < options.size(); i++)
		if (options[i].kind != Option::kClock)
			return {Move::kOption, i};
	for (size_t i = 0; i < play_.acts.size(); i++)
		if (!acted_.count(i) && !world_->busy(play_.acts[i].host))
			return {Move::kAct, i};
	if (acted_.size() == play_.acts.size() && world_->delivered() && !world_->busy(0) &&
	    !world_->busy(1) && (finishing_ || !play_.collected || world_->collected()))
		return {Move::kDone, 0};
	return {options.empty() ? Move::kDone : Move::kOption, options.size() - 1};
}

std::vector<Move> History::moves(const std::vector<Option> &options)
{
	std::vector<Move> out = {usual(options)};
	size_t others = 0;

	if (finishing_)
		return out;
	for (size_t i = 0; i < options.size(); i++) {
		others += options[i].kind != Option::kClock;
		if (out[0].kind != Move::kOption || i != out[0].which)
			out.push_back({Move::kOption, i});
	}
	if (out[0].kind == Move::kOption && others > 1 && !is_put_off(options[out[0].which]))
		out.push_back({Move::kPutOff, out[0].which});
	add_acts(out);
	return out;
}

/* ---- decisions ---- */

/* One of @n, of which 0 is the usual one.  Notes the others for later. */
unsigned int History::decide(size_t n)
{
	auto here = static_cast<uint16_t>(decisions++);

	if (deviated_ < choices_.size() && choices_[deviated_].decision == here)
		return choices_[deviated_++].choice;
	if (deviated_ < choices_.size() || !met_ || again_ || !left_)
		return 0;
	for (size_t i = 1; i < n; i++) {
		more.push_back(choices_);
		more.back().push_back({here, static_cast<uint16_t>(i)});
	}
	return 0;
}

/* Has as much been tried from here as we may? */
bool History::was_here()
{
	if (!met_ || deviated_ < choices_.size() || finishing_)
		return false;

	Visit me = {number_, static_cast<uint8_t>(left_)};
	auto [it, is_new] = met_->try_emplace(state_, me);

	/* A task that waits comes to the same state again and again. */
	again_ = !is_new && it->second.by == number_;
	if (again_)
		return false;
	if (!is_new && it->second.left >= left_)
		return true;
	it->second = me;
	states++;
	return false;
}

bool History::interrupts()
{
	if (finishing_ || enough_ || interrupted_ >= bound_.interrupts)
		return false;

	bool now = decide(2);

	interrupted_ += now;
	if (now && trace_)
		printf("%5u  interrupted\n", decisions - 1);
	return now;
}

bool History::come_to_an_end()
{
	if (!bad_turn.empty())
		failure = bad_turn;
	else if (!world_->complaint().empty())
		failure = world_->complaint();
	else if (sim::now_ns() > kHealNs || decisions > kMaxDecisions)
		failure = finishing_ ? "does not deliver what is sent afterwards" : "does not heal";
	return !failure.empty();
}

size_t History::pick(const std::vector<Option> &options)
{
	if (act_starts_) {
		act_starts_ = false;
		for (size_t i = options.size(); i-- > 0;)
			if (options[i].kind == Option::kTask && !strcmp(options[i].name, "act"))
				return i;
	}
	world_->read();
	if (enough_ || come_to_an_end())
		return sim::kEnough;

	std::vector<Move> all = moves(options);

	state_ = world_->digest();
	for (size_t i = 0; i < options.size(); i++)
		state_ = sim::mix(state_ + options[i].kind * 2 + is_put_off(options[i]));
	for (size_t i : acted_)
		state_ = sim::mix(state_ + i);
	for (bool b : faults_left_)
		state_ = state_ * 3 + b;
	state_ = sim::mix(state_ * 8 + interrupted_);
	if (was_here()) {
		enough_ = true;
		return sim::kEnough;
	}

	unsigned int n = all.size() > 1 ? decide(all.size()) : 0;

	if (n >= all.size()) {
		failure = "the choice list is of another play";
		return sim::kEnough;
	}
	say(all[n], options, n, all.size());
	return perform(all[n], options);
}

size_t History::perform(const Move &m, const std::vector<Option> &options)
{
	switch (m.kind) {
	case Move::kPutOff:
		put_off_.insert(id(options[m.which]));
		return sim::kAgain;
	case Move::kAct:
		act_starts_ = world_->perform(play_.acts[m.which]);
		acted_.insert(m.which);
		return sim::kAgain;
	case Move::kFault:
		world_->perform(play_.faults[m.which]);
		faults_left_[m.which] = false;
		return sim::kAgain;
	case Move::kDone:
		if (finishing_ || !world_->delivered()) {
			if (!world_->delivered())
				failure = "stands still";
			return sim::kEnough;
		}
		finishing_ = true;
		world_->send_all();
		return sim::kAgain;
	default:
		put_off_.erase(id(options[m.which]));
		return m.which;
	}
}

void History::say(const Move &m, const std::vector<Option> &options, unsigned int n, size_t of)
{
	if (!trace_)
		return;

	std::string what = m.kind == Move::kAct	    ? play::show(play_.acts[m.which])
			   : m.kind == Move::kFault ? play::show(play_.faults[m.which])
			   : m.kind == Move::kDone  ? "all is well"
			   : options[m.which].kind == Option::kWork
				   ? world_->name(options[m.which].what)
				   : options[m.which].name;

	printf("%5u  %14.6f ms  %s%s", decisions - 1, static_cast<double>(sim::now_ns()) / 1e6,
	       m.kind == Move::kPutOff ? "put off: " : "", what.c_str());
	printf(of > 1 ? "  (%u of %zu)\n" : "\n", n, of);
}

void History::run()
{
	playing = std::string("--play ") + play_.name + " --choices " + show(choices_);
	sim::tracing = trace_;
	bad_turn.clear();
	sim::reset(sim::Options{.seed = 1});
	world_ = std::make_unique<play::World>(play_);
	check::watch_turns(turned);
	sim::choose_with(this);
	sim::run_ready();
	sim::choose_with(nullptr);
	if (failure.empty() && come_to_an_end())
		enough_ = true;
	world_.reset();
	coverage->edges |= check::edges_taken();
	if (failure.empty())
		failure = sim::leftovers();
	sim::discard();
}

} // namespace

void Coverage::add(const check::Turn &t)
{
	to[t.from][t.event] |= 1u << t.to;
}

std::string show(const Choices &c)
{
	std::string out;

	for (const Choice &i : c)
		out += (out.empty() ? "" : ",") + std::to_string(i.decision) + "=" +
		       std::to_string(i.choice);
	return out.empty() ? "-" : out;
}

bool read(const std::string &text, Choices &c)
{
	const char *p = text.c_str();
	unsigned int decision, choice;
	int used;

	c.clear();
	if (text == "-")
		return true;
	while (sscanf(p, "%u=%u%n", &decision, &choice, &used) == 2) {
		c.push_back({static_cast<uint16_t>(decision), static_cast<uint16_t>(choice)});
		p += used;
		if (!*p)
			return true;
		if (*p++ != ',')
			return false;
	}
	return false;
}

Result search(const play::Play &p, Bound bound, Coverage &seen)
{
	Result r;
	Met met;
	std::deque<Choices> todo = {{}};

	coverage = &seen;
	for (; !todo.empty(); todo.pop_front()) {
		History h(p, todo.front(), bound, ++r.histories, &met, false);

		h.run();
		r.states += h.states;
		r.decisions += h.decisions;
		if (!h.failure.empty()) {
			r.failure = h.failure;
			r.choices = todo.front();
			return r;
		}
		todo.insert(todo.end(), h.more.begin(), h.more.end());
	}
	return r;
}

std::string replay(const play::Play &p, const Choices &choices, bool trace, Coverage &seen)
{
	Bound bound = {static_cast<unsigned int>(choices.size()), ~0u};
	History h(p, choices, bound, 0, nullptr, trace);

	coverage = &seen;
	h.run();
	return h.failure;
}

const std::string &now_playing()
{
	return playing;
}

} // namespace explore
