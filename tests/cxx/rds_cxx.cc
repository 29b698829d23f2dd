// SPDX-License-Identifier: GPL-2.0
/*
 * <rds/socket.hpp> with the kernel's sockets: run in a guest as
 *
 *	rds_cxx ADDRESS ADDRESS6
 *
 * both of which are the guest's own. Only what goes through system calls is tried here; the rest is
 * cxx_test, anywhere.
 */
#include <rds/socket.hpp>

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace
{

using namespace std::chrono_literals;

std::string own, own6;
constexpr auto patience = 60s; /* a call that waits longer has failed */
constexpr int small_queue = 32768;
const std::vector<std::byte> block(4000);

std::string text(std::span<const std::byte> data)
{
	return {reinterpret_cast<const char *>(data.data()), data.size()};
}

std::span<const std::byte> bytes(std::string_view text)
{
	return std::as_bytes(std::span(text));
}

rds::Endpoint at(const std::string &address, std::uint16_t port = 0)
{
	return {rds::Address::parse(address).value(), port};
}

struct Kernel : testing::Test {
	void use(const std::string &address)
	{
		for (auto *one : {&first, &second}) {
			auto made = rds::Socket::bound(at(address));
			ASSERT_TRUE(made) << address << ": " << made.error().message();
			*one = *std::move(made);
			ASSERT_TRUE(one->set_receive_timeout(patience) &&
				    one->set_send_timeout(patience));
		}
		name = second.local().value();
	}
	Kernel()
	{
		use(own);
	}

	std::string next(rds::Socket &sock)
	{
		const auto got = sock.receive(room);
		return got && got->message ? text(got->message->data)
					   : "no message: " + got.error().message();
	}

	/* Sends until the second one's port is congested: how many that took. */
	int fill()
	{
		EXPECT_TRUE(second.set_receive_queue(small_queue));
		for (int count = 0;; count++) {
			const auto sent = first.send(block, name, {.dont_wait = true});
			if (rds::is_congested(sent.error()))
				return count;
			count -= rds::would_wait(sent.error());
		}
	}

	rds::Socket first, second;
	rds::Endpoint name;
	std::vector<std::byte> room = std::vector<std::byte>(65536);
};

TEST_F(Kernel, BothFamilies)
{
	for (const auto &address :
	     {own, own6, "::ffff:" + own, std::string("127.0.0.1"), std::string("::1")}) {
		use(address);
		ASSERT_TRUE(first.send(bytes("hello"), name)) << address;
		const auto got = second.receive(room).value();
		EXPECT_EQ(text(got.message->data), "hello");
		EXPECT_EQ(got.message->sender, first.local().value());
		EXPECT_FALSE(got.message->truncated);
		EXPECT_EQ(second.peer().error(), std::errc::not_connected);
		ASSERT_TRUE(second.connect(got.message->sender));
		EXPECT_EQ(second.peer().value(), first.local().value());
		ASSERT_TRUE(second.send(bytes("re"), {.more = true}));
		EXPECT_EQ(next(first), "re");
	}
}

TEST_F(Kernel, AMessageIsCut)
{
	ASSERT_TRUE(first.send(bytes("hello"), name));
	auto got = second.receive(std::span(room).first(2), {.peek = true, .whole_length = true})
			   .value();
	EXPECT_EQ(got.message->length, 5u);
	EXPECT_EQ(text(got.message->data), "he");
	got = second.receive(std::span(room).first(2)).value();
	EXPECT_TRUE(got.message->truncated);
	EXPECT_TRUE(rds::would_wait(second.receive(room, {.dont_wait = true}).error()));
}

TEST_F(Kernel, ManyACall)
{
	std::vector<std::string> texts;
	for (unsigned i = 0; i < 3000; i++)
		texts.emplace_back(i % 700 + 1, static_cast<char>('a' + i % 26));
	const std::vector<std::string> &wanted = texts;
	std::vector<std::span<const std::byte>> messages;
	for (const auto &one : wanted)
		messages.push_back(bytes(one));
	auto batch = std::move(rds::Batch::make(200, 1 << 20)).value();
	std::size_t sent = 0, came = 0, calls = 0;

	EXPECT_TRUE(first.knows_batches().value());
	ASSERT_TRUE(second.trace_latency());
	while (came < wanted.size()) {
		const auto queued = first.send_many(std::span(messages).subspan(sent), name,
						    {.dont_wait = true});
		sent += queued.has_value() ? *queued : 0;
		const auto got = second.receive_many(batch);
		ASSERT_TRUE(got) << got.error().message();
		calls++;
		for (const rds::Message &one : *got) {
			ASSERT_EQ(text(one.data), wanted[came++]);
			ASSERT_EQ(one.sender, first.local().value());
			ASSERT_TRUE(one.latency && one.latency->count == 3);
		}
	}
	EXPECT_LT(calls, wanted.size() / 4);
	/* And one a call again. */
	ASSERT_EQ(
		first.send_many(std::span(messages).first(2), name, {.order = rds::Order::ordered})
			.value(),
		2u);
	EXPECT_EQ(next(second), wanted[0]);
	EXPECT_EQ(next(second), wanted[1]);
}

TEST_F(Kernel, Hints)
{
	EXPECT_TRUE(first.knows_order().value());
	EXPECT_EQ(first.order().value(), rds::Order::ordered);
	EXPECT_TRUE(first.set_order(rds::Order::half));
	EXPECT_EQ(first.order().value(), rds::Order::half);
	ASSERT_TRUE(first.send(bytes("x"), name, {.order = rds::Order::unordered}));
	EXPECT_EQ(next(second), "x");
	EXPECT_EQ(first.set_order(rds::Order{3}).error(), std::errc::invalid_argument);
}

TEST_F(Kernel, WhatIsNotRead)
{
	EXPECT_EQ(second.unread().value(), (rds::Unread{0, 0}));
	for (int i = 0; i < 3; i++)
		ASSERT_TRUE(first.send(bytes("x"), name));
	while (second.unread().value().messages < 3)
		;
	EXPECT_EQ(second.unread().value(), (rds::Unread{3, 3}));
	EXPECT_EQ(second.unread(first.local().value()).value(), (rds::Unread{3, 3}));
	EXPECT_EQ(second.unread(at(own)).value(), (rds::Unread{3, 3}));
	EXPECT_EQ(second.unread(at(own6)).value(), (rds::Unread{0, 0}));
	EXPECT_EQ(rds::Socket::open()->unread().error(), std::errc::not_connected);
}

TEST_F(Kernel, SettingsAreTaken)
{
	auto sock = std::move(rds::Socket::open()).value();

	EXPECT_EQ(sock.transport().value(), std::nullopt);
	EXPECT_TRUE(sock.set_transport(rds::Transport::tcp));
	EXPECT_EQ(sock.transport().value(), rds::Transport::tcp);
	EXPECT_EQ(sock.set_transport(rds::Transport::tcp).error(),
		  std::errc::operation_not_supported);
	EXPECT_TRUE(sock.bind(at(own)));
	EXPECT_TRUE(sock.set_type_of_service(7));
	EXPECT_EQ(sock.type_of_service().value(), 0); /* as TCP has it */
	EXPECT_FALSE(sock.recverr().value());
	EXPECT_TRUE(sock.set_recverr(true));
	EXPECT_TRUE(sock.recverr().value());
	EXPECT_EQ(sock.send_timeout().value(), std::nullopt);
	EXPECT_TRUE(sock.set_send_timeout(1500ms));
	EXPECT_EQ(sock.send_timeout().value(), 1500ms);
	EXPECT_EQ(rds::Socket::bound(at("127.0.0.1"))->transport().value(), rds::Transport::loop);
	EXPECT_EQ(rds::Socket::bound(at("192.0.2.99")).error(), std::errc::address_not_available);
	EXPECT_EQ(rds::Socket::bound({}).error(), std::errc::invalid_argument);
}

TEST_F(Kernel, Latency)
{
	ASSERT_TRUE(second.trace_latency(std::array{rds::Stage::queued}));
	ASSERT_TRUE(first.send(bytes("x"), name));
	const auto got = second.receive(room).value();
	ASSERT_TRUE(got.message->latency);
	EXPECT_EQ(got.message->latency->count, 1u);
	EXPECT_EQ(got.message->latency->spent[0].stage, rds::Stage::queued);
	ASSERT_TRUE(second.trace_latency({}));
	ASSERT_TRUE(first.send(bytes("x"), name));
	EXPECT_FALSE(second.receive(room)->message->latency);
}

TEST_F(Kernel, TakenBack)
{
	const auto nowhere = at("10.9.0.77", 4000);

	ASSERT_TRUE(first.set_send_queue(small_queue));
	for (const bool all : {false, true}) {
		rds::Status sent;
		while ((sent = first.send(block, nowhere, {.dont_wait = true})))
			;
		EXPECT_TRUE(rds::would_wait(sent.error()));
		ASSERT_TRUE(all ? first.cancel_all() : first.cancel(nowhere));
		ASSERT_TRUE(first.send(bytes("x"), name, {.dont_wait = true}));
		EXPECT_EQ(next(second), "x");
	}
}

TEST_F(Kernel, CongestionIsTold)
{
	for (const bool all : {true, false}) {
		use(own);
		ASSERT_TRUE(all ? first.monitor_congestion()
				: first.monitor_ports({&name.port, 1}));
		for (int count = fill(); count > 0; count--)
			ASSERT_TRUE(second.receive(room)->message);
		const auto got = first.receive(room);
		ASSERT_TRUE(got && !got->message);
		EXPECT_TRUE(got->events().congestion_ended(name.port));
		ASSERT_TRUE(first.send(bytes("x"), name));
	}
}

TEST_F(Kernel, CongestionThatNobodyEnds)
{
	fill();
	ASSERT_TRUE(first.set_send_timeout(200ms));
	EXPECT_EQ(first.send(block, name).error(), std::errc::timed_out);
	ASSERT_TRUE(first.set_receive_timeout(200ms));
	EXPECT_EQ(first.receive(room).error(), std::errc::timed_out);
	ASSERT_TRUE(first.set_nonblocking(true));
	EXPECT_TRUE(rds::is_congested(first.send(block, name).error()));
}

} // namespace

int main(int argc, char **argv)
{
	testing::InitGoogleTest(&argc, argv);
	if (argc != 3) {
		std::fprintf(stderr, "usage: rds_cxx ADDRESS ADDRESS6\n");
		return 2;
	}
	own = argv[1];
	own6 = argv[2];
	return RUN_ALL_TESTS();
}
