/* SPDX-License-Identifier: GPL-2.0 */
/*
 * corners.h: two hosts, or one with two addresses, for stories that random ones rarely tell.
 *
 * Every corner runs over loopback and over a stream, called and calling, once for each of some
 * seeds: tasks lose the processor wherever they can, bytes are cut anywhere.  Applications sleep as
 * system calls do: until they are woken, and only then they look again.  A wakeup that is missing
 * is a sleeper that never comes back.
 */
#ifndef RDS_TESTS_CORNERS_H
#define RDS_TESTS_CORNERS_H

#include <memory>

#include <gtest/gtest.h>

#include "check_order.h"
#include "check_states.h"
#include "sim.h"
#include "stream.h"
#include "traffic.h"
#include "transports/loop/loop.h"

namespace corners
{

/* Shorter than any of the core's time limits, which would end what is stuck; longer than back-off.
 */
constexpr uint64_t kSoonNs = 4ull * 1000 * 1000 * 1000;
constexpr uint64_t kMs = 1000 * 1000ull, kSecond = 1000 * kMs;

enum class Over { kLoop, kCalling, kCalled };
/* Changes what the seed chose for the network. */
using Tune = std::function<void(stream::Params &)>;

/* Two places, a and b, and what runs there.  Nothing of it may be left when it ends. */
class World final
{
public:
	World(Over over, uint64_t seed, const Tune &tune);
	~World();
	World(const World &) = delete;
	World &operator=(const World &) = delete;

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
		return *nets.front();
	}
	host::Net &net_b()
	{
		return *nets.back();
	}
	/* A task; the story calls finish() or stop_all() before what the task uses goes. */
	void run(const char *name, std::function<void()> fn);
	/* Waits until everything that was run() has ended; a failure when that takes @ns. */
	bool finish(uint64_t ns = kSoonNs);
	/* Tells tasks to end, and waits for them. */
	void stop_all();
	/* Ends the connections of @net in order; cuts one (stream). */
	void reset(host::Net &net);
	bool cut()
	{
		return stream::cut_one();
	}
	/* Somebody is transmitting on a connection of @net. */
	static bool sending(host::Net &net)
	{
		return flags(net) & 1;
	}
	static bool connected(host::Net &net)
	{
		return flags(net) & 4;
	}
	/* The messages that @s sent are no longer charged to it. */
	static bool all_given_back(host::Socket &s);

	const bool stream;
	const struct rds_transport *transport;
	struct rds_addr addr_a, addr_b;
	std::vector<std::unique_ptr<host::Net>> nets;
	bool stop = false;

private:
	std::unique_ptr<host::Socket> socket(host::Net &net, const struct rds_endpoint &ep);
	static unsigned int flags(host::Net &net);

	unsigned int running_ = 0;
	struct rds_module loop_module_;
};

/* Runs @story in a world of each kind and each of @seeds seeds, until one fails.  CORNERS_FROM in
 * the environment is the first of them. */
void everywhere(uint64_t seeds, const std::function<void(World &)> &story,
		const Tune &tune = nullptr);

/* How an application waits. */
enum class Way { kBlocking, kPolling, kEdge };

/* Sends @count messages of @min..@max bytes, sleeping where sendmsg() or poll() would.  False:
 * stopped. */
bool send(World &w, host::Socket &from, const struct rds_endpoint &to, uint32_t flow,
	  check::Order &order, uint32_t count, size_t min, size_t max, Way way = Way::kBlocking);
/* Reads until @n messages came or the world stops; sleeps until it is woken. */
void receive(World &w, host::Socket &at, check::Order &order, uint64_t n = UINT64_MAX);

} // namespace corners
#endif
