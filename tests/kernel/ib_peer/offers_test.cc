// SPDX-License-Identifier: GPL-2.0
/* Private data while connecting: requests, the host's answers and refusals, and its own requests.
 */
#include "over_ib.h"

namespace rdstest
{
namespace
{

/* rdma_cm's word for a refusal that RDS has chosen. */
constexpr int kConsumerDefined = 28;
/* A refusal for the version, from a host of either byte order. */
const std::string kVersionLittle("\1\0\0\0", 4), kVersionBig("\0\0\0\1", 4);

/* A request, and the version that is answered; empty: refused. */
struct Request {
	const char *name;
	Offer offer;
	const char *answer;
	size_t cut = kOfferSizeV6; /* only so many bytes of it are said */
};

const Request kRequests[] = {
	{"three_zero", {.major = 3, .minor = 0, .minors = 1}, ""},
	{"three_zero_of_two", {.major = 3, .minor = 0, .minors = 3}, ""},
	{"three_one", {.major = 3, .minor = 1, .minors = 3}, "3.1"},
	{"three_one_alone", {.major = 3, .minor = 1, .minors = 2}, "3.1"},
	{"four_zero", {.major = 4, .minor = 0, .minors = 1}, "4.0"},
	{"four_one", {.major = 4, .minor = 1, .minors = 3}, "4.1"},
	{"four_one_alone", {.major = 4, .minor = 1, .minors = 2}, "4.1"},
	{"four_of_the_future", {.major = 4, .minor = 9, .minors = 0xffff}, "4.1"},
	{"four_without_ours", {.major = 4, .minor = 2, .minors = 4}, ""},
	{"four_without_any", {.major = 4, .minor = 1, .minors = 0}, ""},
	{"five", {.major = 5, .minor = 0, .minors = 0xffff}, ""},
	{"two", {.major = 2, .minor = 1, .minors = 3}, ""},
	{"all_ones", {.major = 255, .minor = 255, .minors = 0xffff, .tos = 255}, ""},
	{"major_zero", {.major = 0, .minor = 7, .minors = 0xffff}, "4.0"},
	{"nothing", {}, "4.0", 0},
	{"seven_bytes", {}, "4.0", 7},
	{"with_tos", {.tos = 5}, "4.1"},
	{"with_high_ack", {.ack = ~0ull}, "4.1"},
	{"with_all_credits", {.credits = ~0u}, "4.1"},
};

struct Case {
	Request request;
	bool v6;
};

std::vector<Case> allCases()
{
	std::vector<Case> cases;

	for (const bool v6 : {false, true}) {
		for (const Request &request : kRequests)
			cases.push_back({request, v6});
	}
	return cases;
}

class Requests : public OverIb, public ::testing::WithParamInterface<Case>
{
protected:
	Requests() : OverIb(GetParam().v6)
	{
	}
};

INSTANTIATE_TEST_SUITE_P(Of, Requests, ::testing::ValuesIn(allCases()), [](const auto &info) {
	return std::string(info.param.request.name) + (info.param.v6 ? "_v6" : "_v4");
});

TEST_P(Requests, AreAnswered)
{
	const Request &r = GetParam().request;
	const Peer::Answer answer = peer.call(peer.offer(r.offer).substr(0, r.cut));
	const uint64_t refused = !*r.answer;

	ASSERT_EQ(answer.accepted, !refused) << "status " << answer.status;
	EXPECT_EQ(grown("ib_version_refused"), refused);
	EXPECT_EQ(grown("ib_accept_refused"), 0u);
	if (refused) {
		EXPECT_EQ(answer.status, kConsumerDefined);
		EXPECT_EQ(answer.data.substr(0, 4), kVersionLittle) << shown(answer.data);
		return;
	}

	const Offer said = Offer::decode(answer.data, v6);

	EXPECT_EQ(said.version(), r.answer);
	EXPECT_EQ(said.minors & ~3, 0) << "it claims versions that it does not know";
	EXPECT_EQ(said.from, plain(host.address(v6)));
	EXPECT_EQ(said.to, plain(own));
	EXPECT_EQ(said.tos, r.cut < kOfferSizeV4 ? 0 : r.offer.tos);
	EXPECT_EQ(said.ack, 0u);
	EXPECT_EQ(said.credits, 0u) << "nobody told it to count";
	goesOn();
}

/* In whose name a request may not be made. */
struct Name {
	const char *name;
	const char *from, *to; /* nullptr: who it is */
};

class Strangers : public OverIb, public ::testing::WithParamInterface<Name>
{
protected:
	Strangers() : OverIb(std::string(GetParam().name).find("v6") != std::string::npos)
	{
	}
};

INSTANTIATE_TEST_SUITE_P(Of, Strangers,
			 ::testing::Values(Name{"another_host", "10.9.0.3", nullptr},
					   Name{"the_host_itself", "10.9.0.1", nullptr},
					   Name{"to_another_host", nullptr, "10.9.0.3"},
					   Name{"to_oneself", nullptr, "10.9.0.2"},
					   Name{"nobody", "0.0.0.0", nullptr},
					   Name{"a_group", "224.0.0.1", nullptr},
					   Name{"everybody", nullptr, "255.255.255.255"},
					   Name{"another_host_v6", "fd00:9::3", nullptr},
					   Name{"nobody_v6", "::", nullptr},
					   Name{"a_group_v6", "ff02::1", nullptr},
					   Name{"of_v4_v6", "::ffff:10.9.0.2", nullptr},
					   Name{"to_another_host_v6", nullptr, "fd00:9::3"}),
			 [](const auto &info) { return std::string(info.param.name); });

TEST_P(Strangers, AreRefused)
{
	const Name &n = GetParam();
	const Address from = n.from ? Address::parse(n.from) : own;
	const Address to = n.to ? Address::parse(n.to) : host.address(v6);
	const Peer::Answer answer = peer.call(Offer().encode(from, to));

	EXPECT_FALSE(answer.accepted);
	EXPECT_EQ(answer.status, kConsumerDefined);
	EXPECT_NE(answer.data.substr(0, 4), kVersionLittle);
	EXPECT_EQ(grown("ib_accept_refused"), 1u);
	EXPECT_EQ(grown("ib_version_refused"), 0u);
}

class Offers : public OverIb
{
};

/* Padding and what stands behind the offer may be anything. */
TEST_F(Offers, PaddingIsNobodysBusiness)
{
	std::string data = peer.offer();

	for (const size_t at : {13, 14, 15, 28, 29, 30, 31})
		data[at] = '\xff';
	EXPECT_TRUE(peer.call(data + std::string(24, '\xff')).accepted);
	goesOn();
}

/* A connection for each type of service; both carry messages, and one ends without the other. */
TEST_F(Offers, TypesOfServiceAreConnections)
{
	Peer other(own, host.address(v6));

	ASSERT_TRUE(other.call(other.offer({.tos = 3})).accepted);
	EXPECT_EQ(connect({.tos = 0}).tos, 0);
	ASSERT_TRUE(other.send(message(header(), "with TOS 3")));
	reads("with TOS 3");
	goesOn();
	other.hangUp();
	EXPECT_TRUE(grows("conn_reset"));
	deliver("still there");
}

/* A peer that calls again has lost its connection, whatever the host believes. */
TEST_F(Offers, ASecondCallTakesThePlaceOfTheFirst)
{
	Peer again(own, host.address(v6));

	connect();
	goesOn();
	ASSERT_TRUE(insist(again).accepted);
	ASSERT_TRUE(again.send(message(header(), "over the second")));
	reads("over the second");
	EXPECT_TRUE(peer.ended());
	again.hangUp();
}

/* Of RDMA reads and atomics as many as both can and want: 8 of the host's, all of ours that its
 * adapter takes. */
TEST_F(Offers, AreAnsweredWithTheirOwnTerms)
{
	const Peer::Reads says[] = {{5, 3}, {100, 90}}, gets[] = {{5, 3}, {8, 90}};

	for (int i = 0; i < 2; i++) {
		peer.reads = says[i];

		const Peer::Answer answer = insist(peer);

		ASSERT_TRUE(answer.accepted);
		EXPECT_EQ(answer.terms.reads.answered, gets[i].answered);
		EXPECT_EQ(answer.terms.reads.asked, gets[i].asked);
		EXPECT_EQ(answer.terms.rnrRetries, 7u) << "for ever";
		EXPECT_TRUE(answer.terms.flowControl);
		goesOn();
		peer.hangUp();
		EXPECT_TRUE(grows("conn_reset"));
		before = host.counters();
	}
}

/* The host's own call counts for more, as its address is the smaller one; but not for ever.  Taking
 * the other ends it, and what was to be said goes over that.  How soon:
 * Verbs.ConnectsThoughOneHostsCallsAreLost. */
TEST_F(Offers, ACallIsTakenWhileTheHostWaitsForAnAnswer)
{
	Peer caller(own, host.address(v6));

	peer.listen();
	ASSERT_EQ(host.send(own, 1, 100).count, 1u);
	ASSERT_TRUE(peer.called()) << "the host does not call";
	ASSERT_TRUE(insist(caller).accepted);
	EXPECT_TRUE(caller.send(message(header(), "after all")));
	reads("after all");
	EXPECT_TRUE(caller.receive([](const Frame &f) { return f.payload == pattern(0, 100); }));
	caller.hangUp();
}

/* Half-made connections stop nobody. */
TEST_F(Offers, CallersThatVanish)
{
	for (int i = 0; i < 8; i++) {
		Peer gone(own, host.address(v6));

		gone.call(gone.offer());
		gone.hangUp();
	}
}

/* The host may hear of the end before it hears that its answer came. */
TEST_F(Offers, CallersThatGoAtOnce)
{
	for (int i = 0; i < 100; i++) {
		Peer hasty(own, host.address(v6));

		ASSERT_TRUE(insist(hasty).accepted);
		EXPECT_TRUE(hasty.send(message(header(), "goodbye")));
		hasty.hangUp();
	}
	host.fresh();
}

/* ---- the host calls ---- */

class Calls : public OverIb
{
protected:
	explicit Calls(bool v6 = false) : OverIb(v6)
	{
		peer.listen();
	}

