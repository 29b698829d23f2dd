// SPDX-License-Identifier: GPL-2.0
/*
 * query_stress.cc: RDS_RECV_QUERY against deliveries on eight paths and a reader.
 *
 * Each path brings messages of one numbered flow, which so overtake each other, and of a flow of
 * its own without numbers.  Two threads ask all the while: what they are told is never less than
 * what was held for all of the call, nor more than what can have been at some time of it; the span
 * is never less than that, and 0 only with it.
 */
#include <cstdio>
#include <mutex>
#include <thread>

#include "net/rds/net.h"
#include "net/rds/path/path.h"
#include "net/rds/socket/recv_query.h"
#include "net/rds/socket/socket.h"
#include "stress.h"
#include "talk.h"

namespace
{

using talk::check;

constexpr unsigned int kPaths = 8;
constexpr uint16_t kPort = 4000, kShared = 5000, kOwn = 6000;
constexpr uint32_t kAhead = 64;
constexpr uint32_t kBegin = 0xffffff00; /* the shared flow's first number: it wraps */

void *path_alloc(struct rds_path *path)
{
	return path;
}

/* Never connects: messages are brought by the test. */
const struct rds_transport none = {
	.name = "none",
	.type = 2,
	.caps = 0,
	.max_paths = kPaths,
	.call_ms = 5000,
	.owner = nullptr,
	.use = nullptr,
	.unuse = nullptr,
	.laddr_check = host::laddr_is_local,
	.path_alloc = path_alloc,
	.path_free = [](void *) {},
	.initiates = [](const void *) { return 0; },
	.connect = [](void *) { return -111; },
	.unanswered = nullptr,
	.adopt = nullptr,
	.discard = nullptr,
	.takeover_refused = nullptr,
	.shutdown = nullptr,
	.close = [](void *) {},
	.ended = nullptr,
	.xmit = nullptr,
	.other_end = nullptr,
	.recv_retry = [](void *) {},
	.midway = nullptr,
	.wants = nullptr,
	.facts = nullptr,
	.mr_get = nullptr,
	.mr_free = nullptr,
	.mr_sync = nullptr,
	.mr_flush = nullptr,
	.atomics = nullptr,
	.n_stats = 0,
	.stat_names = nullptr,
	.stats = nullptr,
};

/* The shared flow's sender, and what it has not heard of yet: within kAhead numbers, also if one
 * path stands still. */
struct Sender {
	std::mutex lock;
	uint32_t next = kBegin;
	uint32_t open[kPaths];
	bool busy[kPaths] = {};

