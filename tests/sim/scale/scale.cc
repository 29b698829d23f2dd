// SPDX-License-Identifier: GPL-2.0
/*
 * scale: what a message and an idle connection cost when there are N peers.
 *
 *	scale N ROUNDS
 *
 * N + 1 hosts, each with a whole core of its own: a hub that has a connection with every other,
 * and one socket for ten of them, and N spokes, of which each has a connection with the hub and
 * one with either neighbour.  In a round every spoke asks the hub, the hub answers, and the spoke
 * tells its neighbour: a constant load per host, and tables that grow with N.
 *
 * Prints one JSON object.  Calls of the seam are counted by the linker's leave (seam_count.h); the
 * core is built for gcov, and what its lines did in the measured rounds is left in the .gcda files,
 * for scale.py to count hash probes and list steps.
 */
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>

extern "C" {
#include <gcov.h>
}

#include "seam_count.h"
#include "sim.h"
#include "transports/loop/loop.h"
#include "wire.h"

extern "C" const size_t scale_linux_bytes[3]; /* connection, path, congestion map */

namespace
{

using scale::addr_of;
using scale::seam;
using scale::SeamCount;
using ull = unsigned long long;

constexpr uint16_t kPort = 100;
constexpr uint32_t kPeersPerSocket = 10;
constexpr size_t kMessageBytes = 64;
/* Bigger clusters are left to the host's exit: nothing new is seen there, and it takes long. */
constexpr uint32_t kTornDown = 1000;
constexpr uint64_t kUs = 1000, kSecond = 1000 * 1000 * kUs;

double seconds()
{
	using namespace std::chrono;

	return duration<double>(steady_clock::now().time_since_epoch()).count();
}

/* Host 0 is the hub. */
class Cluster final
{
public:
	explicit Cluster(uint32_t spokes);
	~Cluster();
	void round();
	/* All connections of the hub go. */
	void end_hub()
	{
		rds_transport_net_exit(nets_[0]->core(), scale::wire_ops());
	}
	uint64_t connections() const
	{
		return 2ull *
		       (2ull * spokes_); /* both ends of N to the hub and of N to neighbours */
	}

private:
	static void pass(host::Socket &from, host::Socket &to, uint32_t to_host, uint16_t port);
	host::Socket &hub_socket(uint32_t spoke)
	{
		return *sockets_[spokes_ + (spoke - 1) / kPeersPerSocket];
	}

	const uint32_t spokes_;
	struct rds_module loop_module_;
	const struct rds_transport *loop_;
	std::vector<std::unique_ptr<host::Net>> nets_;
	std::vector<std::unique_ptr<host::Socket>> sockets_; /* of the spokes, then the hub's */
};

Cluster::Cluster(uint32_t spokes) : spokes_(spokes), loop_(rds_loop_init(&loop_module_))
{
	auto open = [this](uint32_t n, uint16_t port) {
		sockets_.push_back(std::make_unique<host::Socket>(*nets_[n]));
		if (sockets_.back()->bind(host::endpoint(addr_of(n), port)))
			sim::fail("bind");
	};

	if (rds_core_init() || rds_transport_register(loop_) ||
	    rds_transport_register(scale::wire_ops()))
		sim::fail("no core");
	for (uint32_t n = 0; n <= spokes_; n++) {
		nets_.push_back(
			std::make_unique<host::Net>(std::vector<struct rds_addr>{addr_of(n)}));
		scale::plug(n, *nets_[n]);
		/* All callers are welcome, or there would be no more than some thousand. */
		rds_net_tunables(nets_[n]->core())->max_passive = ~0u;
		if (n)
			open(n, kPort);
	}
	for (uint32_t i = 0; i * kPeersPerSocket < spokes_; i++)
		open(0, static_cast<uint16_t>(kPort + i));
}

Cluster::~Cluster()
{
	sockets_.clear();
	rds_transport_unregister(scale::wire_ops());
	nets_.clear();
	rds_transport_unregister(loop_);
	rds_core_exit();
	sim::run_ready();
}

/* One message, sent, received, read and acknowledged. */
void Cluster::pass(host::Socket &from, host::Socket &to, uint32_t to_host, uint16_t port)
{
	static const host::Bytes data(kMessageBytes, 0x5a);

	if (from.send(host::endpoint(addr_of(to_host), port), data))
		sim::fail("send");
	if (!to.readable() && !sim::run_until([&] { return to.readable(); }, kSecond))
		sim::fail("a message does not come");
	to.recv();
	sim::run_for(20 * kUs);
}

void Cluster::round()
{
	for (uint32_t n = 1; n <= spokes_; n++) {
		uint32_t next = n % spokes_ + 1;
		host::Socket &spoke = *sockets_[n - 1], &hub = hub_socket(n);
		auto port = static_cast<uint16_t>(kPort + (n - 1) / kPeersPerSocket);

		pass(spoke, hub, 0, port);
		pass(hub, spoke, n, kPort);
		pass(spoke, *sockets_[next - 1], next, kPort);
	}
}

void print(const char *key, uint64_t v)
{
	printf("\"%s\": %llu, ", key, static_cast<ull>(v));
}

void print_seam(uint64_t messages)
{
	print("messages", messages);
	print("allocs", seam.allocs);
	print("alloc_bytes", seam.alloc_bytes);
	print("locks", seam.locks);
	print("rcu", seam.rcu);
	print("works", seam.works);
	print("timers", seam.timers);
	print("wakes", seam.wakes);
	print("stats", seam.stats);
}

} // namespace

int main(int argc, char **argv)
{
	uint32_t spokes = argc > 1 ? static_cast<uint32_t>(strtoul(argv[1], nullptr, 0)) : 0;
	uint32_t rounds = argc > 2 ? static_cast<uint32_t>(strtoul(argv[2], nullptr, 0)) : 0;

	if (spokes < 3 || spokes > 500000 || !rounds) {
		fprintf(stderr, "usage: %s N ROUNDS (N from 3 to 500000)\n", argv[0]);
		return 2;
	}
	sim::reset(sim::Options());

	double begin = seconds();
	auto cluster = std::make_unique<Cluster>(spokes);
	host::Usage bare = host::usage();

	cluster->round();
	sim::run_for(30 * kSecond); /* every timer of connecting is over */

	host::Usage idle = host::usage();
	double connected = seconds();

	seam = SeamCount();
	__gcov_reset();
	for (uint32_t i = 0; i < rounds; i++)
		cluster->round();
	__gcov_dump();

	double measured = seconds();

	printf("{");
	print_seam(3ull * spokes * rounds);
	print("connections", cluster->connections());
	print("idle_bytes", idle.bytes - bare.bytes);
	print("idle_blocks", idle.blocks - bare.blocks);
	print("wire_bytes", scale::wire_bytes());
	print("linux_conn", scale_linux_bytes[0]);
	print("linux_path", scale_linux_bytes[1]);
	print("linux_map", scale_linux_bytes[2]);
	seam = SeamCount();
	cluster->end_hub();
	print("end_syncs", seam.syncs);
	printf("\"seconds\": [%.2f, %.2f]}\n", connected - begin, measured - connected);
	fflush(stdout);
	if (spokes > kTornDown)
		_Exit(0);
	cluster.reset();

	std::string left = sim::leftovers();

	if (!left.empty())
		sim::fail(left.c_str());
	return 0;
}
