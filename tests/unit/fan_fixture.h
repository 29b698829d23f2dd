/* SPDX-License-Identifier: GPL-2.0 */
/*
 * fan_fixture.h: a connection with a peer of ours that fans out over several paths, for tests.
 */
#ifndef RDS_TESTS_FAN_FIXTURE_H
#define RDS_TESTS_FAN_FIXTURE_H

#include "fixture.h"
#include "net/rds/net.h"
#include "net/rds/path/path.h"
#include "net/rds/socket/socket.h"
#include "reach.h"

RDS_REACH(fan_agreed, &rds::Fan::agreed_)
RDS_REACH(fan_n_paths, &rds::Fan::n_paths_)
RDS_REACH(fan_gated, &rds::Fan::gated_)
RDS_REACH(fan_folding, &rds::Fan::folding_)

/* A connection from 10.0.0.1 to a remote host of ours that has several paths. */
class FanTest : public SocketTest<RDS_CAP_DELIVERY_ACK>
{
protected:
	void SetUp() override
	{
		SocketTest::SetUp();
		fake::set_max_paths(8);
	}
	void send(uint16_t port, unsigned int number = 0)
	{
		ASSERT_EQ(s->send(host::endpoint(peer, port), pattern(50, number)), 0);
		sim::run_ready();
	}
	/* A port whose messages go over path @index of 8. */
	uint16_t port_for(unsigned int index)
	{
		uint32_t now = conn().fan.n_paths();

		spread_over(8);

		uint16_t port = port_here(index);

		spread_over(now);
		return port;
	}
	/* The first of at least @from whose messages go over path @index now. */
	uint16_t port_here(unsigned int index, uint16_t from = 5000)
	{
		while (conn().fan.index_for(4000, from) != index)
			from++;
		return from;
	}
	/* As if the connection had come to send over @n paths. */
	void spread_over(uint32_t n)
	{
		(conn().fan.*reach(fan_n_paths())).store(static_cast<uint8_t>(n));
	}
	/* The same, with a peer that has as many. */
	void agreed_and_spread(uint32_t n)
	{
		(conn().fan.*reach(fan_agreed())).store(static_cast<uint8_t>(n));
		spread_over(n);
	}
	void set_gate(bool shut)
	{
		(conn().fan.*reach(fan_gated())).store(shut);
	}
	void set_folding(bool on)
	{
		(conn().fan.*reach(fan_folding())).store(on);
	}
	/* The effect on path 0 of the hello of a peer with one path, before it drops the
	 * connection. */
	void agree_on_one()
	{
		rds::Guard g(conn().first().lock);

		EXPECT_FALSE(conn().fan.agree(1)) << "there is nothing to fold";
	}
	rds_conn &conn()
	{
		return fake::wires()[0]->path->conn;
	}
	void up(fake::Wire &w)
	{
		sim::run_ready();
		rds_path_connected(w.path);
		sim::run_ready();
		ASSERT_EQ(w.path->state(), rds::PathState::kUp);
	}
	int hello(fake::Wire &w, uint16_t paths, unsigned int index, uint32_t gen = 77)
	{
		rds::wire::Header h;

		rds::wire::encode_hello(h, {gen, rds::wire::kCapDeliveryAck | rds::wire::kCapOrder,
					    paths, static_cast<uint8_t>(index)});

		int ret = fake::arrive(w.path, h);

		sim::run_ready();
		return ret;
	}
	void peer_has(fake::Wire &w, uint64_t seq)
	{
		rds::wire::Header h;

		rds::wire::encode_control(h);
		rds::wire::put64(h.ack, seq);
		ASSERT_EQ(fake::arrive(w.path, h), RDS_RECV_SKIP);
		sim::run_ready();
	}
	/* Numbers of the messages that were sent since the wire came up; no hellos, maps, acks,
	 * probes. */
	static std::vector<uint64_t> numbers(const fake::Wire &w)
	{
		std::vector<uint64_t> out;

		for (const auto &f : fake::frames(w.sent))
			if (f.seq && f.dport != rds::kPingPort)
				out.push_back(f.seq);
		return out;
	}
	/* Path 0, up and met, has no room so often that more paths are used; it keeps what it has.
	 */
	void crowd()
	{
		fake::Wire &w = *fake::wires()[0];

		for (uint32_t i = 0; i < rds::kFanBlocks && conn().fan.n_paths() == 1; i++) {
			w.room = 1;
			send(5000);
			w.room = SIZE_MAX;
			rds_path_writable(w.path);
			sim::run_ready();
		}
		ASSERT_GT(conn().fan.n_paths(), 1u);
	}
	/* The same with a message on path 0 to the port that is returned: the next one to it goes
	 * over path @index. */
	uint16_t crowd_with_older(unsigned int index)
	{
		send(5000);

		uint16_t port = port_for(index);

		send(port, 1);
		up(*fake::wires()[0]);
		EXPECT_EQ(hello(*fake::wires()[0], 8, 0), RDS_RECV_SKIP);
		crowd();
		return port;
	}
	uint64_t last_on_first()
	{
		return conn().first().next_tx_seq() - 1;
	}
	/* Up, fanned out, and nothing on path 0. */
	void fan_out(uint16_t paths = 8)
	{
		send(5000);
		up(*fake::wires()[0]);
		ASSERT_EQ(hello(*fake::wires()[0], paths, 0), RDS_RECV_SKIP);
		crowd();
		peer_has(*fake::wires()[0], last_on_first());
	}
	/* Smaller than ours: its ports choose the path. */
	const struct rds_addr peer = host::addr4(0);
};

#endif
