// SPDX-License-Identifier: GPL-2.0
/* What seeds rarely come to by themselves, one story each (corners.h). */
#include "corners.h"

#include <set>

#include "task.h"

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
			send(w, *bs[i], w.at_a(static_cast<uint16_t>(100 + i)), 10u + i, order, 30, 16,
			     300, way);
		});
	}
	for (uint16_t i = 0; i < 4; i++)
		w.run("send", [&, i] {
			send(w, *as[way == Way::kPolling ? i : i / 2u],
			     w.at_b(static_cast<uint16_t>(200 + i % 2)), i, order, 30, 16, 600, way);
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
		});
		w.finish();
		gone.reset();
		/* Who met the congestion is told of its end by its own mask. */
		EXPECT_EQ(rds_socket_cong_notice(from->core()), 0u);
		while (to->recv())
			;
		EXPECT_TRUE(sim::run_until(
			[&] { return rds_socket_cong_notice(from->core()) == mine; }, kSecond));
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
		EXPECT_TRUE(sim::run_until(
			[&] { return others.received_count() == 20; }, 60 * kSecond));
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
		/* What is still on its way is for nobody. */
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

				EXPECT_EQ(rds_msg_create(from->core(), 900, &uio, 1, i, &m), 0);
				EXPECT_EQ(rds_socket_send(from->core(), &dst, m, 0), 0);
				if (sim::chance(200))
					rds_socket_cancel(from->core(), &dst);
			}
		});
		w.run("complete", [&] {
			while (!w.stop && cookies.size() < 30) {
				uint32_t seen = from->sock().woken.load(), some[4];
				unsigned int n = rds_socket_zcopy(from->core(), some, 4);

				for (unsigned int i = 0; i < n; i++)
					EXPECT_TRUE(cookies.insert(some[i]).second);
				rds_socket_zcopy_done(from->core(), n);
				if (!n)
					sim::wait_until([&] {
						return w.stop || from->sock().woken.load() != seen;
					});
			}
		});
		w.finish();
		EXPECT_EQ(cookies.size(), 30u);
		EXPECT_TRUE(sim::run_until([&] { return World::all_given_back(*from); }, kSecond));
	});
}

/* ---- bounds ---- */

/* Nobody is there: what is queued is bounded, and comes once somebody is. */
TEST(Corners, TheSendQueueIsBounded)
{
	everywhere(4, [](World &w) {
		auto from = w.socket_a(100);
		check::Order order;

		if (!w.stream)
			return;
		stream::stop_listening(w.net_b());
		from->sock().sndbuf = 10 * 1000;

		size_t before = host::usage().bytes;
		uint32_t queued = 0;

		for (int i = 0; i < 1000; i++)
			queued += !from->send(w.at_b(200), traffic::make(1, queued, 1000));
		EXPECT_EQ(queued, 10u);
		EXPECT_LT(host::usage().bytes - before, 40 * 1000u);

		auto to = w.socket_b(200);

		stream::listen(w.net_b(), {w.addr_b});
		for (uint32_t i = 0; i < queued; i++)
			order.sent(1, i);
		w.run("receive", [&] { receive(w, *to, order, queued); });
		w.finish();
		EXPECT_TRUE(order.complete());
	});
}

/* Very many send before they hear that the port is full. */
TEST(Corners, TheReceiverIsBounded)
{
	auto roomy = [](stream::Params &p) {
		p.send_window = p.recv_window = 1u << 20;
		p.delay_min_ns = p.delay_max_ns = kMs;
	};
	auto story = [](World &w) {
		std::vector<std::unique_ptr<host::Socket>> from;
		auto to = w.socket_b(200);
		check::Order order;

		sim::options().preempt_per_1000 = 0;
		to->sock().rcvbuf = 1000;
		for (uint16_t i = 0; i < 100; i++)
			from.push_back(w.socket_a(static_cast<uint16_t>(1000 + i)));
		from[0]->send(w.at_b(200), traffic::make(0, 0, 16));
		sim::run_for(20 * kMs); /* connected */
		to->recv();

		size_t before = host::usage().bytes;

		for (uint16_t i = 0; i < 100; i++)
			w.run("send", [&, i] {
				send(w, *from[i], w.at_b(200), 1u + i, order, 10, 200, 200);
			});
		sim::run_for(5 * kSecond);
		/* 32 times the limit for messages; the rest is what waits at the sender. */
		size_t held = host::usage().bytes - before;

		EXPECT_LT(held - 2 * traffic::unacked(w.net_a()) * 400u, 64 * 1000u);
		w.run("receive", [&] { receive(w, *to, order, 1000); });
		w.finish();
		EXPECT_TRUE(order.complete());
		EXPECT_EQ(order.complaint(), "");
	};

	everywhere(3, story, roomy);
}

