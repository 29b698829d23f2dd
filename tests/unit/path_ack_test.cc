// SPDX-License-Identifier: GPL-2.0
#include "ack_fixture.h"

namespace
{

using fake::wire;
using host::endpoint;
using host::Socket;
using rds::Peer;

class PathAck : public AckTest
{
};

TEST_F(PathAck, HelloIsTheFirstFrameOfEveryConnection)
{
	uint32_t gen = 0;

	send();
	bring_up();
	for (int round = 0; round < 3; round++) {
		auto f = sent();

		ASSERT_EQ(f.size(), 3u);
		EXPECT_TRUE(rds::wire::is_control(rds::wire::decode(f[0].header)));

		auto h = rds::wire::decode_hello(f[0].header);

		EXPECT_EQ(h.caps, rds::wire::kCapDeliveryAck | rds::wire::kCapOrder |
					  rds::wire::kCapRefuse | rds::wire::kCapChanges);
		EXPECT_NE(h.gen, 0u);
		EXPECT_TRUE(!gen || h.gen == gen);
		gen = h.gen;
		EXPECT_EQ(f[1].flags, rds::wire::kCongBitmap);
		EXPECT_EQ(f[2].seq, 1u);
		reconnect();
	}
}

TEST_F(PathAck, WhatThePeersRdsHasNotStays)
{
	send(3);
	bring_up();
	rds_path_acked(wire().path, wire().sent.size());
	EXPECT_EQ(waiting(), 3u) << "let go before the peer was known";
	hello();
	rds_path_acked(wire().path, wire().sent.size());
	EXPECT_EQ(waiting(), 3u);
	peer_has(2);
	EXPECT_EQ(waiting(), 1u);
	peer_has(1); /* older news */
	EXPECT_EQ(waiting(), 1u);
	peer_has(3);
	EXPECT_EQ(waiting(), 0u);
}

/* However many are let go at once, the last leave with them: and be there numbers between that
 * nobody has any more. */
TEST_F(PathAck, AllThatIsAcknowledgedLeaves)
{
	constexpr unsigned int kMany = 3 * rds::kQueueStep;
	Socket other(*net);

	ASSERT_EQ(other.bind(endpoint(a1, 4001)), 0);
	other.sock().sndbuf = s->sock().sndbuf = 1 << 20;
	send();
	bring_up();
	hello();
	send(kMany);
	sim::run_ready();
	peer_has(kMany + 1);
	EXPECT_EQ(waiting(), 0u);
	wire().room = 0;
	send();
	for (unsigned int i = 0; i < kMany; i++)
		ASSERT_EQ(other.send(to, pattern(100)), 0);
	send();
	rds_socket_cancel(other.core(), nullptr);
	wire().room = SIZE_MAX;
	wire().on_xmit = [this] { peer_has(path().next_tx_seq() - 1); };
	rds_path_writable(wire().path);
	sim::run_ready();
	EXPECT_EQ(waiting(), 0u) << "they were acknowledged while the transport took them";
	EXPECT_EQ(host::count_messages(net->core(), RDS_QUEUE_SEND), 0u);
}

TEST_F(PathAck, ALaterHeaderOfAMessageAcknowledgesToo)
{
	send(3);
	bring_up();
	hello();
	rds_recv_ack(wire().path, 2);
	EXPECT_EQ(waiting(), 1u);
	rds_recv_ack(wire().path, 1);
	EXPECT_EQ(waiting(), 1u);
	rds_recv_ack(wire().path, 4);
	EXPECT_EQ(waiting(), 1u);
	EXPECT_EQ(net->stat(RDS_S_recv_bad_ack), 1u);
}

/* sim_fast --seed 40080595: the ack came while what it is for waited to be sent again, and that was
 * sent only on the next connection, before its hello. */
TEST_F(PathAck, AnAckOfBeforeCountsAtTheNextReset)
{
	send(3);
	bring_up();
	hello();
	rds_path_drop(wire().path, RDS_DROP_ERROR);
	sim::run_for(1000 * kMs);
	wire().room = 0;
	bring_up();
	hello();
	peer_has(3);
	wire().room = SIZE_MAX;
	reconnect();
	EXPECT_EQ(waiting(), 0u) << "it is not sent again, to somebody unknown";
}

TEST_F(PathAck, APlainPeersTransportSpeaksForIt)
{
	send(3);
	bring_up();
	rds_path_acked(wire().path, wire().sent.size());
	EXPECT_EQ(waiting(), 3u);
	EXPECT_EQ(arrive(1), 0);
	EXPECT_EQ(path().peer(), Peer::kPlain);
	EXPECT_EQ(waiting(), 0u);
	for (const auto &f : sent()) {
		EXPECT_EQ(f.ack, 0u);
		EXPECT_EQ(f.flags & rds::wire::kAckRequired, 0);
	}
	sim::run_for(100 * kMs);
	EXPECT_EQ(net->stat(RDS_S_send_ack_only), 0u);
}

/* The caller heard nothing of a reset, and waited for acks until its keepalive, 5 s. */
TEST_F(PathAck, WhoDoesNotCallTellsOfTheEndOnce)
{
	used_and_reset();
	sim::run_for(40 * kMs);
	EXPECT_EQ(wire().history(), "connect close");
	sim::run_for(20 * kMs);
	EXPECT_EQ(wire().history(), "connect close connect");
	rds_path_drop(wire().path, RDS_DROP_CONNECT);
	sim::run_for(5000 * kMs);
	EXPECT_EQ(wire().history(), "connect close connect close");
}

/* The same pause is no reason to wait with something to say. */
TEST_F(PathAck, AMessageDoesNotWaitForThat)
{
	used_and_reset();
	sim::run_for(kMs);
	send();
	sim::run_ready();
	EXPECT_EQ(wire().history(), "connect close connect");
}

TEST_F(PathAck, AnAckOfWhatWasNeverSentIsIgnored)
{
	send(2);
	bring_up();
	hello();
	peer_has(3);
	peer_has(~0ull);
	EXPECT_EQ(waiting(), 2u);
	EXPECT_EQ(net->stat(RDS_S_recv_bad_ack), 2u);
}

/* Believed, the messages would be dropped at the next reset, and nobody would have them. */
TEST_F(PathAck, AnAckOfWhatIsQueuedIsIgnored)
{
	send();
	bring_up();
	hello();
	wire().room = 0;
	send(2);
	peer_has(2);
	peer_has(3);
	EXPECT_EQ(net->stat(RDS_S_recv_bad_ack), 2u);
	EXPECT_EQ(path().delivered(), 0u);
	peer_has(1);
	EXPECT_EQ(path().delivered(), 1u);
	wire().room = SIZE_MAX;
	reconnect();
	hello();
	EXPECT_EQ(waiting(), 2u);
	EXPECT_EQ(sent().back().seq, 3u);
	peer_has(3);
	EXPECT_EQ(waiting(), 0u);
	EXPECT_EQ(net->stat(RDS_S_recv_bad_ack), 2u);
}

/* The peer may be faster than the call that sends. */
TEST_F(PathAck, AnAckMayComeWhileItsMessageIsSent)
{
	send();
	bring_up();
	hello();
	wire().on_xmit = [this] {
		peer_has(3);
		EXPECT_EQ(net->stat(RDS_S_recv_bad_ack), 1u) << "of the message, no more";
		peer_has(2);
		EXPECT_EQ(path().delivered(), 2u);
	};
	send();
	EXPECT_EQ(waiting(), 0u);
	EXPECT_EQ(net->stat(RDS_S_recv_bad_ack), 1u);
}

TEST_F(PathAck, SendsAgainExactlyWhatWasNotAcknowledged)
{
	send(4);
	bring_up();
	hello();
	EXPECT_EQ(arrive(1), 0); /* now our headers carry an ack */
	send();
	peer_has(3);
	reconnect();

	auto f = sent();

	ASSERT_EQ(f.size(), 4u);
	EXPECT_EQ(f[2].seq, 4u);
	EXPECT_EQ(f[3].seq, 5u);
	for (size_t i = 2; i < 4; i++) {
		EXPECT_TRUE(f[i].flags & rds::wire::kRetransmitted);
		EXPECT_EQ(f[i].ack, 0u) << "an ack of before, to a peer that may be another";
	}
}

TEST_F(PathAck, NumbersOfOneGenerationComeOnce)
{
	send();
	bring_up();
	hello(7);
	EXPECT_EQ(arrive(1), 0);
	EXPECT_EQ(arrive(2), 0);
	EXPECT_EQ(arrive(2), RDS_RECV_SKIP) << "the same number without the retransmit flag";
	EXPECT_EQ(arrive(1, rds::wire::kRetransmitted), RDS_RECV_SKIP);
	reconnect();
	hello(7);
	EXPECT_EQ(arrive(2, rds::wire::kRetransmitted), RDS_RECV_SKIP);
	EXPECT_EQ(arrive(3, rds::wire::kRetransmitted), 0);
	reconnect();
	hello(8);
	EXPECT_EQ(arrive(1, rds::wire::kRetransmitted), 0) << "a restarted peer's";
	EXPECT_EQ(net->stat(RDS_S_recv_queued), 4u);
}

/* It said so when the messages waited to be sent again.  Sent to whoever comes next, they would
 * count as delivered before they are there, and what waits for them would overtake them. */
TEST_F(PathAck, WhatThePeerHadIsNotSentToItsNextLife)
{
	send(3);
	bring_up();
	hello();
	wire().room = 0;
	reconnect();
	hello();
	peer_has(2);
	wire().room = SIZE_MAX;
	reconnect();
	hello(78);

	std::vector<uint64_t> numbers;

	for (const auto &f : sent())
		if (f.seq)
			numbers.push_back(f.seq);
	EXPECT_EQ(numbers, (std::vector<uint64_t>{3}));
	peer_has(3);
	EXPECT_EQ(waiting(), 0u);
}

TEST_F(PathAck, APeerThatBecamePlainCountsAnew)
{
	send();
	bring_up();
	hello(7);
	EXPECT_EQ(arrive(5), 0);
	reconnect();
	EXPECT_EQ(arrive(1, rds::wire::kRetransmitted), 0);
	EXPECT_EQ(path().peer(), Peer::kPlain);
}

/* Somebody else has the peer's address between two connections of it, says hello or does not, and
 * takes the peer's messages: it sends them again, and they have come. */
TEST_F(PathAck, NothingComesTwiceOfPeersThatComeByTurns)
{
	unsigned int got = 0;

	send();
	bring_up();
	hello(7);
	for (uint64_t seq = 1; seq <= 5; seq++)
		ASSERT_EQ(arrive(seq), 0);
	for (unsigned int round = 0; round < 4; round++) {
		reconnect();
		if (round % 2)
			hello(8);
		EXPECT_EQ(arrive(1), round == 3 ? RDS_RECV_SKIP : 0) << round;
		reconnect();
		hello(7);
		for (uint64_t seq = 1; seq <= 5 + round; seq++)
			EXPECT_EQ(arrive(seq, rds::wire::kRetransmitted), RDS_RECV_SKIP) << seq;
		EXPECT_EQ(arrive(6 + round), 0);
	}
	while (s->recv())
		got++;
	EXPECT_EQ(got, 5u + 4u + 3u);
}

TEST_F(PathAck, AsksAfterSoManyMessages)
{
	rds_net_tunables(net->core())->max_unacked_packets = 4;
	send();
	bring_up();
	hello();
	send(9);

	auto f = sent();
	std::vector<uint64_t> asked;

	for (const auto &frame : f)
		if (frame.flags & rds::wire::kAckRequired)
			asked.push_back(frame.seq);
	/* The first after a connect asks too: what came before it is not known. */
	EXPECT_EQ(asked, (std::vector<uint64_t>{2, 6, 10}));
}

TEST_F(PathAck, AsksAfterSoManyBytesAndWhenTheSenderIsShortOfRoom)
{
	auto *tun = rds_net_tunables(net->core());

	tun->max_unacked_packets = 1000;
	tun->max_unacked_bytes = 500;
	send();
	bring_up();
	hello();
	send(8); /* 148 bytes each, on the wire */
	EXPECT_EQ(net->stat(RDS_S_send_ack_required), 2u);
	peer_has(9);
	tun->max_unacked_bytes = 1 << 30;
	send(4); /* uses up the old measure */
	peer_has(13);

	uint64_t before = net->stat(RDS_S_send_ack_required);

	s->sock().sndbuf = 600;
	send(5);
	EXPECT_EQ(net->stat(RDS_S_send_ack_required), before + 1) << "one question at a time";
	peer_has(18);
	send(3);
	EXPECT_EQ(net->stat(RDS_S_send_ack_required), before + 2);
}

TEST_F(PathAck, AsksForPagesThatWereLent)
{
	fake::set_caps(RDS_CAP_DELIVERY_ACK | RDS_CAP_ZEROCOPY);
	send();
	bring_up();
	hello();
	send();
	peer_has(2);

	uint64_t before = net->stat(RDS_S_send_ack_required);

	send();
	ASSERT_EQ(s->send_zcopy(to, pattern(100), 7), 0);
	EXPECT_EQ(net->stat(RDS_S_send_ack_required), before + 1);
	EXPECT_TRUE(sent().back().flags & rds::wire::kAckRequired);
}

/* A peer that tells by itself needs no transport to tell; lent pages do. */
TEST_F(PathAck, TheTransportTellsUnlessThePeerDoes)
{
	fake::set_caps(RDS_CAP_DELIVERY_ACK | RDS_CAP_ZEROCOPY);
	send();
	bring_up();
	EXPECT_TRUE(wire().last_acks) << "nobody knows who it is";
	hello();
	send();
	EXPECT_FALSE(wire().last_acks);
	reconnect();
	EXPECT_TRUE(wire().last_acks);
	arrive(1); /* it is mainline's now */
	send();
	EXPECT_TRUE(wire().last_acks);
	reconnect();
	hello();
	send();
	EXPECT_FALSE(wire().last_acks);
	ASSERT_EQ(s->send_zcopy(to, pattern(100), 7), 0);
	EXPECT_TRUE(wire().last_acks);
	send();
	EXPECT_TRUE(wire().last_acks) << "they are out still";
}

/* Pages that were lent are the program's again when neither the peer nor the transport can need
 * them any more, in whichever order they say so; a peer that lies about it gets no other bytes. */
TEST_F(PathAck, LentPagesAreKeptUntilTheTransportLetsGo)
{
	uint32_t cookies[4];

	fake::set_caps(RDS_CAP_DELIVERY_ACK | RDS_CAP_ZEROCOPY);
	send();
	bring_up();
	hello();
	for (uint32_t cookie : {7u, 8u}) {
		ASSERT_EQ(s->send_zcopy(to, pattern(100), cookie), 0);
		send();
	}
	peer_has(5);
	EXPECT_EQ(rds_socket_zcopy(s->core(), cookies, 4), 0u);
	rds_path_acked(&path(), wire().sent.size() - 148 - 1);
	ASSERT_EQ(rds_socket_zcopy(s->core(), cookies, 4), 1u) << "the second lacks a byte";
	EXPECT_EQ(cookies[0], 7u);
	rds_socket_zcopy_done(s->core(), 1);
	rds_path_acked(&path(), wire().sent.size());
	ASSERT_EQ(rds_socket_zcopy(s->core(), cookies, 4), 1u);
	EXPECT_EQ(cookies[0], 8u);
	rds_socket_zcopy_done(s->core(), 1);
	EXPECT_FALSE(path().has_messages());

	ASSERT_EQ(s->send_zcopy(to, pattern(100), 9), 0);
	rds_path_acked(&path(), wire().sent.size());
	EXPECT_EQ(rds_socket_zcopy(s->core(), cookies, 4), 0u) << "the peer has not";
	peer_has(6);
	EXPECT_EQ(rds_socket_zcopy(s->core(), cookies, 4), 1u);
}

TEST_F(PathAck, LentPagesAreFreeWhenTheConnectionIsGone)
{
	uint32_t cookies[4];

	fake::set_caps(RDS_CAP_DELIVERY_ACK | RDS_CAP_ZEROCOPY);
	send();
	bring_up();
	hello();
	ASSERT_EQ(s->send_zcopy(to, pattern(100), 7), 0);
	peer_has(2);
	EXPECT_EQ(rds_socket_zcopy(s->core(), cookies, 4), 0u);
	rds_path_drop(&path(), RDS_DROP_SEND);
	sim::run_ready();
	EXPECT_EQ(rds_socket_zcopy(s->core(), cookies, 4), 1u);
}

TEST_F(PathAck, AnswersAtOnceWhenAsked)
{
	send();
	bring_up();
	hello();
	EXPECT_EQ(arrive(1), 0);
	EXPECT_EQ(net->stat(RDS_S_send_ack_only), 0u);
	EXPECT_EQ(arrive(2, rds::wire::kAckRequired), 0);
	EXPECT_EQ(net->stat(RDS_S_send_ack_only), 1u);

	auto last = sent().back();

	EXPECT_EQ(last.ack, 2u);
	EXPECT_TRUE(rds::wire::is_control(rds::wire::decode(last.header)));
	/* Also when it had it: the answer of before was lost. */
	EXPECT_EQ(arrive(2, rds::wire::kAckRequired | rds::wire::kRetransmitted), RDS_RECV_SKIP);
	EXPECT_EQ(net->stat(RDS_S_send_ack_only), 2u);
}

TEST_F(PathAck, AnswersAfterAWhileWhenNotAsked)
{
	send();
	bring_up();
	hello();
	for (uint64_t i = 1; i <= 3; i++)
		EXPECT_EQ(arrive(i), 0);
	sim::run_for(rds::kAckDelayNs + kMs);
	EXPECT_EQ(net->stat(RDS_S_send_ack_only), 1u);
	EXPECT_EQ(sent().back().ack, 3u);
	sim::run_for(100 * kMs);
	EXPECT_EQ(net->stat(RDS_S_send_ack_only), 1u) << "nothing new to say";
}

TEST_F(PathAck, AMessageCarriesIt)
{
	send();
	bring_up();
	hello();
	EXPECT_EQ(arrive(1), 0);
	send();
	EXPECT_EQ(sent().back().ack, 1u);
	EXPECT_EQ(sent().back().seq, 2u);
	sim::run_for(100 * kMs);
	EXPECT_EQ(net->stat(RDS_S_send_ack_only), 0u);
}

/* sim_run --seed 7041169: the peer waited for ever for the ack of its last message. */
TEST_F(PathAck, AnAckIsNotTakenBackWithItsMessage)
{
	for (bool asked : {false, true}) {
		uint8_t flags = asked ? rds::wire::kAckRequired : 0;

		if (!asked) {
			send();
			bring_up();
			hello();
		}
		wire().room = 0;
		EXPECT_EQ(fake::arrive(wire().path, asked ? 2 : 1, 5000, 4000, pattern(10), flags),
			  0);
		send();
		rds_socket_cancel(s->core(), nullptr);
		sim::run_for(2 * rds::kAckDelayNs);
		wire().room = SIZE_MAX;
		rds_path_writable(wire().path);
		sim::run_for(2 * rds::kAckDelayNs);
		EXPECT_EQ(sent().back().ack, asked ? 2u : 1u);
	}
}

/* A header that is half out keeps the ack that it began with. */
TEST_F(PathAck, ABegunHeaderIsLeftAlone)
{
	send();
	bring_up();
	hello();
	EXPECT_EQ(arrive(1), 0);
	wire().room = 10; /* of the next header: h_ack is half out */
	send();
	wire().room = SIZE_MAX;
	EXPECT_EQ(arrive(2), 0);
	rds_path_writable(wire().path);
	sim::run_ready();
	EXPECT_EQ(sent().back().ack, 1u);
	sim::run_for(100 * kMs);
	EXPECT_EQ(sent().back().ack, 2u) << "told by a bare one";
}

TEST_F(PathAck, NoMemoryForHelloMeansThatTheSendersWait)
{
	send();
	sim::run_ready();
	sim::options().fail_per_1000 = 1000;
	rds_path_connected(wire().path);
	sim::run_ready();
	EXPECT_EQ(path().state(), rds::PathState::kUp);
	EXPECT_TRUE(wire().sent.empty());
	/* A message of a peer without acks that comes meanwhile would be lost with the connection.
	 */
	sim::options().fail_per_1000 = 0;
	EXPECT_EQ(arrive(1), 0);
	EXPECT_TRUE(s->readable());
	EXPECT_TRUE(wire().sent.empty());
	sim::run_for(10 * kMs);
	EXPECT_NE(rds::wire::decode_hello(sent().front().header).caps, 0u);
	EXPECT_EQ(sent().back().seq, 1u);
	EXPECT_EQ(wire().history(), "connect");
}

TEST_F(PathAck, NoMemoryForAnAckMeansLater)
{
	send();
	bring_up();
	hello();
	ASSERT_EQ(fake::arrive(wire().path, 1, 5000, 4000, pattern(10), rds::wire::kAckRequired),
		  0);
	sim::options().fail_per_1000 = 1000;
	sim::run_ready();
	EXPECT_EQ(net->stat(RDS_S_send_ack_only), 0u);
	sim::options().fail_per_1000 = 0;
	sim::run_for(2 * rds::kAckDelayNs);
	EXPECT_EQ(sent().back().ack, 1u);
}

/* Nobody is to wait for the end of a peer that gets again what it has not read. */
TEST_F(PathAck, AnOrderlyEndNeedsNoDrain)
{
	send();
	bring_up();
	hello();
	rds_transport_net_reset(net->core(), fake::ops());
	sim::run_ready();
	EXPECT_EQ(wire().history(), "connect close connect");
}

/* ---- peers of mainline's that acknowledge by number (RDS_CAP_NUMBERED) ---- */

TEST_F(PathAck, NumberedPlainPeersAcksCount)
{
	numbered();
	send(3);
	bring_up();
	EXPECT_EQ(arrive(1), 0);
	EXPECT_EQ(path().peer(), Peer::kAcks);
	rds_path_acked(wire().path, wire().sent.size());
	EXPECT_EQ(waiting(), 3u) << "what its hardware has is nothing";
	EXPECT_EQ(bare_ack(2), RDS_RECV_SKIP);
	EXPECT_EQ(waiting(), 1u);
	reconnect();
	EXPECT_EQ(sent().back().seq, 3u) << "and only that goes out again";
	EXPECT_EQ(waiting(), 1u);
}

TEST_F(PathAck, NumberedPlainPeerMayBeginWithABareAck)
{
	numbered();
	send(2);
	bring_up();
	EXPECT_EQ(bare_ack(1), RDS_RECV_SKIP);
	EXPECT_EQ(path().peer(), Peer::kAcks);
	EXPECT_FALSE(path().peer_has_gen());
	EXPECT_EQ(waiting(), 1u);
}

/* It tells when it is asked: whoever waits for room would wait for ever. */
TEST_F(PathAck, NumberedPlainPeerIsAskedForWhatNothingFollows)
{
	numbered();
	send(2);
	bring_up();
	EXPECT_TRUE(sent().back().flags & rds::wire::kAckRequired);
	EXPECT_EQ(bare_ack(2), RDS_RECV_SKIP);
	for (int i = 0; i < 3; i++) {
		send();
		EXPECT_TRUE(sent().back().flags & rds::wire::kAckRequired) << i;
	}
}

TEST_F(PathAck, NumberedPeerOfOursTellsByItself)
{
	numbered();
	send();
	bring_up();
	hello();
	peer_has(1);
	send();
	EXPECT_FALSE(sent().back().flags & rds::wire::kAckRequired);
}

/* Its own acks, and UEK's heartbeats: counted, never answered, never a ping from nowhere. */
TEST_F(PathAck, NumberedBareAcksAreNoMessages)
{
	numbered();
	send();
	bring_up();

	const size_t before = sent().size();

	for (uint8_t flags : {0x00, 0x02, 0x04, 0x06, 0x0a, 0x12})
		EXPECT_EQ(bare_ack(0, flags), RDS_RECV_SKIP);
	sim::run_for(100 * kMs);
	EXPECT_EQ(net->stat(RDS_S_recv_ack_only), 6u);
	EXPECT_EQ(net->stat(RDS_S_recv_drop_bad_port), 0u);
	EXPECT_EQ(net->stat(RDS_S_send_pong), 0u);
	EXPECT_EQ(sent().size(), before);
	EXPECT_EQ(path().next_rx_seq(), 0u);
}

TEST_F(PathAck, NumberedPlainPeerIsToldOnlyOfThisConnection)
{
	numbered();
	send();
	bring_up();
	EXPECT_EQ(arrive(1), 0);
	EXPECT_EQ(arrive(2), 0);
	sim::run_for(2 * rds::kAckDelayNs);
	EXPECT_EQ(sent().back().ack, 2u);
	reconnect();
	send();
	/* The peer may be another now: it has said nothing. */
	EXPECT_EQ(bare_ack(0), RDS_RECV_SKIP);
	send();
	sim::run_for(100 * kMs);
	for (const auto &f : sent())
		EXPECT_EQ(f.ack, 0u) << "an ack of the last connection";
	EXPECT_EQ(rds_path_received(wire().path), 0u);
	/* The same peer goes on: what came again has come, and more. */
	EXPECT_EQ(arrive(2, rds::wire::kRetransmitted), RDS_RECV_SKIP);
	EXPECT_EQ(rds_path_received(wire().path), 2u);
	sim::run_for(2 * rds::kAckDelayNs);
	EXPECT_EQ(sent().back().ack, 2u);
	EXPECT_EQ(arrive(3), 0);
	sim::run_for(2 * rds::kAckDelayNs);
	EXPECT_EQ(sent().back().ack, 3u);
	/* Older ones once more: nothing that it was told is taken back. */
	EXPECT_EQ(arrive(1, rds::wire::kRetransmitted), RDS_RECV_SKIP);
	EXPECT_EQ(rds_path_received(wire().path), 3u);
}

TEST_F(PathAck, NumberedPlainPeerThatWasRestartedCountsFromOne)
{
	numbered();
	send();
	bring_up();
	for (uint64_t seq = 1; seq <= 9; seq++)
		EXPECT_EQ(arrive(seq), 0);
	reconnect();
	EXPECT_EQ(arrive(1), 0) << "a new number 1, not an old one";
	sim::run_for(2 * rds::kAckDelayNs);
	EXPECT_EQ(sent().back().ack, 1u);
	EXPECT_EQ(net->stat(RDS_S_recv_drop_old_seq), 0u);
}

TEST_F(PathAck, NumberedPeerWithAGenerationIsToldAll)
{
	numbered();
	send();
	bring_up();
	hello(7);
	EXPECT_TRUE(path().peer_has_gen());
	EXPECT_EQ(arrive(5), 0);
	reconnect();
	hello(7);
	send();
	EXPECT_EQ(sent().back().ack, 5u);
	EXPECT_EQ(arrive(5), RDS_RECV_SKIP);
	reconnect();
	hello(8);
	send();
	EXPECT_EQ(sent().back().ack, 0u);
}

TEST_F(PathAck, WhatThePeerSaysWhileConnectingNeedNotGoAgain)
{
	numbered();
	send(4);
	bring_up();
	EXPECT_EQ(bare_ack(1), RDS_RECV_SKIP);
	EXPECT_EQ(waiting(), 3u);
	rds_path_delivered(wire().path, 4);
	EXPECT_EQ(waiting(), 3u) << "it is up: the peer says so in its headers";
	rds_path_drop(wire().path, RDS_DROP_ERROR);
	sim::run_ready();
	send();
	sim::run_for(1000 * kMs);
	rds_path_delivered(wire().path, 5); /* has never left */
	rds_path_delivered(wire().path, 0);
	rds_path_delivered(wire().path, 3);
	bring_up();

	auto f = sent();

	ASSERT_EQ(f.size(), 4u); /* hello, map, and: */
	EXPECT_EQ(f[2].seq, 4u);
	EXPECT_TRUE(f[2].flags & rds::wire::kRetransmitted);
	EXPECT_EQ(f[3].seq, 5u);
	EXPECT_FALSE(f[3].flags & rds::wire::kRetransmitted);
	EXPECT_EQ(bare_ack(2), RDS_RECV_SKIP); /* older than what it said before */
	EXPECT_EQ(waiting(), 2u);
	EXPECT_EQ(bare_ack(5), RDS_RECV_SKIP);
	EXPECT_EQ(waiting(), 0u);
}

/* As WhatThePeerHadIsNotSentToItsNextLife, of one whose numbers may be anybody's. */
TEST_F(PathAck, WhatANumberedPlainPeerHadGoesOutAgain)
{
	numbered();
	send(3);
	bring_up();
	EXPECT_EQ(bare_ack(0), RDS_RECV_SKIP);
	wire().room = 0;
	reconnect();
	EXPECT_EQ(bare_ack(2), RDS_RECV_SKIP);
	wire().room = SIZE_MAX;
	reconnect();

	std::vector<uint64_t> numbers;

	for (const auto &f : sent())
		if (f.seq)
			numbers.push_back(f.seq);
	EXPECT_EQ(numbers, (std::vector<uint64_t>{1, 2, 3}));
}

/* To the very last that left, and no further. */
TEST_F(PathAck, AllOfItMayBeSaidWhileConnecting)
{
	numbered();
	send(4);
	bring_up();
	EXPECT_EQ(bare_ack(1), RDS_RECV_SKIP);
	/* On the next one nothing leaves. */
	wire().room = 0;
	reconnect();
	rds_path_drop(wire().path, RDS_DROP_ERROR);
	sim::run_for(1000 * kMs);
	rds_path_delivered(wire().path, 5);
	EXPECT_EQ(path().delivered(), 1u);
	rds_path_delivered(wire().path, 4);
	EXPECT_EQ(path().delivered(), 4u);
	EXPECT_FALSE(path().has_queued());
}

TEST_F(PathAck, WhatProvesNothingWhileConnectingIsIgnored)
{
	numbered();
	send(4);
	bring_up();
	/* It never acknowledged one of ours: these may be numbers of before. */
	rds_path_drop(wire().path, RDS_DROP_ERROR);
	sim::run_for(1000 * kMs);
	rds_path_delivered(wire().path, 2);
	bring_up();
	hello();
	EXPECT_EQ(sent()[2].seq, 1u);
	/* One of ours has a better way to say it. */
	peer_has(1);
	rds_path_drop(wire().path, RDS_DROP_ERROR);
	sim::run_for(1000 * kMs);
	rds_path_delivered(wire().path, 2);
	bring_up();
	EXPECT_EQ(sent()[2].seq, 2u);
}

/* An ack that comes of itself is as good as an answer. */
TEST_F(PathAck, AsksNobodyWhoTells)
{
	rds_net_tunables(net->core())->max_unacked_packets = 4;
	send();
	bring_up();
	hello();
	send(); /* asks */

	uint64_t before = net->stat(RDS_S_send_ack_required);

	for (uint64_t seq = 5; seq < 50; seq += 3) {
		send(3);
		peer_has(seq);
	}
	EXPECT_EQ(net->stat(RDS_S_send_ack_required), before);
	send(4);
	EXPECT_EQ(net->stat(RDS_S_send_ack_required), before + 1);
}

/* To the byte. */
TEST_F(PathAck, AsksWithTheLastByteThatMayGoWithout)
{
	for (uint32_t more : {0u, 1u}) {
		auto *tun = rds_net_tunables(net->core());

		tun->max_unacked_packets = 1000;
		tun->max_unacked_bytes = 2 * 148 + more;
		if (!more) {
			send();
			bring_up();
			hello();
			send();
		}
		peer_has(path().next_tx_seq() - 1);

		uint64_t before = net->stat(RDS_S_send_ack_required);

		send(2);
		EXPECT_EQ(net->stat(RDS_S_send_ack_required), before + !more) << more;
		send();
		EXPECT_EQ(net->stat(RDS_S_send_ack_required), before + 1) << more;
	}
}

/* That it asked the last time is over: a peer that is known will be asked when it is time. */
TEST_F(PathAck, WhatIsSentAgainDoesNotAskByItself)
{
	rds_net_tunables(net->core())->max_unacked_packets = 1;
	send();
	bring_up();
	hello();
	send(4);
	ASSERT_EQ(net->stat(RDS_S_send_ack_required), 4u);
	rds_path_drop(&path(), RDS_DROP_ERROR);
	sim::run_for(1000 * kMs);
	bring_up();
	hello();

	std::vector<uint64_t> asked;

	for (const auto &f : sent())
		if (f.flags & rds::wire::kAckRequired)
			asked.push_back(f.seq);
	EXPECT_TRUE(asked.empty()) << "who the peer is was not known yet";
}

/* A message of no bytes is a message, whatever acknowledges by number. */
TEST_F(PathAck, NumberedEmptyMessagesArrive)
{
	numbered();
	send();
	bring_up();
	ASSERT_EQ(bare_ack(1), RDS_RECV_SKIP);
	EXPECT_EQ(fake::arrive(&path(), 1, 5000, 4000, {}), 0);
	EXPECT_TRUE(s->recv());
	EXPECT_EQ(fake::arrive(&path(), 2, 5000, rds::kPingPort, {}), RDS_RECV_SKIP);
	sim::run_ready();
	EXPECT_EQ(net->stat(RDS_S_send_pong), 1u);
	/* Without a number, but from a port that waits for the answer. */
	EXPECT_EQ(fake::arrive(&path(), 0, 5000, rds::kPingPort, {}), RDS_RECV_SKIP);
	sim::run_ready();
	EXPECT_EQ(net->stat(RDS_S_send_pong), 2u);
	/* From no port, but with a number. */
	EXPECT_EQ(fake::arrive(&path(), 3, 0, 0, {}), RDS_RECV_SKIP);
	EXPECT_EQ(rds_path_received(&path()), 3u);
}

/* Pongs that the peer has, and that were about to be sent again, make room for others. */
TEST_F(PathAck, APongThatArrivedIsNoneThatWaits)
{
	send();
	bring_up();
	hello();
	ASSERT_EQ(fake::arrive(&path(), 1, 5000, rds::kPingPort, {}), RDS_RECV_SKIP);
	sim::run_ready();
	ASSERT_EQ(path().pongs.load(), 1u);
	reconnect();
	wire().room = 0;
	rds_path_drop(&path(), RDS_DROP_ERROR);
	sim::run_for(1000 * kMs);
	bring_up();
	hello();
	peer_has(2);
	EXPECT_EQ(path().pongs.load(), 1u) << "its turn has not come";
	rds_path_drop(&path(), RDS_DROP_ERROR);
	sim::run_ready();
	EXPECT_EQ(path().pongs.load(), 0u);
}

/* The first that goes on a connection asks, whatever was asked for before. */
TEST_F(PathAck, EachConnectionBeginsWithAQuestion)
{
	rds_net_tunables(net->core())->max_unacked_packets = 100;
	send();
	bring_up();
	hello();
	for (uint64_t round = 1; round <= 3; round++) {
		send();
		EXPECT_EQ(net->stat(RDS_S_send_ack_required), round);
		send();
		peer_has(path().next_tx_seq() - 1);
		reconnect();
		hello();
	}
}

} // namespace
