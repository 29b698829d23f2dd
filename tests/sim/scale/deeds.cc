// SPDX-License-Identifier: GPL-2.0
/*
 * deeds: what is done once costs what it changes, however much there is beside it.
 *
 *	deeds N
 *
 * One host with connections to N others, of which one socket has sent to each.  Prints one JSON
 * object: for each deed the steps of the core (steps.h), those of the longest stretch under a spin
 * lock and in an RCU section, grace periods, and what it did it to.
 */
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>

#include "lonely.h"
#include "net/rds/net.h"
#include "net/rds/path/path.h"
#include "net/rds/socket/socket.h"
#include "sim.h"
#include "steps.h"
#include "transports/loop/loop.h"
#include "wire.h"

namespace
{

using host::endpoint;
using scale::addr_of;
using ull = unsigned long long;

constexpr uint16_t kPort = 100, kFull = 200;
constexpr uint64_t kMs = 1000 * 1000;

class Deeds final
{
public:
	explicit Deeds(uint32_t hosts);
	/* Each deed once; the last ones end what the others need. */
	void run();
	void tear_down();

private:
	struct rds_net *core()
	{
		return net_->core();
	}
	struct rds_path *path_to(uint32_t host);
	std::unique_ptr<host::Socket> open(uint16_t port);
	void send(host::Socket &s, uint32_t host, uint16_t port = kPort);
	/* @per: so many things were changed by it. */
	void measure(const char *name, uint64_t per, const std::function<void()> &deed);
	void close_sockets();
	void queue_many(uint16_t port);
	void look_at_a_queue();
	void move_a_queue();
	void break_a_connection();
	void change_maps();
	void wait_for_ports();
	void take_snapshots();
	void end_idle();
	void end_all();
	void meet_all();

	const uint32_t hosts_;
	struct rds_module module_;
	const struct rds_transport *loop_;
	std::unique_ptr<host::Net> net_;
	std::unique_ptr<host::Socket> all_;
	const char *comma_ = "";
};

Deeds::Deeds(uint32_t hosts) : hosts_(hosts), loop_(rds_loop_init(&module_))
{
	if (rds_core_init() || rds_transport_register(loop_) ||
	    rds_transport_register(scale::lonely_ops()))
		sim::fail("no core");
	net_ = std::make_unique<host::Net>(std::vector<struct rds_addr>{addr_of(0)});
	all_ = open(kPort);
	meet_all();
}

std::unique_ptr<host::Socket> Deeds::open(uint16_t port)
{
	auto s = std::make_unique<host::Socket>(*net_);

	s->sock().sndbuf = 1u << 30;
	if (s->bind(endpoint(addr_of(0), port)))
		sim::fail("bind");
	return s;
}

void Deeds::send(host::Socket &s, uint32_t host, uint16_t port)
{
	if (s.send(endpoint(addr_of(host), port), host::Bytes(64)))
		sim::fail("send");
}

void Deeds::meet_all()
{
	for (uint32_t i = 1; i <= hosts_; i++) {
		send(*all_, i);
		if (i % 1000 == 0)
			sim::run_for(kMs);
	}
	sim::run_for(1000 * kMs);
}

struct rds_path *Deeds::path_to(uint32_t host)
{
	struct rds_addr laddr = addr_of(0), faddr = addr_of(host);
	rds::RcuReader rcu;
	rds::Conn *c = core()->conns.find(*scale::lonely_ops(), laddr, faddr, 0, 0, core()->key);

