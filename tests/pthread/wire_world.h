/* SPDX-License-Identifier: GPL-2.0 */
/*
 * wire_world.h: hosts that talk over wire.h, and the judge of what arrives: every message exactly
 * once, and in an order that its hint allows.
 *
 * Three namespaces, three sockets in each, everyone sends to everyone on another host.  Visitors
 * are sockets that come, send anything and go; their messages are nobody's loss.
 */
#ifndef RDS_PTHREAD_WIRE_WORLD_H
#define RDS_PTHREAD_WIRE_WORLD_H

#include <functional>
#include <thread>

#include "talk.h"
#include "wire.h"

namespace wire
{

constexpr unsigned int kHosts = 3, kEach = 3, kSockets = kHosts * kEach;

/* At the front of each message. */
struct Label {
	uint32_t from, number;
};
constexpr uint32_t kVisitor = ~0u;

struct World {
	/* Binds all sockets.  The hosts' addresses are addr4(1) and on. */
	World();
	host::Net &net(unsigned int socket)
	{
		return *nets[socket / kEach];
	}
	/* Starts who sends @rounds messages to each socket of another host, and who receives them.
	 * @pause is called by each sender after its @n-th round. */
	void talk(unsigned int rounds, std::function<void(uint32_t)> pause = {});
	/* Starts @fn on a thread, again and again, once in so many arrivals. */
	void now_and_then(uint64_t every, std::function<void()> fn);
	void visit_once();
	/* Waits until everything has arrived; then ends what runs now and then. */
	void finish();

	std::vector<std::unique_ptr<host::Net>> nets;
	std::vector<std::unique_ptr<host::Socket>> socks;
	std::vector<struct rds_endpoint> at;
	std::atomic<bool> over = false;
	std::atomic<uint64_t> arrived = 0, visitors = 0;

private:
	void send(unsigned int me, unsigned int rounds, const std::function<void(uint32_t)> &pause);
	void receive(unsigned int me, unsigned int rounds);

	std::vector<std::thread> talking_, others_;
};

host::Bytes labelled(uint32_t from, uint32_t number);
/* Of a message, or fails. */
Label label_of(const host::Received &r);

/* Everything about a run but its World: @run has one, and it ends with it. */
int run_on_threads(const std::function<void()> &run);

} // namespace wire
#endif
