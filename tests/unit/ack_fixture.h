/* SPDX-License-Identifier: GPL-2.0 */
/*
 * ack_fixture.h: one connection to a peer that may acknowledge, for tests.
 */
#ifndef RDS_TESTS_ACK_FIXTURE_H
#define RDS_TESTS_ACK_FIXTURE_H

#include "fixture.h"
#include "net/rds/net.h"
#include "net/rds/path/path.h"
#include "net/rds/socket/socket.h"

constexpr uint64_t kMs = 1000 * 1000;

/* One path from 10.0.0.1 to a remote host, over a transport that may lose what it acknowledged. */
class AckTest : public SocketTest<RDS_CAP_DELIVERY_ACK>
{
protected:
	rds_path &path()
	{
		return *fake::wire().path;
	}
	void send(unsigned int n = 1)
	{
		for (unsigned int i = 0; i < n; i++)
			ASSERT_EQ(s->send(to, pattern(100, i)), 0);
	}
	void bring_up()
	{
		sim::run_ready();
		rds_path_connected(fake::wire().path);
		sim::run_ready();
		ASSERT_EQ(path().state(), rds::PathState::kUp);
	}
	void reconnect()
	{
		rds_path_drop(fake::wire().path, RDS_DROP_ERROR);
		sim::run_ready();
		sim::run_for(1000 * kMs);
		bring_up();
	}
	void hello(uint32_t gen = 77)
	{
		rds::wire::Header h;

		rds::wire::encode_hello(h, {gen, rds::wire::kCapDeliveryAck});
		ASSERT_EQ(fake::arrive(fake::wire().path, h), RDS_RECV_SKIP);
		sim::run_ready();
	}
	void peer_has(uint64_t seq)
	{
		rds::wire::Header h;

		rds::wire::encode_control(h);
		rds::wire::put64(h.ack, seq);
		ASSERT_EQ(fake::arrive(fake::wire().path, h), RDS_RECV_SKIP);
	}
	/* The peer, who calls, had everything when the connection died. */
	void used_and_reset()
	{
		fake::defaults().initiates = false;
		send();
		bring_up();
		hello();
		peer_has(1);
		rds_path_drop(fake::wire().path, RDS_DROP_ERROR);
	}
	/* As mainline's make it over queue pairs. */
	int bare_ack(uint64_t seq, uint8_t flags = 0)
	{
		rds::wire::Header h;

		rds::wire::encode(h, 0, 0, 0, flags);
		rds::wire::put64(h.ack, seq);

		int ret = fake::arrive(fake::wire().path, h);

		sim::run_ready();
		return ret;
	}
	/* Before the first message: every peer acknowledges by number. */
	void numbered()
	{
		fake::set_caps(RDS_CAP_DELIVERY_ACK | RDS_CAP_NUMBERED);
	}
	int arrive(uint64_t seq, uint8_t flags = 0)
	{
		int ret = fake::arrive(fake::wire().path, seq, 5000, 4000, pattern(10), flags);

		sim::run_ready();
		return ret;
	}
	std::vector<fake::Frame> sent()
	{
		return fake::frames(fake::wire().sent);
	}
	unsigned int waiting()
	{
		unsigned int n = 0;

		host::info_messages(
			net->core(), RDS_QUEUE_RETRANS,
			[](void *arg, const struct rds_msg_info *) {
				++*static_cast<unsigned int *>(arg);
			},
			&n);
		return n;
	}
	const struct rds_endpoint to = host::endpoint(host::addr4(99), 5000);
};

#endif
