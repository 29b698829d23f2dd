/* SPDX-License-Identifier: GPL-2.0 */
/*
 * stage.h: where a plan is played: the hosts, the network between them, and what each step does.
 *
 * acts_apps.cc has the steps of applications, acts_faults.cc those of whatever goes wrong.  Steps
 * are taken outside of tasks, with everything else under way.
 */
#ifndef RDS_TESTS_STAGE_H
#define RDS_TESTS_STAGE_H

#include "honest.h"
#include "node.h"
#include "plan.h"

namespace story
{

class Stage final
{
public:
	/* A core with loopback and the stream transport, and the plan's hosts; call reset()s
	 * first. */
	explicit Stage(const Plan &plan);
	~Stage();
	Stage(const Stage &) = delete;
	Stage &operator=(const Stage &) = delete;

	/* The sockets that are there at the beginning. */
	void open_most();
	void act(const Step &s);
	/* Does the acts put off until later that have become due. */
	void act_later();
	/* All faults end, and what is down comes up. */
	void calm();
	void excuse_absent();
	bool idle();
	bool served();
	void look_at_memory();
	/* So long take messages of many windows each, one window at a time. */
	uint64_t longest_way_ns() const;
	std::string show();
	void print_counters();
	/* Everything goes; false when something is left. */
	void end();

	Watch watch;
	std::vector<std::unique_ptr<Node>> nodes; /* nullptr: does not take part */

	/* Each opens sockets where there are none, and so on: scenarios use them too. */
	bool flow(unsigned int from, unsigned int to, uint32_t count, sim::Rng &r);
	void reload();

private:
	struct Later {
		uint64_t at;
		unsigned int host; /* boots */
		bool device;	   /* its device is back, instead */
	};
	/* A link that goes and comes. */
	struct Flap {
		unsigned int from, to;
		uint64_t every, until;
		bool down = false;
	};

	/* Those of ours that are up; nullptr for others. */
	CoreNode *core(uint64_t n)
	{
		Node *node = nodes[n % nodes.size()].get();

		return node && node->up() ? node->core() : nullptr;
	}
	Node *node_of(unsigned int slot)
	{
		return nodes[watch.host_of(slot)].get();
	}
	App *app(unsigned int slot);
	bool has(unsigned int slot)
	{
		Node *n = node_of(slot);

		return n && n->up() && n->has(slot % watch.slots_per_host);
	}
	bool app_act(const Step &s);
	bool rdma_act(const Step &s);
	void expose(unsigned int from, unsigned int to, sim::Rng &r);
	void fault_act(const Step &s);
	Habits habits(sim::Rng &r) const;
	Job job(unsigned int to, uint32_t count, sim::Rng &r);
	void open(sim::Rng &r);
	void fan_out(sim::Rng &r);
	void cancel(sim::Rng &r);
	void link(sim::Rng &r);
	void isolate(sim::Rng &r);
	void go_down(sim::Rng &r, bool crash);
	void unplug(sim::Rng &r);
	void flap(sim::Rng &r);
	void flap_on(std::shared_ptr<Flap> f);
	void famine(sim::Rng &r);
	void tune(sim::Rng &r);
	void tune_paths(sim::Rng &r);
	void set_date(uint64_t date);
	void reset(Node &n, bool network);
	std::unique_ptr<Node> make_node(unsigned int id);
	std::unique_ptr<Node> make_honest(unsigned int id, peer::Version v);
	std::unique_ptr<Node> make_trouble(unsigned int id, Kind kind);
	void start_transports();
	void stop_transports();

	const Plan &plan_;
	const Setup &setup_;
	const std::vector<const Carrier *> carriers_; /* the first one for applications */
	const Carrier &carrier_;
	struct rds_module loop_module_;
	const struct rds_transport *loop_ = nullptr;
	std::vector<Later> later_;
	bool refusing_ = false;
	bool peace_ = false;
	bool collects_ = false, paths_change_ = false; /* never both */
	/* An act due in a story that may have ended by then looks at this first. */
	std::shared_ptr<char> life_ = std::make_shared<char>();
};

} // namespace story
#endif
