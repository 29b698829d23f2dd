// SPDX-License-Identifier: GPL-2.0
/* A socket's calls as the kernel sees them, and its answers as the caller does. */
#include "made_up_kernel.h"

#include <gtest/gtest.h>

namespace
{

using made_up::bytes;
using made_up::control;
using made_up::kernel;
using made_up::raw;
using made_up::text;

constexpr const char *peer_text = "192.0.2.2:4000";
const rds::Endpoint peer = *rds::Endpoint::parse(peer_text);

struct Sockets : testing::Test {
	Sockets()
	{
		kernel = {};
		sock = *rds::Socket::open();
	}

	/* Lengths as they come with a batch. */
	template <class... Length>
	static std::string lengths(Length... of)
	{
		return control(RDS_CMSG_RECV_BATCH, raw(static_cast<std::uint32_t>(of)...));
	}
	static std::string ended(std::uint64_t mask)
	{
		return control(RDS_CMSG_CONG_UPDATE, raw(mask));
	}

	rds::Socket sock;
	std::array<std::byte, 16> room = {};
};

// ---- the descriptor ----

TEST_F(Sockets, CloseOnce)
{
	const int fd = sock.fd();
	{
		rds::Socket second = std::move(sock);
		EXPECT_EQ(second.fd(), fd);
		EXPECT_FALSE(sock.is_open());
		rds::Socket third;
		third = std::move(second);
		rds::Socket &same = third;
		third = std::move(same);
		EXPECT_EQ(third.fd(), fd);
		EXPECT_TRUE(kernel.closed.empty());
	}
	EXPECT_EQ(kernel.closed, std::vector{fd});
	sock.close();
	sock = *rds::Socket::open();
	sock.close();
	sock.close();
	EXPECT_EQ(kernel.closed, kernel.opened);
}

TEST_F(Sockets, AssignedOverIsClosed)
{
	sock = *rds::Socket::open();
	EXPECT_EQ(kernel.closed, std::vector{kernel.opened[0]});
	const int fd = sock.release();
	EXPECT_EQ(sock.fd(), -1);
	sock = rds::Socket();
	EXPECT_EQ(kernel.closed.size(), 1u);
	sock = rds::Socket::adopt(fd);
	sock = rds::Socket();
	EXPECT_EQ(kernel.closed, kernel.opened);
}

TEST_F(Sockets, FailuresCloseWhatWasOpened)
{
	kernel.bind_error = EADDRINUSE;
	EXPECT_EQ(rds::Socket::bound(peer).error(), std::errc::address_in_use);
	kernel.refused = {SO_RDS_TRANSPORT};
	EXPECT_EQ(rds::Socket::bound(peer, rds::Transport::ib).error(),
		  std::errc::no_protocol_option);
	EXPECT_EQ(kernel.opened.size(), 3u);
	EXPECT_EQ(kernel.closed.size(), 2u);
	kernel.open_error = EAFNOSUPPORT;
	EXPECT_EQ(rds::Socket::bound(peer).error(), std::errc::address_family_not_supported);
	EXPECT_EQ(rds::Socket::open().error(), std::errc::address_family_not_supported);
}

TEST_F(Sockets, Bound)
{
	const auto made = rds::Socket::bound(peer, rds::Transport::tcp);
	ASSERT_TRUE(made);
	EXPECT_EQ(kernel.bound, peer_text);
	EXPECT_EQ(kernel.options[SO_RDS_TRANSPORT], raw(2));
}

TEST_F(Sockets, DuplicatesAndNames)
{
	/* Of the real kernel: UDP has names, too. */
	auto udp = rds::Socket::adopt(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
	ASSERT_TRUE(udp.bind(*rds::Endpoint::parse("127.0.0.1:0")));
	EXPECT_EQ(udp.peer().error(), std::errc::not_connected);
	ASSERT_TRUE(udp.connect(*udp.local()));
	EXPECT_EQ(*udp.peer(), *udp.local());
	EXPECT_NE(udp.local()->port, 0);
	auto again = udp.duplicate();
	ASSERT_TRUE(again);
	EXPECT_EQ(::fcntl(again->fd(), F_GETFD), FD_CLOEXEC);
	const int fd = udp.fd();
	udp.close();
	EXPECT_EQ(::fcntl(fd, F_GETFD), -1);
	ASSERT_TRUE(again->send(bytes("hello")));
	const auto got = again->receive(room);
	EXPECT_EQ(text(got->message->data), "hello");
	EXPECT_EQ(got->message->sender, *again->local());
	for (auto made : {rds::Socket().duplicate().error(), rds::Socket().local().error()})
		EXPECT_EQ(made, std::errc::bad_file_descriptor);
}

// ---- sending ----

TEST_F(Sockets, Send)
{
	EXPECT_TRUE(sock.send(bytes("hello"), peer));
	EXPECT_TRUE(sock.send({}, peer, {.order = rds::Order::unordered, .dont_wait = true}));
	EXPECT_TRUE(sock.send(bytes("x"), {.more = true}));
	ASSERT_EQ(kernel.sent.size(), 3u);
	EXPECT_EQ(kernel.sent[0].data, "hello");
	EXPECT_EQ(kernel.sent[0].to, peer_text);
	EXPECT_EQ(kernel.sent[0].flags, 0);
	EXPECT_EQ(kernel.sent[0].control, "");
	EXPECT_EQ(kernel.sent[1].data, "");
	EXPECT_EQ(kernel.sent[1].flags, MSG_DONTWAIT);
	EXPECT_EQ(kernel.sent[1].control, control(RDS_CMSG_ORDER, raw(2)));
	EXPECT_EQ(kernel.sent[2].to, "");
	EXPECT_EQ(kernel.sent[2].flags, MSG_MORE);
}

TEST_F(Sockets, SendFails)
{
	kernel.takes = {-ENOBUFS, -EAGAIN};
	EXPECT_TRUE(rds::is_congested(sock.send(bytes("x"), peer).error()));
	EXPECT_TRUE(rds::would_wait(sock.send(bytes("x"), peer).error()));
	EXPECT_EQ(sock.send(bytes("x"), rds::Endpoint()).error(), std::errc::invalid_argument);
	EXPECT_EQ(sock.cancel(rds::Endpoint()).error(), std::errc::invalid_argument);
	EXPECT_EQ(kernel.sent.size(), 2u);
	EXPECT_TRUE(kernel.set.empty());
}

TEST_F(Sockets, SignalsEndAWaitWhereThatIsWanted)
{
	kernel.takes = {-EINTR, -EINTR, 1};
	EXPECT_TRUE(sock.send(bytes("x"), peer));
	EXPECT_EQ(kernel.sent.size(), 3u);
	kernel.answers = {{"", "", "", EINTR}, {"hello", peer_text, ""}};
	const auto got = sock.receive(room);
	ASSERT_TRUE(got && got->message);
	EXPECT_EQ(text(got->message->data), "hello");
	EXPECT_EQ(kernel.receive_flags.size(), 2u);
	kernel.ask_error = EINTR;
	EXPECT_TRUE(sock.unread());

	sock.set_interruptible(true);
	kernel.takes = {-EINTR};
	EXPECT_EQ(sock.send(bytes("x"), peer).error(), std::errc::interrupted);
	kernel.answers = {{"", "", "", EINTR}};
	EXPECT_EQ(sock.receive(room).error(), std::errc::interrupted);
	kernel.ask_error = EINTR;
	EXPECT_EQ(sock.unread().error(), std::errc::interrupted);
	rds::Socket moved = std::move(sock);
	kernel.answers = {{"", "", "", EINTR}};
	EXPECT_EQ(moved.receive(room).error(), std::errc::interrupted);
}

TEST_F(Sockets, SendManyInOneCall)
{
	const std::array some = {bytes("a"), bytes("bcd"), bytes("ef")};

	EXPECT_EQ(sock.send_many(some, peer, {.order = rds::Order::half}).value(), 3u);
	ASSERT_EQ(kernel.sent.size(), 1u);
	EXPECT_EQ(kernel.sent[0].data, "abcdef");
	EXPECT_EQ(kernel.sent[0].to, peer_text);
	EXPECT_EQ(kernel.sent[0].control,
		  control(RDS_CMSG_SEGMENT, raw(1, 3, 2)) + control(RDS_CMSG_ORDER, raw(1)));
	EXPECT_EQ(sock.send_many({}, peer).value(), 0u);
	EXPECT_EQ(sock.send_many(std::array{bytes("a"), bytes("")}, peer).error(),
		  std::errc::invalid_argument);
	EXPECT_EQ(sock.send_many(some, {}).error(), std::errc::invalid_argument);
	EXPECT_EQ(kernel.sent.size(), 1u);
	EXPECT_EQ(sock.send_many(std::span(some).first(1), peer).value(), 1u);
	EXPECT_EQ(kernel.sent[1].control, "");
}

TEST_F(Sockets, SendManyTellsHowManyFoundRoom)
{
	const std::array some = {bytes("a"), bytes("bcd"), bytes("ef")};

	kernel.takes = {4};
	EXPECT_EQ(sock.send_many(some, peer).value(), 2u);
	kernel.takes = {-ENOBUFS};
	EXPECT_TRUE(rds::is_congested(sock.send_many(some, peer).error()));
	EXPECT_EQ(kernel.sent.size(), 2u);
	/* One a call, and the second one has no room. */
	kernel.refused = {RDS_RECV_BATCH};
	rds::Socket old = *rds::Socket::open();
	kernel.takes = {1, -EAGAIN};
	EXPECT_EQ(old.send_many(some, peer).value(), 1u);
	EXPECT_EQ(old.send_many(some, peer).value(), 3u);
	EXPECT_EQ(kernel.sent.size(), 2u + 2 + 3);
	EXPECT_EQ(kernel.sent.back().control, "");
	old.close();
	EXPECT_EQ(rds::Socket().send_many(some, peer).error(), std::errc::bad_file_descriptor);
}

TEST_F(Sockets, SendManyKeepsToWhatACallTakes)
{
	const std::string half(rds::max_message / 2, 'h'), large(rds::max_message + 1, 'l');
	std::vector<std::span<const std::byte>> messages(600, bytes("x"));

	EXPECT_EQ(sock.send_many(messages, peer).value(), 600u);
	EXPECT_EQ(kernel.sent.size(), 3u);
	messages = {bytes(half), bytes(half), bytes("x"), bytes(large), bytes("y")};
	EXPECT_EQ(sock.send_many(messages, peer).value(), 5u);
	std::vector<std::size_t> sizes;
	for (const auto &one : kernel.sent)
		sizes.push_back(one.data.size());
	EXPECT_EQ(sizes,
		  (std::vector<std::size_t>{256, 256, 88, rds::max_message, 1, large.size(), 1}));
}

TEST_F(Sockets, Cancel)
{
	EXPECT_TRUE(sock.cancel(peer));
	EXPECT_EQ(kernel.options[RDS_CANCEL_SENT_TO].size(), sizeof(sockaddr_in));
	EXPECT_TRUE(sock.cancel(*rds::Endpoint::parse("[::1]:7")));
	EXPECT_EQ(kernel.options[RDS_CANCEL_SENT_TO].size(), sizeof(sockaddr_in6));
	EXPECT_TRUE(sock.cancel_all());
	EXPECT_EQ(kernel.options[RDS_CANCEL_SENT_TO].size(), 0u);
}

// ---- receiving ----

TEST_F(Sockets, ReceiveMessagesAndNotices)
{
	kernel.answers = {
		{"hello", peer_text, ""},
		{"", "[fe80::1%1]:7", ""},
		{"", "", ended(3)},
		{"x", peer_text, control(RDS_CMSG_RDMA_DEST, raw(std::uint64_t{9})) + ended(4)}};
	auto got = sock.receive(room);
	ASSERT_TRUE(got && got->message);
	EXPECT_EQ(text(got->message->data), "hello");
	EXPECT_EQ(got->message->data.data(), room.data());
	EXPECT_EQ(got->message->length, 5u);
	EXPECT_EQ(got->message->sender, peer);
	EXPECT_FALSE(got->message->truncated || got->events_lost);
	EXPECT_TRUE(got->events().empty());
	got = sock.receive(room);
	EXPECT_EQ(got->message->data.size(), 0u);
	EXPECT_EQ(got->message->sender.address.scope(), 1u);
	got = sock.receive(room);
	EXPECT_FALSE(got->message);
	EXPECT_EQ(std::get<rds::CongestionEnded>(*got->events().begin()).mask, 3u);
	got = sock.receive(room);
	EXPECT_EQ(got->message->rdma_cookie, 9u);
	EXPECT_TRUE(got->events().congestion_ended(2));
	got = sock.receive(room, {.dont_wait = true});
	EXPECT_TRUE(rds::would_wait(got.error()));
	EXPECT_EQ(kernel.receive_flags, (std::vector<int>{0, 0, 0, 0, MSG_DONTWAIT}));
	EXPECT_TRUE(kernel.set.empty());
}

TEST_F(Sockets, AMessageThatIsTooLongIsCut)
{
	const std::string data(room.size() + 4, 'x');

	kernel.answers = {{data, peer_text, ""}, {data, peer_text, ""}};
	auto got = sock.receive(room, {.peek = true});
	EXPECT_TRUE(got->message->truncated);
	EXPECT_EQ(got->message->data.size(), room.size());
	EXPECT_EQ(got->message->length, room.size());
	/* The kernel says more than there is in the room. */
	got = sock.receive(room, {.whole_length = true});
	EXPECT_TRUE(got->message->truncated);
	EXPECT_EQ(got->message->data.size(), room.size());
	EXPECT_EQ(got->message->length, data.size());
	got = sock.receive({}, {.peek = true, .whole_length = true});
	EXPECT_EQ(got->message->data.size(), 0u);
	EXPECT_EQ(got->message->length, data.size());
	EXPECT_EQ(kernel.receive_flags,
		  (std::vector<int>{MSG_PEEK, MSG_TRUNC, MSG_PEEK | MSG_TRUNC}));
}

TEST_F(Sockets, MoreEventsThanThereIsRoomFor)
{
	std::string said;
	for (std::size_t i = 0; i < rds::detail::control_room / CMSG_SPACE(8) + 1; i++)
		said += ended(1);
	kernel.answers = {{"", "", said}};
	const auto got = sock.receive(room);
	EXPECT_TRUE(got->events_lost);
	EXPECT_EQ(std::ranges::distance(got->events()),
		  static_cast<std::ptrdiff_t>(rds::detail::control_room / CMSG_SPACE(8)));
}

TEST_F(Sockets, Unread)
{
	const auto answer = [](std::uint32_t messages, std::uint32_t span) {
		return std::string(128, '\0') + raw(3u, messages, span, 0u);
	};
	kernel.options[RDS_RECV_QUERY] = answer(7, 9);
	EXPECT_EQ(sock.unread().value(), (rds::Unread{7, 9}));
	EXPECT_EQ(kernel.asked, answer(0, 0));
	kernel.options[RDS_RECV_QUERY] = answer(7, RDS_RECV_QUERY_UNKNOWN);
	EXPECT_EQ(sock.unread(peer).value(), (rds::Unread{7, std::nullopt}));
	sockaddr_storage name;
	(void)peer.to_sockaddr(name);
	EXPECT_EQ(kernel.asked, raw(name) + raw(3u, 0u, 0u, 0u));
	EXPECT_EQ(sock.unread(rds::Endpoint()).error(), std::errc::invalid_argument);
	kernel.refused = {RDS_RECV_QUERY};
	EXPECT_EQ(sock.unread().error(), std::errc::no_protocol_option);
}

// ---- batches ----

TEST_F(Sockets, ABatchIsCutByItsLengths)
{
	auto batch = *rds::Batch::make(4, 64);

	kernel.answers = {{"abcdef", peer_text, lengths(1, 0, 5)},
			  {"abc", peer_text, lengths(3)},
			  {"abc", peer_text, ""},
			  {"", "", ended(5)}};
	auto got = sock.receive_many(batch);
	ASSERT_TRUE(got);
	ASSERT_EQ(got->size(), 3u);
	EXPECT_EQ(text((*got)[0].data) + "|" + text((*got)[1].data) + "|" + text((*got)[2].data),
		  "a||bcdef");
	for (const rds::Message &one : *got)
		EXPECT_TRUE(one.sender == peer && !one.truncated && one.length == one.data.size());
	for (int i = 0; i < 2; i++) {
		got = sock.receive_many(batch);
		ASSERT_EQ(got->size(), 1u);
		EXPECT_EQ(text((*got)[0].data), "abc");
	}
	got = sock.receive_many(batch);
	EXPECT_EQ(got->size(), 0u);
	EXPECT_TRUE(batch.events().congestion_ended(2));
	/* One that fails leaves nothing of the last one. */
	EXPECT_TRUE(rds::would_wait(sock.receive_many(batch).error()));
	EXPECT_TRUE(batch.messages().empty() && batch.events().empty());
	EXPECT_EQ(kernel.options[RDS_RECV_BATCH], raw(4));
	EXPECT_EQ(kernel.set.size(), 1u);
}

TEST_F(Sockets, ABatchTellsOfEachMessage)
{
	auto batch = *rds::Batch::make(2, 64);
	const auto spent = [](std::uint64_t time) {
		return control(RDS_CMSG_RXPATH_LATENCY, raw(2u << 8 | 1, 0u, time, time, time));
	};

	kernel.answers = {{"ab", peer_text,
			   control(RDS_CMSG_RDMA_DEST, raw(std::uint64_t{7})) + spent(5) +
				   spent(6) + lengths(1, 1)}};
	const auto got = sock.receive_many(batch).value();
	ASSERT_EQ(got.size(), 2u);
	EXPECT_EQ(got[0].latency->spent[0].time.count(), 5);
	EXPECT_EQ(got[1].latency->spent[0].time.count(), 6);
	EXPECT_EQ(got[1].latency->spent[0].stage, rds::Stage::queued);
	EXPECT_EQ(got[0].rdma_cookie, 7u);
	EXPECT_FALSE(got[1].rdma_cookie);
}

TEST_F(Sockets, LengthsThatMakeNoSenseReachNoOtherMemory)
{
	auto batch = *rds::Batch::make(2, 8);

	kernel.answers = {{"abcd", peer_text, lengths(3, 9)},
			  {"abcd", peer_text, lengths(1, 1, 1, 1)},
			  {"0123456789", peer_text, lengths(10)}};
	auto got = sock.receive_many(batch).value();
	EXPECT_EQ(text(got[1].data), "d");
	EXPECT_EQ(sock.receive_many(batch)->size(), 2u);
	got = sock.receive_many(batch, {.whole_length = true}).value();
	EXPECT_EQ(text(got[0].data), "01234567");
	EXPECT_TRUE(got[0].truncated);
	EXPECT_EQ(got[0].length, 10u);
}

TEST_F(Sockets, TheSettingOfBatchesIsTakenBackForASingleMessage)
{
	auto two = *rds::Batch::make(2, 8), four = *rds::Batch::make(4, 8);

	kernel.answers.assign(8, {"x", peer_text, ""});
	for (auto *batch : {&two, &two, &four})
		EXPECT_TRUE(sock.receive_many(*batch));
	EXPECT_TRUE(sock.receive(room) && sock.receive(room));
	EXPECT_EQ(kernel.set.size(), 3u);
	EXPECT_EQ(kernel.options[RDS_RECV_BATCH], raw(0));
	EXPECT_TRUE(sock.receive_many(two));
	rds::Socket moved = std::move(sock);
	EXPECT_TRUE(moved.receive(room));
	EXPECT_EQ(kernel.set.size(), 5u);
}

TEST_F(Sockets, DuplicatesShareTheSettingOfBatches)
{
	auto batch = *rds::Batch::make(4, 8);
	const auto set = [] { return kernel.options[RDS_RECV_BATCH]; };

	kernel.answers.assign(8, {"x", peer_text, ""});
	ASSERT_TRUE(sock.receive_many(batch));
	rds::Socket again = *sock.duplicate();
	EXPECT_TRUE(again.receive(room));
	EXPECT_EQ(set(), raw(0));
	EXPECT_TRUE(sock.receive_many(batch));
	EXPECT_EQ(set(), raw(4));
	EXPECT_TRUE(again.receive(room));
	EXPECT_EQ(set(), raw(0));
	/* One of one that was moved, and the others while it is there. */
	rds::Socket moved = std::move(again), third = *moved.duplicate();
	EXPECT_TRUE(moved.receive_many(batch));
	EXPECT_TRUE(third.receive(room));
	EXPECT_EQ(set(), raw(0));
	EXPECT_TRUE(moved.receive_many(batch));
	EXPECT_EQ(set(), raw(4));
	kernel.set_error = EINTR;
	EXPECT_TRUE(sock.receive(room));
	EXPECT_EQ(set(), raw(0));
}

TEST_F(Sockets, DuplicatesWithoutBatches)
{
	kernel.refused = {RDS_RECV_BATCH};
	kernel.answers.assign(2, {"x", peer_text, ""});
	rds::Socket again = *sock.duplicate();
	EXPECT_TRUE(again.receive(room) && sock.receive(room));
	EXPECT_TRUE(kernel.set.empty());
}

TEST_F(Sockets, ModulesWithoutBatchesGiveOne)
{
	auto batch = *rds::Batch::make(2, 8);

	kernel.refused = {RDS_RECV_BATCH};
	kernel.answers.assign(2, {"x", peer_text, ""});
	EXPECT_FALSE(sock.knows_batches().value());
	EXPECT_EQ(text(sock.receive_many(batch).value()[0].data), "x");
	EXPECT_EQ(sock.receive_many(batch)->size(), 1u);
	EXPECT_TRUE(kernel.set.empty());
}

TEST_F(Sockets, RoomForABatch)
{
	for (const auto &[messages, bytes] :
	     {std::pair<std::size_t, std::size_t>{0, 1}, {1025, 1}, {1, 0}})
		EXPECT_EQ(rds::Batch::make(messages, bytes).error(), std::errc::invalid_argument);
	auto first = *rds::Batch::make(1024, 8);
	kernel.answers.assign(2, {"x", peer_text, ""});
	ASSERT_TRUE(sock.receive_many(first));
	const rds::Batch second = std::move(first);
	EXPECT_EQ(second.messages().size(), 1u);
	EXPECT_EQ(first.messages().size(), 0u);
	EXPECT_TRUE(first.events().empty());
	EXPECT_EQ(sock.receive_many(first).error(), std::errc::invalid_argument);
}

// ---- what is promised of types ----

static_assert(std::is_nothrow_move_constructible_v<rds::Socket> &&
	      std::is_nothrow_move_assignable_v<rds::Socket> &&
	      !std::is_copy_constructible_v<rds::Socket>);
static_assert(std::is_nothrow_move_constructible_v<rds::Batch> &&
	      !std::is_copy_constructible_v<rds::Batch>);
static_assert(std::input_iterator<rds::Events::Iterator> && std::ranges::input_range<rds::Events>);
static_assert(noexcept(std::declval<rds::Socket &>().send({}, rds::Endpoint())) &&noexcept(
	std::declval<rds::Socket &>().receive({})));

} // namespace
