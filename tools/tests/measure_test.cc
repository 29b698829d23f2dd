// SPDX-License-Identifier: GPL-2.0
#include <gtest/gtest.h>

#include "../lib/cli.h"
#include "../stress/measure.h"
#include "ends.h"

using namespace rdstools;

namespace
{

constexpr std::uint64_t second = 1000000000;

MeasureRequest some_request()
{
	MeasureRequest request;

	request.plan.one_sided = true;
	request.plan.depth = 9;
	request.to = parse_address("10.9.0.2");
	request.duration_ns = 3 * second;
	return request;
}

Measured await(Both &both)
{
	return await_measured(both.near, second, [] {});
}

} // namespace

TEST(MeasureRequest, comes_over_as_it_was)
{
	const MeasureRequest back = MeasureRequest::from_json(some_request().json());

	EXPECT_EQ(back.plan.json(), some_request().plan.json());
	EXPECT_TRUE(back.plan.one_sided);
	EXPECT_TRUE(back.to.same_host(some_request().to));
	EXPECT_EQ(back.duration_ns, 3 * second);
}

TEST(MeasureRequest, tells_no_scope_of_this_host)
{
	MeasureRequest request = some_request();

	request.to = parse_address("fe80::1%lo");
	EXPECT_EQ(request.json().at("to"), "fe80::1");
}

TEST(MeasureRequest, refuses_what_is_malformed)
{
	const Json bad[] = {
		{{"plan", 7}},
		{{"plan", Json::array()}},
		{{"to", 7}},
		{{"to", ""}},
		/* No name is looked up on the word of a caller. */
		{{"to", "localhost"}},
		{{"to", "not.an.address"}},
		{{"to", "10.9.0.2:22"}},
		{{"to", std::string(100000, '1')}},
		{{"seconds", "3"}},
		{{"seconds", 0}},
		{{"seconds", -1}},
		{{"seconds", 3601}},
		{{"seconds", 1e300}},
		{{"seconds", nullptr}},
	};

	for (const Json &change : bad) {
		Json request = some_request().json();

		request.update(change);
		EXPECT_THROW(MeasureRequest::from_json(request), Error)
			<< change.dump().substr(0, 100);
	}
	for (const char *member : {"plan", "to", "seconds"}) {
		Json request = some_request().json();

		request.erase(member);
		EXPECT_THROW(MeasureRequest::from_json(request), Error) << member;
	}
	Json request = some_request().json();

	request["plan"]["tasks"] = 100000;
	EXPECT_THROW(MeasureRequest::from_json(request), Error);
}

TEST(Measured, comes_over_as_it_was)
{
	const Measured measured = {1, "lost", Json({{"type", "result"}})};
	const Measured back = Measured::from_json(measured.json());

	EXPECT_EQ(back.status, 1);
	EXPECT_EQ(back.reason, "lost");
	EXPECT_EQ(back.result, measured.result);
}

TEST(Measured, refuses_nonsense)
{
	for (const Json &bad :
	     {Json::object(), Json({{"status", 0}}), Json({{"status", 0}, {"result", 7}}),
	      Json({{"status", 4}}), Json({{"status", -1}}), Json({{"status", "0"}}),
	      Json({{"status", 1e18}})})
		EXPECT_THROW(Measured::from_json(bad), PeerError) << bad.dump();
	EXPECT_EQ(Measured::from_json({{"status", 3}, {"reason", 7}}).reason, "");
}

TEST(MustServe, tells_an_old_one_and_one_that_was_started_otherwise)
{
	EXPECT_THROW(must_serve({"0.9", 0}), PeerError);
	EXPECT_NO_THROW(must_serve({"1.0", serves_version}));
	/* Later ones know the older requests as well. */
	EXPECT_NO_THROW(must_serve({"9.0", serves_version + 1}));
	try {
		must_serve({"0.9", 0});
	} catch (const PeerError &error) {
		EXPECT_NE(std::string(error.what()).find("--serve there (this one is version 0.9)"),
			  std::string::npos)
			<< error.what();
	}
}

TEST(AwaitMeasured, waits_over_ticks)
{
	Both both;
	int said = 0;

	both.far.send({{"type", "tick"}});
	EXPECT_THROW(await_measured(both.near, second,
				    [&] {
					    if (++said == 1)
						    both.far.send({{"type", "tick"}});
					    else
						    both.far.send({{"type", "nonsense"}});
				    }),
		     PeerError);
	EXPECT_EQ(said, 2);
	EXPECT_EQ(both.far.receive(second).at("type"), "tick");
	tell(both.far, "measured", Measured{0, "", Json({{"a", 1}})}.json());
	EXPECT_EQ(await(both).result.at("a"), 1);
}

TEST(AwaitMeasured, notices_the_end_and_frames_that_are_too_long)
{
	Both both;

	::shutdown(both.far.fd(), SHUT_RDWR);
	EXPECT_THROW(await(both), PeerError);

	Both other;
	const char bytes[] = {'R', 'D', 'S', 'S', 0, '\x80', 0, 1};

	ASSERT_EQ(::send(other.far.fd(), bytes, sizeof(bytes), 0), 8);
	EXPECT_THROW(await(other), PeerError);
}

TEST(Asker, is_told_now_and_then_and_heard)
{
	Both both;
	Asker asker(both.near);

	asker.look();
	asker.look();
	EXPECT_EQ(both.far.receive(second).at("type"), "tick");
	EXPECT_FALSE(both.far.try_receive());
	both.far.send({{"type", "tick"}});
	EXPECT_NO_THROW(asker.look());
	both.far.send({{"type", "setup"}});
	EXPECT_THROW(asker.look(), AskerGone);
}

TEST(Asker, that_is_gone_ends_the_test)
{
	Both both;
	Asker asker(both.near);

	::shutdown(both.far.fd(), SHUT_RDWR);
	EXPECT_THROW(asker.look(), AskerGone);
	EXPECT_THROW(asker.answer({}), AskerGone);
}