	if (!c)
		sim::fail("a connection is missing");
	return &c->first();
}

void Deeds::measure(const char *name, uint64_t per, const std::function<void()> &deed)
{
	uint64_t begun = sim::now_ns();

	(void)scale::take_steps();
	deed();

	scale::Steps s = scale::take_steps();

	printf("%s\"%s\": {\"per\": %llu, \"steps\": %llu, \"lock\": %llu, \"rcu\": %llu, "
	       "\"unasked\": %llu, \"syncs\": %llu, \"ms\": %llu}",
	       comma_, name, static_cast<ull>(per), static_cast<ull>(s.all),
	       static_cast<ull>(s.under_lock), static_cast<ull>(s.in_rcu),
	       static_cast<ull>(s.unasked), static_cast<ull>(s.syncs),
	       static_cast<ull>((sim::now_ns() - begun) / kMs));
	fflush(stdout);
	comma_ = ", ";
}

/* One that has sent to one host, and one that has sent to several, of which it keeps a list. */
void Deeds::close_sockets()
{
	for (uint32_t to : {1u, 8u}) {
		auto s = open(kPort + 1);

		scale::lonely_silence(true);
		for (uint32_t i = 1; i <= to; i++)
			send(*s, i);
		sim::run_for(kMs);
		scale::lonely_silence(false);
		measure(to == 1 ? "close a socket, one peer" : "close a socket, eight peers", to,
			[&] { s.reset(); });
	}
}

/* Messages to one host, as many as there are hosts. */
void Deeds::queue_many(uint16_t port)
{
	for (uint32_t i = 0; i < hosts_; i++) {
		send(*all_, 1, port);
		if (i % 1000 == 0)
			sim::run_for(kMs);
	}
	sim::run_for(kMs);
}

/* And one of another socket behind them. */
void Deeds::look_at_a_queue()
{
	auto s = open(kPort + 1);

	scale::lonely_silence(true);
	queue_many(kPort);
	send(*s, 1);
	sim::run_for(kMs);
	scale::lonely_silence(false);
	measure("RDS_INFO_RETRANS_MESSAGES, one queue", hosts_, [&] {
		host::info_messages(
			core(), RDS_QUEUE_RETRANS, [](void *, const struct rds_msg_info *) {},
			nullptr);
	});
	measure("cancel behind a long queue", hosts_,
		[&] { rds_socket_cancel(s->core(), nullptr); });
	scale::lonely_silence(true);
	send(*s, 1);
	sim::run_for(kMs);
	scale::lonely_silence(false);
	measure("close a socket behind a long queue", hosts_, [&] { s.reset(); });
	measure("all are acknowledged, one queue", hosts_, [&] {
		send(*all_, 1);
		sim::run_for(kMs);
	});
}

/* A port fills, or is refused, of which the first and the last in a long queue are. */
void Deeds::move_a_queue()
{
	struct rds_path *p = path_to(1);
	auto both_ends = [&] {
		send(*all_, 1, kFull);
		queue_many(kPort);
		send(*all_, 1, kFull);
		sim::run_for(kMs);
	};

	scale::lonely_room(false);
	both_ends();
	measure("a port of a peer is full, one queue", 1, [&] {
		scale::lonely_map(p, kFull);
		rds_path_writable(p);
		sim::run_for(kMs);
	});
	scale::lonely_room(true);
	measure("it clears, and all are sent, one queue", hosts_, [&] {
		scale::lonely_map(p, 0);
		rds_path_writable(p);
		sim::run_for(1000 * kMs);
	});

	const uint64_t first = p->next_tx_seq();

	scale::lonely_silence(true);
	both_ends();
	measure("a port of a peer is refused, one queue", 1, [&] {
		scale::lonely_refuse(p, kFull, first);
		sim::run_for(kMs);
	});
	/* Before the map says it, too: nobody could send to it then. */
	queue_many(kFull);
	scale::lonely_map(p, kFull);
	scale::lonely_silence(false);
	send(*all_, 1);
	sim::run_for(kMs);
	measure("it resumes, all that waited are sent, one queue", hosts_, [&] {
		scale::lonely_map(p, 0);
		sim::run_for(1000 * kMs);
	});
	if (p->has_queued())
		sim::fail("messages are not sent again");
}

void Deeds::break_a_connection()
{
	struct rds_path *p = path_to(1);

	scale::lonely_silence(true);
	queue_many(kPort);
	measure("a connection breaks, one queue", hosts_, [&] {
		rds_path_drop(p, RDS_DROP_ERROR);
		sim::run_for(1000 * kMs);
	});
	scale::lonely_silence(false);
	send(*all_, 1);
	sim::run_for(kMs);
	if (p->has_queued())
		sim::fail("messages are not sent again");
}

/* A port of ours: each connection sends the map.  Another host's: nothing but what waits for it. */
void Deeds::change_maps()
{
	rds::CongMap &ours = *core()->cong.get(addr_of(0), 0, rds::Whose::kOurs, core()->key);

	if (!ours.ensure_bits(RDS_MAY_SLEEP).ok())
		sim::fail("no memory");
	measure("a port of ours fills", hosts_, [&] {
		ours.set(kFull);
		rds::CongTable::local_changed(*core(), ours, kFull, true);
		sim::run_for(kMs);
	});
	core()->cong.put(ours);
}

/* Sockets wait for a port of each host, all of them monitors, too; one clears. */
void Deeds::wait_for_ports()
{
	std::vector<std::unique_ptr<host::Socket>> waiting;

	for (uint32_t i = 1; i <= hosts_; i++) {
		if (i % rds::kMaxCongWaits == 1)
			waiting.push_back(open(0));
		scale::lonely_map(path_to(i), kFull);
		if (waiting.back()->send(endpoint(addr_of(i), kFull), host::Bytes(64)) != -105)
			sim::fail("a full port takes a message");
	}
	measure("a port of a peer clears, and one waits", 1, [&] {
		scale::lonely_map(path_to(hosts_ / 2), 0);
		sim::run_for(kMs);
	});
	for (uint32_t i = 1; i <= hosts_; i++)
		scale::lonely_map(path_to(i), 0);
	sim::run_for(kMs);
}

void Deeds::take_snapshots()
{
	measure("RDS_INFO_CONNECTIONS", hosts_, [&] {
		host::info_conns(
			core(), [](void *, const struct rds_conn_info *) {}, nullptr);
	});
	measure("RDS_INFO_SEND_MESSAGES", hosts_, [&] {
		host::info_messages(
			core(), RDS_QUEUE_SEND, [](void *, const struct rds_msg_info *) {},
			nullptr);
	});
}

void Deeds::end_idle()
{
	measure("a look of the sweep", hosts_, [&] {
		rds_net_tunables(core())->idle_timeout_ms = 60000;
		core()->conns.hurry();
		sim::run_for(500 * kMs);
	});
	measure("all are idle and end", hosts_, [&] {
		rds_net_tunables(core())->idle_timeout_ms = 1000;
		core()->conns.hurry();
		if (!sim::run_until([&] { return !core()->conns.alive[2].load(); },
				    1000 * 1000 * kMs))
			sim::fail("they do not end");
	});
}

void Deeds::end_all()
{
	measure("the transport goes", hosts_,
		[&] { rds_transport_net_exit(core(), scale::lonely_ops()); });
}

void Deeds::run()
{
	printf("{");
	close_sockets();
	look_at_a_queue();
	move_a_queue();
	break_a_connection();
	change_maps();
	wait_for_ports();
	take_snapshots();
	end_idle();
	meet_all();
	end_all();
	all_.reset();
	measure("the namespace goes", hosts_, [&] { net_.reset(); });
	printf("}\n");
}

void Deeds::tear_down()
{
	rds_transport_unregister(scale::lonely_ops());
	rds_transport_unregister(loop_);
	rds_core_exit();
	sim::run_ready();

	std::string left = sim::leftovers();

	if (!left.empty())
		sim::fail(left.c_str());
}

} // namespace

int main(int argc, char **argv)
{
	uint32_t hosts = argc > 1 ? static_cast<uint32_t>(strtoul(argv[1], nullptr, 0)) : 0;

	if (hosts < 100 || hosts > 1000000) {
		fprintf(stderr, "usage: %s N (100 to 1000000)\n", argv[0]);
		return 2;
	}
	sim::reset(sim::Options());

	Deeds deeds(hosts);

	deeds.run();
	deeds.tear_down();
	return 0;
}
