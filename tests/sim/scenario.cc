// SPDX-License-Identifier: GPL-2.0
#include "scenario.h"

#include <memory>
#include <vector>

#include "check_order.h"
#include "check_states.h"
#include "sim.h"
#include "stream.h"
#include "traffic.h"
#include "transports/loop/loop.h"

namespace scenario
{
namespace
{

constexpr uint64_t kMs = 1000 * 1000;
constexpr uint16_t kFirstAppPort = 1000;

struct Host {
	struct rds_addr addr;
	std::unique_ptr<host::Net> net;
};

/* A socket that receives at its port, and sends one flow at a time to any other. */
struct App {
	App(Host &h, uint16_t port) : at(h), port(port), socket(*h.net)
	{
	}
	Host &at;
	const uint16_t port;
	host::Socket socket;
	bool stop = false;
	bool slow = false;
	unsigned int running = 0; /* tasks that use it */
	std::vector<std::unique_ptr<traffic::Sender>> senders;
};

class Story final
{
public:
	explicit Story(uint64_t seed) : seed_(seed)
	{
	}
	Result run(unsigned int steps);

private:
	void choose();
	void begin();
	void act();
	void open_app();
	void close_app(size_t i);
	void start_flow();
	void cancel_some();
	void fault();
	void calm();
	bool rest();
	void prove_alive();
	void end();
	void complain(const std::string &what);
	std::string who_waits() const;
	bool tasks_done() const;
	static void read_loop(App &a, check::Order &order);

