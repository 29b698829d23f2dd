// SPDX-License-Identifier: GPL-2.0
#include "node.h"

#include "traffic.h"

namespace story
{

CoreNode::CoreNode(unsigned int id, const struct rds_addr &addr, Watch &w, const Carrier &c)
	: id(id), addr(addr), watch_(w), carrier_(c), apps_(w.slots_per_host)
{
	network::add_host({addr});
	network::power(id, false);
}

struct rds_endpoint CoreNode::at(unsigned int slot) const
{
	return host::endpoint(addr, watch_.port_of(slot));
}

void CoreNode::boot()
{
	unsigned int fail = sim::options().fail_per_1000;

	/* A host without memory for its first steps is no host. */
	sim::options().fail_per_1000 = 0;
	sim::fail_nth(0);
	network::power(id, true);
	net_ = std::make_unique<host::Net>(std::vector<struct rds_addr>{addr});
	carrier_.listen(*net_, addr);
	sim::options().fail_per_1000 = fail;
	watch_.loss.booted(id);
	sim::say("host %u boots", id);
}

bool CoreNode::open(unsigned int slot, const Habits &h)
{
	if (!net_ || apps_[slot] || !carrier_.serves(id))
		return false;

	unsigned int global = id * watch_.slots_per_host + slot;
	auto a = std::make_unique<App>(*net_, global, at(slot), h, watch_);
	int ret = a->open();

	sim::say("host %u: %s opens: %d", id, a->who().c_str(), ret);
	if (ret && ret != -12)
		watch_.complain("bind of " + a->who() + " failed with " + std::to_string(ret));
	if (ret)
		return false;
	/* What was sent before found nobody there. */
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
	apps_[slot].reset();
	watch_.excuse_to(id * watch_.slots_per_host + slot);
}

void CoreNode::shut_down()
{
	for (unsigned int i = 0; i < apps_.size(); i++)
		close(i);
	carrier_.stop_listening(*net_);
	rds_transport_net_exit(net_->core(), carrier_.ops());
	net_.reset();
}

/* Whoever listens to the network cannot tell an orderly end behind a pulled plug from a crash. */
void CoreNode::crash()
{
	if (!net_)
		return;
	sim::say("host %u loses power", id);
	network::power(id, false);
	carrier_.crash(id);
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

bool CoreNode::idle()
{
	if (!net_)
		return true;
	for (auto &a : apps_)
		if (a && !a->idle())
			return false;
	return !traffic::unacked(*net_);
}

std::string CoreNode::show()
{
	std::string out = "\n  host " + std::to_string(id);

	if (!net_)
		return out + " is down";
	out += " has " + std::to_string(traffic::unacked(*net_)) + " unacknowledged";
	for (auto &a : apps_)
		if (a && !a->idle())
			out += "; " + a->show();
	return out;
}

} // namespace story
