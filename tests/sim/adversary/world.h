/* SPDX-License-Identifier: GPL-2.0 */
/*
 * world.h: host A, which the adversary means; host B, an honest one; and their programs.
 *
 * Beside the adversary messages go from B to A, from A to B, and between two sockets of A both
 * ways: each has to come once, in its order, within kWayNs.  Three more sockets of A are what the
 * adversary may do its worst to: one that nobody reads, one that is emptied now and then, and one
 * that sends to the adversary.
 */
#ifndef RDS_TESTS_ADVERSARY_WORLD_H
#define RDS_TESTS_ADVERSARY_WORLD_H

#include <functional>
#include <map>

#include "adversary.h"
#include "carrier.h"
#include "net/rds/stats.h"
#include "traffic.h"

namespace adversary
{

constexpr uint16_t kHonestPort = 10, kLocalPort = 11, kFullPort = 20, kSlowPort = 21,
		   kSendingPort = 22, kNobodysPort = 4000;
/* Time between two honest messages of a flow, and where much time has to go. */
constexpr uint64_t kPaceNs = 2 * 1000 * 1000, kSlowPaceNs = 50 * kPaceNs;
/* The adversary's, that a program of its victim sends to. */
constexpr uint16_t kSentToPort = 50;

/* One flow between honest sockets. */
struct Flow {
	host::Socket *from, *at;
	struct rds_endpoint to;
	uint32_t number = 0;
	std::map<uint32_t, uint64_t> under_way = {}; /* when each was sent, ns */
};

struct Config {
	uint64_t seed;
	bool pairs; /* over queue pairs, else over streams */
	unsigned int preempt_per_1000;
	size_t window;		  /* bytes that a stream has under way, and that wait at its end */
	unsigned int paths;	  /* of A over streams */
	bool credits;		  /* A counts buffers */
	bool b_is_smaller;	  /* than A */
	unsigned int max_passive; /* connections that only peers want */
	unsigned int names = 24;  /* of the adversary */
};

class World final
{
public:
	explicit World(const Config &c);
	~World();

	/* Time goes on; budgets are looked at. */
	void wait(uint64_t ns);
	/* @fn has the host count @id @n times at least, if @t lives to tell it all. */
	void counts(enum rds_stat id, uint64_t n, Talk &t, const std::function<void()> &fn);
	void complain(const std::string &what);

	/* The programs that the adversary may harm end. */
	void close_victims();
	/* All others, when what is under way has come; and the hosts. */
	void end();

	const struct rds_addr a_addr, b_addr;
	std::unique_ptr<host::Net> a, b;
	std::unique_ptr<Adversary> adv;
	uint64_t sent_to_it = 0; /* messages that it was sent by kSendingPort */
	uint64_t worst_ns = 0;	 /* way of an honest message */
	uint64_t honest = 0;	 /* that came */
	uint64_t pace_ns;	 /* kPaceNs, or slower: all programs are */
	uint64_t paced_ns = 0;	 /* that have gone, as at kPaceNs */
	std::string complaint;
	std::function<void()> look; /* the budgets' */

private:
	host::Socket *open(host::Net &net, const struct rds_addr &addr, uint16_t port,
			   uint32_t buffers);
	void pause(uint64_t ns); /* of a program that goes with the pace */
	void start(const char *what, std::function<void()> fn);
	void speak(Flow &f, uint32_t id);
	void listen(host::Socket &s);
	void read_slowly(host::Socket &s);
	void send_to_adversary(host::Socket &s);
	void look_at_flows();

	const story::Carrier &carrier_;
	struct rds_module loop_module_;
	const struct rds_transport *loop_;
	std::vector<std::unique_ptr<host::Socket>> sockets_, victims_;
	std::vector<Flow> flows_;
	check::Order order_;
	bool stop_ = false, stop_victims_ = false;
	unsigned int running_ = 0;
};

} // namespace adversary
#endif
