// SPDX-License-Identifier: GPL-2.0
#include "corners.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include <sys/epoll.h>

#include "glue.h"

namespace corners
{
namespace
{

struct rds_addr loopback_addr(unsigned char n)
{
	const unsigned char b[16] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 127, 0, 0, n};
	struct rds_addr a;

	memcpy(&a, b, sizeof(a));
	return a;
}

const char *name_of(Over over)
{
	switch (over) {
	case Over::kLoop:
		return "loopback";
	case Over::kCalling:
		return "a stream, calling";
	case Over::kCalled:
		break;
	}
	return "a stream, called";
}

} // namespace

World::World(Over over, uint64_t seed, const Tune &tune) : stream(over != Over::kLoop)
{
	stream::Params p;

	sim::reset(sim::Options{.seed = seed});
	sim::options().preempt_per_1000 = static_cast<unsigned int>(sim::random_below(300));
	check::watch_states();
	glue::start([this] { return stop; });
	EXPECT_EQ(rds_core_init(), 0);
	p.delay_max_ns = 2000 + sim::random_below(100 * 1000);
	p.send_window = 200 + sim::random_below(20 * 1000);
	p.recv_window = 200 + sim::random_below(20 * 1000);
	p.partial_per_1000 = sim::chance(500) ? 400 : 0;
	p.paths = 1u << sim::random_below(4);
	if (tune)
		tune(p);
	stream::reset(p);
	transport = rds_loop_init(&loop_module_);
	EXPECT_EQ(rds_transport_register(transport), 0);
	if (!stream) {
		addr_a = loopback_addr(1);
		addr_b = loopback_addr(2);
		nets.push_back(
			std::make_unique<host::Net>(std::vector<struct rds_addr>{addr_a, addr_b}));
		return;
	}
	transport = stream::ops();
	EXPECT_EQ(rds_transport_register(transport), 0);
	addr_a = host::addr4(over == Over::kCalling ? 1 : 2);
	addr_b = host::addr4(over == Over::kCalling ? 2 : 1);
	for (const auto &a : {addr_a, addr_b}) {
		nets.push_back(std::make_unique<host::Net>(std::vector<struct rds_addr>{a}));
		stream::listen(*nets.back(), {a});
	}
}

World::~World()
{
	stop_all();
	sim::options().fail_per_1000 = 0;
	for (auto &n : nets)
		stream::stop_listening(*n);
	nets.clear();
	if (stream)
		rds_transport_unregister(transport);
	rds_transport_unregister(rds_loop_init(&loop_module_));
	rds_core_exit();
	sim::run_ready();
	EXPECT_TRUE(glue::nobody_waits());
	EXPECT_EQ(sim::leftovers(), "");
	EXPECT_EQ(check::states_complaint(), "");
	EXPECT_EQ(loop_module_.refs.load(), 0);
	EXPECT_EQ(stream::module().refs.load(), 0);
	sim::discard();
}

std::unique_ptr<host::Socket> World::socket(host::Net &net, const struct rds_endpoint &ep)
{
	auto s = std::make_unique<host::Socket>(net);

	EXPECT_EQ(s->bind(ep), 0);
	return s;
}

std::unique_ptr<host::Socket> World::socket_a(uint16_t port)
{
	return socket(net_a(), at_a(port));
}

std::unique_ptr<host::Socket> World::socket_b(uint16_t port)
{
	return socket(net_b(), at_b(port));
}

void World::run(const char *name, std::function<void()> fn)
{
	running_++;
	sim::spawn(name, [this, fn = std::move(fn)] {
		fn();
		running_--;
	});
}

bool World::finish(uint64_t ns)
{
	bool done = sim::run_until([this] { return !running_; }, ns);

	EXPECT_EQ(running_, 0u) << "tasks that wait for ever";
	if (!done)
		stop_all(); /* what they use is about to go */
	return done;
}

void World::stop_all()
{
	stop = true;
	sim::run_until([this] { return !running_; }, 600 * kSecond);
	EXPECT_EQ(running_, 0u);
}

void World::reset(host::Net &net)
{
	rds_transport_net_reset(net.core(), transport);
}

unsigned int World::flags(host::Net &net)
{
	unsigned int any = 0;
	auto look = [](void *arg, const struct rds_conn_info *i) {
		*static_cast<unsigned int *>(arg) |= i->flags;
	};

	host::info_conns(net.core(), look, &any);
	return any;
}

bool World::all_given_back(host::Socket &s)
{
	uint32_t was = s.sock().sndbuf.exchange(1);
	bool empty = rds_socket_writable(s.core());

	s.sock().sndbuf = was;
	return empty;
}

void everywhere(uint64_t seeds, const std::function<void(World &)> &story, const Tune &tune)
{
	const char *from = getenv("CORNERS_FROM");
	uint64_t first = from ? strtoull(from, nullptr, 10) : 1;

	for (uint64_t seed = first; seed < first + seeds; seed++) {
		for (Over over : {Over::kLoop, Over::kCalling, Over::kCalled}) {
			SCOPED_TRACE(std::string("over ") + name_of(over) + ", seed " +
				     std::to_string(seed));
			World w(over, seed, tune);

			story(w);
			if (::testing::Test::HasFailure())
				return;
		}
	}
}

namespace
{

/* The events that a program waits for that did not get its message off. */
unsigned int events_for(Way way, int ret)
{
	if (way == Way::kEdge)
		return EPOLLIN | EPOLLWRBAND | EPOLLOUT;
	if (ret == -ENOBUFS)
		return EPOLLIN | EPOLLWRBAND;
	return EPOLLOUT;
}

} // namespace

bool send(World &w, host::Socket &from, const struct rds_endpoint &to, uint32_t flow,
	  check::Order &order, uint32_t count, size_t min, size_t max, Way way)
{
	glue::Poll poll(from, way == Way::kEdge ? unsigned{EPOLLET} : 0u);

	for (uint32_t i = 0; i < count;) {
		auto data = traffic::make(flow, i, min + sim::random_below(max - min + 1));

		order.sent(flow, i);

		int ret = glue::send(from, to, data, way == Way::kBlocking ? glue::kForever : 0);

		if (!ret) {
			i++;
			continue;
		}
		order.not_sent(flow, i);
		if (w.stop)
			return false;
		if (ret == -ENOMEM) {
			sim::yield();
		} else if (way == Way::kBlocking || (ret != -EAGAIN && ret != -ENOBUFS)) {
			order.complain("send failed with " + std::to_string(ret));
			return false;
		} else {
			(void)poll.wait(events_for(way, ret));
		}
	}
	return true;
}

void receive(World &w, host::Socket &at, check::Order &order, uint64_t n)
{
	uint64_t got = 0;

	while (!w.stop && got < n) {
		got += traffic::drain(at, order);
		if (got < n)
			(void)glue::wait_to_recv(at);
	}
}

} // namespace corners
