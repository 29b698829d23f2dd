/* SPDX-License-Identifier: GPL-2.0 */
/*
 * node.h: a host in a story.
 *
 * Node is the part of a host that every story acts on; CoreNode is one that runs our core, with
 * slots for sockets.  Those that speak an older protocol, or lie, are in foreign.h.
 */
#ifndef RDS_TESTS_NODE_H
#define RDS_TESTS_NODE_H

#include "app.h"
#include "carrier.h"

namespace story
{

class CoreNode;

/* Somebody on a host who is spoken to at peace, and answers. */
struct Voice {
	struct rds_endpoint at;
	bool ours;
	/* Waits as sendmsg does: 0 or -errno.  In a task. */
	std::function<int(const struct rds_endpoint &to, const host::Bytes &)> send;
};

class Node
{
public:
	/* The host is made, and is down. */
	Node(unsigned int id, const struct rds_addr &addr, Watch &w);
	virtual ~Node() = default;
	Node(const Node &) = delete;
	Node &operator=(const Node &) = delete;

	virtual CoreNode *core()
	{
		return nullptr;
	}

	/* ---- its life; outside of tasks ---- */
	/* Comes up as one that knows nothing of an earlier life. */
	virtual void boot() = 0;
	/* The power fails: from this moment on nothing goes out and nothing comes in. */
	virtual void crash() = 0;
	/* Goes in order: sockets closed, connections ended, namespace gone. */
	virtual void leave() = 0;
	virtual bool up() const = 0;
	/* Ends all connections in order: a sysctl was written. */
	virtual void reset()
	{
	}
	/* No more mischief. */
	virtual void calm()
	{
	}

	/* ---- its sockets ---- */
	/* Is there one in @slot? */
	virtual bool has(unsigned int slot) const = 0;
	/* False: not now. */
	virtual bool send(unsigned int slot, Job job) = 0;
	virtual void set_stuck(unsigned int slot, bool on) = 0;
	virtual void set_habits(unsigned int slot, const Habits &h) = 0;
	struct rds_endpoint at(unsigned int slot) const;

	/* ---- the end ---- */
	/* Nothing to send and nothing under way ... */
	virtual bool idle() = 0;
	/* ... that an application would miss: a probe's answer waits for whoever asked. */
	virtual bool served()
	{
		return idle();
	}
	/* The memory that the core may use for it. */
	virtual void allow(check::Memory::Limit &)
	{
	}
	/* For the one who looks into it: what holds it up. */
	virtual std::string show() = 0;
	/* At rest: applications end, and what is to be seen then is looked at; from then on they
	 * read what voices say. */
	virtual void settle() = 0;
	virtual std::vector<Voice> voices() = 0;

	const unsigned int id;
	const struct rds_addr addr;

protected:
	unsigned int slot_of(unsigned int own) const
	{
		return id * watch_.slots_per_host + own;
	}

	Watch &watch_;
};

class CoreNode final : public Node
{
public:
	/* Its sockets use the first of @carriers.  Of a @crowd it lets half in. */
	CoreNode(unsigned int id, const struct rds_addr &addr, Watch &w,
		 const std::vector<const Carrier *> &carriers, unsigned int crowd);

	CoreNode *core() override
	{
		return this;
	}
	void boot() override;
	void crash() override;
	void leave() override;
	bool up() const override
	{
		return net_ != nullptr;
	}
	void reset() override;
	bool has(unsigned int slot) const override
	{
		return apps_[slot] != nullptr;
	}
	bool send(unsigned int slot, Job job) override;
	void set_stuck(unsigned int slot, bool on) override;
	void set_habits(unsigned int slot, const Habits &h) override;
	bool idle() override;
	bool served() override;
	void allow(check::Memory::Limit &limit) override;
	std::string show() override;
	void settle() override;
	std::vector<Voice> voices() override;

	/* A socket in @slot (0 .. slots per host); false when there is one, or no memory. */
	bool open(unsigned int slot, const Habits &h);
	void close(unsigned int slot);
	App *app(unsigned int slot)
	{
		return apps_[slot].get();
	}
	host::Net &net()
	{
		return *net_;
	}

private:
	void shut_down();
	bool all_quiet() const;
	unsigned int unacked(bool answers = true);

	/* Of sockets that were closed in this life. */
	uint64_t n_sent_ = 0, n_read_ = 0;
	bool unread_ = false;
	const std::vector<const Carrier *> &carriers_;
	const unsigned int crowd_;
	std::unique_ptr<host::Net> net_;
	std::vector<std::unique_ptr<App>> apps_;
};

} // namespace story
#endif
