/* SPDX-License-Identifier: GPL-2.0 */
/*
 * foreign.h: hosts in a story that are not our core (tests/sim/peers).
 *
 * HonestNode has a socket in every slot from boot to end, and keeps the promises of mainline's, or
 * of an old release of ours: what it sends and receives is judged as everybody's.  LiarNode has
 * none, and says what it likes to ours, or is a crowd that does.
 */
#ifndef RDS_TESTS_FOREIGN_H
#define RDS_TESTS_FOREIGN_H

#include <map>

#include "honest.h"
#include "node.h"
#include "trouble.h"

namespace story
{

class HonestNode final : public Node
{
public:
	/* Over queue pairs (@paired), where it counts buffers, or not. */
	HonestNode(unsigned int id, const struct rds_addr &addr, Watch &w, peer::Version v,
		   bool paired, bool counts)
		: Node(id, addr, w), version_(v), paired_(paired), counts_(counts)
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
	const bool paired_, counts_;
	std::unique_ptr<peer::Honest> peer_;
	uint32_t instance_ = 0;
	std::map<std::pair<unsigned int, unsigned int>, Flow> flows_; /* by slots */
	unsigned int running_ = 0;
	bool stop_ = false;
};

class LiarNode final : public Node
{
public:
	using Make = std::function<std::unique_ptr<peer::Trouble>()>;

	/* @strangers: that say much, of @guests each has one connection here. */
	LiarNode(unsigned int id, const struct rds_addr &addr, Watch &w, Make make,
		 size_t strangers, size_t guests);

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
		for (size_t i = 0; i < strangers_; i++)
			limit.add_stranger();
		for (size_t i = 0; i < guests_; i++)
			limit.add_connection(1);
	}

private:
	const Make make_;
	const size_t strangers_, guests_;
	std::unique_ptr<peer::Trouble> liar_;
};

} // namespace story
#endif
