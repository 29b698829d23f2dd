// SPDX-License-Identifier: GPL-2.0
#include "crowd.h"

#include <algorithm>
#include <cstring>

#include "check_order.h"
#include "check_states.h"
#include "liar.h"
#include "sim.h"
#include "stream.h"
#include "traffic.h"
#include "transports/loop/loop.h"

namespace crowd
{
namespace
{

constexpr uint64_t kMs = 1000 * 1000;
constexpr uint64_t kSecond = 1000 * kMs;
constexpr uint16_t kPort = 1000;
constexpr uint32_t kBuffer = 20000;
/* A path may be receiving a message of 1 MiB, a socket holds its hard limit. */
constexpr size_t kBoundBytes = 8u << 20;

struct CoreHost {
	struct rds_addr addr;
	std::unique_ptr<host::Net> net = nullptr;
	std::unique_ptr<host::Socket> socket = nullptr;
};

class Crowd final
{
public:
	explicit Crowd(const Setup &s) : setup_(s)
	{
	}
	Result play();

private:
	void begin();
	void start_flows(uint32_t count);
	void start(size_t from, size_t to, uint32_t count);
	void read_loop(host::Socket &s);
	void act();
	void calm();
	bool at_rest();
	void rest(const char *when);
	void end();
	void complain(const std::string &what);
	bool is_liar(const struct rds_addr &a) const;
	bool may_lose() const;
	std::string who_waits();
	unsigned int unacked(const CoreHost &c);
	size_t hosts() const
	{
		return cores_.size() + mains_.size();
	}
	const struct rds_addr &addr_of(size_t i) const
	{
		return i < cores_.size() ? cores_[i].addr : mains_[i - cores_.size()]->addr;
	}

