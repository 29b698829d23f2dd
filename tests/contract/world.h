/* SPDX-License-Identifier: GPL-2.0 */
/*
 * world.h: what the contract suite runs over: two addresses joined by a transport.
 */
#ifndef RDS_TESTS_WORLD_H
#define RDS_TESTS_WORLD_H

#include <memory>

#include <gtest/gtest.h>

#include "check_order.h"
#include "check_states.h"
#include "host.h"
#include "sim.h"
#include "stream.h"
#include "traffic.h"
#include "transports/loop/loop.h"
#include "verbs.h"

namespace contract
{

enum class Kind { kLoop, kStream, kVerbs };

struct Over {
	const char *name;
	Kind kind;
	unsigned int a, b; /* hosts 10.0.0.a and .b (not loopback): who is smaller calls */
	stream::Params params;
	unsigned int preempt_per_1000;
	verbs::Params verbs = {};
};

inline void PrintTo(const Over &o, std::ostream *out)
{
	*out << o.name;
}

constexpr uint64_t kSecond = 1000 * 1000 * 1000ull;

class Contract : public ::testing::TestWithParam<Over>
{
protected:
	void SetUp() override;
	void TearDown() override;

	/* A socket of host a or b, bound to @port. */
	std::unique_ptr<host::Socket> socket_a(uint16_t port);
	std::unique_ptr<host::Socket> socket_b(uint16_t port);
	struct rds_endpoint at_a(uint16_t port) const
	{
		return host::endpoint(addr_a, port);
	}
	struct rds_endpoint at_b(uint16_t port) const
	{
		return host::endpoint(addr_b, port);
	}
	host::Net &net_a()
	{
		return *nets[0];
	}
	host::Net &net_b()
	{
		return *nets.back();
	}
	/* Ends the connections in order, or cuts them when the transport can be cut. */
	void reset_connections();
	void cut_or_reset();
	/* Cuts may lose messages: those that only TCP had acknowledged. */
	bool cuts_may_lose() const
	{
		return stream::cuts() != 0;
	}
	/* Runs until all of @n messages have come, at most a virtual minute. */
	bool run_until_received(const check::Order &order, uint64_t n)
	{
		return sim::run_until(
			[&] { return order.received_count() >= n && order.complete(); },
			60 * kSecond);
	}

	const struct rds_transport *transport = nullptr;
	struct rds_addr addr_a, addr_b;
	std::vector<std::unique_ptr<host::Net>> nets; /* one for loopback, else two */
	bool stop = false;

	/* Declared last in a test: its tasks end before what they use does. */
	class Finish final
	{
	public:
		explicit Finish(Contract &c) : c_(c)
		{
		}
		~Finish()
		{
			c_.stop = true;
			sim::run_ready();
		}
		Finish(const Finish &) = delete;
		Finish &operator=(const Finish &) = delete;

	private:
		Contract &c_;
	};

private:
	std::unique_ptr<host::Socket> socket(host::Net &net, const struct rds_endpoint &ep);
	struct rds_module loop_module;
};

} // namespace contract
#endif
