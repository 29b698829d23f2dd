// SPDX-License-Identifier: GPL-2.0
#include "foreign.h"

#include "fabric.h"
#include "paired.h"
#include "mainline.h"
#include "traffic.h"

namespace story
{
namespace
{

constexpr uint64_t kSecond = 1000 * 1000 * 1000ull;

std::unique_ptr<peer::Honest> make(const struct rds_addr &addr, peer::Version v, bool paired,
				   bool counts)
{
	if (paired)
		return std::make_unique<peer::Paired>(addr, v, counts);
	return std::make_unique<peer::Mainline>(addr, v);
}

/* The power is gone, whatever carries. */
void cut_off(unsigned int id)
{
	network::power(id, false);
	tube::crash(id);
	fabric::crash(id);
}

} // namespace

/* ---- mainline's, and old ones of ours ---- */

void HonestNode::boot()
{
	sim::say("host %u boots (%s)", id,
		 version_ == peer::Version::kOld ? "an old one of ours" : "mainline's");
	network::power(id, true);
	peer_ = make(addr, version_, paired_, counts_);
	instance_ = watch_.next_instance++;
	peer_->on_message = [this](const struct rds_endpoint &from, uint16_t port,
				   const host::Bytes &data) {
		watch_.received(slot_of(port - kFirstPort), instance_, from, data);
	};
	/* Over queue pairs there is no generation. */
	if (version_ != peer::Version::kOld)
		watch_.loss.plain(id, version_ == peer::Version::k6 || paired_
					      ? check::Plain::kForgetsLives
					      : check::Plain::kKnowsLives);
	watch_.booted(id);
	stop_ = false;
	/* Messages sent before found nobody there. */
	for (unsigned int i = 0; i < watch_.slots_per_host; i++)
		watch_.excuse_to(slot_of(i));
}

void HonestNode::shut_down()
{
	stop_ = true;
	sim::run_until([this] { return !running_; }, 600 * kSecond);
	peer_.reset();
	flows_.clear();
	for (unsigned int i = 0; i < watch_.slots_per_host; i++) {
		watch_.excuse_from(slot_of(i));
		watch_.excuse_to(slot_of(i));
	}
}

void HonestNode::crash()
{
	if (!peer_)
		return;
	sim::say("host %u loses power", id);
	cut_off(id);
	shut_down();
}

void HonestNode::leave()
{
	if (!peer_)
		return;
	sim::say("host %u leaves in order", id);
	shut_down();
	network::power(id, false);
}

bool HonestNode::send(unsigned int slot, Job job)
{
	unsigned int from = slot_of(slot);

	if (!peer_ || stop_)
		return false;

	auto [it, fresh] = flows_.try_emplace({from, job.to});
	Flow &f = it->second;

	if (f.busy)
		return false;
	if (fresh)
		f.id = watch_.new_flow(from, job.to);
	f.busy = true;
	running_++;
	f.job = std::move(job);
	sim::spawn("sender", [this, port = watch_.port_of(from), &f] {
		sender(port, f);
		f.busy = false;
		running_--;
	});
	return true;
}

/* False: to stop.  Pings who is gone, as a user would. */
bool HonestNode::wait_to_send(const struct rds_endpoint &to)
{
	for (;;) {
		sim::wait_until(
			[&] { return stop_ || peer_->may_send(to) || peer_->is_lost(to.addr); });
		if (stop_ || peer_->may_send(to))
			return !stop_;
		peer_->ping(to.addr);
		sim::sleep_for(kSecond / 100);
	}
}

void HonestNode::sender(uint16_t port, Flow &f)
{
	Job &job = *f.job;

	for (; job.count; job.count--) {
		if (!wait_to_send(job.at))
			return;
		watch_.order.sent(f.id, f.sent);
		watch_.loss.sent(f.id, f.sent);
		peer_->send(job.at, port,
			    traffic::make(f.id, f.sent++,
					  job.min + job.rng.below(job.max - job.min + 1)));
		watch_.sent++;
	}
}

void HonestNode::set_stuck(unsigned int slot, bool on)
{
	if (peer_)
		peer_->congest(watch_.port_of(slot_of(slot)), on);
}

void HonestNode::set_habits(unsigned int, const Habits &h)
{
	if (peer_)
		peer_->set_slow(h.pause_ns != 0);
}

void HonestNode::calm()
{
	for (unsigned int i = 0; i < watch_.slots_per_host; i++)
		set_stuck(i, false);
	set_habits(0, Habits());
}

std::string HonestNode::show()
{
	if (!peer_)
		return "\n  host " + std::to_string(id) + " is down";
	return "\n  host " + std::to_string(id) + ", " + std::to_string(running_) +
	       " senders, is " + peer_->show();
}

/* Only without memory may a probe stay unanswered. */
void HonestNode::settle()
{
	if (!sim::failed_allocs() && !peer_->answered())
		watch_.complain("probe: nobody answered it:" + show());
}

std::vector<Voice> HonestNode::voices()
{
	auto say = [this](const struct rds_endpoint &to, const host::Bytes &data) {
		if (!wait_to_send(to))
			return -4;
		peer_->send(to, at(0).port, data);
		return 0;
	};

	return {Voice{at(0), false, say}};
}

/* ---- liars ---- */

LiarNode::LiarNode(unsigned int id, const struct rds_addr &addr, Watch &w, Make make,
		   size_t strangers, size_t guests)
	: Node(id, addr, w), make_(std::move(make)), strangers_(strangers), guests_(guests)
{
	w.add_liar(id);
}

void LiarNode::boot()
{
	sim::say("host %u boots, and lies", id);
	network::power(id, true);
	liar_ = make_();
}

void LiarNode::crash()
{
	if (!liar_)
		return;
	sim::say("host %u loses power", id);
	cut_off(id);
	liar_.reset();
}

void LiarNode::leave()
{
	liar_.reset();
	network::power(id, false);
}

void LiarNode::calm()
{
	if (liar_)
		liar_->stop();
}

} // namespace story
