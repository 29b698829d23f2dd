/* SPDX-License-Identifier: GPL-2.0 */
/*
 * node.h: a host in a story.
 *
 * What a story does with every host is Node; CoreNode is one that runs our core, with slots for
 * sockets.  A peer of another kind (one that speaks an older protocol, or lies) is another Node: it
 * listens and calls by tube.h.
 */
#ifndef RDS_TESTS_NODE_H
#define RDS_TESTS_NODE_H

#include "app.h"
#include "carrier.h"

namespace story
{

class Node
{
public:
	virtual ~Node() = default;
	/* Comes up as one that knows nothing of an earlier life. */
	virtual void boot() = 0;
	/* The power fails: from this moment on nothing goes out and nothing comes in. */
	virtual void crash() = 0;
	/* Goes in order: sockets closed, connections ended, namespace gone. */
	virtual void leave() = 0;
	virtual bool up() const = 0;
	/* Nothing to send and nothing under way. */
	virtual bool idle() = 0;
	/* For the one who looks into it: what holds it up. */
	virtual std::string show() = 0;
};

class CoreNode final : public Node
{
public:
	CoreNode(unsigned int id, const struct rds_addr &addr, Watch &w, const Carrier &c);

	void boot() override;
	void crash() override;
	void leave() override;
	bool up() const override
	{
		return net_ != nullptr;
	}
	bool idle() override;
	std::string show() override;

	/* A socket in @slot (0 .. slots per host); false when there is one, or no memory. */
	bool open(unsigned int slot, const Habits &h);
	void close(unsigned int slot);
	App *app(unsigned int slot)
	{
		return apps_[slot].get();
	}
	struct rds_endpoint at(unsigned int slot) const;
	host::Net &net()
	{
		return *net_;
	}
	const unsigned int id;
	const struct rds_addr addr;

private:
	void shut_down();

	Watch &watch_;
	const Carrier &carrier_;
	std::unique_ptr<host::Net> net_;
	std::vector<std::unique_ptr<App>> apps_;
};

} // namespace story
#endif
