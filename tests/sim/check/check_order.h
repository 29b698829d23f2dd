/* SPDX-License-Identifier: GPL-2.0 */
/*
 * check_order.h: exactly once and in order.
 *
 * A flow is what one socket sends to one port, its messages numbered from 0.  Those who receive
 * from it (a socket; after it closed, another one at the same port) must see rising numbers, each
 * once whoever got it, and none that was not sent; of a flow with ordering hints, numbers of which
 * none has overtaken another that it must not (the table of order.h, written down here once more).
 * Only a host that boots may see again what an earlier life of it has read.  Messages without bytes
 * carry no number and are counted.  Knows nothing of what may be lost: that is check_loss.h.
 */
#ifndef RDS_TESTS_CHECK_ORDER_H
#define RDS_TESTS_CHECK_ORDER_H

#include <cstdint>
#include <string>
#include <vector>

namespace check
{

enum class Hint : uint8_t { kOrdered, kHalf, kUnordered };

class Order final
{
public:
	/* The sender is about to send @number of @flow (0, 1, 2 ...); and: it was refused. */
	void sent(uint32_t flow, uint32_t number, Hint hint = Hint::kOrdered);
	void not_sent(uint32_t flow, uint32_t number);
	void sent_empty(uint32_t flow);
	void not_sent_empty(uint32_t flow);
	/* @receiver got it; a later receiver of the flow has a higher number. */
	void received(uint32_t flow, uint32_t number, uint32_t receiver = 0);
	void received_empty(uint32_t flow, uint32_t receiver = 0);
	/* The receiver of the flow from now on knows nothing of what was received. */
	void forget(uint32_t flow);
	void complain(const std::string &what);

	/* Messages sent and never received; final only when everything has come to rest. */
	uint64_t lost() const;
	uint64_t received_count() const
	{
		return received_;
	}
	/* Of them those that came behind a later one of their flow, as they may. */
	uint64_t overtaken() const
	{
		return overtaken_;
	}
	/* Everything sent has been received. */
	bool complete() const;
	/* Duplicates, wrong order, corruption, messages nobody sent: the first of them, or empty.
	 */
	const std::string &complaint() const
	{
		return complaint_;
	}

private:
	struct Flow {
		uint32_t sent = 0;     /* accepted, or about to be */
		uint32_t next = 0;     /* lowest number that may come */
		uint32_t receiver = 0; /* who got the last one */
		uint32_t empty_sent = 0;
		uint32_t empty_got = 0;	  /* by all receivers */
		uint32_t empty_heard = 0; /* in this life of their host */
		uint64_t got = 0;
		/* With hints: what was sent, what was received, and ... */
		std::vector<Hint> hints;
		std::vector<bool> came;
		uint32_t barrier = 0; /* ... behind the last of it that is not un-ordered */
	};
	void received_loose(uint32_t flow, Flow &f, uint32_t number);
	Flow &at(uint32_t flow);
	Flow &heard_by(uint32_t flow, uint32_t receiver);

	std::vector<Flow> flows_;
	uint64_t received_ = 0, overtaken_ = 0;
	std::string complaint_;
};

} // namespace check
#endif
