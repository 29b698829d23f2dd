// SPDX-License-Identifier: GPL-2.0
/* More corners (corners_test.cc): bounds, tables, and how things end. */
#include "corners.h"
#include "net/rds/limits.h"
#include "net/rds/list.h"

#include "task.h"

namespace corners
{
namespace
{

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
		rds_net_tunables(w.net_b().core())->recv_spill_bytes = 0;
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
		/* 32 times the limit for messages; the rest waits at the sender, which has an index
		 * of its waiters from now on. */
		size_t held = host::usage().bytes - before;
		size_t index = rds::kCongIndexLists * sizeof(rds::ListNode);

		EXPECT_LT(held, 64 * 1000u + index + 2 * traffic::unacked(w.net_a()) * 400u);
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
			ASSERT_TRUE(sim::run_until([&] { return from->readable(); }, 60 * kSecond))
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

					EXPECT_EQ(s->bind(host::endpoint(
							  at,
							  static_cast<uint16_t>(1000 + 4 * i + t))),
						  0);
					crowd.push_back(std::move(s));
				}
				binding--;
			});
		w.run("look", [&] {
			auto each = [](void *, const struct rds_socket_info *) {
				sim::preempt_point();
			};

			while (binding && !w.stop) {
				host::info_sockets(w.net_b().core(), each, nullptr);
				sim::yield();
			}
		});
		w.run("receive", [&] { receive(w, *to, order, 50); });
		w.run("send", [&] { send(w, *from, w.at_b(200), 1, order, 50, 16, 300); });
		w.finish();
		EXPECT_TRUE(order.complete());
		EXPECT_EQ(crowd.size(), 280u);
		for (uint16_t port = 1000; port < 1280; port++)
			EXPECT_EQ(w.net_b().core()
					  ? host::Socket(w.net_b()).bind(host::endpoint(at, port))
					  : 0,
				  -98)
				<< port;
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
			w.run("send",
			      [&, i] { send(w, *from, w.at_b(200), i, order, 10, 16, 300); });
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
	/* The last one may be the one that does it. */
	for (uint64_t n = 1 + sim::random_below(3); n; n--) {
		sim::run_for(sim::random_below(200 * 1000));
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
	everywhere(100, [](World &w) {
		interrupted(w, [&w] {
			host::Net &net = sim::chance(500) ? w.net_a() : w.net_b();

			sim::run_until([&net] { return World::sending(net); }, kMs);
			w.reset(net);
		});
	});
}

TEST(Corners, CutsStopNobody)
{
	everywhere(60, [](World &w) { interrupted(w, [&w] { w.cut(); }); });
}

/* The receiver asks for a reset while it has no memory to read on: the end waits until it has. */
void reset_unread(World &w)
{
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
		/* One that meets an attempt to connect is no orderly end. */
		sim::run_until([&] { return World::connected(w.net_b()); }, kSecond);
		w.reset(w.net_b());
		sim::run_for(sim::random_below(200 * 1000));
		sim::options().fail_per_1000 = 0;
	}
	w.finish();
	EXPECT_EQ(order.lost(), 0u);
	EXPECT_EQ(order.complaint(), "");
}

TEST(Corners, AResetWaitsForWhatIsUnread)
{
	everywhere(40, reset_unread);
	everywhere(40, reset_unread, [](stream::Params &p) { p.plain = true; });
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
