/* SPDX-License-Identifier: GPL-2.0 */
/*
 * app.h: applications: one socket, who reads from it and who sends.
 *
 * With threads: one task blocks in recvmsg, one more in sendmsg for each job.  With an event loop:
 * one task does everything between two polls, and never blocks.  Both sleep on the socket and go on
 * only when the core wakes them (sim::wait_on), exactly where net/linux sleeps: a wakeup that the
 * core forgets is a job that never ends, and so is one that wakes for something else: who waits for
 * room does not look when there is something to read.
 */
#ifndef RDS_TESTS_APP_H
#define RDS_TESTS_APP_H

#include <memory>

#include "rng.h"
#include "watch.h"

namespace story
{

struct Habits {
	uint32_t sndbuf = 64 * 1024, rcvbuf = 64 * 1024;
	bool event_loop = false;
	bool monitor = false;	   /* of congestion, all ports */
	uint64_t pause_ns = 0;	   /* after every message that was read */
	bool faulty_reads = false; /* buffers that cannot be written, now and then */
	/* For life: */
	size_t batch = 1;     /* messages of one call (RDS_RECV_BATCH) */
	bool edge = false;    /* of those without event loop: waits for wakeups, never polls */
	bool stamps = false;  /* SO_TIMESTAMP */
	bool recverr = false; /* RDS_RECVERR */
	uint8_t tos = 0;      /* priority: a connection of its own, where the transport can */
};

/* Messages to be sent to one slot. */
struct Job {
	unsigned int to;
	struct rds_endpoint at;
	uint32_t count;
	uint32_t min, max;	    /* bytes */
	unsigned int more_per_1000; /* MSG_MORE */
	unsigned int empty_per_1000;
	unsigned int zcopy_per_1000;
	unsigned int half_per_1000 = 0, unordered_per_1000 = 0;
	sim::Rng rng;
};

class App final
{
public:
	App(host::Net &net, unsigned int slot, const struct rds_endpoint &at, const Habits &h,
	    Watch &w);
	App(const App &) = delete;
	App &operator=(const App &) = delete;

	/* Binds and begins to read: 0 or -errno (then it is of no use). */
	int open();
	/* False: the flow to that slot is being sent already. */
	bool send(Job job);
	void cancel(const struct rds_endpoint *to, unsigned int to_slot);
	void set_stuck(bool on);
	/* Reads, and without pauses. */
	void calm();
	void set_habits(const Habits &h);

	/* Lets the socket in slot @to, at @at, operate on memory of ours (app_rdma.cc). */
	void expose(unsigned int to, const struct rds_endpoint &at, sim::Rng rng);
	/* @count operations on memory that we were told of. */
	void operate(uint32_t count, sim::Rng rng);
	/* Frees some of ours. */
	void unmap(sim::Rng &rng);
	/* Everybody goes home; called outside of tasks.  Unread messages stay so. */
	void stop();

	/* Nothing to send and nothing to read. */
	bool idle() const;
	/* At rest, and stopped: every byte and page that was lent is back. */
	void check_rest();
	/* After that: reads again, asleep until it is woken. */
	void listen();
	/* One message, waiting as sendmsg does: 0 or -errno.  In a task. */
	int speak(const struct rds_endpoint &to, const host::Bytes &data);

	host::Socket &socket()
	{
		return socket_;
	}
	const unsigned int slot;
	const struct rds_endpoint at;
	void allow(check::Memory::Limit &limit) const
	{
		limit.add_socket(most_sent_, most_held_);
	}
	/* Sends that succeeded, and messages that were read. */
	uint64_t n_sent() const
	{
		return n_sent_;
	}
	uint64_t n_read() const
	{
		return n_read_;
	}
	uint32_t instance() const
	{
		return instance_;
	}
	std::string who() const;
	/* Its state in words, for the reader of a failure. */
	std::string show();

private:
	/* The messages of this socket to one port: one task at a time. */
	struct Flow {
		uint32_t id;
		uint32_t sent = 0;
		bool busy = false;
		bool begun = false;  /* something was sent over a connection that was seen */
		bool missed = false; /* its connection was not there when it was looked for */
	};
	struct Task {
		Job job;
		Flow *flow;
		host::Bytes data = {};
		int stopped_by = 0; /* -EAGAIN, -ENOBUFS: waits */
	};

	template <typename Kinds, typename Ready>
	void sleep_for_news(Kinds kinds, Ready ready);
	void nudge();
	void pause();
	void drain();
	void read_loop();
	void event_loop();
	void sender(Task *t);
	int push(Task &t);
	int try_send(Task &t);
	int send_numbered(Task &t, bool more, bool zcopy);
	void check_connection(Task &t);
	void check_stamp(const struct rds_recv_info &info);
	int send_empty(Task &t);
	int push_waiting(Task &t);
	int push_edge(Task &t);
	bool readable();
	void work(Task &t);
	unsigned int wanted() const;
	unsigned int wanted_news() const;
	/* A message that is read, while it is still the kernel's. */
	struct Read {
		struct rds_recv_info info;
		host::Bytes data;
	};
	bool copy_one(struct rds_msg *m, Read &r, bool faulty);
	bool read_some();
	void notices();

	/* Memory of a peer. */
	struct Known {
		std::shared_ptr<Area> area;
		struct rds_endpoint at;
	};
	using Flows = std::vector<std::pair<unsigned int, std::unique_ptr<Flow>>>;
	Flow *flow_in(Flows &flows, unsigned int to);
	int send_tagged(Flow &f, const struct rds_endpoint &to, size_t bytes,
			const struct rds_op_args *op, uint64_t cookie);
	template <typename F>
	void with_flow(const char *name, unsigned int to, F fn);
	void expose_to(Flow &f, unsigned int to, const struct rds_endpoint &peer, sim::Rng &rng);
	void learn(const struct rds_recv_info &info);
	void operate_once(Flow &f, const Known &k, sim::Rng &rng);
	void ops_ended();

	Watch &watch_;
	const uint32_t instance_;
	Habits habits_;
	host::Net &net_;
	host::Socket socket_;
	std::vector<Read> in_;
	Flows flows_;
	Flows tagged_; /* messages with operations and cookies */
	std::vector<std::shared_ptr<Area>> own_;
	std::vector<Known> known_;
	std::vector<std::unique_ptr<Task>> tasks_;
	sim::Rng rng_;
	unsigned int running_ = 0;
	unsigned int seen_ = 0; /* poll bits not dealt with */
	uint32_t zcopy_sent_ = 0, zcopy_back_ = 0;
	uint32_t resized_ = 0;
	uint32_t most_sent_ = 0, most_held_ = 0; /* its largest buffers: what is there stays */
	uint64_t n_sent_ = 0, n_read_ = 0;
	uint32_t nudges_ = 0; /* something else than the core has news */
	bool hungry_ = false; /* a send found no memory */
	bool kicked_ = false; /* the event loop is to look at everything again */
	bool stop_ = false, stuck_ = false, failed_ = false;
};

} // namespace story
#endif
