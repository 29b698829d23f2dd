/* SPDX-License-Identifier: GPL-2.0 */
/*
 * foreign.h: hosts in a story that are not our core (tests/sim/peers).
 *
 * MainlineNode has a socket in every slot from boot to end, and keeps mainline's promises: what it
 * sends and receives is judged as everybody's.  LiarNode has none, and says what it likes to ours.
 */
#ifndef RDS_TESTS_FOREIGN_H
#define RDS_TESTS_FOREIGN_H

#include <map>

#include "liar.h"
#include "mainline.h"
#include "node.h"

namespace story
{

class MainlineNode final : public Node
{
public:
	MainlineNode(unsigned int id, const struct rds_addr &addr, Watch &w, peer::Version v)
		: Node(id, addr, w), version_(v)
	{
	}

	void boot() override;
	void crash() override;
	void leave() override;
	bool up() const override
	{
		return peer_ != nullptr;
	}
	void reset() override
	{
		peer_->drop_all();
	}
	void calm() override;
	bool has(unsigned int) const override
	{
		return up();
	}
	bool send(unsigned int slot, Job job) override;
	/* It says that the port is full, and reads all the same: that is its business. */
	void set_stuck(unsigned int slot, bool on) override;
	void set_habits(unsigned int slot, const Habits &h) override;
	bool idle() override
	{
		return !peer_ || (!running_ && peer_->idle());
	}
	std::string show() override;
	void settle() override;
	std::vector<Voice> voices() override;

private:
	struct Flow {
		uint32_t id;
		uint32_t sent = 0;
		bool busy = false;
		std::optional<Job> job = {}; /* while busy */
	};
	void shut_down();
	void sender(uint16_t port, Flow &f);
	bool wait_to_send(const struct rds_endpoint &to);

	const peer::Version version_;
	std::unique_ptr<peer::Mainline> peer_;
	uint32_t instance_ = 0;
	std::map<std::pair<unsigned int, unsigned int>, Flow> flows_; /* by slots */
	unsigned int running_ = 0;
	bool stop_ = false;
};

class LiarNode final : public Node
{
public:
	LiarNode(unsigned int id, const struct rds_addr &addr, Watch &w,
		 std::vector<struct rds_addr> victims);

	void boot() override;
	void crash() override;
	void leave() override;
	bool up() const override
	{
		return liar_ != nullptr;
	}
	void calm() override;
	bool has(unsigned int) const override
	{
		return false;
	}
	bool send(unsigned int, Job) override
	{
		return false;
	}
	void set_stuck(unsigned int, bool) override
	{
	}
	void set_habits(unsigned int, const Habits &) override
	{
	}
	bool idle() override
	{
		return true;
	}
	std::string show() override
	{
		return "";
	}
	void settle() override
	{
	}
	std::vector<Voice> voices() override
	{
		return {};
	}
	void allow(check::Memory::Limit &limit) override
	{
		for (size_t i = 0; i < victims_.size(); i++)
			limit.add_stranger();
	}

private:
	const std::vector<struct rds_addr> victims_;
	std::unique_ptr<peer::Liar> liar_;
};

} // namespace story
#endif
