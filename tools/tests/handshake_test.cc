// SPDX-License-Identifier: GPL-2.0
#include <gtest/gtest.h>

#include "../stress/handshake.h"
#include "../stress/message.h"
#include "ends.h"

using namespace rdstools;

namespace
{

constexpr std::uint64_t second = 1000000000;

Json hello(const Json &more = Json::object())
{
	Json message = {{"type", "hello"},
			{"tool", "rds-stress"},
			{"protocol", protocol},
			{"version", "0.9"}};

	message.update(more);
	return message;
}

} // namespace

TEST(Handshake, tells_whether_requests_are_served)
{
	for (unsigned serves : {0u, 1u, 7u}) {
		Both ends;

		ends.far.send(serves ? hello({{"serves", serves}}) : hello());
		const Greeting greeting = greet(ends.near, serves_version);
		EXPECT_EQ(greeting.serves, serves);
		EXPECT_EQ(greeting.version, "0.9");
		EXPECT_EQ(ends.far.receive(second).at("serves"), serves_version);
	}
	Both ends;

	/* One that serves nothing says what releases before this said. */
	ends.far.send(hello());
	greet(ends.near);
	EXPECT_FALSE(ends.far.receive(second).contains("serves"));
}

TEST(Handshake, refuses_other_tools_protocols_and_nonsense)
{
	for (const Json &bad :
	     {hello({{"tool", "rds-strass"}}), hello({{"protocol", protocol + 1}}),
	      hello({{"protocol", "2"}}), hello({{"tool", 7}}), hello({{"type", 7}}),
	      hello({{"type", "setup"}}), Json::object()}) {
		Both ends;

		ends.far.send(bad);
		EXPECT_THROW(greet(ends.near), PeerError) << bad.dump();
	}
}

TEST(Handshake, passes_on_why_the_other_end_gives_up)
{
	Both ends;

	ends.far.send({{"type", "abort"}, {"text", "no\033[2J"}, {"status", 2}});
	try {
		next_message(ends.near);
		FAIL();
	} catch (const PeerError &) {
		FAIL() << "the environment is to blame, not the peer";
	} catch (const Error &error) {
		EXPECT_STREQ(error.what(), "the other side gave up: no?[2J");
	}
	ends.far.send({{"type", "abort"}, {"text", 7}, {"status", "2"}});
	EXPECT_THROW(next_message(ends.near), PeerError);
}

TEST(Handshake, takes_members_for_what_they_are)
{
	const Json message = {{"word", "a\nb"},
			      {"long", std::string(5000, 'x')},
			      {"number", 7},
			      {"minus", -1},
			      {"huge", 1e30}};

	EXPECT_EQ(word_of(message, "word"), "a?b");
	EXPECT_EQ(word_of(message, "long").size(), 1000u);
	EXPECT_EQ(word_of(message, "number"), "");
	EXPECT_EQ(word_of(message, "none"), "");
	EXPECT_EQ(number_of(message, "number", 7), 7u);
	EXPECT_FALSE(number_of(message, "number", 6));
	EXPECT_FALSE(number_of(message, "minus", 7));
	EXPECT_FALSE(number_of(message, "huge", 7));
	EXPECT_FALSE(number_of(message, "word", 7));
	EXPECT_FALSE(number_of(message, "none", 7));
	EXPECT_EQ(number_of(Json::parse("{\"a\":7}"), "a", 7), 7u);
}
