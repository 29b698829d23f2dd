// SPDX-License-Identifier: GPL-2.0
/*
 * Counters: the whole account of a namespace after each of some stories, so that a counter
 * that is missing, or is counted beside, is seen as well as one that is wrong.
 */
#include "ack_fixture.h"

#include <map>

namespace
{

using fake::wire;
using host::endpoint;
using host::Socket;
using Account = std::map<std::string, uint64_t>;

class Counters : public AckTest
{
protected:
	/* Counters that have changed since the last call, and by how much. */
	Account news()
	{
		Account out;

		for (unsigned int i = 0; i < RDS_STAT_COUNT; i++) {
			uint64_t now = net->stat(static_cast<enum rds_stat>(i));

			if (now != was_[i])
				out[rds_stat_name(i)] = now - was_[i];
			was_[i] = now;
		}
		return out;
	}
	host::Bytes map_of(uint16_t port)
	{
		host::Bytes map(rds::kCongMapBytes);

		if (port)
			map[port / 8] = static_cast<unsigned char>(1 << port % 8);
		return map;
	}
	void peers_map(uint16_t port)
	{
		ASSERT_EQ(fake::arrive(wire().path, 0, 0, 0, map_of(port), rds::wire::kCongBitmap),
			  0);
		sim::run_ready();
	}

private:
	uint64_t was_[RDS_STAT_COUNT] = {};
};

TEST_F(Counters, OfMessagesOnThisHost)
{
	Socket r(*net);

	fake::set_caps(RDS_CAP_PREFER_LOOP);
	ASSERT_EQ(r.bind(endpoint(a2, 5000)), 0);
	ASSERT_EQ(s->send(endpoint(a2, 5000), pattern(100)), 0);
	ASSERT_EQ(s->send(endpoint(a2, 5000), pattern(40)), 0);
	sim::run_ready();
	EXPECT_EQ(news(), (Account{{"send_queued", 2},
				   {"copy_from_user", 140},
				   {"recv_queued", 2},
				   {"recv_bytes_added_to_sock", 140}}));
	EXPECT_TRUE(r.recv());
	EXPECT_EQ(news(), (Account{{"recv_delivered", 1},
				   {"recv_bytes_freed_fromsock", 100},
				   {"copy_to_user", 100}}));
	r.close();
	EXPECT_EQ(news(), (Account{{"recv_bytes_freed_fromsock", 40}}));
	ASSERT_EQ(s->send(endpoint(a2, 5000), pattern(7)), 0);
	sim::run_ready();
	EXPECT_EQ(news(),
		  (Account{{"send_queued", 1}, {"copy_from_user", 7}, {"recv_drop_no_sock", 1}}));
}

TEST_F(Counters, OfAConnection)
{
	send();
	bring_up();
	EXPECT_EQ(
		news(),
		(Account{{"send_queued", 1}, {"copy_from_user", 100}, {"cong_update_queued", 1}}));
	hello();
	EXPECT_EQ(news(), (Account{{"recv_ack_only", 1}}));
	EXPECT_EQ(arrive(1), 0);
	EXPECT_EQ(news(), (Account{{"recv_queued", 1}, {"recv_bytes_added_to_sock", 10}}));
	EXPECT_EQ(arrive(2, rds::wire::kAckRequired), 0);
	EXPECT_EQ(news(), (Account{{"recv_queued", 1},
				   {"recv_bytes_added_to_sock", 10},
				   {"recv_ack_required", 1},
				   {"send_ack_only", 1}}));
	EXPECT_EQ(arrive(2, rds::wire::kRetransmitted), RDS_RECV_SKIP);
	EXPECT_EQ(news(), (Account{{"recv_drop_old_seq", 1}}));
	reconnect();
	EXPECT_EQ(
		news(),
		(Account{{"conn_reset", 1}, {"send_retransmitted", 1}, {"cong_update_queued", 1}}));
}

TEST_F(Counters, OfPings)
{
	send();
	bring_up();
	hello();
	(void)news();
	EXPECT_EQ(fake::arrive(wire().path, 1, 5000, rds::kPingPort, {}), RDS_RECV_SKIP);
	EXPECT_EQ(news(), (Account{{"recv_ping", 1}, {"send_pong", 1}}));
	rds_net_tunables(net->core())->ping_enable = 0;
	EXPECT_EQ(fake::arrive(wire().path, 2, 5000, rds::kPingPort, {}), RDS_RECV_SKIP);
	EXPECT_EQ(news(), (Account{{"recv_drop_no_sock", 1}}));
	rds_net_tunables(net->core())->ping_enable = 1;
	sim::fail_nth(1);
	EXPECT_EQ(fake::arrive(wire().path, 3, 5000, rds::kPingPort, {}), RDS_RECV_SKIP);
	sim::fail_nth(0);
	EXPECT_EQ(news(), (Account{{"recv_ping", 1}, {"send_no_memory", 1}}));

	rds::wire::Header h;

	rds::wire::encode(h, 0, 5000, rds::kPingPort, 0);
	rds::wire::put64(h.sequence, 4);
	h.ext[0] = 200;
	EXPECT_EQ(fake::arrive(wire().path, h), RDS_RECV_SKIP);
	EXPECT_EQ(news(), (Account{{"recv_ping", 1}, {"send_pong", 1}, {"recv_bad_exthdr", 1}}));
	EXPECT_EQ(fake::arrive(wire().path, 5, 0, rds::kProbePort, {}), RDS_RECV_SKIP);
	EXPECT_EQ(news(), Account{}) << "an answer to a probe of ours";
	sim::run_for(100 * kMs);
}

/* A full queue here, without memory, and a port of the peer's that is full. */
TEST_F(Counters, OfSendersThatHaveToWait)
{
	struct rds_msg *m;

	send();
	bring_up();
	hello();
	(void)news();
	sim::fail_nth(1);
	EXPECT_EQ(rds_msg_create(s->core(), &to, 0, nullptr, 0, 0, &m), -12);
	sim::fail_nth(0);
	EXPECT_EQ(news(), (Account{{"send_no_memory", 1}}));
	s->sock().sndbuf = 100;
	EXPECT_EQ(s->send(to, pattern(20)), -11);
	EXPECT_EQ(news(), (Account{{"send_queue_full", 1}})) << "no message was made";
	s->sock().sndbuf = 1 << 20;
	peers_map(to.port);
	EXPECT_EQ(news(), (Account{{"cong_update_received", 1}}));
	EXPECT_EQ(s->send(to, pattern(20)), -105);
	rds_socket_note_blocked(s->core());
	EXPECT_EQ(news(), (Account{{"cong_send_blocked", 1}, {"copy_from_user", 20}}));
	EXPECT_EQ(rds_socket_refused(s->core(), &to), 1);
	EXPECT_EQ(news(), (Account{{"cong_send_error", 1}}));
	peers_map(0);
	EXPECT_EQ(news(), (Account{{"cong_update_received", 1}, {"cong_wakeups", 1}}));
	peers_map(0);
	EXPECT_EQ(news(), (Account{{"cong_update_received", 1}})) << "nobody waits any more";
	EXPECT_EQ(rds_socket_refused(s->core(), &to), 0) << "it is to be tried again";
	EXPECT_EQ(news(), Account());
}

TEST_F(Counters, OfWhatIsTakenBack)
{
	send(3);
	(void)news();
	rds_socket_cancel(s->core(), nullptr);
	EXPECT_EQ(news(), (Account{{"send_cancelled", 3}}));
	rds_socket_cancel(s->core(), nullptr);
	EXPECT_EQ(news(), Account{});
}

/* Wrong by its header, in each of the ways. */
TEST_F(Counters, OfWhatIsWrong)
{
	rds::wire::Header h;

	send();
	bring_up();
	EXPECT_EQ(arrive(1), 0);
	(void)news();
	rds::wire::encode(h, 0, 0, 0, 0);
	EXPECT_EQ(fake::arrive(wire().path, h), RDS_RECV_SKIP);
	EXPECT_EQ(news(), (Account{{"recv_drop_bad_port", 1}})) << "a bare ack of who sends none";
	EXPECT_EQ(arrive(2, rds::wire::kAckRequired), 0);
	EXPECT_EQ(news(), (Account{{"recv_queued", 1}, {"recv_bytes_added_to_sock", 10}}))
		<< "nor does it get one";
	EXPECT_EQ(arrive(2, 0x80), 0);
	EXPECT_EQ(news(), (Account{{"recv_bad_flags", 1},
				   {"recv_queued", 1},
				   {"recv_bytes_added_to_sock", 10}}));
	rds::wire::encode(h, 5, 0, 0, rds::wire::kCongBitmap);
	EXPECT_EQ(fake::arrive(wire().path, h, pattern(5)), RDS_RECV_SKIP);
	EXPECT_EQ(news(), (Account{{"recv_drop_bad_cong", 1}}));
	rds::wire::encode(h, 0, 5000, 4000, 0);
	h.ext[0] = static_cast<uint8_t>(rds::wire::Ext::kLimit);
	EXPECT_EQ(fake::arrive(wire().path, h), 0);
	EXPECT_EQ(news(), (Account{{"recv_bad_exthdr", 1}, {"recv_queued", 1}}));
	for (rds::wire::Ext e :
	     {rds::wire::Ext::kRdma, rds::wire::Ext::kRdmaDest, rds::wire::Ext::kRdmaBytes}) {
		h.ext[0] = static_cast<uint8_t>(e);
		EXPECT_EQ(fake::arrive(wire().path, h), 0);
		EXPECT_EQ(news(), (Account{{"recv_foreign_exthdr", 1}, {"recv_queued", 1}}));
	}
	for (rds::wire::Ext e :
	     {rds::wire::Ext::kVersion, rds::wire::Ext::kNpaths, rds::wire::Ext::kGenNum,
	      rds::wire::Ext::kCapBits, rds::wire::Ext::kSportIdx, rds::wire::Ext::kCsum,
	      rds::wire::Ext::kOrder, rds::wire::Ext::kChanges, rds::wire::Ext::kRefused,
	      rds::wire::Ext::kResume}) {
		h.ext[0] = static_cast<uint8_t>(e);
		EXPECT_EQ(fake::arrive(wire().path, h), 0);
		EXPECT_EQ(news(), (Account{{"recv_queued", 1}}));
	}
	while (s->recv())
		;
}

/* A port of ours fills up and clears: its peers are told of each. */
TEST_F(Counters, OfAPortOfOurs)
{
	send();
	bring_up();
	hello();
	s->sock().rcvbuf = 1000;
	(void)news();
	EXPECT_EQ(fake::arrive(wire().path, 1, 5000, 4000, pattern(600)), 0);
	sim::run_ready();
	EXPECT_EQ(news(), (Account{{"recv_queued", 1}, {"recv_bytes_added_to_sock", 600}}));
	EXPECT_EQ(fake::arrive(wire().path, 2, 5000, 4000, pattern(600)), 0);
	sim::run_ready();
	EXPECT_EQ(news(), (Account{{"recv_queued", 1},
				   {"recv_bytes_added_to_sock", 600},
				   {"cong_update_queued", 1}}));
	EXPECT_TRUE(s->recv());
	sim::run_ready();
	EXPECT_EQ(news(), (Account{{"recv_delivered", 1},
				   {"recv_bytes_freed_fromsock", 600},
				   {"copy_to_user", 600}}));
	EXPECT_TRUE(s->recv());
	sim::run_ready();
	EXPECT_EQ(news(), (Account{{"recv_delivered", 1},
				   {"recv_bytes_freed_fromsock", 600},
				   {"copy_to_user", 600},
				   {"cong_update_queued", 1}}));
}

/* The transport has no room in the midst of a budget, and a caller's turn ends. */
TEST_F(Counters, OfTurns)
{
	send();
	bring_up();
	hello();
	(void)news();
	wire().room = 0;
	for (unsigned int i = 0; i < rds::kSendBatchDefault; i++)
		ASSERT_EQ(s->send(to, {}), 0);
	(void)news();
	wire().room = SIZE_MAX;
	rds_path_writable(wire().path);
	sim::run_ready();
	EXPECT_EQ(news()["send_delayed_retry"], 1u) << "one caller sends no more than so many";
	EXPECT_EQ(news(), Account{});
	sim::run_for(100 * kMs);
	peer_has(rds::kSendBatchDefault + 1);
}

} // namespace
