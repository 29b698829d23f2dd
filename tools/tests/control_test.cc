// SPDX-License-Identifier: GPL-2.0
#include <sys/socket.h>

#include <gtest/gtest.h>

#include "../stress/control.h"

using namespace rdstools;

namespace
{

/* A Control on one end of a socket pair, the bare socket on the other. */
struct Wire {
	UniqueFd far;
	std::optional<Control> control;

	Wire()
	{
		int fds[2];
		if (::socketpair(AF_UNIX, SOCK_STREAM, 0, fds) != 0)
			throw std::runtime_error("socketpair");
		far = UniqueFd(fds[0]);
		control.emplace(UniqueFd(fds[1]));
	}
	void push(const std::string &bytes)
	{
		ASSERT_EQ(::send(far.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL),
			  static_cast<ssize_t>(bytes.size()));
	}
};

std::string frame(const std::string &body)
{
	std::string bytes = "RDSS";

	for (int shift : {24, 16, 8, 0})
		bytes += static_cast<char>(body.size() >> shift);
	return bytes + body;
}

} // namespace

TEST(Control, carries_objects_both_ways)
{
	Wire wire;
	Control other(std::move(wire.far));

	wire.control->send({{"type", "tick"}});
	other.send({{"type", "drain"}});
	EXPECT_EQ(other.receive(1000000000).at("type"), "tick");
	EXPECT_EQ(wire.control->receive(1000000000).at("type"), "drain");
	EXPECT_FALSE(wire.control->try_receive());
}

TEST(Control, puts_pieces_together)
{
	Wire wire;
	std::string bytes = frame("{\"a\":1}") + frame("{\"a\":2}");

	for (std::size_t i = 0; i + 1 < bytes.size(); i++) {
		wire.push(bytes.substr(i, 1));
		auto message = wire.control->try_receive();
		EXPECT_EQ(message.has_value(), i + 1 == bytes.size() / 2) << i;
	}
	wire.push(bytes.substr(bytes.size() - 1));
	EXPECT_EQ(wire.control->try_receive()->at("a"), 2);
}

TEST(Control, tells_a_stranger_by_the_first_byte)
{
	Wire wire;

	wire.push("G");
	EXPECT_THROW(wire.control->try_receive(), PeerError);
}

TEST(Control, refuses_nonsense)
{
	for (const std::string &bytes : {frame("not json"), frame("[1]"), frame("7"),
					 std::string("RDSS\xff\xff\xff\xff", 8)}) {
		Wire wire;
		wire.push(bytes);
		EXPECT_THROW(wire.control->try_receive(), PeerError) << bytes;
	}
}

TEST(Control, notices_the_end)
{
	Wire wire;

	wire.push(frame("{}"));
	wire.far.reset();
	EXPECT_TRUE(wire.control->try_receive());
	EXPECT_THROW(wire.control->try_receive(), PeerError);
	EXPECT_THROW(wire.control->send(Json::object()), PeerError);
}

TEST(Control, does_not_wait_for_ever)
{
	Wire wire;

	EXPECT_THROW(wire.control->receive(1000000), PeerError);
}
