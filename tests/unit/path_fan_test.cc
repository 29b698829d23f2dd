// SPDX-License-Identifier: GPL-2.0
#include <array>

#include "fan_fixture.h"

namespace
{

using fake::Wire;
using fake::wires;
using host::endpoint;
using host::Socket;

constexpr uint64_t kMs = 1000 * 1000;

using Numbers = std::vector<uint64_t>;

class PathFan : public FanTest
{
protected:
	/* Path 3 of 8, called by @handle, that has no room for the pong it owes. */
	rds_path *third_owes_pong(void *handle)
	{
		send(5000);
		up(*wires()[0]);
		EXPECT_EQ(hello(*wires()[0], 8, 0), RDS_RECV_SKIP);

		rds_path *third = rds_conn_path(&conn(), 3);

		rds_path_accepted(third, handle);
		sim::run_ready();
		EXPECT_EQ(hello(*wires()[1], 8, 3), RDS_RECV_SKIP);
		wires()[1]->room = 0;
		EXPECT_EQ(fake::arrive(third, 1, 5000, rds::kPingPort, {}), RDS_RECV_SKIP);
		sim::run_ready();
		EXPECT_TRUE(third->has_queued());
		return third;
	}
	/* Fanned out, and path 3 of 8 is up and has sent what is not acknowledged; then path 0
	 * breaks, and its peer cannot be called. */
	void path_zero_breaks(Wire *&third)
	{
		fan_out();
		send(port_for(3), 7);
		third = wires()[1];
		up(*third);
		ASSERT_EQ(hello(*third, 8, 3), RDS_RECV_SKIP);
		ASSERT_EQ(numbers(*third), Numbers{1});
		wires()[0]->initiates = false;
		rds_path_drop(wires()[0]->path, RDS_DROP_ERROR);
		sim::run_ready();
	}
	static unsigned int probes(const Wire &w)
	{
		unsigned int n = 0;

		for (const auto &f : fake::frames(w.sent))
			n += f.sport == rds::kProbePort && f.dport == rds::kPingPort;
		return n;
	}
};

TEST_F(PathFan, OnePathUntilThePeerHasSpoken)
{
	send(5000);

	uint16_t other = port_for(3);

	send(other);
	up(*wires()[0]);
	send(other);
	EXPECT_EQ(wires().size(), 1u);
	EXPECT_EQ(numbers(*wires()[0]), (Numbers{1, 2, 3}));

	auto h = rds::wire::decode_hello(fake::frames(wires()[0]->sent)[0].header);

	EXPECT_EQ(h.paths, 8);
	EXPECT_EQ(h.index, 0);
}

TEST_F(PathFan, TheHelloOfAPathSaysWhichItIs)
{
	fan_out();
	for (uint16_t port = 5000; wires().size() < 8; port++)
		send(port);
	for (Wire *w : wires())
		if (w->path->index)
			up(*w);
	for (Wire *w : wires()) {
		auto h = rds::wire::decode_hello(fake::frames(w->sent)[0].header);

		EXPECT_EQ(h.index, w->path->index);
		EXPECT_EQ(h.gen, conn().gen);
	}
}

/* Of four the last has number three. */
TEST_F(PathFan, APathBeyondThePeersLastIsDropped)
{
	fan_out();
	send(port_for(4));
	up(*wires()[1]);
	ASSERT_EQ(wires()[1]->path->index, 4);

	unsigned int asked = probes(*wires()[0]);

	EXPECT_NE(hello(*wires()[1], 4, 4), RDS_RECV_SKIP);
	EXPECT_NE(wires()[1]->path->state(), rds::PathState::kUp);
	EXPECT_EQ(wires()[0]->path->state(), rds::PathState::kUp);
	EXPECT_EQ(probes(*wires()[0]), asked + 1);
	EXPECT_EQ(net->stat(RDS_S_conn_wrong_path), 1u);
	/* The peer was restarted: its host answers with a reset. */
	rds_path_drop(wires()[0]->path, RDS_DROP_ERROR);
	sim::run_for(1000 * kMs);
	up(*wires()[0]);
	ASSERT_EQ(hello(*wires()[0], 4, 0, 78), RDS_RECV_SKIP);
	EXPECT_EQ(net->stat(RDS_S_conn_fold), 1u);
	sim::run_for(1000 * kMs);
	up(*wires()[0]);
	EXPECT_EQ(numbers(*wires()[0]).size(), 1u) << "what the path had";
}

/* Any user of the peer's host may call from a port of a further path: path 0 goes on. */
TEST_F(PathFan, AStrangerOnAFurtherPathEndsNoOther)
{
	int handle;

	fan_out();

	unsigned int asked = probes(*wires()[0]);
	rds_path *third = rds_conn_path(&conn(), 3);

	for (unsigned int n = 1; n <= 3; n++) {
		rds_path_accepted(third, &handle);
		sim::run_ready();
		EXPECT_EQ(fake::arrive(third, 1, 5000, 4000, pattern(10)), -71);
		sim::run_ready();
		EXPECT_EQ(third->state(), rds::PathState::kDown);
		EXPECT_EQ(net->stat(RDS_S_conn_wrong_path), n);
		EXPECT_EQ(probes(*wires()[0]), asked + n);
		peer_has(*wires()[0], last_on_first());
	}
	EXPECT_EQ(wires()[0]->history(), "connect");
	EXPECT_EQ(wires()[0]->path->resets.load(), 0u);
	EXPECT_EQ(conn().fan.n_paths(), 8u);
}

TEST_F(PathFan, APathIsMadeWhenItIsUsed)
{
	send(5000);
	up(*wires()[0]);
	ASSERT_EQ(hello(*wires()[0], 8, 0), RDS_RECV_SKIP);

	uint16_t port = port_for(5);

	send(port);
	EXPECT_EQ(wires().size(), 1u) << "path 0 has room for all";
	crowd();
	peer_has(*wires()[0], last_on_first());
	EXPECT_EQ(wires().size(), 1u);

	send(port);
	ASSERT_EQ(wires().size(), 2u);
	EXPECT_EQ(wires()[1]->path->index, 5);
	EXPECT_EQ(wires()[1]->history(), "connect");
	up(*wires()[1]);
	EXPECT_EQ(numbers(*wires()[1]), (Numbers{1}));
}

/* A table that is asked for a row at a time goes on where it was. */
TEST_F(PathFan, EachPathIsToldOnceHoweverLittleRoomThereIs)
{
	struct Row {
		std::vector<unsigned int> indexes;
		bool room = true;
	} row;
	struct rds_path_place at = {};

	send(5000);
	up(*wires()[0]);
	ASSERT_EQ(hello(*wires()[0], 8, 0), RDS_RECV_SKIP);
	for (unsigned int i : {3, 4, 5})
		ASSERT_NE(rds_conn_path(&conn(), i), nullptr);
	while (at.pos != RDS_INFO_END) {
		row.room = true;
		while (rds_info_path_facts(
			net->core(), &at,
			[](void *arg, const struct rds_path_facts *f) -> int {
				auto *r = static_cast<Row *>(arg);
				const bool room = r->room;

				if (room)
					r->indexes.push_back(f->i.index);
				r->room = false;
				return room;
			},
			&row))
			;
	}
	EXPECT_EQ(row.indexes, (std::vector<unsigned int>{0, 3, 4, 5}));
}

/* A sender chose its path, and then there were more: it has to choose again. */
TEST_F(PathFan, WhoComesTooLateForAPathIsSentAway)
{
	send(5000);
	up(*wires()[0]);
	hello(*wires()[0], 8, 0);
	crowd();

	rds::RcuReader rcu;
	rds::Message *m = rds::message_create(10, RDS_ATOMIC);

	ASSERT_NE(m, nullptr);
	m->sock = s->core();
	rds::wire::encode(m->hdr, m->len, 4000, port_for(3), 0);

	auto queued = conn().first().enqueue(m, false, nullptr);

	ASSERT_TRUE(queued.ok());
	EXPECT_EQ(queued.value(), rds::Queued::kMoved);
	m->sock = nullptr;
	rds::message_put(m);
}

TEST_F(PathFan, NothingOvertakesWhatPathZeroHas)
{
	uint16_t other = crowd_with_older(2);

	send(other, 2);
	ASSERT_EQ(wires().size(), 2u);
	up(*wires()[1]);
	EXPECT_EQ(numbers(*wires()[1]), Numbers{}) << "path 0 has delivered nothing yet";
	EXPECT_FALSE(wires()[1]->sent.empty()) << "hello may go";
	EXPECT_FALSE(wires()[1]->last_more) << "and is not to wait for what may not";
	peer_has(*wires()[0], 1);
	EXPECT_EQ(numbers(*wires()[1]), Numbers{});
	peer_has(*wires()[0], last_on_first() - 1);
	EXPECT_EQ(numbers(*wires()[1]), Numbers{});
	peer_has(*wires()[0], last_on_first());
	EXPECT_EQ(numbers(*wires()[1]), (Numbers{1}));
}

/* sim_run --seed 351: one that was taken back after it had left arrived behind a newer one. */
TEST_F(PathFan, NorWhatWasTakenBackOnItsWay)
{
	uint16_t other = crowd_with_older(2);

	rds_socket_cancel(s->core(), nullptr);
	send(other, 2);
	up(*wires()[1]);
	EXPECT_EQ(numbers(*wires()[1]), Numbers{});
	peer_has(*wires()[0], last_on_first());
	EXPECT_EQ(numbers(*wires()[1]), (Numbers{1}));
}

/* A connection of before may still bring what was sent on it; one that the peer has met cannot. */
TEST_F(PathFan, TheGateOpensOnlyWhilePathZeroIsKnown)
{
	uint16_t other = crowd_with_older(2);

	send(other, 2);
	up(*wires()[1]);
	rds_path_drop(wires()[0]->path, RDS_DROP_ERROR);
	sim::run_ready();
	rds_socket_cancel(s->core(), nullptr);
	send(other, 3);
	EXPECT_EQ(numbers(*wires()[1]), Numbers{});
	sim::run_for(1000 * kMs);
	up(*wires()[0]);
	EXPECT_EQ(numbers(*wires()[1]), Numbers{});
	ASSERT_EQ(hello(*wires()[0], 8, 0), RDS_RECV_SKIP);
	EXPECT_EQ(numbers(*wires()[1]).size(), 1u);
}

/* Everything comes back to path 0, behind what that had and before what it got since. */
TEST_F(PathFan, FewerPathsBringAllTogetherInOrder)
{
	fan_out();

	uint16_t first = port_for(0), third = port_for(3);

	send(first, 10);
	send(third, 30);
	send(third, 31);
	up(*wires()[1]);
	ASSERT_EQ(hello(*wires()[1], 8, 3), RDS_RECV_SKIP);
	rds_path_drop(wires()[0]->path, RDS_DROP_ERROR);
	rds_path_drop(wires()[1]->path, RDS_DROP_ERROR);
	sim::run_ready();
	sim::run_for(1000 * kMs);
	up(*wires()[0]);
	ASSERT_EQ(hello(*wires()[0], 1, 0, 78), RDS_RECV_SKIP);
	EXPECT_EQ(conn().fan.n_paths(), 1u);
	EXPECT_EQ(conn().fan.agreed(), 1u);
	EXPECT_EQ(wires()[1]->path->state(), rds::PathState::kDown);
	EXPECT_EQ(net->stat(RDS_S_conn_fold), 1u);
	send(third, 32);
	sim::run_for(1000 * kMs);
	up(*wires()[0]);

	std::vector<std::pair<uint16_t, host::Bytes>> got;
	uint64_t last = 0;

	for (const auto &f : fake::frames(wires()[0]->sent)) {
		if (!f.seq || f.dport == rds::kPingPort)
			continue;
		EXPECT_GT(f.seq, last);
		last = f.seq;
		got.emplace_back(f.dport, f.data);
	}
	ASSERT_EQ(got.size(), 4u);
	EXPECT_EQ(got[0], std::make_pair(first, pattern(50, 10)));
	EXPECT_EQ(got[1], std::make_pair(third, pattern(50, 30)));
	EXPECT_EQ(got[2], std::make_pair(third, pattern(50, 31)));
	EXPECT_EQ(got[3], std::make_pair(third, pattern(50, 32)));
}

/* Any user of the peer's host may say that he is another peer.  All that living further paths have
 * sent would go out again, with other numbers, and the peer would take it for something new. */
TEST_F(PathFan, AStrangerOnPathZeroFoldsNothingThatLives)
{
	int handles[2];
	Wire *third = nullptr;

	path_zero_breaks(third);
	rds_path_accepted(wires()[0]->path, &handles[0]);
	sim::run_ready();
	EXPECT_EQ(fake::arrive(wires()[0]->path, 1, 5000, 0, {}), -71) << "a ping of mainline's";
	sim::run_ready();
	EXPECT_EQ(wires()[0]->path->state(), rds::PathState::kDown);
	EXPECT_EQ(probes(*third), 2u) << "for the end of path 0, and for the stranger";
	EXPECT_EQ(net->stat(RDS_S_conn_takeover_refused), 1u);
	peer_has(*third, 0); /* it lives, and has not got so far */
	sim::run_for(2 * rds::kAskNs);
	EXPECT_EQ(third->path->state(), rds::PathState::kUp);
	EXPECT_EQ(third->path->resets.load(), 0u);
	EXPECT_EQ(net->stat(RDS_S_conn_fold), 0u);
	EXPECT_EQ(conn().fan.n_paths(), 8u);
	/* The peer itself. */
	rds_path_accepted(wires()[0]->path, &handles[1]);
	sim::run_ready();
	EXPECT_EQ(hello(*wires()[0], 8, 0), RDS_RECV_SKIP);
	EXPECT_EQ(numbers(*wires()[0]), Numbers{});
	EXPECT_EQ(numbers(*third), Numbers{1});
}

/* Nobody answers: the peer is another one, and his next connection is taken. */
TEST_F(PathFan, APeerThatIsAnotherNeedsTwoCalls)
{
	int handles[2];
	Wire *third = nullptr;

	path_zero_breaks(third);
	rds_path_accepted(wires()[0]->path, &handles[0]);
	sim::run_ready();
	EXPECT_NE(hello(*wires()[0], 1, 0, 78), RDS_RECV_SKIP);
	sim::run_for(rds::kAskNs - kMs);
	EXPECT_EQ(third->path->state(), rds::PathState::kUp) << "it has its time to answer";
	sim::run_for(2 * kMs);
	EXPECT_NE(third->path->state(), rds::PathState::kUp);
	EXPECT_EQ(third->path->last_reason.load(), uint32_t{RDS_DROP_REPLACED});
	EXPECT_EQ(net->stat(RDS_S_conn_fold), 0u);
	rds_path_accepted(wires()[0]->path, &handles[1]);
	sim::run_ready();
	EXPECT_EQ(hello(*wires()[0], 1, 0, 78), RDS_RECV_SKIP);
	EXPECT_EQ(net->stat(RDS_S_conn_fold), 1u);
	EXPECT_EQ(net->stat(RDS_S_conn_takeover_refused), 1u);
	sim::run_for(1000 * kMs);
	up(*wires()[0]);
	EXPECT_EQ(numbers(*wires()[0]).size(), 1u) << "what path 3 had";
}

/* One that nobody has spoken on yet, and that any user of the peer's host may keep up, has sent
 * nothing: it keeps no other peer away. */
TEST_F(PathFan, ASilentPathIsNobodys)
{
	int handles[2];
	Wire *third = nullptr;

	path_zero_breaks(third);
	rds_path_drop(third->path, RDS_DROP_ERROR);
	rds_path_accepted(third->path, &handles[0]);
	sim::run_ready();
	ASSERT_EQ(third->path->state(), rds::PathState::kUp);
	EXPECT_EQ(numbers(*third), Numbers{});
	rds_path_accepted(wires()[0]->path, &handles[1]);
	sim::run_ready();
	EXPECT_EQ(hello(*wires()[0], 1, 0, 78), RDS_RECV_SKIP);
	EXPECT_EQ(net->stat(RDS_S_conn_fold), 1u);
	EXPECT_EQ(third->path->state(), rds::PathState::kDown);
}

/* Messages that wait behind the gate were never sent, so nobody has them. */
TEST_F(PathFan, NobodyIsAskedBeforeTheGateOpens)
{
	int handle;
	const uint16_t port = crowd_with_older(3);
	Wire *third = nullptr;

	send(port, 2);
	ASSERT_TRUE(conn().fan.is_gated());
	third = wires()[1];
	up(*third);
	ASSERT_EQ(hello(*third, 8, 3), RDS_RECV_SKIP);
	wires()[0]->initiates = false;
	rds_path_drop(wires()[0]->path, RDS_DROP_ERROR);
	rds_path_accepted(wires()[0]->path, &handle);
	sim::run_ready();
	EXPECT_EQ(hello(*wires()[0], 1, 0, 78), RDS_RECV_SKIP);
	EXPECT_EQ(net->stat(RDS_S_conn_fold), 1u);
	EXPECT_EQ(third->path->state(), rds::PathState::kDown);
}

/* One after the other, they do not put off the end of the time that it has. */
TEST_F(PathFan, StrangersOnPathZeroPutNothingOff)
{
	int handle;
	Wire *third = nullptr;
	const auto comes = [&] {
		rds_path_accepted(wires()[0]->path, &handle);
		sim::run_ready();
		EXPECT_NE(hello(*wires()[0], 1, 0, 78), RDS_RECV_SKIP);
	};

	path_zero_breaks(third);
	comes();
	peer_has(*third, 0);
	sim::run_for(2 * rds::kAskNs);
	ASSERT_EQ(third->path->state(), rds::PathState::kUp) << "it has answered";
	for (unsigned int i = 0; i < 10; i++) {
		ASSERT_EQ(third->path->state(), rds::PathState::kUp) << "after " << i;
		comes();
		sim::run_for(rds::kAskNs / 10);
	}
	sim::run_for(kMs);
	EXPECT_NE(third->path->state(), rds::PathState::kUp) << "an answer is for one question";
}

/* Two are several. */
TEST_F(PathFan, TwoPathsFanOutOnceAndFold)
{
	fan_out(2);
	EXPECT_EQ(conn().fan.n_paths(), 2u);

	uint16_t on_first = port_here(0);

	for (uint32_t i = 0; i < 2 * rds::kFanBlocks; i++) {
		wires()[0]->room = 1;
		send(on_first);
		wires()[0]->room = SIZE_MAX;
		rds_path_writable(wires()[0]->path);
		sim::run_ready();
	}
	EXPECT_EQ(net->stat(RDS_S_conn_fan_out), 1u);
	EXPECT_FALSE(conn().fan.is_gated());
	rds_path_drop(wires()[0]->path, RDS_DROP_ERROR);
	sim::run_for(1000 * kMs);
	up(*wires()[0]);
	ASSERT_EQ(hello(*wires()[0], 1, 0, 78), RDS_RECV_SKIP);
	EXPECT_EQ(conn().fan.n_paths(), 1u);
	EXPECT_EQ(net->stat(RDS_S_conn_fold), 1u);
}

/* A path that is sending cannot give its queue away yet, and path 0 waits for it. */
TEST_F(PathFan, FoldingWaitsForASender)
{
	fan_out();

	uint16_t third = port_for(3);

	send(third, 30);
	up(*wires()[1]);
	ASSERT_EQ(hello(*wires()[1], 8, 3), RDS_RECV_SKIP);

	std::string before = wires()[0]->history();

	wires()[1]->on_xmit = [&] {
		agree_on_one();
		rds_path_drop(wires()[0]->path, RDS_DROP_PATHS);
		sim::run_for(1000 * kMs);
		EXPECT_EQ(wires()[0]->history(), before + " close");
		EXPECT_TRUE(conn().fan.is_folding());
		/* Newer than what is still to come over. */
		EXPECT_EQ(s->send(endpoint(peer, third), pattern(50, 32)), 0);
	};
	send(third, 31);
	EXPECT_FALSE(conn().fan.is_folding()) << "whose token's return begins the next turn";
	EXPECT_EQ(net->stat(RDS_S_conn_fold), 1u);
	sim::run_for(1000 * kMs);
	up(*wires()[0]);

	unsigned int next = 30;

	for (const auto &f : fake::frames(wires()[0]->sent)) {
		if (f.seq) {
			EXPECT_EQ(f.data, pattern(50, next++));
		}
	}
	EXPECT_EQ(next, 33u);
}

/* sim_run --seed 13 --steps 300 --nodes 12: a pong stayed on a path that the peer's next life had
 * not, and knocked for ever. */
TEST_F(PathFan, APongIsNotLeftBehind)
{
	int handle;
	rds_path *third = third_owes_pong(&handle);

	rds_path_drop(wires()[0]->path, RDS_DROP_ERROR);
	rds_path_drop(third, RDS_DROP_ERROR);
	sim::run_for(1000 * kMs);
	up(*wires()[0]);
	ASSERT_EQ(hello(*wires()[0], 1, 0, 78), RDS_RECV_SKIP);
	EXPECT_FALSE(third->has_queued());
	EXPECT_EQ(third->pongs.load(), 0u);
	EXPECT_EQ(third->state(), rds::PathState::kDown);
}

/* Messages from the other paths have one number until the last of them gives each its own. */
TEST_F(PathFan, NoNumberGoesOutTwice)
{
	fan_out();

	uint16_t third = port_for(3);
	uint64_t folds = 0;
	rds::wire::Header h;
	int handle;

	rds::wire::encode_hello(h, {77, rds::wire::kCapDeliveryAck, 8, 0});
	for (unsigned int round = 0; round < 3000; round++) {
		rds_path_drop(wires()[0]->path, RDS_DROP_ERROR);
		sim::run_ready();
		agreed_and_spread(8);
		for (unsigned int i = 0; i < 3; i++)
			send(third, i);
		/* The peer is back, and speaks, as soon as it may be. */
		wires()[0]->on_adopt = [&] { fake::arrive(wires()[0]->path, h); };
		sim::options().preempt_per_1000 = 100;
		agree_on_one();
		rds_path_drop(wires()[0]->path, RDS_DROP_PATHS);
		sim::spawn("accept", [&] {
			for (uint64_t n = sim::random_below(40); n; n--)
				sim::yield();
			rds_path_accepted(wires()[0]->path, &handle);
		});
		sim::run_ready();
		sim::options().preempt_per_1000 = 0;

		Numbers n = numbers(*wires()[0]);

		ASSERT_EQ(net->stat(RDS_S_conn_fold), ++folds);
		ASSERT_EQ(n.size(), 3u) << "round " << round;
		ASSERT_LT(n[0], n[1]) << "round " << round;
		ASSERT_LT(n[1], n[2]) << "round " << round;
		peer_has(*wires()[0], last_on_first());
	}
}

TEST_F(PathFan, APlainPeerHasOnePath)
{
	fan_out();

	uint16_t third = port_for(3);

	send(third, 30);
	up(*wires()[1]);
	EXPECT_EQ(fake::arrive(wires()[1]->path, 1, 5000, 4000, pattern(10)), -71);
	sim::run_ready();
	/* Path 0 asks, and hears a reset. */
	rds_path_drop(wires()[0]->path, RDS_DROP_ERROR);
	sim::run_for(1000 * kMs);
	up(*wires()[0]);
	EXPECT_EQ(fake::arrive(wires()[0]->path, 1, 5000, 2, pattern(10)), 0);
	sim::run_ready();
	EXPECT_EQ(conn().fan.n_paths(), 1u);
	EXPECT_EQ(net->stat(RDS_S_conn_wrong_path), 1u);
	EXPECT_EQ(net->stat(RDS_S_recv_queued), 0u);
	sim::run_for(1000 * kMs);
	up(*wires()[0]);

	Numbers n = numbers(*wires()[0]);

	ASSERT_EQ(n.size(), 1u);
	EXPECT_GT(n[0], 1u) << "a number that was used before";
}

/* A path's messages are to go to path 0, which cannot end yet: none must go out before, too. */
TEST_F(PathFan, NothingGoesToAnotherPeerBeforeTheFold)
{
	int handle;

	fan_out();

	uint16_t first = port_for(0), third = port_for(3);

	rds_path_drop(wires()[0]->path, RDS_DROP_ERROR);
	sim::run_ready();
	send(third, 30);
	up(*wires()[0]);
	wires()[0]->on_xmit = [&] {
		EXPECT_EQ(hello(*wires()[0], 4, 0, 78), RDS_RECV_SKIP);
		EXPECT_EQ(wires()[1]->history(), "") << "it does not call";
		rds_path_accepted(wires()[1]->path, &handle);
		sim::run_ready();
		EXPECT_EQ(hello(*wires()[1], 4, 3, 78), RDS_RECV_SKIP);
		EXPECT_EQ(numbers(*wires()[1]), Numbers{});
	};
	send(first, 10);
	sim::run_for(1000 * kMs);
	up(*wires()[0]);
	EXPECT_EQ(numbers(*wires()[0]).size(), 2u);
	EXPECT_FALSE(conn().fan.is_folding());
}

/* Whom path 0 has not met may be one for whom all has to be folded first. */
TEST_F(PathFan, APathWaitsForWhomTheFirstHasMet)
{
	int handle;

	fan_out();

	uint16_t third = port_for(3);

	rds_path_drop(wires()[0]->path, RDS_DROP_ERROR);
	sim::run_ready();
	send(third, 30);
	rds_path_accepted(wires()[1]->path, &handle);
	sim::run_ready();
	EXPECT_EQ(hello(*wires()[1], 8, 3, 78), -71);
	EXPECT_EQ(numbers(*wires()[1]), Numbers{});
	EXPECT_EQ(net->stat(RDS_S_conn_wrong_path), 1u);
	EXPECT_NE(wires()[1]->path->state(), rds::PathState::kUp) << "it ends";
	EXPECT_EQ(wires()[1]->path->last_reason.load(), RDS_DROP_PATHS);
	rds_path_accepted(wires()[1]->path, &handle);
	sim::run_ready();
	EXPECT_EQ(hello(*wires()[1], 8, 3, 77), RDS_RECV_SKIP);
	EXPECT_EQ(numbers(*wires()[1]), (Numbers{1}));
}

TEST_F(PathFan, AConnectionOfAnotherPathEnds)
{
	fan_out();
	rds_path_drop(wires()[0]->path, RDS_DROP_ERROR);
	sim::run_ready();
	sim::run_for(1000 * kMs);
	up(*wires()[0]);
	EXPECT_EQ(hello(*wires()[0], 8, 5), -71);
	EXPECT_EQ(net->stat(RDS_S_conn_wrong_path), 1u);
	EXPECT_EQ(wires()[0]->path->last_reason.load(), RDS_DROP_PATHS);
	EXPECT_EQ(wires()[0]->path->resets.load(), 2u);
	EXPECT_EQ(conn().fan.n_paths(), 8u) << "the peer is the same";
}

TEST_F(PathFan, APathWaitsForTheFirst)
{
	fan_out();

	uint16_t third = port_for(3);

	rds_path_drop(wires()[0]->path, RDS_DROP_ERROR);
	sim::run_ready();
	send(third);
	ASSERT_EQ(wires().size(), 2u);
	sim::run_for(100 * kMs);
	EXPECT_EQ(wires()[1]->history(), "") << "the peer may not know what it would be for";
	up(*wires()[0]);
	ASSERT_EQ(hello(*wires()[0], 8, 0), RDS_RECV_SKIP);
	EXPECT_EQ(wires()[1]->history(), "connect");
}

/* sim_run --seed 1360: a path that had waited for the first, in vain, never asked again. */
TEST_F(PathFan, APathThatHadNothingToWaitForAsksAgain)
{
	fan_out();

	uint16_t third = port_for(3);

	rds_path_drop(wires()[0]->path, RDS_DROP_ERROR);
	sim::run_ready();
	send(third);
	sim::run_for(100 * kMs);
	rds_socket_cancel(s->core(), nullptr);
	sim::run_for(5000 * kMs);
	up(*wires()[0]);
	ASSERT_EQ(hello(*wires()[0], 8, 0), RDS_RECV_SKIP);
	EXPECT_EQ(wires()[1]->history(), "") << "nothing to send";
	send(third);
	EXPECT_EQ(wires()[1]->history(), "connect");
}

/* It does not wait for the peer's end. */
TEST_F(PathFan, APathThatEndsInOrderFoldsAtOnce)
{
	fan_out();
	send(port_for(3));
	up(*wires()[1]);
	ASSERT_EQ(hello(*wires()[1], 8, 3), RDS_RECV_SKIP);
	peer_has(*wires()[1], 1);
	wires()[1]->path->step_own(RDS_EV_idle);
	sim::run_ready();
	ASSERT_EQ(wires()[1]->path->state(), rds::PathState::kDisconnecting);
	rds_path_drop(wires()[0]->path, RDS_DROP_ERROR);
	up(*wires()[0]);
	(void)hello(*wires()[0], 1, 0, 78);
	EXPECT_EQ(wires()[1]->history(), "connect shutdown close");
	EXPECT_EQ(wires()[1]->path->state(), rds::PathState::kDown);
	EXPECT_EQ(net->stat(RDS_S_conn_fold), 1u);
}

/* It has nothing to say, but its peer may wait for acks and not know that the connection broke. */
TEST_F(PathFan, ACallThatIsOwedWaitsForTheFirst)
{
	fan_out();
	send(port_for(3));
	up(*wires()[1]);
	ASSERT_EQ(hello(*wires()[1], 8, 3), RDS_RECV_SKIP);
	peer_has(*wires()[1], 1);
	rds_path_drop(wires()[0]->path, RDS_DROP_ERROR);
	rds_path_drop(wires()[1]->path, RDS_DROP_ERROR);
	sim::run_for(1000 * kMs);
	EXPECT_EQ(wires()[1]->history(), "connect close") << "path 0 knows nobody yet";
	up(*wires()[0]);
	ASSERT_EQ(hello(*wires()[0], 8, 0), RDS_RECV_SKIP);
	EXPECT_EQ(wires()[1]->history(), "connect close connect");
	rds_path_drop(wires()[1]->path, RDS_DROP_CONNECT);
	sim::run_for(1000 * kMs);
	EXPECT_EQ(wires()[1]->history(), "connect close connect close") << "once";
}

TEST_F(PathFan, CancelFindsWhatIsOnAnyPath)
{
	fan_out();

	uint16_t third = port_for(3);

	send(third);
	rds_socket_cancel(s->core(), nullptr);
	EXPECT_FALSE(wires()[1]->path->has_queued());
	EXPECT_EQ(s->core()->snd_space.mem().used(), 0u);
}

/* A walk over the paths in the other direction misses a message that moves past it. */
TEST_F(PathFan, CancelFindsWhatMovesMeanwhile)
{
	fan_out();

	uint16_t third = port_for(3);

	rds_path_drop(wires()[0]->path, RDS_DROP_ERROR);
	sim::run_ready();
	for (unsigned int round = 0; round < 200; round++) {
		agreed_and_spread(8);
		send(third);
		sim::options().preempt_per_1000 = 300;
		sim::spawn("fold", [&] {
			agree_on_one();
			rds_path_drop(wires()[0]->path, RDS_DROP_PATHS);
		});
		sim::spawn("cancel", [&] { rds_socket_cancel(s->core(), nullptr); });
		sim::run_ready();
		sim::options().preempt_per_1000 = 0;
		ASSERT_TRUE(s->core()->snd_space.empty()) << "round " << round;
		ASSERT_EQ(net->stat(RDS_S_conn_fold), round + 1);
	}
}

TEST_F(PathFan, NoPathIsMadeAtTheEnd)
{
	fan_out();
	conn().closing = true;
	EXPECT_EQ(s->send(endpoint(peer, port_for(3)), pattern(10)), -101);
	EXPECT_EQ(wires().size(), 1u);
	EXPECT_EQ(s->core()->snd_space.mem().used(), 0u);
	conn().closing = false;
}

TEST_F(PathFan, CallsGoToThePathThatThePeerMeans)
{
	send(5000);
	EXPECT_EQ(rds_conn_path(&conn(), 5), wires()[0]->path) << "any port, as mainline's";
	up(*wires()[0]);
	ASSERT_EQ(hello(*wires()[0], 4, 0), RDS_RECV_SKIP);
	EXPECT_EQ(rds_conn_path(&conn(), 3)->index, 3);
	EXPECT_EQ(rds_conn_path(&conn(), 4)->index, 0);
	EXPECT_EQ(conn().fan.n_paths(), 1u) << "we need no more ourselves";
}

TEST_F(PathFan, ManyWhoMakeAPathAtOnceGetTheSame)
{
	fan_out();
	for (unsigned int index = 1; index < 8; index++) {
		std::vector<rds_path *> got;

		sim::options().preempt_per_1000 = 400;
		for (int i = 0; i < 4; i++)
			sim::spawn("make", [&] { got.push_back(rds_conn_path(&conn(), index)); });
		sim::run_ready();
		sim::options().preempt_per_1000 = 0;
		EXPECT_EQ(got, std::vector<rds_path *>(4, conn().paths[index].load()));
	}
	EXPECT_EQ(wires().size(), 8u);
}

TEST_F(PathFan, APowerOfTwoIsUsed)
{
	send(5000);
	up(*wires()[0]);
	ASSERT_EQ(hello(*wires()[0], 7, 0), RDS_RECV_SKIP);
	EXPECT_EQ(conn().fan.agreed(), 4u);
	crowd();
	EXPECT_EQ(conn().fan.n_paths(), 4u);
	EXPECT_EQ(net->stat(RDS_S_conn_fan_out), 1u);
	peer_has(*wires()[0], last_on_first());
}

/* Neighbouring ports, and every eighth: no path has more than twice its share.  Both directions of
 * two sockets take the same one. */
TEST_F(PathFan, PortsSpreadEvenly)
{
	send(5000);
	spread_over(8);
	for (unsigned int step : {1u, 2u, 8u, 64u}) {
		std::array<unsigned int, 8> n = {};

		for (unsigned int i = 0; i < 64; i++)
			n[conn().fan.index_for(4000, static_cast<uint16_t>(5000 + i * step))]++;
		for (unsigned int have : n)
			EXPECT_LE(have, 16u) << "step " << step;
	}

	rds_conn back(conn().net, conn().trans, peer, a1, 0, 0);

	(back.fan.*reach(fan_n_paths())).store(8);
	for (uint16_t port : {1, 2, 5000, 5001, 65535})
		EXPECT_EQ(back.fan.index_for(port, 4000), conn().fan.index_for(4000, port));
	spread_over(1);
}

/* A peer that has one path gets one, however full that is. */
TEST_F(PathFan, APeerWithOnePathGetsOne)
{
	send(5000);
	up(*wires()[0]);
	ASSERT_EQ(hello(*wires()[0], 1, 0), RDS_RECV_SKIP);
	for (uint32_t i = 0; i < 3 * rds::kFanBlocks; i++) {
		wires()[0]->room = 1;
		send(5000);
		wires()[0]->room = SIZE_MAX;
		rds_path_writable(wires()[0]->path);
		sim::run_ready();
	}
	EXPECT_EQ(conn().fan.n_paths(), 1u);
	EXPECT_FALSE(conn().fan.is_gated());
	EXPECT_EQ(net->stat(RDS_S_conn_fan_out), 0u);
	peer_has(*wires()[0], last_on_first());
}

/* A peer that says no hello is never asked for more, either. */
TEST_F(PathFan, APlainPeerAgreesToOnePath)
{
	send(5000);
	up(*wires()[0]);
	ASSERT_EQ(fake::arrive(wires()[0]->path, 1, 5000, 2, pattern(10)), 0);
	sim::run_ready();
	EXPECT_EQ(conn().fan.agreed(), 1u);
}

/* The second time it takes as many as the first. */
TEST_F(PathFan, TheTimesWithoutRoomAreCountedAnew)
{
	uint16_t on_first = 5000;
	auto blocks = [&] {
		uint32_t n = 0;

		for (; conn().fan.n_paths() == 1 && n < 2 * rds::kFanBlocks; n++) {
			wires()[0]->room = 1;
			send(on_first);
			wires()[0]->room = SIZE_MAX;
			rds_path_writable(wires()[0]->path);
			sim::run_ready();
		}
		return n;
	};

	send(5000);
	up(*wires()[0]);
	ASSERT_EQ(hello(*wires()[0], 8, 0), RDS_RECV_SKIP);
	EXPECT_EQ(blocks(), rds::kFanBlocks);
	peer_has(*wires()[0], last_on_first());
	rds_path_drop(wires()[0]->path, RDS_DROP_ERROR);
	sim::run_for(1000 * kMs);
	up(*wires()[0]);
	ASSERT_EQ(hello(*wires()[0], 2, 0, 78), RDS_RECV_SKIP);
	sim::run_for(1000 * kMs);
	up(*wires()[0]);
	ASSERT_EQ(hello(*wires()[0], 2, 0, 78), RDS_RECV_SKIP);
	ASSERT_EQ(conn().fan.n_paths(), 1u);
	EXPECT_EQ(blocks(), rds::kFanBlocks);
	peer_has(*wires()[0], last_on_first());
}

/* With one path there is nothing that anybody has to wait for. */
TEST_F(PathFan, AFoldShutsNoGate)
{
	send(5000);
	up(*wires()[0]);
	ASSERT_EQ(hello(*wires()[0], 8, 0), RDS_RECV_SKIP);
	crowd();
	ASSERT_TRUE(conn().fan.is_gated());
	rds_path_drop(wires()[0]->path, RDS_DROP_ERROR);
	sim::run_for(1000 * kMs);
	up(*wires()[0]);
	ASSERT_EQ(hello(*wires()[0], 1, 0, 78), RDS_RECV_SKIP);
	EXPECT_EQ(net->stat(RDS_S_conn_fold), 1u);
	EXPECT_EQ(conn().fan.n_paths(), 1u);
	EXPECT_FALSE(conn().fan.is_gated());
}

/* The last of the older ones has not left: all before it were delivered, and that is not enough. */
TEST_F(PathFan, TheLastOlderOneIsWaitedFor)
{
	send(5000);

	uint16_t third = port_for(3);

	up(*wires()[0]);
	ASSERT_EQ(hello(*wires()[0], 8, 0), RDS_RECV_SKIP);
	crowd();
	peer_has(*wires()[0], last_on_first() - 1);
	EXPECT_TRUE(conn().fan.is_gated()) << "it has left, and may be lost";

	rds_path_drop(wires()[0]->path, RDS_DROP_ERROR);
	sim::run_for(1000 * kMs);
	wires()[0]->room = 0;
	up(*wires()[0]);
	ASSERT_EQ(hello(*wires()[0], 8, 0), RDS_RECV_SKIP);
	send(third, 1);
	EXPECT_TRUE(conn().fan.is_gated()) << "it has not left again";
	wires()[0]->room = SIZE_MAX;
	rds_path_writable(wires()[0]->path);
	sim::run_ready();
	peer_has(*wires()[0], last_on_first());
	EXPECT_FALSE(conn().fan.is_gated());
}

/* The first breaks: the peer may be gone, and the others find out. */
TEST_F(PathFan, TheOthersAskWhenTheFirstBreaks)
{
	auto probes = [](const fake::Wire &w) {
		unsigned int n = 0;

		for (const auto &f : fake::frames(w.sent))
			n += f.sport == rds::kProbePort && f.dport == rds::kPingPort;
		return n;
	};

	fan_out();
	send(port_for(3), 1);
	up(*wires()[1]);
	ASSERT_EQ(hello(*wires()[1], 8, 3), RDS_RECV_SKIP);
	ASSERT_EQ(probes(*wires()[1]), 0u);
	wires()[0]->connect_result = -111;
	rds_path_drop(wires()[0]->path, RDS_DROP_ERROR);
	sim::run_ready();
	EXPECT_GE(probes(*wires()[1]), 1u);
}

/* Messages that came to path 0 after that are none that the others wait for. */
TEST_F(PathFan, TheGateIsForOlderOnes)
{
	send(5000);
	up(*wires()[0]);
	ASSERT_EQ(hello(*wires()[0], 8, 0), RDS_RECV_SKIP);
	crowd();

	uint64_t last = last_on_first();

	send(port_here(0));
	ASSERT_EQ(last_on_first(), last + 1);
	peer_has(*wires()[0], last);
	EXPECT_FALSE(conn().fan.is_gated());
}

/* A path knows which it is. */
TEST_F(PathFan, ATransportIsToldWhichPathItIs)
{
	fan_out();
	for (unsigned int index : {0u, 1u, 5u, 7u})
		EXPECT_EQ(rds_path_index(rds_conn_path(&conn(), index)), index);
}

/* On the one before a fold something was heard; on the next nothing was yet. */
TEST_F(PathFan, AFoldedPathBeginsAnew)
{
	int handle;
	rds_path *third = third_owes_pong(&handle);

	ASSERT_EQ(third->heard.load(), 1u);
	wires()[1]->room = SIZE_MAX;
	for (int i = 0; i < 2; i++) {
		rds_path_drop(wires()[0]->path, RDS_DROP_ERROR);
		rds_path_drop(third, RDS_DROP_ERROR);
		sim::run_for(1000 * kMs);
		up(*wires()[0]);
		ASSERT_EQ(hello(*wires()[0], 4, 0, 78), RDS_RECV_SKIP);
	}
	ASSERT_EQ(net->stat(RDS_S_conn_fold), 1u);
	rds_path_accepted(third, &handle);
	sim::run_ready();
	ASSERT_EQ(third->state(), rds::PathState::kUp);
	EXPECT_EQ(third->heard.load(), 0u);
	EXPECT_FALSE(wires()[1]->sent.empty()) << "there is room on this one";
}

/* With another number it is another message: it was not sent before, and is no map. */
TEST_F(PathFan, WhatIsBroughtTogetherIsNew)
{
	fan_out();
	send(port_for(3), 30);
	up(*wires()[1]);
	ASSERT_EQ(hello(*wires()[1], 8, 3), RDS_RECV_SKIP);
	ASSERT_EQ(numbers(*wires()[1]).size(), 1u);
	rds_path_drop(wires()[0]->path, RDS_DROP_ERROR);
	rds_path_drop(wires()[1]->path, RDS_DROP_ERROR);
	sim::run_for(1000 * kMs);
	up(*wires()[0]);
	ASSERT_EQ(hello(*wires()[0], 1, 0, 78), RDS_RECV_SKIP);
	sim::run_for(1000 * kMs);
	up(*wires()[0]);

	std::vector<int> flags;

	for (const auto &f : fake::frames(wires()[0]->sent))
		if (f.data == pattern(50, 30))
			flags.push_back(f.flags &
					(rds::wire::kRetransmitted | rds::wire::kCongBitmap));
	EXPECT_EQ(flags, std::vector<int>{0});
}

} // namespace