	const uint64_t seed_;
	Result result_;
	check::Order order_;
	struct rds_module loop_module_;
	const struct rds_transport *loop_ = nullptr;
	std::vector<Host> hosts_;
	std::vector<std::unique_ptr<App>> apps_;
	uint32_t next_flow_ = 1;
	uint16_t next_port_ = kFirstAppPort;
	unsigned int max_apps_ = 0;
	size_t max_bytes_ = 0;
	uint64_t pace_ns_ = 0;
	bool cuts_ = false, resets_ = false, cancels_ = false, closes_ = false;
	bool may_lose_ = false; /* something was cut, closed or taken back */
};

void Story::complain(const std::string &what)
{
	if (result_.complaint.empty())
		result_.complaint = what;
}

/* What kind of story it is. */
void Story::choose()
{
	sim::Options opt;
	stream::Params p;

	opt.seed = seed_;
	sim::reset(opt);
	sim::options().preempt_per_1000 = sim::chance(700) ? 1 + sim::random_below(200) : 0;
	p.delay_max_ns = p.delay_min_ns + sim::random_below(200 * 1000);
	p.send_window = 100 + sim::random_below(64 * 1024);
	p.recv_window = 100 + sim::random_below(64 * 1024);
	p.partial_per_1000 = sim::chance(500) ? 300 : 0;
	p.refuse_per_1000 = sim::chance(300) ? 200 : 0;
	max_apps_ = 2 + static_cast<unsigned int>(sim::random_below(7));
	max_bytes_ = sim::chance(300) ? 64 * 1024 : 16 + sim::random_below(4000);
	pace_ns_ = 1000 + sim::random_below(400 * 1000);
	cuts_ = sim::chance(600);
	resets_ = sim::chance(500);
	cancels_ = sim::chance(250);
	closes_ = sim::chance(500);
	stream::reset(p);
	result_.setup = "preempt " + std::to_string(sim::options().preempt_per_1000) +
			", windows " + std::to_string(p.send_window) + "/" +
			std::to_string(p.recv_window) + ", messages to " +
			std::to_string(max_bytes_) + (cuts_ ? ", cuts" : "") +
			(resets_ ? ", resets" : "") + (cancels_ ? ", cancels" : "") +
			(closes_ ? ", closes" : "");
}

void Story::begin()
{
	size_t n = 2 + sim::random_below(3);

	check::watch_states();
	if (rds_core_init())
		sim::fail("rds_core_init");
	loop_ = rds_loop_init(&loop_module_);
	if (rds_transport_register(loop_) || rds_transport_register(stream::ops()))
		sim::fail("rds_transport_register");
	for (size_t i = 0; i < n; i++) {
		unsigned int id = static_cast<unsigned int>(i) + 1;
		struct rds_addr a = sim::chance(300) ? host::addr6(id) : host::addr4(id);

		hosts_.push_back(
			Host{a, std::make_unique<host::Net>(std::vector<struct rds_addr>{a})});
	}
	for (Host &h : hosts_)
		stream::listen(*h.net, {h.addr});
	for (unsigned int i = 0; i < max_apps_; i++)
		open_app();
	sim::options().fail_per_1000 = sim::chance(400) ? 1 + sim::random_below(40) : 0;
}

void Story::read_loop(App &a, check::Order &order)
{
	while (!a.stop) {
		sim::wait_until([&] { return a.stop || (a.socket.readable() && !a.slow); });
		if (!a.stop)
			traffic::drain(a.socket, order);
	}
	a.running--;
}

void Story::open_app()
{
	Host &h = hosts_[sim::random_below(hosts_.size())];
	auto a = std::make_unique<App>(h, next_port_++);
	int ret = a->socket.bind(host::endpoint(h.addr, a->port));

	if (ret) {
		if (ret != -12)
			complain("bind failed with " + std::to_string(ret));
		return;
	}
	a->socket.sock().sndbuf = 500 + static_cast<uint32_t>(sim::random_below(100 * 1000));
	a->socket.sock().rcvbuf = 500 + static_cast<uint32_t>(sim::random_below(100 * 1000));

	App &ref = *a;

	apps_.push_back(std::move(a));
	ref.running++;
	sim::spawn("reader", [this, &ref] { read_loop(ref, order_); });
}

void Story::close_app(size_t i)
{
	App &a = *apps_[i];

	a.stop = true;
	sim::run_until([&] { return !a.running; }, 60 * 1000 * kMs);
	if (a.running) {
		complain("a task of a closing socket hangs");
		return;
	}
	/* Flows to and from it end here; what was on its way may be lost. */
	for (auto &other : apps_)
		for (auto &s : other->senders)
			if (s->to.port == a.port)
				may_lose_ = true;
	if (!a.senders.empty())
		may_lose_ = true;
	traffic::drain(a.socket, order_);
	apps_.erase(apps_.begin() + static_cast<long>(i));
}

void Story::start_flow()
{
	App &from = *apps_[sim::random_below(apps_.size())];
	App &to = *apps_[sim::random_below(apps_.size())];
	uint32_t count = 1 + static_cast<uint32_t>(sim::random_below(60));
	size_t max = std::max<size_t>(16, sim::random_below(max_bytes_ + 1));

	if (from.running > 3)
		return;

	auto s = std::make_unique<traffic::Sender>(
		traffic::Sender{&from.socket, host::endpoint(to.at.addr, to.port), next_flow_++,
				&order_, &from.stop});
	traffic::Sender &ref = *s;

	from.senders.push_back(std::move(s));
	from.running++;
	sim::spawn("sender", [&from, &ref, count, max] {
		ref.send(count, 16, max);
		from.running--;
	});
}

void Story::cancel_some()
{
	App &from = *apps_[sim::random_below(apps_.size())];

	if (from.senders.empty())
		return;
	may_lose_ = true;

	const auto to = from.senders[sim::random_below(from.senders.size())]->to;

	rds_socket_cancel(from.socket.core(), sim::chance(700) ? &to : nullptr);
}

void Story::fault()
{
	if (cuts_ && sim::chance(400)) {
		may_lose_ = stream::cut_one() || may_lose_;
	} else if (resets_ && sim::chance(400)) {
		Host &h = hosts_[sim::random_below(hosts_.size())];

		rds_transport_net_reset(h.net->core(), sim::chance(800) ? stream::ops() : loop_);
	}
}

void Story::act()
{
	switch (sim::random_below(10)) {
	case 0:
		if (apps_.size() < max_apps_)
			open_app();
		break;
	case 1:
		if (closes_ && apps_.size() > 2)
			close_app(sim::random_below(apps_.size()));
		break;
	case 2:
		apps_[sim::random_below(apps_.size())]->slow = sim::chance(500);
		break;
	case 3:
		if (cancels_)
			cancel_some();
		break;
	case 4:
	case 5:
		fault();
		break;
	default:
		start_flow();
		break;
	}
}

void Story::calm()
{
	sim::options().fail_per_1000 = 0;
	stream::set_faults(0, 0);
	for (auto &a : apps_)
		a->slow = false;
}

bool Story::tasks_done() const
{
	for (const auto &a : apps_)
		if (a->running > 1) /* its reader stays */
			return false;
	return true;
}

/* For the one who looks into it: what holds whom up. */
std::string Story::who_waits() const
{
	std::string out;

	for (const Host &h : hosts_)
		out += "\n  " + host::show(h.addr) + " has " +
		       std::to_string(traffic::unacked(*h.net)) + " unacknowledged";
	for (const auto &a : apps_) {
		out += "\n  port " + std::to_string(a->port) + " of " + host::show(a->at.addr) +
		       (a->socket.readable() ? " readable" : "") +
		       (rds_socket_writable(a->socket.core()) ? "" : " full");
		for (const auto &s : a->senders)
			if (rds_socket_congested(a->socket.core(), &s->to))
				out += ", sees port " + std::to_string(s->to.port) + " congested";
	}
	return out;
}

/* Everything comes to rest by itself. */
bool Story::rest()
{
	bool done = sim::run_until(
		[&] {
			if (!tasks_done())
				return false;
			for (Host &h : hosts_)
				if (traffic::unacked(*h.net))
					return false;
			for (auto &a : apps_)
				if (a->socket.readable())
					return false;
			return true;
		},
		120 * 1000 * kMs);

	if (!done)
		complain((tasks_done() ? "messages stay queued or unread for ever"
				       : "a sender waits for ever") +
			 who_waits());
	/* What is acknowledged but still in a window, or in the reader's hands. */
	sim::run_for(50 * kMs);
	return done;
}

/* From every socket to every other one more message, and all arrive. */
void Story::prove_alive()
{
	check::Order last;
	uint32_t flow = 1u << 24;
	unsigned int n = 0;

	for (auto &a : apps_)
		a->stop = true;
	sim::run_until([&] { return tasks_done() && !apps_.empty(); }, 1000 * kMs);
	sim::run_ready();
	for (auto &from : apps_) {
		for (auto &to : apps_) {
			auto data = traffic::make(flow, 0, 100);

			last.sent(flow, 0);

			int ret = from->socket.send(host::endpoint(to->at.addr, to->port), data);

			if (ret)
				complain("at peace a send failed with " + std::to_string(ret));
			flow++;
			n++;
			sim::run_until(
				[&] {
					for (auto &a : apps_)
						traffic::drain(a->socket, last);
					return last.received_count() == n;
				},
				60 * 1000 * kMs);
		}
	}
	if (last.received_count() != n)
		complain(std::to_string(n - last.received_count()) +
			 " messages did not arrive at peace");
	if (!last.complaint().empty())
		complain(last.complaint());
}

void Story::end()
{
	for (auto &a : apps_)
		a->stop = true;
	sim::run_ready();
	apps_.clear();
	for (Host &h : hosts_)
		stream::stop_listening(*h.net);
	hosts_.clear();
	rds_transport_unregister(stream::ops());
	rds_transport_unregister(loop_);
	rds_core_exit();
	sim::run_ready();

	std::string left = sim::leftovers();

	if (!left.empty())
		complain("left over: " + left);
	if (loop_module_.refs.load() || stream::module().refs.load())
		complain("module references are left");
}

Result Story::run(unsigned int steps)
{
	choose();
	begin();
	for (unsigned int i = 0; i < steps && result_.complaint.empty(); i++) {
		if (apps_.size() < 2)
			open_app();
		else
			act();
		sim::run_for(sim::random_below(pace_ns_));
	}
	calm();
	while (apps_.size() < 2 && result_.complaint.empty())
		open_app();
	rest();
	if (!order_.complaint().empty())
		complain(order_.complaint());
	if (!may_lose_ && order_.lost())
		complain(std::to_string(order_.lost()) + " messages are missing");
	prove_alive();
	result_.received = order_.received_count();
	result_.lost = order_.lost();
	result_.sent = result_.received + result_.lost;
	result_.cuts = stream::cuts();
	result_.failed_allocs = sim::failed_allocs();
	end();
	if (!check::states_complaint().empty())
		complain(check::states_complaint());
	result_.edges = check::edges_taken();
	return result_;
}

} // namespace

Result run(uint64_t seed, unsigned int steps)
{
	Result r = Story(seed).run(steps);

	sim::discard();
	return r;
}

} // namespace scenario