	const Setup setup_;
	Result result_;
	check::Order order_;
	struct rds_module loop_module_;
	std::vector<CoreHost> cores_;
	std::vector<std::unique_ptr<peer::Mainline>> mains_;
	std::vector<std::unique_ptr<peer::Liar>> liars_;
	std::vector<std::unique_ptr<traffic::Sender>> senders_;
	uint32_t next_flow_ = 0;
	unsigned int running_ = 0, readers_ = 0;
	bool stop_ = false, broken_ = false;
};

void Crowd::complain(const std::string &what)
{
	if (result_.complaint.empty())
		result_.complaint = what;
}

bool Crowd::is_liar(const struct rds_addr &a) const
{
	return std::any_of(liars_.begin(), liars_.end(),
			   [&](const auto &l) { return !memcmp(&l->addr, &a, sizeof(a)); });
}

bool Crowd::may_lose() const
{
	return broken_ ||
	       std::any_of(mains_.begin(), mains_.end(), [](const auto &m) { return m->forgot; });
}

/* Reads all; what liars say is nobody's. */
void Crowd::read_loop(host::Socket &s)
{
	while (!stop_) {
		sim::wait_until([&] { return stop_ || s.readable(); });
		while (auto m = s.recv()) {
			auto name = traffic::read(m->data);

			if (is_liar(m->info.from.addr))
				continue;
			if (name)
				order_.received(name->flow, name->number);
			else
				order_.complain("corrupt message");
		}
	}
	readers_--;
}

void Crowd::begin()
{
	unsigned int n = setup_.cores + setup_.sixes + setup_.sevens + setup_.liars, left = n;
	unsigned int first = static_cast<unsigned int>(sim::random_below(n));
	bool six = sim::chance(300);
	std::vector<struct rds_addr> victims;
	auto next = [&] {
		unsigned int id = 1 + (first + --left) % n;

		return six ? host::addr6(id) : host::addr4(id);
	};

	check::watch_states();
	if (rds_core_init() || rds_transport_register(rds_loop_init(&loop_module_)) ||
	    rds_transport_register(stream::ops()))
		sim::fail("no core");
	/* Every kind sits at small and large addresses, by the seed. */
	for (unsigned int i = 0; i < setup_.cores; i++) {
		cores_.push_back(CoreHost{next()});
		victims.push_back(cores_.back().addr);
	}
	for (CoreHost &c : cores_) {
		c.net = std::make_unique<host::Net>(std::vector<struct rds_addr>{c.addr});
		c.socket = std::make_unique<host::Socket>(*c.net);
		c.socket->sock().sndbuf = c.socket->sock().rcvbuf = kBuffer;
		if (c.socket->bind(host::endpoint(c.addr, kPort)))
			sim::fail("bind");
		stream::listen(*c.net, {c.addr});
		readers_++;
		sim::spawn("read", [this, s = c.socket.get()] { read_loop(*s); });
	}
	for (unsigned int i = 0; i < setup_.sixes + setup_.sevens; i++) {
		auto v = i < setup_.sixes ? peer::Version::k6 : peer::Version::k7;

		mains_.push_back(std::make_unique<peer::Mainline>(next(), v));
		mains_.back()->on_message = [this](const struct rds_addr &, uint16_t,
						   const host::Bytes &data) {
			auto name = traffic::read(data);

			if (name)
				order_.received(name->flow, name->number);
			else
				order_.complain("corrupt message at a foreign host");
		};
	}
	for (unsigned int i = 0; i < setup_.liars; i++)
		liars_.push_back(std::make_unique<peer::Liar>(
			next(), victims, std::vector<uint16_t>{kPort, 2, 1001}));
}

/* One flow, unless neither end is ours. */
void Crowd::start(size_t from, size_t to, uint32_t count)
{
	uint32_t flow = next_flow_++;
	auto at = host::endpoint(addr_of(to), kPort);

	if (from == to || (from >= cores_.size() && to >= cores_.size()))
		return;
	running_++;
	if (from < cores_.size()) {
		auto *s = senders_
				  .emplace_back(std::make_unique<traffic::Sender>(traffic::Sender{
					  cores_[from].socket.get(), at, flow, &order_, &stop_}))
				  .get();

		sim::spawn("send", [this, s, count] {
			s->send(count, 16, 5000);
			running_--;
		});
		return;
	}
	sim::spawn("send", [this, m = mains_[from - cores_.size()].get(), at, flow, count] {
		for (uint32_t i = 0; i < count && !stop_; i++) {
			sim::wait_until([&] { return stop_ || m->may_send(at); });
			if (stop_)
				break;
			order_.sent(flow, i);
			m->send(at, kPort, traffic::make(flow, i, 16 + sim::random_below(5000)));
		}
		running_--;
	});
}

void Crowd::start_flows(uint32_t count)
{
	for (size_t from = 0; from < hosts(); from++)
		for (size_t to = 0; to < hosts(); to++)
			start(from, to, count);
}

void Crowd::act()
{
	peer::Mainline *m =
		mains_.empty() ? nullptr : mains_[sim::random_below(mains_.size())].get();

	switch (sim::random_below(7)) {
	case 0:
		if (setup_.cuts)
			broken_ |= stream::cut_one(sim::chance(300));
		break;
	case 1:
		if (setup_.ends)
			rds_transport_net_reset(
				cores_[sim::random_below(cores_.size())].net->core(),
				stream::ops());
		break;
	case 2:
		if (setup_.ends && m) {
			broken_ |= m->version == peer::Version::k6;
			m->drop_all();
		}
		break;
	case 3:
		if (m)
			m->congest(kPort, sim::chance(500));
		break;
	case 4:
		if (m)
			m->set_slow(sim::chance(500));
		break;
	default:
		break;
	}
	sim::run_for(sim::random_below(3 * kMs));
	result_.peak_bytes = std::max<uint64_t>(result_.peak_bytes, host::usage().bytes);
}

void Crowd::calm()
{
	for (auto &m : mains_) {
		m->congest(kPort, false);
		m->set_slow(false);
	}
	for (auto &l : liars_) {
		result_.lies += l->lies;
		l->stop();
	}
	stream::set_faults(0, 0);
	sim::options().fail_per_1000 = 0;
}

/* What is queued for honest hosts: liars need not take their pongs. */
unsigned int Crowd::unacked(const CoreHost &c)
{
	struct Count {
		Crowd *crowd;
		unsigned int n;
	} count = {this, 0};
	auto add = [](void *arg, const struct rds_msg_info *m) {
		auto *c = static_cast<Count *>(arg);

		c->n += !c->crowd->is_liar(m->faddr);
	};

	rds_info_messages(c.net->core(), RDS_QUEUE_SEND, add, &count);
	rds_info_messages(c.net->core(), RDS_QUEUE_RETRANS, add, &count);
	return count.n;
}

bool Crowd::at_rest()
{
	if (running_)
		return false;
	for (auto &c : cores_)
		if (c.socket->readable() || unacked(c))
			return false;
	return std::all_of(mains_.begin(), mains_.end(), [](auto &m) { return m->idle(); });
}

std::string Crowd::who_waits()
{
	std::string s = " running " + std::to_string(running_);

	for (auto &c : cores_)
		s += "; core " + host::show(c.addr) + " unacked " + std::to_string(unacked(c));
	for (auto &m : mains_)
		s += "; " + m->show();
	return s;
}

void Crowd::rest(const char *when)
{
	if (!sim::run_until([&] { return at_rest(); }, 200 * kSecond))
		complain(std::string("does not come to rest ") + when + who_waits());
	/* What TCP had acknowledged may still be on its way to its reader. */
	sim::run_until([&] { return order_.complete(); }, kSecond);
	complain(order_.complaint());
}

void Crowd::end()
{
	stop_ = true;
	sim::run_ready();
	sim::run_until([&] { return !running_ && !readers_; }, kSecond);
	liars_.clear();
	mains_.clear();
	for (auto &c : cores_) {
		c.socket.reset();
		stream::stop_listening(*c.net);
	}
	cores_.clear();
	rds_transport_unregister(stream::ops());
	rds_transport_unregister(rds_loop_init(&loop_module_));
	rds_core_exit();
	sim::run_ready();
	complain(sim::leftovers());
	complain(check::states_complaint());
}

Result Crowd::play()
{
	sim::Options opt;
	stream::Params p;

	opt.seed = setup_.seed;
	sim::reset(opt);
	sim::options().preempt_per_1000 = sim::chance(600) ? 1 + sim::random_below(150) : 0;
	p.send_window = 200 + sim::random_below(64 * 1024);
	p.recv_window = 200 + sim::random_below(64 * 1024);
	p.partial_per_1000 = sim::chance(500) ? 300 : 0;
	stream::reset(p);
	begin();
	sim::options().fail_per_1000 = sim::chance(300) ? 10 : 0;
	start_flows(20 + static_cast<uint32_t>(sim::random_below(10 * setup_.steps)));
	for (unsigned int i = 0; i < setup_.steps; i++)
		act();
	calm();
	rest("after the faults");
	result_.lost = order_.lost();
	if (result_.lost && !may_lose())
		complain(std::to_string(result_.lost) + " messages lost, and nothing was cut");

	uint64_t before = order_.received_count();
	uint32_t flows = next_flow_;

	start_flows(1);
	rest("at the end");
	if (order_.received_count() == before || order_.lost() != result_.lost)
		complain("not everybody is alive: " + std::to_string(next_flow_ - flows) +
			 " flows, " + std::to_string(order_.received_count() - before) +
			 " received;" + who_waits());
	result_.received = order_.received_count();
	for (auto &m : mains_) {
		result_.maps += m->maps;
		result_.probes += m->probes_answered;
		result_.retransmitted += m->retransmitted;
		if (!m->probes_answered && !may_lose() && !sim::failed_allocs())
			complain("nobody answered the probe of " + m->show());
	}
	if (result_.peak_bytes > kBoundBytes)
		complain(std::to_string(result_.peak_bytes) + " bytes in use");
	end();
	return result_;
}

} // namespace

Setup draw(uint64_t seed)
{
	sim::reset(sim::Options{.seed = seed});

	Setup s;

	s.seed = seed;
	s.cores = 1 + static_cast<unsigned int>(sim::random_below(2));
	s.sixes = static_cast<unsigned int>(sim::random_below(2));
	s.sevens = static_cast<unsigned int>(sim::random_below(3));
	s.liars = sim::chance(500) ? 1 : 0;
	s.cuts = sim::chance(500);
	s.ends = sim::chance(600);
	s.steps = 20 + static_cast<unsigned int>(sim::random_below(300));
	if (s.cores + s.sixes + s.sevens < 2)
		s.sevens = 1;
	return s;
}

std::string words(const Setup &s)
{
	return std::to_string(s.cores) + " cores, " + std::to_string(s.sixes) + " of 6.x, " +
	       std::to_string(s.sevens) + " of 7.x, " + std::to_string(s.liars) + " liars" +
	       (s.cuts ? ", cuts" : "") + (s.ends ? ", orderly ends" : "");
}

Result play(const Setup &s)
{
	return Crowd(s).play();
}

} // namespace crowd
