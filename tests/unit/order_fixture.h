/* SPDX-License-Identifier: GPL-2.0 */
/*
 * order_fixture.h: a socket with ordering hints on a connection of eight paths, for tests.
 */
#ifndef RDS_TESTS_ORDER_FIXTURE_H
#define RDS_TESTS_ORDER_FIXTURE_H

#include <algorithm>

#include "fan_fixture.h"
#include "net/rds/net.h"
#include "net/rds/order.h"
#include "net/rds/path/path.h"

/* The socket's messages that path @w carries, by the first byte of each. */
inline std::string letters(const fake::Wire &w)
{
	std::string out;

	for (const auto &f : fake::frames(w.sent))
		if (!f.data.empty())
			out += static_cast<char>(f.data[0]);
	return out;
}

/* Three paths that are up, with nothing under way: the flow's home, the first, and one more. */
class OrderTest : public FanTest
{
protected:
	void SetUp() override
	{
		FanTest::SetUp();
		fan_out();
		port = port_for(5);
		first = fake::wires()[0];
		home = open(5);
		other = open(2);
		ASSERT_NE(home, nullptr);
		ASSERT_NE(other, nullptr);
		ASSERT_EQ(rds_socket_set_order(s->core(), 2), 0);
		sim::run_ready(); /* a grace period */
		ASSERT_EQ(rds_socket_set_order(s->core(), 0), 0);
		/* Nobody else's is to be chosen. */
		for (fake::Wire *w : {home, other, first})
			w->sent.clear();
	}
	fake::Wire *open(unsigned int index)
	{
		send(port_for(index));
		for (fake::Wire *w : fake::wires()) {
			if (w->path->index != index)
				continue;
			up(*w);
			hello(*w, 8, index);
			catch_up(*w);
			return w;
		}
		return nullptr;
	}
	/* All that was sent on @w was delivered. */
	void catch_up(fake::Wire &w)
	{
		peer_has(w, w.path->next_tx_seq() - 1);
	}
	void say(char letter, rds::Order order, uint16_t to = 0)
	{
		host::Bytes data(20, static_cast<unsigned char>(letter));

		ASSERT_EQ(s->send(host::endpoint(peer, to ? to : port), data, false,
				  static_cast<uint32_t>(order)),
			  0);
		sim::run_ready();
	}
	uint64_t count(enum rds_stat id)
	{
		return net->stat(id);
	}
	fake::Wire *first, *home, *other;
	uint16_t port;
};

#endif