	bool try_begin(unsigned int path, rds::Place &place)
	{
		std::lock_guard g(lock);
		uint32_t low = next;

		for (unsigned int i = 0; i < kPaths; i++)
			if (busy[i] && next - open[i] > next - low)
				low = open[i];
		if (next - low >= kAhead)
			return false;
		open[path] = next;
		busy[path] = true;
		place = {next++, low};
		return true;
	}
	rds::Place begin(unsigned int path)
	{
		rds::Place place;

		while (!try_begin(path, place))
			std::this_thread::sleep_for(std::chrono::microseconds(50));
		return place;
	}
	void end(unsigned int path)
	{
		std::lock_guard g(lock);

		busy[path] = false;
	}
};

struct World {
	host::Net net{{host::addr4(1)}};
	host::Socket sock{net};
	struct rds_addr here = host::addr4(1), peer = host::addr4(2);
	struct rds_conn *conn = nullptr;
	struct rds_path *paths[kPaths] = {};
	Sender sender;
	std::atomic<bool> over = false;
	/* Messages of which the header is about to come; has; about to be read; read. */
	std::atomic<uint64_t> begun, held, reading, read;
	std::atomic<uint64_t> asked, gaps, partly;
};

void bring(World &w, unsigned int path, rds::wire::Header &h)
{
	struct rds_msg *m = nullptr;

	w.begun++;
	check(!rds_recv_begin(w.paths[path], h.sequence, nullptr, 0, RDS_ATOMIC, &m), "begin");
	w.held++;
	if (!talk::pick(4))
		std::this_thread::yield();
	while (rds_recv_incoming(w.paths[path], m)) {
		w.partly++;
		std::this_thread::sleep_for(std::chrono::microseconds(100));
	}
}

void deliverer(World &w, unsigned int path, uint64_t first, uint64_t end)
{
	rds::wire::Header h;

	for (uint64_t i = first; i < end; i++) {
		auto place = w.sender.begin(path);

		rds::wire::encode(h, 0, kShared, kPort, 0);
		rds::wire::put64(h.sequence, 2 * i + 1);
		check(rds::wire::ExtWriter(h).order(place.number, place.low), "order");
		bring(w, path, h);
		w.sender.end(path);
		rds::wire::encode(h, 0, static_cast<uint16_t>(kOwn + path), kPort, 0);
		rds::wire::put64(h.sequence, 2 * i + 2);
		bring(w, path, h);
	}
}

void reader(World &w, unsigned int left)
{
	for (; left; left--) {
		w.reading++;
		talk::recv_blocking(w.sock);
		w.read++;
	}
}

void check_one_peer(World &w)
{
	struct rds_endpoint peer = host::endpoint(w.peer, kShared);
	struct rds_recv_counts c;

	check(!rds_socket_recv_query(w.sock.core(), &peer, &c), "query of a peer");
	check(c.span >= c.held && !c.span == !c.held, "one peer's span");
	/* Others are missing, or were read before an older one. */
	check(c.span <= c.held + 2 * kAhead, "there are not so many gaps");
	w.gaps += c.span > c.held;
}

void asker(World &w)
{
	while (!w.over) {
		struct rds_recv_look look;
		struct rds_recv_counts c;
		uint64_t read = w.read, held = w.held;

		check(!rds_socket_recv_query(w.sock.core(), nullptr, &c), "query");

		uint64_t begun = w.begun, reading = w.reading;

		check(c.span != RDS_RECV_UNKNOWN, "the span is known");
		check(c.span >= c.held && !c.span == !c.held, "span");
		check(c.held <= begun - read, "no more than there are");
		check(c.held + reading >= held, "no less than there are");
		check_one_peer(w);

		rds_recv_look(w.net.core(), &look);
		rds_socket_recv_counts(w.sock.core(), &look, &c);
		rds_recv_look_end(&look);
		check(c.span >= c.held && !c.span == !c.held, "span in a table");
		w.asked++;
	}
}

void deliver(World &w, uint64_t first, uint64_t end)
{
	std::vector<std::thread> bringing;

	for (unsigned int i = 0; i < kPaths; i++)
		bringing.emplace_back([&, i] { deliverer(w, i, first, end); });
	for (std::thread &t : bringing)
		t.join();
}

/* First nobody reads: what is held may only grow.  Then there is room for few, and paths wait with
 * a message at hand. */
void run(World &w, unsigned int rounds)
{
	std::vector<std::thread> asking;

	for (unsigned int i = 0; i < 2; i++)
		asking.emplace_back([&] { asker(w); });
	w.sock.sock().rcvbuf = 1 << 30;
	deliver(w, 0, rounds / 2);

	std::thread reading([&] { reader(w, 2 * kPaths * rounds); });

	w.sock.sock().rcvbuf = 200;
	deliver(w, rounds / 2, rounds);
	reading.join();
	w.over = true;
	for (std::thread &t : asking)
		t.join();
}

} // namespace

int query_stress(unsigned int rounds)
{
	pt::start(2);
	check(!rds_core_init() && !rds_transport_register(&none), "register");
	{
		World w;
		struct rds_recv_counts c;
		int err = 0;

		check(!w.sock.bind(host::endpoint(w.here, kPort)), "bind");
		w.conn = rds_conn_get(w.net.core(), &none, &w.here, &w.peer, 0, 0, &err);
		check(w.conn, "a connection");
		w.conn->orders.store(true); /* as if the peer's hello had said so */
		for (unsigned int i = 0; i < kPaths; i++)
			w.paths[i] = w.conn->provide(i).value();
		run(w, rounds);
		check(!rds_socket_recv_query(w.sock.core(), nullptr, &c) && !c.held && !c.span,
		      "all is read");
		printf("%lu messages, %lu queries, %lu with gaps, %lu times no room\n",
		       w.read.load(), w.asked.load(), w.gaps.load(), w.partly.load());
		check(w.gaps && w.partly, "nothing ever overtook, or everything fitted");
		rds_conn_put(w.conn);
		w.sock.close();
		rds_transport_unregister(&none);
	}
	rds_rcu_barrier();
	rds_core_exit();

	std::string left = pt::stop();

	check(left.empty(), left.c_str());
	check(!host::bugs, "rds_bug was called");
	return 0;
}
