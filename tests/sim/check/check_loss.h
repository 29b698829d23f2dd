/* SPDX-License-Identifier: GPL-2.0 */
/*
 * check_loss.h: nothing that was accepted is lost while both sockets live.
 *
 * Sees the same sends and receipts as check_order.h, and the events that excuse a loss: the sender
 * took messages back, a socket closed, nobody was bound to the port.  Whether a connection that
 * dies excuses what the network had acknowledged and nobody had read is the promise that is
 * checked: mainline's protocol cannot keep it, one with acknowledgements of its own can.  An excuse
 * covers what was sent until then and nothing after it.
 */
#ifndef RDS_TESTS_CHECK_LOSS_H
#define RDS_TESTS_CHECK_LOSS_H

#include <cstdint>
#include <string>
#include <vector>

namespace check
{

enum class Promise {
	/* Lost may be what was unread when its connection died, and what a host that was booted
	 * before has to send again (mainline's rules). */
	kWhileConnected,
	kAlways,
};

class Loss final
{
public:
	explicit Loss(Promise promise) : promise_(promise)
	{
	}

	/* @flow goes from a socket on host @from to a port of host @to. */
	void flow(uint32_t flow, unsigned int from, unsigned int to);
	/* @loose: later ones may overtake it. */
	void sent(uint32_t flow, uint32_t number, bool loose = false);
	void not_sent(uint32_t flow, uint32_t number);
	void received(uint32_t flow, uint32_t number);

	/* What was sent on the flow until now may be lost. */
	void excuse(uint32_t flow);
	/* Host @self gave a connection with @peer up, with bytes from it that it had not read or
	 * without.  What it sends again on the next one is taken for old by a peer that remembers
	 * a life of @self before its last boot. */
	void closed(unsigned int self, unsigned int peer, bool unread);
	void booted(unsigned int host);
	/* @host speaks mainline's protocol: its connections keep no more than that can. */
	void plain(unsigned int host);

	/* At rest: whatever has not come will not come. */
	void rest();
	const std::string &complaint() const
	{
		return complaint_;
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
	bool is_plain(unsigned int host) const
	{
		return host < plain_.size() && plain_[host];
	}
	void excuse_hosts(unsigned int from, unsigned int to);

	const Promise promise_;
	std::vector<Flow> flows_;
	std::vector<unsigned int> boots_; /* by host */
	std::vector<bool> plain_;	  /* by host */
	std::string complaint_;
};

} // namespace check
#endif
