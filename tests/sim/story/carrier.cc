// SPDX-License-Identifier: GPL-2.0
#include "carrier.h"

namespace story
{
namespace
{

class Streams final : public Carrier
{
public:
	const struct rds_transport *ops() const override
	{
		return stream::ops();
	}
	struct rds_module &module() const override
	{
		return stream::module();
	}
	void listen(host::Net &net, const struct rds_addr &addr) const override
	{
		stream::listen(net, {addr});
	}
	void stop_listening(host::Net &net) const override
	{
		stream::stop_listening(net);
	}
	void crash(unsigned int host) const override
	{
		tube::crash(host);
	}
	void cut_one(bool half) const override
	{
		stream::cut_one(half);
	}
	uint64_t cuts() const override
	{
		return stream::cuts();
	}
	void refuse(unsigned int per_1000) const override
	{
		tube::params().refuse_per_1000 = per_1000;
	}
	void calm() const override
	{
		stream::set_faults(0, 0);
	}
	bool quiet() const override
	{
		return tube::quiet();
	}
	bool serves(unsigned int) const override
	{
		return true;
	}
	void unplug(unsigned int, bool) const override
	{
	}
};

class QueuePairs final : public Carrier
{
public:
	const struct rds_transport *ops() const override
	{
		return verbs::ops();
	}
	struct rds_module &module() const override
	{
		return verbs::module();
	}
	void listen(host::Net &net, const struct rds_addr &addr) const override
	{
		verbs::listen(net, {addr});
	}
	void stop_listening(host::Net &net) const override
	{
		verbs::stop_listening(net);
	}
	void crash(unsigned int host) const override
	{
		fabric::crash(host);
	}
	void cut_one(bool half) const override
	{
		verbs::cut_one(half);
	}
	uint64_t cuts() const override
	{
		return verbs::cuts();
	}
	void refuse(unsigned int per_1000) const override
	{
		fabric::params().refuse_per_1000 = per_1000;
	}
	void calm() const override
	{
		fabric::params() = fabric::Params();
		verbs::params().partial_per_1000 = 0;
	}
	bool quiet() const override
	{
		return fabric::quiet();
	}
	bool serves(unsigned int host) const override
	{
		return fabric::has_device(host);
	}
	void unplug(unsigned int host, bool gone) const override
	{
		if (gone)
			verbs::unplug(host);
		else
			verbs::plug(host);
	}
};

} // namespace

const Carrier &streams()
{
	static const Streams s;
	return s;
}

const Carrier &queue_pairs()
{
	static const QueuePairs q;
	return q;
}

} // namespace story
