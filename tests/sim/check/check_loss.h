/* SPDX-License-Identifier: GPL-2.0 */
/*
 * check_loss.h: nothing that was accepted is lost while both sockets live.
 *
 * Sees the same sends and receipts as check_order.h, and the events that excuse a loss: the sender
 * took messages back, a socket closed, nobody was bound to the port.  A connection that dies
 * excuses nothing between two of ours, and with a host that speaks mainline's protocol only what
 * docs/wire.md
 * ("What can still be lost") says.  An excuse covers what was sent until then and nothing after it.
 */
#ifndef RDS_TESTS_CHECK_LOSS_H
#define RDS_TESTS_CHECK_LOSS_H

#include <cstdint>
#include <string>
#include <vector>

#include "check_empty.h"
#include "tube.h"

namespace check
{

/* Speakers of mainline's protocol: of those that know a peer's generation, or of those that take
 * what a peer sends again after a restart for old. */
enum class Plain : uint8_t { kNo, kKnowsLives, kForgetsLives };

class Loss final
{
public:
	/* @flow goes from a socket on host @from to a port of host @to. */
	void flow(uint32_t flow, unsigned int from, unsigned int to);
	/* @loose: later ones may overtake it. */
	void sent(uint32_t flow, uint32_t number, bool loose = false);
	void not_sent(uint32_t flow, uint32_t number);
	void received(uint32_t flow, uint32_t number);
	/* Messages without bytes, from slot to slot (@pair); the next of @flow is @number. */
	void sent_empty(uint32_t pair, uint32_t flow, uint32_t number)
	{
		empties_.sent(pair, flow, number);
	}
	void not_sent_empty(uint32_t flow)
	{
		empties_.not_sent(flow);
	}
	void received_empty(uint32_t pair)
	{
		empties_.received(pair);
	}

	/* Messages sent on the flow until now may be lost. */
	void excuse(uint32_t flow);
	/* Host @self gave a connection with @peer up, with bytes from it that it had not read or
	 * without.  Mainline's lose these, for their TCP has acknowledged them; ours read what
	 * mainline's sent, unless there was a reset.
	 * Messages that @self sends again on the next one are taken for old by one of mainline's
	 * that remembers a life of @self before its last boot. */
	void closed(unsigned int self, unsigned int peer, tube::Left left);
	void booted(unsigned int host);
	void plain(unsigned int host, Plain how);
	/* A promise of docs/wire.md about mainline's that ours do not keep yet is no excuse. */
	void set_strict()
	{
		strict_ = true;
	}

	/* At rest: whatever has not come will not come. */
	void rest();
	const std::string &complaint() const
	{
		return complaint_.empty() ? empties_.complaint() : complaint_;
	}

private:
	struct Flow {
		unsigned int from = 0, to = 0;
		uint32_t sent = 0;
		uint32_t next = 0;    /* behind the last one received */
		uint32_t excused = 0; /* those before it may be lost */
		/* Of a flow in which messages overtake each other: judged only at rest. */
		bool loose = false;
		std::vector<bool> came;
	};
	void miss(uint32_t flow, uint32_t number);
	void gap(uint32_t flow, uint32_t upto);
	Plain how(unsigned int host) const
	{
		return host < plain_.size() ? plain_[host] : Plain::kNo;
	}
	void excuse_hosts(unsigned int from, unsigned int to);
	void excuse_known(unsigned int self, unsigned int peer, tube::Left left);
	bool reborn(unsigned int host) const
	{
		return host < boots_.size() && boots_[host] > 1;
	}

	std::vector<Flow> flows_;
	Empties empties_;
	std::vector<unsigned int> boots_; /* by host */
	std::vector<Plain> plain_;	  /* by host */
	bool strict_ = false;
	std::string complaint_;
};

} // namespace check
#endif