TEST(Corners, ManyPingsAreAnswered)
{
	everywhere(2, [](World &w) {
		auto from = w.socket_a(100);

		for (int i = 0; i < 150; i++) {
			ASSERT_EQ(from->send(w.at_b(0), {}), 0);
			ASSERT_TRUE(
				sim::run_until([&] { return from->readable(); }, 60 * kSecond))
				<< "ping " << i;
			from->recv();
		}
	});
}

/* ---- tables ---- */

/* Tables grow while others walk through them: nothing is missed, nothing is read that is gone. */
TEST(Corners, TablesGrowUnderTheirReaders)
{
	everywhere(8, [](World &w) {
		std::vector<std::unique_ptr<host::Socket>> crowd;
		auto from = w.socket_a(100), to = w.socket_b(200);
		check::Order order;
		unsigned int binding = 4;
		const struct rds_addr at = w.addr_b;

		to->sock().rcvbuf = 1u << 20;
		for (uint16_t t = 0; t < 4; t++)
			w.run("bind", [&, t] {
				for (uint16_t i = 0; i < 70; i++) {
					auto s = std::make_unique<host::Socket>(w.net_b());

					EXPECT_EQ(s->bind(host::endpoint(at,
						  static_cast<uint16_t>(1000 + 4 * i + t))), 0);
					crowd.push_back(std::move(s));
				}
				binding--;
			});
		w.run("look", [&] {
			auto each = [](void *, const struct rds_socket_info *) {
				sim::preempt_point();
			};

			while (binding && !w.stop) {
				rds_info_sockets(w.net_b().core(), each, nullptr);
				sim::yield();
			}
		});
		w.run("receive", [&] { receive(w, *to, order, 50); });
		w.run("send", [&] { send(w, *from, w.at_b(200), 1, order, 50, 16, 300); });
		w.finish();
		EXPECT_TRUE(order.complete());
		EXPECT_EQ(crowd.size(), 280u);
		for (uint16_t port = 1000; port < 1280; port++)
			EXPECT_EQ(w.net_b().core() ? host::Socket(w.net_b()).bind(
				  host::endpoint(at, port)) : 0, -98) << port;
	});
}

/* Two make the same connection at the same time. */
TEST(Corners, TwoMakeOneConnection)
{
	everywhere(15, [](World &w) {
		auto one = w.socket_a(100), two = w.socket_a(101), to = w.socket_b(200);
		check::Order order;

		sim::options().preempt_per_1000 = 500;
		w.run("receive", [&] { receive(w, *to, order, 10); });
		w.run("send", [&] { send(w, *one, w.at_b(200), 1, order, 5, 16, 100); });
		w.run("send", [&] { send(w, *two, w.at_b(200), 2, order, 5, 16, 100); });
		w.finish();
		EXPECT_TRUE(order.complete());
	});
}

/* A transport goes and comes while sockets have its connections cached. */
TEST(Corners, ATransportGoesAndComes)
{
	everywhere(8, [](World &w) {
		auto from = w.socket_a(100), to = w.socket_b(200);
		check::Order order;

		for (uint32_t i = 0; i < 4; i++) {
			w.run("receive", [&] { receive(w, *to, order, 10); });
			w.run("send", [&, i] { send(w, *from, w.at_b(200), i, order, 10, 16, 300); });
			w.finish();
			sim::run_for(kSecond);
			rds_transport_unregister(w.transport);
			EXPECT_EQ(rds_transport_register(w.transport), 0);
		}
		EXPECT_TRUE(order.complete());
	});
}

/* The sockets are closed in mid-traffic, and then everything ends at the same time, while settings
 * are still being changed. */
