// SPDX-License-Identifier: GPL-2.0
#include "order_fixture.h"

namespace
{

using fake::wire;
using host::endpoint;
using host::Socket;

class Info : public SocketTest<RDS_CAP_PREFER_LOOP>
{
protected:
	template <typename T>
	static void collect(void *arg, const T *i)
	{
		static_cast<std::vector<T> *>(arg)->push_back(*i);
	}
	std::vector<struct rds_msg_info> messages(enum rds_info_queue q)
	{
		std::vector<struct rds_msg_info> v;

		host::info_messages(net->core(), q, collect<struct rds_msg_info>, &v);
		return v;
	}
};

TEST_F(Info, NamesEveryCounter)
{
	EXPECT_STREQ(rds_stat_name(0), "conn_reset");
	EXPECT_STREQ(rds_stat_name(RDS_S_recv_drop_bad_length), "recv_drop_bad_length");
	EXPECT_EQ(rds_stat_name(RDS_STAT_COUNT), nullptr);
	for (unsigned int i = 0; i < RDS_STAT_COUNT; i++)
		EXPECT_NE(rds_stat_name(i), nullptr);
}

TEST_F(Info, NamesEveryEventOfAPath)
{
	for (unsigned int event = 0; event < RDS_EV_COUNT; event++)
		EXPECT_STRNE(rds_path_event_name(event), "");
	EXPECT_EQ(rds_path_event_name(RDS_EV_COUNT), nullptr);
}

TEST_F(Info, ShowsConnectionsAndTheirState)
{
	std::vector<struct rds_conn_info> v;

	ASSERT_EQ(s->send(endpoint(remote, 5000), pattern(9)), 0);
	sim::run_ready();
	host::info_conns(net->core(), collect<struct rds_conn_info>, &v);
	ASSERT_EQ(v.size(), 1u);
	EXPECT_EQ(v[0].flags, 2);
	EXPECT_STREQ(v[0].transport, "fake");
	EXPECT_EQ(v[0].next_tx_seq, 2u);
	rds_path_connected(wire().path);
	sim::run_ready();
	ASSERT_EQ(fake::arrive(wire().path, 41, 5000, 4000, {}), 0);
	v.clear();
	host::info_conns(net->core(), collect<struct rds_conn_info>, &v);
	EXPECT_EQ(v[0].flags, 4);
	EXPECT_EQ(v[0].next_rx_seq, 42u);
}

TEST_F(Info, ShowsWhoIsSending)
{
	std::vector<struct rds_conn_info> v;

	ASSERT_EQ(s->send(endpoint(remote, 5000), pattern(9)), 0);
	sim::run_ready();
	wire().on_xmit = [&] { host::info_conns(net->core(), collect<struct rds_conn_info>, &v); };
	rds_path_connected(wire().path);
	sim::run_ready();
	ASSERT_EQ(v.size(), 1u);
	EXPECT_EQ(v[0].flags, 1 | 4);
	rds_path_drop(wire().path, RDS_DROP_ADMIN); /* no peer that has spoken: at once */
	sim::run_ready();
	v.clear();
	host::info_conns(net->core(), collect<struct rds_conn_info>, &v);
	EXPECT_EQ(v.at(0).flags & 1, 0);
}

TEST_F(Info, CountsWhatAPathWentThrough)
{
	auto path = [&] {
		std::vector<struct rds_path_info> v;

		host::info_paths(net->core(), collect<struct rds_path_info>, &v);
		EXPECT_EQ(v.size(), 1u);
		return v.at(0);
	};
	auto expect = [&](const char *state, uint32_t attempts, uint32_t resets,
			  const char *reason) {
		sim::run_ready();

		struct rds_path_info i = path();

		EXPECT_STREQ(i.state, state);
		EXPECT_EQ(i.attempts, attempts);
		EXPECT_EQ(i.resets, resets);
		EXPECT_STREQ(i.last_reason, reason);
	};

	ASSERT_EQ(s->send(endpoint(remote, 5000), pattern(9)), 0);
	expect("connecting", 1, 0, "-");
	rds_path_drop(wire().path, RDS_DROP_CONNECT);
	expect("connecting", 2, 0, "connect failed");
	rds_path_connected(wire().path);
	expect("up", 2, 0, "connect failed");
	ASSERT_EQ(fake::arrive(wire().path, 1, 5000, 4000, {}), 0); /* no back-off */
	rds_path_drop(wire().path, RDS_DROP_ADMIN);
	expect("disconnecting", 2, 1, "admin");
	rds_path_drop(wire().path, RDS_DROP_ERROR); /* on the way to its orderly end */
	expect("connecting", 3, 1, "admin");
	rds_path_connected(wire().path);
	sim::run_ready();
	ASSERT_EQ(fake::arrive(wire().path, 2, 5000, 4000, {}), 0);
	rds_path_drop(wire().path, RDS_DROP_PEER_CLOSED);
	expect("connecting", 4, 2, "peer closed");
	EXPECT_EQ(path().next_rx_seq, 3u);
	EXPECT_EQ(path().index, 0);
	EXPECT_STREQ(path().transport, "fake");
}

TEST_F(Info, ShowsMessagesWhereTheyAre)
{
	ASSERT_EQ(s->send(endpoint(remote, 5000), pattern(9)), 0);

	auto v = messages(RDS_QUEUE_SEND);

	ASSERT_EQ(v.size(), 1u);
	EXPECT_EQ(v[0].lport, 4000);
	EXPECT_EQ(v[0].fport, 5000);
	EXPECT_EQ(v[0].len, 9u);
	EXPECT_EQ(v[0].seq, 1u);
	EXPECT_TRUE(messages(RDS_QUEUE_RETRANS).empty());
	EXPECT_TRUE(messages(RDS_QUEUE_RECV).empty());
	sim::run_ready();
	rds_path_connected(wire().path);
	sim::run_ready();
	EXPECT_TRUE(messages(RDS_QUEUE_SEND).empty());
	EXPECT_EQ(messages(RDS_QUEUE_RETRANS).size(), 1u);
	ASSERT_EQ(fake::arrive(wire().path, 1, 5000, 4000, pattern(3)), 0);
	ASSERT_EQ(fake::arrive(wire().path, 2, 5000, 4000, pattern(4)), 0);
	v = messages(RDS_QUEUE_RECV);
	ASSERT_EQ(v.size(), 2u);
	EXPECT_EQ(v[1].len, 4u);
}

/* Whose a message is, so that others need not be shown it. */
TEST_F(Info, TellsWhoseAMessageIs)
{
	auto owners = [&](enum rds_info_queue q) {
		std::vector<const struct rds_socket *> v;

		for (const auto &i : messages(q))
			v.push_back(i.owner);
		return v;
	};
	using Owners = std::vector<const struct rds_socket *>;

	ASSERT_EQ(s->send(endpoint(remote, 5000), pattern(9)), 0);
	EXPECT_EQ(owners(RDS_QUEUE_SEND), Owners({s->core()}));
	sim::run_ready();
	rds_path_connected(wire().path);
	sim::run_ready();
	EXPECT_EQ(owners(RDS_QUEUE_RETRANS), Owners({s->core()}));
	ASSERT_EQ(fake::arrive(wire().path, 1, 5000, 4000, pattern(3)), 0);
	EXPECT_EQ(owners(RDS_QUEUE_RECV), Owners({s->core()}));
	/* Half of it is out, so it stays; it is nobody's any more. */
	rds_socket_cancel(s->core(), nullptr);
	for (const auto *owner : owners(RDS_QUEUE_RETRANS))
		EXPECT_EQ(owner, nullptr);
}

/* The last reason tells an administrator's own refusal, and a call whose key may be wrong, from a
 * connect that failed. */
TEST_F(Info, SaysWhyNobodyWasReached)
{
	auto reason = [&] {
		std::vector<struct rds_path_info> v;

		host::info_paths(net->core(), collect<struct rds_path_info>, &v);
		return v.size() == 1 ? std::string(v[0].last_reason) : std::string();
	};

	fake::defaults().connect_result = -13;
	ASSERT_EQ(s->send(endpoint(remote, 5000), pattern(9)), 0);
	sim::run_ready();
	EXPECT_EQ(reason(), "refused here");
	wire().connect_result = -111;
	ASSERT_TRUE(sim::run_until([&] { return reason() == "connect failed"; }, fake::kCallNs));
	wire().connect_result = 0;
	wire().unanswered = RDS_DROP_KEY;
	ASSERT_TRUE(
		sim::run_until([&] { return reason() == "no answer; key?"; }, 3 * fake::kCallNs));
	wire().unanswered = RDS_DROP_CONNECT;
	ASSERT_TRUE(
		sim::run_until([&] { return reason() == "connect failed"; }, 3 * fake::kCallNs));
}

/* Local is the socket that has the message, foreign the one that sent it. */
TEST_F(Info, ReceivedMessagesAreTheReceiversOwn)
{
	ASSERT_EQ(s->send(endpoint(remote, 5000), pattern(9)), 0);
	sim::run_ready();
	rds_path_connected(wire().path);
	sim::run_ready();
	ASSERT_EQ(fake::arrive(wire().path, 1, 6000, 4000, pattern(3)), 0);

	auto v = messages(RDS_QUEUE_RECV);

	ASSERT_EQ(v.size(), 1u);
	EXPECT_TRUE(rds::same_addr(v[0].laddr, a1));
	EXPECT_TRUE(rds::same_addr(v[0].faddr, remote));
	EXPECT_EQ(v[0].lport, 4000);
	EXPECT_EQ(v[0].fport, 6000);
}

TEST_F(Info, ReceivedMessagesAreTheReceiversOwnWithIpv6)
{
	struct rds_addr here = {{0x80fe, 1}}, there = {{0x80fe, 2}};
	host::Net net6(std::vector<struct rds_addr>{here});
	Socket six(net6);
	std::vector<struct rds_msg_info> v;

	ASSERT_EQ(six.bind({.addr = here, .scope = 3, .port = 4006}), 0);
	ASSERT_EQ(six.send({.addr = there, .scope = 3, .port = 5006}, pattern(9)), 0);
	sim::run_ready();
	rds_path_connected(wire().path);
	sim::run_ready();
	ASSERT_EQ(fake::arrive(wire().path, 1, 6006, 4006, pattern(4)), 0);
	host::info_messages(net6.core(), RDS_QUEUE_RECV, collect<struct rds_msg_info>, &v);
	ASSERT_EQ(v.size(), 1u);
	EXPECT_TRUE(rds::same_addr(v[0].laddr, here));
	EXPECT_TRUE(rds::same_addr(v[0].faddr, there));
	EXPECT_EQ(v[0].lport, 4006);
	EXPECT_EQ(v[0].fport, 6006);
}

/* In every table, of the connection and of each message. */
TEST_F(Info, PrioritiesAreShown)
{
	std::vector<struct rds_conn_info> conns;
	std::vector<struct rds_path_info> paths;

	fake::set_caps(RDS_CAP_RDMA);
	ASSERT_EQ(rds_socket_set_tos(s->core(), 5), 0);
	ASSERT_EQ(s->send(endpoint(remote, 5000), pattern(9)), 0);
	sim::run_ready();

	auto waiting = messages(RDS_QUEUE_SEND);

	ASSERT_EQ(waiting.size(), 1u);
	EXPECT_EQ(waiting[0].tos, 5);
	EXPECT_TRUE(rds::same_addr(waiting[0].laddr, a1));
	EXPECT_TRUE(rds::same_addr(waiting[0].faddr, remote));
	host::info_conns(net->core(), collect<struct rds_conn_info>, &conns);
	host::info_paths(net->core(), collect<struct rds_path_info>, &paths);
	ASSERT_EQ(conns.size(), 1u);
	ASSERT_EQ(paths.size(), 1u);
	EXPECT_EQ(conns[0].tos, 5);
	EXPECT_EQ(paths[0].tos, 5);
	EXPECT_EQ(paths[0].next_tx_seq, 2u);
	EXPECT_TRUE(rds::same_addr(conns[0].laddr, a1) && rds::same_addr(conns[0].faddr, remote));
	EXPECT_TRUE(rds::same_addr(paths[0].laddr, a1) && rds::same_addr(paths[0].faddr, remote));
	ASSERT_EQ(fake::arrive(wire().path, 1, 5000, 4000, pattern(4)), 0);

	auto unread = messages(RDS_QUEUE_RECV);

	ASSERT_EQ(unread.size(), 1u);
	EXPECT_EQ(unread[0].tos, 5);
}

TEST_F(Info, ShowsBoundSockets)
{
	std::vector<struct rds_socket_info> v;
	Socket t(*net), unbound(*net);

	ASSERT_EQ(t.bind(endpoint(a2, 4001)), 0);
	ASSERT_EQ(t.connect(endpoint(remote, 8)), 0);
	host::info_sockets(net->core(), collect<struct rds_socket_info>, &v);
	ASSERT_EQ(v.size(), 2u);

	const auto &i = v[0].bound.port == 4001 ? v[0] : v[1];

	EXPECT_EQ(i.s, t.core());
	EXPECT_EQ(i.peer.port, 8);
}

/* A reader takes all that there is off the queue at once: what it has not read yet is unread. */
TEST_F(Info, ShowsWhatAReaderHasTakenAndNotRead)
{
	Socket r(*net);

	ASSERT_EQ(r.bind(endpoint(a1, 4001)), 0);
	for (size_t n : {5u, 6u, 7u})
		ASSERT_EQ(s->send(endpoint(a1, 4001), pattern(n)), 0);
	sim::run_ready();
	ASSERT_TRUE(r.recv());

	auto v = messages(RDS_QUEUE_RECV);

	ASSERT_EQ(v.size(), 2u);
	EXPECT_EQ(v[0].len, 6u);
	EXPECT_EQ(v[1].len, 7u);
}

class InfoOrder : public OrderTest
{
};

/* A message that its order keeps from any path is yet to be sent, and nothing else. */
TEST_F(InfoOrder, WhatWaitsForItsOrderIsToBeSent)
{
	auto list = [this](enum rds_info_queue q) {
		std::vector<struct rds_msg_info> v;

		host::info_messages(
			net->core(), q,
			[](void *arg, const struct rds_msg_info *i) {
				static_cast<decltype(v) *>(arg)->push_back(*i);
			},
			&v);
		return v;
	};

	for (char c : {'a', 'b', 'c'})
		say(c, rds::Order::kUnordered);
	ASSERT_EQ(list(RDS_QUEUE_SEND).size(), 0u);

	size_t sent = list(RDS_QUEUE_RETRANS).size();

	say('o', rds::Order::kOrdered);
	EXPECT_EQ(list(RDS_QUEUE_RETRANS).size(), sent);
	EXPECT_EQ(list(RDS_QUEUE_RECV).size(), 0u);

	auto v = list(RDS_QUEUE_SEND);

	ASSERT_EQ(v.size(), 1u);
	EXPECT_TRUE(rds::same_addr(v[0].laddr, a1));
	EXPECT_TRUE(rds::same_addr(v[0].faddr, peer));
	EXPECT_EQ(v[0].lport, 4000);
	EXPECT_EQ(v[0].fport, port);
	EXPECT_EQ(v[0].len, 20u);
	EXPECT_EQ(v[0].seq, 0u);
	for (fake::Wire *w : {first, home, other})
		catch_up(*w);
	EXPECT_EQ(list(RDS_QUEUE_SEND).size(), 0u);
}

} // namespace
