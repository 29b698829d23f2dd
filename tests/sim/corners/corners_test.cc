// SPDX-License-Identifier: GPL-2.0
/* Corners that seeds rarely come to by themselves, one story each (corners.h); corners_ends_test.cc
 * has more. */
#include "corners.h"

#include <set>

extern "C" unsigned int rds_send_batch_count;

namespace corners
{
namespace
{

/* ---- sleeping and waking ---- */

/*
 * Small buffers: everybody sleeps all the time, and every sleep has to end.  Blocking senders share
 * two sockets; poll(2) says once what it knows, so who polls has one of his own.
 */
void sleepers(World &w, Way way, unsigned int fail_per_1000 = 0)
{
	std::vector<std::unique_ptr<host::Socket>> as, bs;
	check::Order order;

	for (uint16_t i = 0; i < 4; i++) {
		as.push_back(w.socket_a(static_cast<uint16_t>(100 + i)));
		as[i]->sock().sndbuf = 1000 + static_cast<uint32_t>(sim::random_below(3000));
	}
	for (uint16_t i = 0; i < 2; i++) {
		bs.push_back(w.socket_b(static_cast<uint16_t>(200 + i)));
		bs[i]->sock().rcvbuf = 300 + static_cast<uint32_t>(sim::random_below(3000));
		w.run("receive", [&, i] { receive(w, *bs[i], order, 60); });
		/* And back, so that maps go out between messages. */
		w.run("receive", [&, i] { receive(w, *as[i], order, 30); });
		w.run("send back", [&, i] {
			sim::options().fail_per_1000 = fail_per_1000;
			send(w, *bs[i], w.at_a(static_cast<uint16_t>(100 + i)), 10u + i, order, 30,
			     16, 300, way);
		});
	}
	for (uint16_t i = 0; i < 4; i++)
		w.run("send", [&, i] {
			send(w, *as[way == Way::kBlocking ? i / 2u : i],
			     w.at_b(static_cast<uint16_t>(200 + i % 2)), i, order, 30, 16, 600,
			     way);
		});
	w.finish();
	EXPECT_EQ(order.complaint(), "");
	EXPECT_TRUE(order.complete());
	w.stop_all();
}

TEST(Corners, BlockedSendersAndReadersWakeUp)
{
	everywhere(20, [](World &w) { sleepers(w, Way::kBlocking); });
}

TEST(Corners, SleepersWithoutMemoryWakeUp)
{
	everywhere(20, [](World &w) { sleepers(w, Way::kBlocking, 80); });
}

TEST(Corners, PollingSendersWakeUp)
{
	everywhere(20, [](World &w) { sleepers(w, Way::kPolling); });
}

/* One way only: what they wait for is the port, and nothing else wakes them. */
TEST(Corners, PollingSendersToAPortThatFillsAndClears)
{
	for (Way way : {Way::kBlocking, Way::kPolling, Way::kEdge})
		everywhere(10, [way](World &w) {
			check::Order order;
			auto to = w.socket_b(200);
			std::vector<std::unique_ptr<host::Socket>> from;

			to->sock().rcvbuf = 1000;
			w.run("receive", [&] { receive(w, *to, order, 90); });
			for (uint16_t i = 0; i < 3; i++) {
				from.push_back(w.socket_a(static_cast<uint16_t>(100 + i)));
				w.run("send", [&, i] {
					send(w, *from[i], w.at_b(200), i, order, 30, 200, 400, way);
				});
			}
			w.finish();
			EXPECT_EQ(order.complaint(), "");
			EXPECT_TRUE(order.complete());
		});
}

/* They are told once, and look once. */
TEST(Corners, SendersWithAnEdgeWakeUp)
{
	everywhere(20, [](World &w) { sleepers(w, Way::kEdge); });
}

/* The worker goes on where a sender's turn ended. */
TEST(Corners, ShortTurnsOfTheSender)
{
	everywhere(6, [](World &w) {
		auto from = w.socket_a(100), to = w.socket_b(200);
		check::Order order;
		unsigned int was = rds_send_batch_count;

		rds_send_batch_count = 1 + static_cast<unsigned int>(sim::random_below(3));
		to->sock().rcvbuf = 1u << 20;
		w.run("receive", [&] { receive(w, *to, order, 200); });
		w.run("send", [&] { send(w, *from, w.at_b(200), 1, order, 200, 16, 300); });
		w.finish();
		rds_send_batch_count = was;
		EXPECT_TRUE(order.complete());
	});
}

/*
 * Pings are queued on loopback, other messages only where something is before them: so these find
 * an empty queue, one that is not, a token that is out, a port that has filled, a path that is
 * down.
 */
TEST(Corners, MessagesAtOnceAmongQueuedOnes)
{
	everywhere(60, [](World &w) {
		auto from = w.socket_a(100), pings = w.socket_a(101), to = w.socket_b(200);
		check::Order order;
		unsigned int left = 3;

		to->sock().rcvbuf = sim::chance(500) ? 1000 : 1u << 20;
		from->sock().sndbuf = sim::chance(500) ? 2000 : 1u << 20;
		w.run("receive", [&] { receive(w, *to, order, 180); });
		for (uint32_t i = 0; i < 3; i++)
			w.run("send", [&, i] {
				send(w, *from, w.at_b(200), i, order, 60, 16, 600);
				left--;
			});
		w.run("ping", [&] {
			while (left && !w.stop) {
				(void)pings->send(w.at_b(0), {});
				sim::sleep_for(1 + sim::random_below(50 * 1000));
				while (pings->recv())
					;
			}
		});
		for (uint64_t n = sim::random_below(3); n && !w.stream; n--) {
			sim::run_for(sim::random_below(100 * 1000));
			w.reset(w.net_a());
		}
		w.finish();
		EXPECT_EQ(order.complaint(), "");
		EXPECT_TRUE(order.complete());
	});
}

/*
 * A port fills up and is read empty, again and again, while its host has something else to say, has
 * no memory, or loses the connection: the sender hears of it every time.
 */
TEST(Corners, EveryCongestionEnds)
{
	everywhere(50, [](World &w) {
		auto from = w.socket_a(100), to = w.socket_b(200), other = w.socket_b(201);
		const auto dst = w.at_b(200);

		sim::options().preempt_per_1000 =
			static_cast<unsigned int>(sim::random_below(sim::chance(500) ? 700 : 70));
		to->sock().rcvbuf = 1000; /* and far from the hard limit */
		from->sock().sndbuf = 2000;
		for (int round = 0; round < 12; round++) {
			auto data = traffic::make(1, 0, 200);
			int ret = 0;

			for (uint64_t end = sim::now_ns() + kSoonNs;
			     ret != -105 && sim::now_ns() < end;) {
				ret = from->send(dst, data);
				sim::run_for(50 * 1000);
			}
			EXPECT_EQ(ret, -105) << "round " << round;
			/* Nothing more comes that would change the port's state by itself. */
			sim::run_until([&] { return !traffic::unacked(w.net_a()); }, kSoonNs);
			sim::options().fail_per_1000 = sim::chance(300) ? 300 : 0;
			w.run("answer", [&] { other->send(w.at_a(100), traffic::make(2, 0, 16)); });
			w.run("read", [&] {
				while (to->recv())
					;
			});
			w.finish();
			if (sim::chance(300)) {
				sim::run_for(sim::random_below(50 * 1000));
				w.cut();
			}
			sim::run_for(kMs / 2);
			sim::options().fail_per_1000 = 0;
			EXPECT_TRUE(sim::run_until(
				[&] {
					while (to->recv())
						;
					return !rds_socket_congested(from->core(), &dst);
				},
				kSoonNs))
				<< "round " << round;
			while (from->recv())
				;
		}
	});
}

/* A full port stays full when the connection goes: the next one tells the sender again. */
TEST(Corners, AFullPortIsToldAgain)
{
	everywhere(10, [](World &w) {
		auto from = w.socket_a(100), to = w.socket_b(200);
		const auto dst = w.at_b(200);
		uint32_t sent = 0;
		auto full = [&] { return rds_socket_congested(from->core(), &dst) != 0; };

		to->sock().rcvbuf = 1000;
		/* One by one: a receiver at its hard limit would not even see that the connection
		 * ends. */
		while (!full() && sent < 20) {
			EXPECT_EQ(from->send(dst, traffic::make(1, sent++, 200)), 0);
			sim::run_until([&] { return !traffic::unacked(w.net_a()); }, kSoonNs);
			sim::run_for(kMs);
		}
		EXPECT_TRUE(full());
		if (w.cut()) {
			EXPECT_TRUE(sim::run_until([&] { return !full(); }, kSoonNs));
			/* The larger address calls when it has something to say. */
			EXPECT_EQ(from->send(w.at_b(201), traffic::make(2, 0, 16)), 0);
		}
		EXPECT_TRUE(sim::run_until(full, kSoonNs));
	});
}

/* A monitor is told of its ports; without one, poll() says it once. */
TEST(Corners, MonitorsAreTold)
{
	everywhere(6, [](World &w) {
		auto from = w.socket_a(100), idle = w.socket_a(101), to = w.socket_b(200);
		const auto dst = w.at_b(200);
		const uint64_t mine = 1ull << (200 % 64);
		check::Order order;

		to->sock().rcvbuf = 1000;
		rds_socket_set_cong_monitor(from->core(), 1, 0);
		rds_socket_set_cong_monitor(idle->core(), 1, mine << 1);
		auto gone = w.socket_a(102);

		rds_socket_set_cong_monitor(gone->core(), 1, mine);
		w.run("send", [&] {
			for (uint32_t i = 0; from->send(dst, traffic::make(1, i, 300)) != -105;)
				sim::yield();
			EXPECT_EQ(rds_socket_refused(from->core(), &dst), 1);
		});
		w.finish();
		gone.reset();
		/* The socket that met the congestion is told of its end by its own mask. */
		EXPECT_EQ(rds_socket_cong_notice(from->core()), 0u);
		/* Messages that were under way fill it again. */
		EXPECT_TRUE(sim::run_until(
			[&] {
				while (to->recv())
					;
				return rds_socket_cong_notice(from->core()) == mine;
			},
			kSecond));
		EXPECT_EQ(rds_socket_cong_notice(idle->core()), 0u);
	});
}

/* ---- taking back ---- */

TEST(Corners, CancelGivesBytesBackAndTakesNoOthers)
{
	everywhere(25, [](World &w) {
		auto from = w.socket_a(100), lost = w.socket_b(200), kept = w.socket_b(201);
		const auto dst = w.at_b(200);
		check::Order order, partly;

		from->sock().sndbuf = 3000 + static_cast<uint32_t>(sim::random_below(30000));
		kept->sock().rcvbuf = 1u << 20;
		lost->sock().rcvbuf = 1u << 20;
		w.run("receive", [&] { receive(w, *kept, order, 40); });
		w.run("keep", [&] { send(w, *from, w.at_b(201), 1, order, 40, 16, 2000); });
		w.run("lose", [&] { send(w, *from, dst, 2, partly, 40, 16, 2000); });
		w.run("cancel", [&] {
			for (int i = 0; i < 60; i++) {
				rds_socket_cancel(from->core(), &dst);
				for (uint64_t n = sim::random_below(30); n; n--)
					sim::yield();
			}
		});
		w.finish();
		traffic::drain(*lost, partly);
		EXPECT_TRUE(sim::run_until([&] { return World::all_given_back(*from); }, kSecond));
		EXPECT_TRUE(order.complete());
		EXPECT_EQ(order.complaint() + partly.complaint(), "");
	});
}

/* Sockets end while they send: nobody looks at them afterwards, and others go on. */
TEST(Corners, SendersEndInMidTraffic)
{
	everywhere(12, [](World &w) {
		auto to = w.socket_b(200), from = w.socket_a(300), at = w.socket_b(301);
		check::Order order, others;

		to->sock().rcvbuf = 4000;
		for (uint16_t i = 0; i < 4; i++)
			w.run("short life", [&w, &order, i] {
				auto s = w.socket_a(static_cast<uint16_t>(100 + i));

				s->sock().sndbuf = 100000;
				for (uint32_t n = 0; n < 10; n++) {
					auto data = traffic::make(i, n, 900);

					order.sent(i, n);
					if (s->send(w.at_b(200), data)) {
						order.not_sent(i, n);
						break;
					}
				}
			});
		w.run("receive", [&] { receive(w, *to, order); });
		w.run("receive", [&] { receive(w, *at, others, 20); });
		w.run("go on", [&] { send(w, *from, w.at_b(301), 9, others, 20, 16, 900); });
		EXPECT_TRUE(sim::run_until([&] { return others.received_count() == 20; },
					   60 * kSecond));
		w.stop_all();
		EXPECT_EQ(order.complaint() + others.complaint(), "");
	});
}

/* A reader closes with its queue full: who waits for its port goes on, and so does its successor at
 * the same port. */
TEST(Corners, AFullReaderEnds)
{
	everywhere(12, [](World &w) {
		auto from = w.socket_a(100);
		auto to = w.socket_b(200);
		const auto dst = w.at_b(200);
		check::Order order, after;

		to->sock().rcvbuf = 1000;
		w.run("send", [&] { send(w, *from, dst, 1, order, 30, 200, 400); });
		EXPECT_TRUE(sim::run_until(
			[&] { return rds_socket_congested(from->core(), &dst) != 0; }, kSecond));
		to.reset();
		w.finish();
		/* Messages still on their way are for nobody. */
		EXPECT_TRUE(sim::run_until([&] { return !traffic::unacked(w.net_a()); }, kSecond));
		sim::run_for(10 * kMs);
		to = w.socket_b(200);
		w.run("receive", [&] { receive(w, *to, after, 10); });
		w.run("send", [&] { send(w, *from, dst, 2, after, 10, 200, 400); });
		w.finish();
		EXPECT_TRUE(after.complete());
	});
}

TEST(Corners, CompletionsOfZerocopy)
{
	everywhere(8, [](World &w) {
		auto from = w.socket_a(100), to = w.socket_b(200);
		auto data = traffic::make(1, 0, 900);
		const auto dst = w.at_b(200);
		std::set<uint32_t> cookies;

		if (!(rds_socket_caps(from->core()) & RDS_CAP_ZEROCOPY))
			return;
		to->sock().rcvbuf = 1u << 20;
		w.run("send", [&] {
			for (uint32_t i = 0; i < 30; i++) {
				struct rds_uio uio = {data.data(), data.size(), 0, SIZE_MAX};
				struct rds_msg *m;

				EXPECT_EQ(rds_msg_create(from->core(), &dst, 900, &uio, 1, i, &m),
					  0);
				EXPECT_EQ(rds_socket_send(from->core(), &dst, m, 0), 0);
				if (sim::chance(200))
					rds_socket_cancel(from->core(), &dst);
			}
		});
		w.run("complete", [&] {
			while (!w.stop && cookies.size() < 30) {
				host::News seen(from->sock());
				uint32_t some[4];
				unsigned int n = rds_socket_zcopy(from->core(), some, 4);

				for (unsigned int i = 0; i < n; i++)
					EXPECT_TRUE(cookies.insert(some[i]).second);
				rds_socket_zcopy_done(from->core(), n);
				if (!n)
					sim::wait_until([&] {
						return w.stop ||
						       seen.came(from->sock(), RDS_WAKE_READ);
					});
			}
		});
		w.finish();
		EXPECT_EQ(cookies.size(), 30u);
		EXPECT_TRUE(sim::run_until([&] { return World::all_given_back(*from); }, kSecond));
	});
}

} // namespace
} // namespace corners