TEST(Corners, EverythingEndsAtOnce)
{
	everywhere(80, [](World &w) {
		auto from = w.socket_a(100), to = w.socket_b(200);
		check::Order order;

		w.run("receive", [&] { receive(w, *to, order); });
		w.run("send", [&] { send(w, *from, w.at_b(200), 1, order, 300, 16, 900); });
		sim::run_for(sim::random_below(3 * kMs));
		w.stop_all();
		from.reset();
		to.reset();
		w.run("cut", [&] { w.cut(); });
		for (auto &net : w.nets)
			w.run("settings", [&w, &net] {
				for (int i = 0; i < 10; i++) {
					w.reset(*net);
					sim::yield();
				}
			});
		for (auto &net : w.nets)
			w.run("exit", [&w, &net] {
				stream::stop_listening(*net);
				rds_transport_net_exit(net->core(), w.transport);
			});
		w.finish();
		EXPECT_EQ(order.complaint(), "");
	});
}

/* ---- resets ---- */

/* Resets that were asked for, or cuts, in the middle of whatever: nobody is stuck.  (A reset that
 * meets an attempt to connect is no orderly end, and may lose what only TCP had taken.) */
void interrupted(World &w, const std::function<void()> &interrupt)
{
	auto from = w.socket_a(100), to = w.socket_b(200), back = w.socket_a(101);
	check::Order order;
	unsigned int sending = 3;

	to->sock().rcvbuf = sim::chance(700) ? 1000 : 1u << 20;
	from->sock().sndbuf = 4000;
	sim::options().fail_per_1000 = sim::chance(500) ? 60 : 0;
	w.run("receive", [&] { receive(w, *to, order); });
	w.run("receive", [&] { receive(w, *back, order); });
	for (uint32_t i = 0; i < 2; i++)
		w.run("send", [&, i] {
			send(w, *from, w.at_b(200), i, order, 60, 16, 900);
			sending--;
		});
	w.run("send back", [&] {
		send(w, *to, w.at_a(101), 2, order, 40, 16, 900);
		sending--;
	});
	for (int i = 0; i < 6; i++) {
		sim::run_for(sim::random_below(400 * 1000));
		interrupt();
	}
	EXPECT_TRUE(sim::run_until(
		[&] {
			return !sending && World::all_given_back(*from) &&
			       World::all_given_back(*to);
		},
		kSoonNs));
	w.stop_all();
	EXPECT_EQ(order.complaint(), "");
}

TEST(Corners, ResetsStopNobody)
{
	everywhere(60, [](World &w) {
		interrupted(w, [&w] { w.reset(sim::chance(500) ? w.net_a() : w.net_b()); });
	});
}

TEST(Corners, CutsStopNobody)
{
	everywhere(60, [](World &w) { interrupted(w, [&w] { w.cut(); }); });
}

/* The receiver asks for a reset while it has no memory to read on: the end waits until it has. */
TEST(Corners, AResetWaitsForWhatIsUnread)
{
	everywhere(40, [](World &w) {
		auto from = w.socket_a(100), to = w.socket_b(200);
		check::Order order;

		to->sock().rcvbuf = 1u << 20;
		w.run("receive", [&] { receive(w, *to, order, 60); });
		w.run("send", [&] { send(w, *from, w.at_b(200), 1, order, 60, 16, 900); });
		for (int i = 0; i < 3; i++) {
			uint64_t before = order.received_count();

			sim::run_until([&] { return order.received_count() > before + 4; }, kSecond);
			sim::options().fail_per_1000 = 700;
			sim::run_for(sim::random_below(200 * 1000));
			w.reset(w.net_b());
			sim::run_for(sim::random_below(200 * 1000));
			sim::options().fail_per_1000 = 0;
		}
		w.finish();
		EXPECT_EQ(order.lost(), 0u);
		EXPECT_EQ(order.complaint(), "");
	});
}

/* Cut anywhere, the peer reads at once: TCP holds nothing that RDS has not seen, so nothing may be
 * missing. */
TEST(Corners, ACutLosesNothingThatIsReadAtOnce)
{
	everywhere(40, [](World &w) {
		auto from = w.socket_a(100), to = w.socket_b(200);
		check::Order order;

		to->sock().rcvbuf = 4u << 20;
		from->sock().sndbuf = 8000;
		w.run("receive", [&] { receive(w, *to, order, 150); });
		w.run("send", [&] { send(w, *from, w.at_b(200), 1, order, 150, 16, 900); });
		for (int i = 0; i < 6; i++) {
			sim::run_for(100 * 1000 + sim::random_below(500 * 1000));
			w.cut();
		}
		w.finish();
		EXPECT_EQ(order.lost(), 0u);
		EXPECT_EQ(order.complaint(), "");
	});
}

} // namespace
} // namespace corners
