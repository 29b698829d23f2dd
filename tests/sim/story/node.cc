// SPDX-License-Identifier: GPL-2.0
#include "node.h"

#include <algorithm>

#include "aged.h"

namespace story
{

Node::Node(unsigned int id, const struct rds_addr &addr, Watch &w) : id(id), addr(addr), watch_(w)
{
	network::add_host({addr});
	network::power(id, false);
}

struct rds_endpoint Node::at(unsigned int slot) const
{
	return host::endpoint(addr, watch_.port_of(slot));
}

CoreNode::CoreNode(unsigned int id, const struct rds_addr &addr, Watch &w,
		   const std::vector<const Carrier *> &carriers, unsigned int crowd)
	: Node(id, addr, w), carriers_(carriers), crowd_(crowd), apps_(w.slots_per_host)
{
}

void CoreNode::boot()
{
	unsigned int fail = sim::options().fail_per_1000;

	/* A host without memory for its first steps is no host. */
	sim::options().fail_per_1000 = 0;
	sim::fail_nth(0);
	network::power(id, true);
	net_ = std::make_unique<host::Net>(std::vector<struct rds_addr>{addr});
	aged::age(*net_);
	if (crowd_)
		rds_net_tunables(net_->core())->max_passive = crowd_ / 2;
	for (const Carrier *c : carriers_)
		c->listen(*net_, addr);
	sim::options().fail_per_1000 = fail;
	watch_.booted(id);
	sim::say("host %u boots", id);
}

bool CoreNode::open(unsigned int slot, const Habits &h)
{
	if (!net_ || apps_[slot] || !carriers_[0]->serves(id))
		return false;

	unsigned int global = slot_of(slot), fail = sim::options().fail_per_1000;

	/* Nor is a program without a socket one: it would try for ever. */
	sim::options().fail_per_1000 = 0;

	auto a = std::make_unique<App>(*net_, global, at(slot), h, watch_);

	sim::options().fail_per_1000 = fail;

	int ret = a->open();

	sim::say("host %u: %s opens: %d", id, a->who().c_str(), ret);
	if (ret && ret != -12)
		watch_.complain("bind of " + a->who() + " failed with " + std::to_string(ret));
	if (ret)
		return false;
	/* Messages sent before found nobody there. */
	watch_.excuse_to(global);
	apps_[slot] = std::move(a);
	return true;
}

void CoreNode::close(unsigned int slot)
{
	App *a = apps_[slot].get();

	if (!a)
		return;
	sim::say("host %u: %s closes", id, a->who().c_str());
	watch_.excuse_from(a->slot);
	a->stop();
	watch_.excuse_from(a->slot);
	watch_.rdma.closed(a->instance());
	n_sent_ += a->n_sent();
	n_read_ += a->n_read();
	unread_ = unread_ || !watch_.at_rest;
	apps_[slot].reset();
	watch_.excuse_to(slot_of(slot));
}

void CoreNode::shut_down()
{
	for (unsigned int i = 0; i < apps_.size(); i++)
		close(i);
	for (const Carrier *c : carriers_) {
		c->stop_listening(*net_);
		rds_transport_net_exit(net_->core(), c->ops());
	}
	watch_.counters.life(*net_, n_sent_, n_read_, unread_);
	n_sent_ = n_read_ = 0;
	unread_ = false;
	net_.reset();
}

/* An observer of the network cannot tell an orderly end behind a pulled plug from a crash. */
void CoreNode::crash()
{
	if (!net_)
		return;
	sim::say("host %u loses power", id);
	network::power(id, false);
	for (const Carrier *c : carriers_)
		c->crash(id);
	shut_down();
}

void CoreNode::leave()
{
	if (!net_)
		return;
	sim::say("host %u leaves in order", id);
	shut_down();
	network::power(id, false);
}

void CoreNode::allow(check::Memory::Limit &limit)
{
	auto add = [](void *arg, const struct rds_path_info *i) {
		if (!i->index)
			static_cast<check::Memory::Limit *>(arg)->add_connection(8);
	};

	if (!net_)
		return;
	limit.add_host();
	for (auto &a : apps_)
		if (a)
			a->allow(limit);
	host::info_paths(net_->core(), add, &limit);
}

bool CoreNode::all_quiet() const
{
	return std::all_of(apps_.begin(), apps_.end(),
			   [](const auto &a) { return !a || a->idle(); });
}

bool CoreNode::idle()
{
	return !net_ || (all_quiet() && !unacked());
}

bool CoreNode::served()
{
	return !net_ || (all_quiet() && !unacked(false));
}

/* Liars need not take their pongs. */
unsigned int CoreNode::unacked(bool answers)
{
	struct Count {
		const Watch &watch;
		bool answers;
		unsigned int n;
	} count = {watch_, answers, 0};
	auto add = [](void *arg, const struct rds_msg_info *m) {
		auto *c = static_cast<Count *>(arg);

		c->n += !c->watch.is_liar(m->faddr) && (c->answers || m->lport);
	};

	host::info_messages(net_->core(), RDS_QUEUE_SEND, add, &count);
	host::info_messages(net_->core(), RDS_QUEUE_RETRANS, add, &count);
	return count.n;
}

void CoreNode::reset()
{
	rds_transport_net_reset(net_->core(), carriers_[0]->ops());
}

bool CoreNode::send(unsigned int slot, Job job)
{
	return apps_[slot] && apps_[slot]->send(std::move(job));
}

void CoreNode::set_stuck(unsigned int slot, bool on)
{
	if (apps_[slot])
		apps_[slot]->set_stuck(on);
}

void CoreNode::set_habits(unsigned int slot, const Habits &h)
{
	if (apps_[slot])
		apps_[slot]->set_habits(h);
}

void CoreNode::settle()
{
	for (auto &a : apps_)
		if (a)
			a->stop();
	for (auto &a : apps_)
		if (a)
			a->check_rest();
	for (auto &a : apps_)
		if (a)
			a->listen();
}

std::vector<Voice> CoreNode::voices()
{
	std::vector<Voice> out;

	for (auto &a : apps_)
		if (a)
			out.push_back(Voice{a->at, true, [a = a.get()](auto &to, auto &data) {
						    return a->speak(to, data);
					    }});
	return out;
}

std::string CoreNode::show()
{
	std::string out = "\n  host " + std::to_string(id);

	if (!net_)
		return out + " is down";
	out += " has " + std::to_string(unacked()) + " unacknowledged";
	for (auto &a : apps_)
		if (a && !a->idle())
			out += "; " + a->show();
	return out;
}

} // namespace story
