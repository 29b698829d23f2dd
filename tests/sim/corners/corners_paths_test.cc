// SPDX-License-Identifier: GPL-2.0
/* Corners of connections with several paths. */
#include "corners.h"

namespace corners
{
namespace
{

constexpr uint32_t kFlows = 6;

/* Small windows: path 0 is full at once, and the others are used. */
void narrow(stream::Params &p)
{
	p.paths = 2u << sim::random_below(3);
	p.send_window = p.recv_window = 256 + sim::random_below(2000);
}

/* The host at b as it is between two boots: with its module's parameter. */
struct Life {
	Life(World &w, uint32_t number) : w(w), number(number)
	{
		for (uint16_t port = 200; port < 203; port++)
			sockets.push_back(w.socket_b(port));
	}
	~Life()
	{
		sockets.clear();
		stream::stop_listening(w.net_b());

		bool gone = false;

		sim::spawn("unload", [&gone, &world = w] {
			rds_transport_net_exit(world.net_b().core(), world.transport);
			gone = true;
		});
		EXPECT_TRUE(sim::run_until([&gone] { return gone; }, 60 * kSecond));
	}
	Life(const Life &) = delete;
	Life &operator=(const Life &) = delete;

	/* False: they do not come. */
	bool read(check::Order &order, uint64_t n)
	{
		uint64_t wanted = order.received_count() + n;

		return sim::run_until(
			[&] {
				for (auto &s : sockets)
					traffic::drain(*s, order, number);
				return order.received_count() >= wanted;
			},
			60 * kSecond);
	}
	World &w;
	const uint32_t number;
	std::vector<std::unique_ptr<host::Socket>> sockets;
};

/* A peer that restarts ten times under load, with more paths or fewer: each life gets each message
 * once at most, in order, and goes on getting them. */
TEST(Corners, ThePeerComesBackWithOtherPaths)
{
	everywhere(
		30,
		[](World &w) {
			if (!w.stream)
				return;

			check::Order order;
			std::vector<std::unique_ptr<host::Socket>> from;

			for (uint32_t i = 0; i < kFlows; i++) {
				from.push_back(w.socket_a(static_cast<uint16_t>(100 + i)));
				from[i]->sock().sndbuf = 3000;
				w.run("send", [&, i] {
					send(w, *from[i],
					     w.at_b(static_cast<uint16_t>(200 + i % 3)), i, order,
					     ~0u, 16, 600);
				});
			}
			for (uint32_t number = 1; number <= 10; number++) {
				{
					Life life(w, number);

					/* It knows nothing of what the last one read. */
					for (uint32_t i = 0; i < kFlows; i++)
						order.forget(i);
					ASSERT_TRUE(life.read(order, 20 + sim::random_below(200)))
						<< "life " << number;
					if (sim::chance(500))
						w.cut();
				}
				for (uint32_t i = 0; i < kFlows; i++)
					order.forget(i);
				sim::run_for(sim::random_below(20 * kMs));
				stream::set_paths(1u << sim::random_below(4));
				stream::listen(w.net_b(), {w.addr_b});
			}
			w.stop_all();
			EXPECT_EQ(order.complaint(), "");
		},
		narrow);
}

/* A message taken back may be on its way over path 0 when newer ones take another path. */
TEST(Corners, FanningOutAmongCancels)
{
	everywhere(
		150,
		[](World &w) {
			if (!w.stream)
				return;

			check::Order order;
			auto to = w.socket_b(200);
			std::vector<std::unique_ptr<host::Socket>> from;
			unsigned int sending = kFlows;

			to->sock().rcvbuf = 1u << 20;
			w.run("receive", [&] { receive(w, *to, order); });
			for (uint32_t i = 0; i < kFlows; i++) {
				from.push_back(w.socket_a(static_cast<uint16_t>(100 + i)));
				from[i]->sock().sndbuf = 600;
				w.run("send", [&, i] {
					send(w, *from[i], w.at_b(200), i, order, 60, 16, 100);
					sending--;
				});
			}
			while (sending && !::testing::Test::HasFailure()) {
				sim::run_for(sim::random_below(100 * 1000));
				if (sim::chance(200))
					w.reset(sim::chance(500) ? w.net_a() : w.net_b());
				for (auto &s : from)
					if (sim::chance(400))
						rds_socket_cancel(s->core(), nullptr);
			}
			w.stop_all();
			EXPECT_EQ(order.complaint(), "");
		},
		narrow);
}

} // namespace
} // namespace corners
