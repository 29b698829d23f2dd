/* SPDX-License-Identifier: GPL-2.0 */
/*
 * play.h: two hosts of ours and a stream between them, and what is to happen there.
 *
 * Host 0 has the smaller address and calls, host 1 knocks.  Each has two sockets, the flows of
 * which take different paths where there are two.  A play says what applications do, in which order
 * on each host, and what may go wrong; when, chooses the search (explore.h).
 */
#ifndef RDS_TESTS_PLAY_H
#define RDS_TESTS_PLAY_H

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "check_order.h"
#include "host.h"
#include "transports/loop/loop.h"

namespace play
{

enum class Verb : uint8_t {
	kSend,	/* a message of flow @arg */
	kAdmin, /* ends its connections in order, as a sysctl does */
	kFan,	/* path 0 had no room for long enough */
	kEnd,	/* the namespace goes, with its sockets */
	kCrash, /* the same, and nobody is told */
	kBoot,	/* a new one comes, whose module may use @arg paths */
	/* Faults. */
	kCut,	   /* both ends of the oldest connection are told that it is gone */
	kHalf,	   /* one end is told, the host's */
	kLose,	   /* the next packet that arrives is lost, and sent again later */
	kDark,	   /* no packet arrives for 8 s */
	kNoMemory, /* the next allocation fails */
};

struct Step {
	Verb verb;
	uint8_t host;
	uint8_t arg;
};

struct Play {
	const char *name;
	const char *what;
	unsigned int paths;
	unsigned int idle_ms; /* 0: connections stay */
	std::vector<Step> acts;
	std::vector<Step> faults; /* each at most once */
	bool collected = false;	  /* in the end there is no connection */
};

const std::vector<Play> &all();
std::string show(const Step &s);

/* One performance. */
class World final
{
public:
	explicit World(const Play &p);
	/* Everything goes; a complaint is left in complaint() before that. */
	~World();
	World(const World &) = delete;
	World &operator=(const World &) = delete;

	/* False: it cannot be done now. */
	bool perform(const Step &s);
	/* Applications read what there is. */
	void read();
	/* All that was sent was received and is acknowledged. */
	bool delivered() const;
	bool collected() const;
	/* One more message of each flow, of the hosts that are there. */
	void send_all();
	/* An act of @host's has not ended yet: it is a program that does one after the other. */
	bool busy(unsigned int host) const
	{
		return hosts_[host].busy;
	}
	uint64_t digest() const;
	std::string name(const void *work) const;
	/* The first that was wrong, or empty. */
	std::string complaint() const;

private:
	static constexpr unsigned int kFlows = 2;
	struct Host {
		struct rds_addr addr;
		std::unique_ptr<host::Net> net;
		std::unique_ptr<host::Socket> sockets[kFlows];
		bool ends = false;
		unsigned int busy = 0; /* its acts that have not ended yet */
		unsigned int life = 0;
	};
	void boot(Host &h);
	void end(Host &h);
	void crash(Host &h);
	void send(unsigned int host, unsigned int which);
	void run(Host &h, std::function<void()> fn);
	bool lives(const Host &h) const
	{
		return h.net && !h.ends;
	}

	const Play &play_;
	struct rds_module loop_module_;
	Host hosts_[2];
	check::Order order_;
	uint32_t sent_[2 * kFlows] = {}, last_[2 * kFlows] = {}; /* counts */
	bool somebody_ended_ = false, finishing_ = false;
};

} // namespace play
#endif
