// SPDX-License-Identifier: GPL-2.0
#include "foreign.h"

#include "traffic.h"

namespace story
{
namespace
{

constexpr uint64_t kSecond = 1000 * 1000 * 1000ull;

} // namespace

/* ---- mainline's ---- */

void MainlineNode::boot()
{
	sim::say("host %u boots (mainline's)", id);
	network::power(id, true);
	peer_ = std::make_unique<peer::Mainline>(addr, version_);
	instance_ = watch_.next_instance++;
	peer_->on_message = [this](const struct rds_endpoint &from, uint16_t port,
				   const host::Bytes &data) {
		watch_.received(slot_of(port - kFirstPort), instance_, from, data);
	};
	watch_.loss.plain(id, version_ == peer::Version::k6 ? check::Plain::kForgetsLives
							    : check::Plain::kKnowsLives);
	watch_.booted(id);
	stop_ = false;
	/* What was sent before found nobody there. */
	for (unsigned int i = 0; i < watch_.slots_per_host; i++)
		watch_.excuse_to(slot_of(i));
}

void MainlineNode::shut_down()
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

void MainlineNode::crash()
{
	if (!peer_)
		return;
	sim::say("host %u loses power", id);
	network::power(id, false);
	tube::crash(id);
	shut_down();
}

void MainlineNode::leave()
{
	if (!peer_)
		return;
	sim::say("host %u leaves in order", id);
	shut_down();
	network::power(id, false);
}

bool MainlineNode::send(unsigned int slot, Job job)
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
bool MainlineNode::wait_to_send(const struct rds_endpoint &to)
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

void MainlineNode::sender(uint16_t port, Flow &f)
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

void MainlineNode::set_stuck(unsigned int slot, bool on)
{
	if (peer_)
		peer_->congest(watch_.port_of(slot_of(slot)), on);
}

void MainlineNode::set_habits(unsigned int, const Habits &h)
{
	if (peer_)
		peer_->set_slow(h.pause_ns != 0);
}

void MainlineNode::calm()
{
	for (unsigned int i = 0; i < watch_.slots_per_host; i++)
		set_stuck(i, false);
	set_habits(0, Habits());
}

std::string MainlineNode::show()
{
	if (!peer_)
		return "\n  host " + std::to_string(id) + " is down";
	return "\n  host " + std::to_string(id) + ", " + std::to_string(running_) +
	       " senders, is " + peer_->show();
}

/* Only without memory may a probe stay unanswered. */
void MainlineNode::settle()
{
	if (!sim::failed_allocs() && !peer_->answered())
		watch_.complain("probe: nobody answered it:" + show());
}

std::vector<Voice> MainlineNode::voices()
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

LiarNode::LiarNode(unsigned int id, const struct rds_addr &addr, Watch &w,
		   std::vector<struct rds_addr> victims)
	: Node(id, addr, w), victims_(std::move(victims))
{
	w.add_liar(id);
}

void LiarNode::boot()
{
	sim::say("host %u boots, and lies", id);
	network::power(id, true);
	liar_ = std::make_unique<peer::Liar>(
		addr, victims_, std::vector<uint16_t>{kFirstPort, 2, uint16_t{kFirstPort + 1}});
}

void LiarNode::crash()
{
	if (!liar_)
		return;
	sim::say("host %u loses power", id);
	network::power(id, false);
	tube::crash(id);
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