	/* The host has something to say, so it calls: its request. */
	Offer request(uint8_t tos = 0)
	{
		if (!sent_++) {
			EXPECT_EQ(host.send(own, 1, 100, tos).count, 1u);
		}

		const auto data = peer.called();

		if (!data)
			throw std::runtime_error("the host does not call");
		return Offer::decode(*data, v6);
	}

	void brings()
	{
		const auto f = nextMessage();

		ASSERT_TRUE(f);
		EXPECT_TRUE(f->payload == pattern(0, 100)) << shown(f->payload);
	}

private:
	const Setting often_{host, "reconnect_max_delay_ms", "1000"};
	int sent_ = 0;
};

class CallsV6 : public Calls
{
protected:
	CallsV6() : Calls(true)
	{
	}
};

TEST_F(Calls, SayWhoTheyAre)
{
	const Offer o = request();

	EXPECT_EQ(o.version(), "4.1");
	EXPECT_EQ(o.minors, 3);
	EXPECT_EQ(o.from, plain(host.address(v6)));
	EXPECT_EQ(o.to, plain(own));
	EXPECT_EQ(o.tos, 0);
	EXPECT_EQ(o.ack, 0u);
	EXPECT_EQ(o.credits, 0u);
	ASSERT_TRUE(peer.accept(peer.offer()));
	brings();
}

TEST_F(Calls, SayHowTheConnectionIsToBe)
{
	request();

	const Peer::Terms terms = peer.terms();

	EXPECT_EQ(terms.reads.answered, 8);
	EXPECT_EQ(terms.reads.asked, 128) << "all that soft-RoCE can";
	EXPECT_EQ(terms.retries, 1u);
	EXPECT_EQ(terms.rnrRetries, 7u) << "for ever";
	EXPECT_TRUE(terms.flowControl);
	ASSERT_TRUE(peer.accept(peer.offer()));
	brings();
}

TEST_F(CallsV6, SayWhoTheyAre)
{
	const Offer o = request();

	EXPECT_EQ(o.version(), "4.1");
	EXPECT_EQ(o.from, plain(host.address(v6)));
	EXPECT_EQ(o.to, plain(own));
	ASSERT_TRUE(peer.accept(peer.offer()));
	brings();
}

TEST_F(Calls, SayTheirTypeOfService)
{
	EXPECT_EQ(request(6).tos, 6);
	ASSERT_TRUE(peer.accept(peer.offer({.tos = 6})));
	brings();
}

/* Refused for the version, it proposes 3.1, then 4.1 again: the peer may have changed its mind. */
TEST_F(Calls, ProposeAnOlderVersion)
{
	const std::string *why[] = {&kVersionLittle, &kVersionBig, &kVersionLittle};
	const char *versions[] = {"4.1", "3.1", "4.1"};

	for (int i = 0; i < 3; i++) {
		EXPECT_EQ(request().version(), versions[i]);
		peer.reject(*why[i]);
		EXPECT_TRUE(grows("ib_version_refused", i + 1));
	}
	EXPECT_EQ(request().version(), "3.1");
	ASSERT_TRUE(peer.accept(peer.offer({.major = 3})));
	brings();
}

/* Refused for anything else, the same is proposed again. */
TEST_F(Calls, AreRepeated)
{
	for (const char *why : {"", "\1\1", "\2", "no"}) {
		EXPECT_EQ(request().version(), "4.1");
		peer.reject(why);
	}
	EXPECT_EQ(request().version(), "4.1");
	ASSERT_TRUE(peer.accept(peer.offer()));
	brings();
	EXPECT_EQ(grown("ib_version_refused"), 0u);
}

/* An answer without private data is one of 4.0's. */
TEST_F(Calls, TakeAnAnswerThatSaysNothing)
{
	request();
	ASSERT_TRUE(peer.accept(""));
	brings();
	goesOn();
}

TEST_F(Calls, TakeAnAnswerOf40)
{
	request();
	ASSERT_TRUE(peer.accept(peer.offer({.minor = 0, .minors = 1})));
	brings();
	goesOn();
}

/* An answer that makes no sense, or is of a version that nobody proposed: it calls again. */
TEST_F(Calls, TakeNoAnswerOfAGroup)
{
	request();
	peer.accept(Offer().encode(Address::parse("224.0.0.1"), host.address(v6)));
	EXPECT_TRUE(peer.ended());
	request();
	ASSERT_TRUE(peer.accept(peer.offer()));
	brings();
}

TEST_F(Calls, TakeNoAnswerOfAnUnknownVersion)
{
	for (const Offer &o :
	     {Offer{.major = 5}, Offer{.major = 3, .minor = 0}, Offer{.major = 4, .minor = 2}}) {
		request();
		peer.accept(peer.offer(o));
		EXPECT_TRUE(peer.ended()) << o.version();
	}
	EXPECT_EQ(grown("ib_version_refused"), 3u);
	request();
	ASSERT_TRUE(peer.accept(peer.offer()));
	brings();
}

} // namespace
} // namespace rdstest
