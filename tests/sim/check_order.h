/* SPDX-License-Identifier: GPL-2.0 */
/*
 * check_order.h: watches flows from outside: every message that was accepted arrives once and in
 * order; what is missing is counted, because a cut may lose what only TCP had acknowledged.
 */
#ifndef RDS_TESTS_CHECK_ORDER_H
#define RDS_TESTS_CHECK_ORDER_H

#include <cstdint>
#include <map>
#include <string>

namespace check
{

class Order final
{
public:
	/* The sender is about to send @number of @flow (0, 1, 2 ...); and: it was refused. */
	void sent(uint32_t flow, uint32_t number);
	void not_sent(uint32_t flow, uint32_t number);
	/* The receiver got it. */
	void received(uint32_t flow, uint32_t number);
	void complain(const std::string &what);

	/* Messages sent and never received; final only when everything has come to rest. */
	uint64_t lost() const;
	uint64_t received_count() const
	{
		return received_;
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
		uint32_t sent = 0; /* accepted, or about to be */
		uint32_t next = 0; /* lowest number that may come */
		uint64_t got = 0;
	};
	std::map<uint32_t, Flow> flows_;
	uint64_t received_ = 0;
	std::string complaint_;
};

} // namespace check
#endif
