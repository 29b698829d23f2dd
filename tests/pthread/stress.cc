// SPDX-License-Identifier: GPL-2.0
/*
 * stress.cc: the core under real races.
 *
 *     pthread_tsan traffic|modules|hash|wire|ends|query [TIMES]
 *
 * traffic: a dozen sockets talk to each other over loopback, each message exactly once and in
 * order, while other threads open and close sockets, cancel, poll, toggle monitors, reset
 * connections, walk what rds-info shows, and make and destroy namespaces. modules: the same with
 * loopback being unloaded and loaded all the while; what was on its way then may be lost, what
 * arrives is in order, and traffic goes on afterwards. hash: see hash_stress.cc; wire: see
 * wire_stress.cc; ends: see ends_stress.cc; query: see query_stress.cc.
 *
 * Every end waits for a wakeup and nothing else: a lost one fails the test (pt::wait_for).
 */
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <random>
#include <thread>

#include "platform_pthread.h"
#include "stress.h"
#include "talk.h"
#include "transports/loop/loop.h"

namespace
{

using talk::check;
using talk::pick;
using talk::recv_blocking;
using talk::send_blocking;

constexpr unsigned int kSockets = 12;
constexpr unsigned int kSenders = 4;
constexpr unsigned int kHosts = 4;
constexpr uint16_t kMainPort = 4000;
constexpr uint16_t kChurnPort = 5000;
constexpr unsigned int kChurnPorts = 4;
constexpr uint64_t kLast = 1ull << 63; /* in Tag::seq: nothing follows */
constexpr size_t kSizes[] = {0, 1, 7, 16, 64, 240, 256, 257, 1000, 4096, 20000};
constexpr size_t kMaxSize = 20000;

/* Starts a message that may be the first to arrive after a loss. */
struct Tag {
	uint64_t sender; /* unique */
	uint64_t seq;
};

struct Mode {
	bool exact;	     /* nothing may be lost */
	unsigned int rounds; /* messages of each socket, a multiple of kSockets */
};

struct End {
	std::unique_ptr<host::Socket> sock;
	struct rds_endpoint ep;
};

const struct rds_transport *loop;
struct rds_module loop_module;
struct rds_module local_module;
std::atomic<uint64_t> last_sender;
std::atomic<uint64_t> arrived, noise, opened, namespaces, reloads, walked;

/* 127.0.0.n, which loopback serves itself, or 10.0.0.n, which is "local"'s. */
struct rds_addr host_addr(const Mode &mode, unsigned int n)
{
	struct rds_addr a = host::addr4(n + 1);

