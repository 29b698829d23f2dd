// SPDX-License-Identifier: GPL-2.0
/* Receive buffers that are counted: what the host grants, gives back, and keeps to. */
#include "over_ib.h"

namespace rdstest
{
namespace
{

constexpr unsigned kRing = 16; /* the host's receive buffers */

class Credits : public OverIb
{
protected:
	/* Frames that the host may have sent: without a credit a keepalive only. */
	void within(unsigned granted)
	{
		peer.open(); /* takes what came */
		EXPECT_LE(peer.frames + peer.queue().arrived.size(),
			  granted + grown("ib_tx_keepalive"));
	}

	const Setting counted_{host, "ib/flow_control", "1"};
	const Setting ring_{host, "ib/max_recv_wr", std::to_string(kRing)};
};

/* A peer that sends as it is allowed to: the host gives back what it posts again, and no more. */
TEST_F(Credits, ComeBack)
{
	unsigned allowed = connect({.credits = 100}).credits, sent = 0;

	EXPECT_EQ(allowed, kRing);
	for (unsigned n = 0; n < 60; n++) {
		while (allowed < 2) {
			const auto f = peer.receive();

			ASSERT_TRUE(f) << "no credit comes back after " << sent;
			allowed += f->header.credit;
		}
		ASSERT_TRUE(peer.send(message(header(), pattern(n, 100))));
		allowed--;
		sent++;
		ASSERT_LE(allowed, kRing);
	}
	for (unsigned n = 0; n < sent; n++)
		reads(pattern(n, 100));
	while (const auto f = peer.receive(Patience(0))) {
		allowed += f->header.credit;
		ASSERT_LE(allowed, kRing) << "more than it has";
	}
}

/* The host sends what the peer has buffers for, but one, and goes on as they come back. */
TEST_F(Credits, AreKeptTo)
{
	constexpr unsigned kMessages = 20;
	unsigned granted = 5, came = 0;

	EXPECT_GT(connect({.credits = granted}, {.receive = 64, .again = false}).credits, 0u);
	speak();
	ASSERT_EQ(host.send(own, kMessages, 100).count, kMessages);
	EXPECT_TRUE(grows("ib_tx_throttle"));
	while (came < kMessages) {
		within(granted - 1);

		const auto f = peer.receive();

		ASSERT_TRUE(f) << came << " messages came";
		if (!isEmpty(f->header) && !isMap(f->header)) {
			EXPECT_TRUE(f->payload == pattern(came, 100)) << shown(f->payload);
			came++;
		}
		if (peer.frames + 1 >= granted) {
			within(granted - 1);
			acknowledge(0, 2);
			granted += 2;
		}
	}
	EXPECT_EQ(grown("conn_reset"), 0u);
}

/* One buffer is not enough to say anything; two are. */
TEST_F(Credits, OneIsKept)
{
	connect({.credits = 1}, {.receive = 16, .again = false});
	goesOn();
	within(0);
	acknowledge(0, 1);
	const auto f = peer.receive();

	ASSERT_TRUE(f);
	EXPECT_TRUE(isHello(f->header)) << f->header.text();
	within(1);
}

/* A peer that counts none is not counted for. */
TEST_F(Credits, OnlyIfBothCount)
{
	EXPECT_EQ(connect({.credits = 0}).credits, 0u);
	speak();
	ASSERT_EQ(host.send(own, 50, 10).count, 50u);
	for (unsigned n = 0; n < 50; n++) {
		const auto f = nextMessage();

		ASSERT_TRUE(f) << n;
		EXPECT_EQ(f->header.credit, 0);
		EXPECT_TRUE(f->payload == pattern(n, 10));
		acknowledge(f->header.sequence);
	}
	EXPECT_EQ(grown("ib_tx_throttle"), 0u);
}

/* More than any peer has buffers, again and again. */
TEST_F(Credits, WithoutMeasure)
{
	connect({.credits = ~0u});
	for (int i = 0; i < 300; i++)
		acknowledge(0, 255);
	goesOn();
	ASSERT_EQ(host.send(own, 1, 10).count, 1u);
	const auto f = nextMessage();

	ASSERT_TRUE(f);
	acknowledge(f->header.sequence);
	EXPECT_TRUE(grows("ib_rx_credit_updates", 300));
}

/* A peer that does not keep to it waits for buffers, and is heard. */
TEST_F(Credits, Overrun)
{
	constexpr unsigned kMessages = 200;
	const Setting four(host, "ib/max_recv_wr", "4");

	EXPECT_EQ(connect({.credits = 100}).credits, 4u);
	for (unsigned n = 0; n < kMessages; n++)
		ASSERT_TRUE(peer.send(message(header(), pattern(n, 50))));
	for (unsigned n = 0; n < kMessages; n++)
		reads(pattern(n, 50));
	EXPECT_EQ(grown("conn_reset"), 0u);
}

/* The host calls, and tells what it has. */
TEST_F(Credits, AreOfferedByACaller)
{
	peer.listen();
	ASSERT_EQ(host.send(own, 1, 10).count, 1u);
	const auto request = peer.called();

	ASSERT_TRUE(request);
	EXPECT_EQ(Offer::decode(*request, v6).credits, kRing);
	ASSERT_TRUE(peer.accept(peer.offer({.credits = 10})));
	const auto f = nextMessage();

	ASSERT_TRUE(f);
	acknowledge(f->header.sequence);
}

} // namespace
} // namespace rdstest