	if (mode.exact)
		reinterpret_cast<unsigned char *>(&a)[12] = 127;
	return a;
}

/* ---- what messages hold ---- */

const host::Bytes &noise_bytes()
{
	static const host::Bytes bytes = [] {
		host::Bytes b(2 * kMaxSize);
		std::minstd_rand r(1);

		for (auto &c : b)
			c = static_cast<unsigned char>(r() >> 8);
		return b;
	}();
	return bytes;
}

/* The message of number @seq from socket @from to socket @to: size and bytes follow from these. */
std::span<const unsigned char> message_of(unsigned int from, unsigned int to, uint64_t seq)
{
	uint64_t mix = (seq * 144 + from * 12 + to) * 0x9e3779b97f4a7c15ull >> 20;
	size_t len = kSizes[mix % std::size(kSizes)];

	return {noise_bytes().data() + mix % kMaxSize, len};
}

host::Bytes tagged(uint64_t sender, uint64_t seq, size_t more)
{
	Tag tag = {sender, seq};
	host::Bytes b(sizeof(tag) + more);

	memcpy(b.data(), &tag, sizeof(tag));
	return b;
}

/* ---- the sockets that are checked ---- */

using Ends = std::deque<End>;

void sender(const Mode &mode, Ends &ends, unsigned int nth)
{
	uint64_t sent[kSockets][kSockets] = {};

	for (unsigned int round = 0; round < mode.rounds; round++) {
		for (unsigned int from = nth; from < kSockets; from += kSenders) {
			unsigned int to = (round + from) % kSockets;
			uint64_t seq = sent[from][to]++;

			if (mode.exact) {
				send_blocking(*ends[from].sock, ends[to].ep,
					      message_of(from, to, seq), false);
				continue;
			}
			auto m = tagged(from, seq, kSizes[pick(std::size(kSizes))]);

			send_blocking(*ends[from].sock, ends[to].ep, m, true);
		}
	}
}

/* Loopback stays from now on: this arrives. */
void say_last(Ends &ends)
{
	for (unsigned int from = 0; from < kSockets; from++)
		for (End &to : ends)
			send_blocking(*ends[from].sock, to.ep, tagged(from, kLast, 0), false);
}

/* A message from sockets that come and go, or when loss is allowed: numbers only rise. */
bool take_tagged(std::map<uint64_t, uint64_t> &next, const host::Bytes &data)
{
	Tag tag;

	check(data.size() >= sizeof(tag), "message without a tag");
	memcpy(&tag, data.data(), sizeof(tag));
	check(tag.seq >= next[tag.sender], "message out of order or twice");
	next[tag.sender] = tag.seq + 1;
	return tag.seq == kLast;
}

void receiver(const Mode &mode, Ends &ends, unsigned int me)
{
	std::map<uint64_t, uint64_t> next;
	uint64_t expected[kSockets] = {};
	unsigned int left = mode.exact ? mode.rounds : kSockets;

	while (left) {
		host::Received r = recv_blocking(*ends[me].sock);
		unsigned int from = r.info.from.port - kMainPort;

		/* A port that was picked at random may be one of ours, on another host. */
		if (from >= kSockets ||
		    memcmp(&r.info.from.addr, &ends[from].ep.addr, sizeof(struct rds_addr))) {
			take_tagged(next, r.data);
			noise++;
			continue;
		}
		arrived++;
		if (!mode.exact) {
			left -= take_tagged(next, r.data);
			continue;
		}
		auto want = message_of(from, me, expected[from]++);

		check(r.data.size() == want.size() &&
			      (want.empty() || !memcmp(r.data.data(), want.data(), want.size())),
		      "message lost, out of order, twice or damaged");
		left--;
	}
}

/* ---- those who disturb ---- */

struct rds_endpoint somewhere(const Mode &mode, const Ends &ends)
{
	if (pick(3))
		return ends[pick(kSockets)].ep;
	return host::endpoint(host_addr(mode, pick(kHosts)),
			      static_cast<uint16_t>(kChurnPort + pick(kChurnPorts)));
}

/* Opens, sends to those that are checked and to others like itself, closes: in any state. */
void churn_once(const Mode &mode, host::Net &net, const Ends &ends)
{
	host::Socket s(net);
	uint64_t me = 1000 + ++last_sender;
	auto port = static_cast<uint16_t>(pick(2) ? kChurnPort + pick(kChurnPorts) : 0);
	uint64_t seq = 0;

	if (s.bind(host::endpoint(host_addr(mode, pick(kHosts)), port)))
		return; /* in use */
	s.sock().sndbuf = 1u << (10 + pick(6));
	rds_socket_set_cong_monitor(s.core(), pick(2), ~0ull);
	for (unsigned int i = pick(20); i; i--) {
		auto to = somewhere(mode, ends);

		(void)s.send(to, tagged(me, seq++, kSizes[pick(std::size(kSizes))]), pick(2));
		if (!pick(8))
			rds_socket_cancel(s.core(), pick(2) ? &to : nullptr);
		if (!pick(4))
			(void)s.recv();
		(void)rds_socket_poll(s.core());
	}
	opened++;
}

/* Uses what any thread may use of sockets that are open. */
void meddle_once(const Mode &mode, host::Net &net, const Ends &ends)
{
	struct rds_socket *s = ends[pick(kSockets)].sock->core();
	struct rds_endpoint ep = host::endpoint(host::addr4(99), 99);
	struct rds_recv_counts held;
	uint64_t mask;
	int on;

	(void)rds_socket_poll(s);
	rds_socket_set_cong_monitor(s, pick(2), rds_random());
	rds_socket_cong_monitor(s, &on, &mask);
	rds_socket_cancel(s, &ep);
	(void)rds_socket_connect(s, &ep);
	(void)rds_socket_peer(s, &ep);
	(void)rds_socket_bound(s, &ep);
	(void)rds_socket_caps(s);
	check(!rds_socket_recv_query(s, pick(2) ? &ends[pick(kSockets)].ep : nullptr, &held) &&
		      held.span == held.held,
	      "loopback has gaps");
	rds_socket_set_trace(s, pick(2));
	if (mode.exact && !pick(1000))
		rds_transport_net_reset(net.core(), loop);
}

template <typename T>
void visit(void *arg, const T *i)
{
	T copy = *i;

	(void)copy;
	++*static_cast<uint64_t *>(arg);
}

void walk_once(const Mode &, host::Net &net, const Ends &)
{
	uint64_t n = 0;

	host::info_conns(net.core(), visit<struct rds_conn_info>, &n);
	host::info_sockets(net.core(), visit<struct rds_socket_info>, &n);
	for (auto q : {RDS_QUEUE_SEND, RDS_QUEUE_RETRANS, RDS_QUEUE_RECV})
		host::info_messages(net.core(), q, visit<struct rds_msg_info>, &n);
	rds_transport_stats(
		net.os(), [](void *, const char *, uint64_t) {}, nullptr);
	walked += n;
	std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

/* A namespace with the addresses and ports of the other one. */
void namespace_once(const Mode &mode, host::Net &, const Ends &)
{
	host::Net net({});
	host::Socket a(net), b(net);
	auto at = host::endpoint(host_addr(mode, 0), kMainPort);
	auto bt = host::endpoint(host_addr(mode, pick(2)), kMainPort + 1);

	if (a.bind(at) || b.bind(bt)) {
		check(!mode.exact, "address in use in a new namespace");
		return;
	}
	for (uint64_t seq = 0; seq < 10; seq++) {
		auto m = message_of(0, 1, seq);

		if (!mode.exact) {
			(void)a.send(bt, m);
			continue;
		}
		send_blocking(a, bt, m, false);
		send_blocking(b, at, m, false);
		if (seq & 1)
			check(recv_blocking(b).data.size() == message_of(0, 1, seq / 2).size(),
			      "message lost in a new namespace");
	}
	namespaces++;
}

/* rmmod rds_loop and modprobe rds_loop, as often as nobody has a reference. */
void reload_once(const Mode &, host::Net &, const Ends &)
{
	loop_module.dying = true;
	if (!loop_module.refs) {
		rds_transport_unregister(loop);
		loop_module.dying = false;
		check(!rds_transport_register(loop), "loopback cannot be registered again");
		reloads++;
	}
	loop_module.dying = false;
	std::this_thread::sleep_for(std::chrono::milliseconds(10));
}

/* ---- "local": a transport that has addresses, and leaves this host's own to loopback ---- */

int local_check(struct rds_os_net *, const struct rds_addr *a, uint32_t)
{
	return reinterpret_cast<const unsigned char *>(a)[12] == 10 ? 0 : -99;
}

const struct rds_transport local = {
	.name = "local",
	.type = 2,
	.caps = RDS_CAP_PREFER_LOOP,
	.max_paths = 1,
	.call_ms = 5000,
	.owner = &local_module,
	.use = nullptr,
	.unuse = nullptr,
	.laddr_check = local_check,
	.path_alloc = [](struct rds_path *) -> void * { return nullptr; },
	.path_free = nullptr,
	.initiates = nullptr,
	.connect = nullptr,
	.unanswered = nullptr,
	.adopt = nullptr,
	.discard = nullptr,
	.takeover_refused = nullptr,
	.shutdown = nullptr,
	.close = nullptr,
	.ended = nullptr,
	.xmit = nullptr,
	.other_end = nullptr,
	.recv_retry = nullptr,
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

/* ---- the whole ---- */

using Once = void (*)(const Mode &, host::Net &, const Ends &);

void open_all(const Mode &mode, host::Net &net, Ends &ends)
{
	for (unsigned int i = 0; i < kSockets; i++) {
		End e = {std::make_unique<host::Socket>(net),
			 host::endpoint(host_addr(mode, i % kHosts),
					static_cast<uint16_t>(kMainPort + i))};

		e.sock->sock().sndbuf = 8 * 1024;
		e.sock->sock().rcvbuf = i % 2 ? 4 * 1024 : 32 * 1024;
		check(!e.sock->bind(e.ep), "bind failed");
		ends.push_back(std::move(e));
	}
}

/* As often as messages arrive, or on a busy machine there would be nothing else. */
void disturb(Once once, const Mode &mode, host::Net &net, const Ends &ends,
	     const std::atomic<bool> &over)
{
	uint64_t n = 0;

	do {
		if (n <= arrived) {
			once(mode, net, ends);
			n++;
		} else {
			std::this_thread::sleep_for(std::chrono::microseconds(50));
		}
	} while (!over);
}

void talk(const Mode &mode, host::Net &net, Ends &ends)
{
	std::vector<Once> others = {churn_once, churn_once, meddle_once, walk_once, namespace_once};
	std::vector<std::thread> disturbing, sending, receiving;
	std::atomic<bool> over = false;

	if (!mode.exact)
		others.push_back(reload_once);
	for (unsigned int i = 0; i < kSockets; i++)
		receiving.emplace_back([&, i] { receiver(mode, ends, i); });
	for (Once once : others)
		disturbing.emplace_back([&, once] { disturb(once, mode, net, ends, over); });
	for (unsigned int i = 0; i < kSenders; i++)
		sending.emplace_back([&, i] { sender(mode, ends, i); });
	for (std::thread &t : sending)
		t.join();
	if (mode.exact)
		for (std::thread &t : receiving)
			t.join();
	over = true;
	for (std::thread &t : disturbing)
		t.join();
	if (mode.exact)
		return;
	say_last(ends);
	for (std::thread &t : receiving)
		t.join();
}

int run(const Mode &mode)
{
	pt::start(3);
	check(!rds_core_init(), "rds_core_init");
	loop = rds_loop_init(&loop_module);
	check(!rds_transport_register(&local) && !rds_transport_register(loop), "register");
	{
		host::Net net({});
		Ends ends;

		open_all(mode, net, ends);
		talk(mode, net, ends);
		ends.clear();
		printf("%s", net.show_stats().c_str());
	}
	rds_transport_unregister(loop);
	rds_transport_unregister(&local);
	rds_rcu_barrier();
	rds_core_exit();

	std::string left = pt::stop();

	printf("%lu messages, %lu of others, %lu sends repeated, %lu sockets opened, "
	       "%lu namespaces, %lu reloads, %lu entries walked\n",
	       arrived.load(), noise.load(), talk::retried.load(), opened.load(), namespaces.load(),
	       reloads.load(), walked.load());
	check(left.empty(), left.c_str());
	check(!loop_module.refs && !local_module.refs, "module references left");
	check(!host::bugs, "rds_bug was called");
	check(mode.exact || reloads, "loopback was never unloaded");
	return 0;
}

} // namespace

int main(int argc, char **argv)
{
	std::string part = argc > 1 ? argv[1] : "";
	unsigned int times = argc > 2 ? static_cast<unsigned int>(atoi(argv[2])) : 1;
	unsigned int rounds = 100 * kSockets * times;

	if (part == "traffic")
		return run(Mode{.exact = true, .rounds = rounds});
	if (part == "modules")
		return run(Mode{.exact = false, .rounds = rounds});
	if (part == "hash")
		return hash_stress();
	if (part == "wire")
		return wire_stress(100 * times);
	if (part == "ends")
		return ends_stress(50 * times);
	if (part == "query")
		return query_stress(500 * times);
	fprintf(stderr, "usage: pthread_tsan traffic|modules|hash|wire|ends|query [TIMES]\n");
	return 2;
}
