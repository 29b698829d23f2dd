// SPDX-License-Identifier: GPL-2.0
/* One numbered flow (recv_query.h), at the bounds of what it follows; and who has which. */
#include "fixture.h"
#include "net/rds/hash.h"
#include "net/rds/path/path.h"
#include "net/rds/socket/recv_query.h"

namespace
{

using rds::kOrderWindow;
using rds::RecvFlow;

/* Numbers are wrapping distances: every test begins at several places. */
constexpr uint32_t kStarts[] = {0, 1, 5000, 0x7ffffff0, 0x80000000, 0xfffff000, 0xffffffff};

/* A flow of which all up to @at has arrived. */
class Flow
{
public:
	explicit Flow(uint32_t at)
	{
		f.assign(host::endpoint(host::addr4(1), 5000));
		f.note({at, at});
	}
	void expect_now(uint32_t first, uint32_t contig, uint32_t seen)
	{
		EXPECT_TRUE(f.now.known);
		EXPECT_EQ(f.now.first, first);
		EXPECT_EQ(f.now.contig, contig);
		EXPECT_EQ(f.now.seen, seen);
	}

	RecvFlow f;
};

TEST(RecvFlowTest, OneThatIsNewKnowsNothingBefore)
{
	for (uint32_t at : kStarts) {
		Flow a(at);

		a.expect_now(at - 1, at, at);
		a.f.assign(host::endpoint(host::addr4(1), 5001));
		EXPECT_FALSE(a.f.now.known);
		EXPECT_EQ(a.f.now.peer.port, 5001);
	}
}

TEST(RecvFlowTest, TheFarthestThatFits)
{
	for (uint32_t at : kStarts) {
		Flow a(at), b(at);

		a.f.note({at + kOrderWindow, at + 1});
		a.expect_now(at - 1, at, at + kOrderWindow);
		/* And then the rest, from its far end. */
		for (uint32_t i = kOrderWindow - 1; i; i--)
			a.f.note({at + i, at + 1});
		a.expect_now(at - 1, at + kOrderWindow, at + kOrderWindow);
		/* One more than fits. */
		b.f.note({at + kOrderWindow + 1, at + 1});
		EXPECT_FALSE(b.f.now.known);
	}
}

/* Messages its sender knows delivered are settled as far as the window reaches; beyond, it is
 * another count. */
TEST(RecvFlowTest, TheFarthestThatIsSettled)
{
	for (uint32_t at : kStarts) {
		const uint32_t near = at + kOrderWindow + 1;
		Flow a(at), b(at);

		a.f.note({near, near});
		a.expect_now(at - 1, near, near);
		b.f.note({near + 1, near + 1});
		b.expect_now(near, near + 1, near + 1);
	}
}

/* A gap that is settled leaves no mark for the number that comes to its place in the table. */
TEST(RecvFlowTest, NothingIsLeftOfWhatIsSettled)
{
	for (uint32_t at : kStarts) {
		Flow a(at);

		a.f.note({at + 3, at + 1});
		a.f.note({at + 5, at + 1});
		a.f.note({at + 6, at + 6}); /* all below came, or never will */
		a.expect_now(at - 1, at + 6, at + 6);
		for (uint32_t i = 2; i <= 6; i++) {
			a.f.note({at + i + kOrderWindow, at + 7});
			EXPECT_EQ(a.f.now.contig, at + 6);
		}
		a.f.note({at + 7, at + 7});
		a.expect_now(at - 1, at + 7, at + 6 + kOrderWindow);
	}
}

/* The same beyond the word of the table in which it begins. */
TEST(RecvFlowTest, NothingIsLeftInTheNextWord)
{
	for (uint32_t at : kStarts) {
		Flow a(at);

		for (uint32_t i = 2; i <= 120; i++)
			if (i % 3 != 1)
				a.f.note({at + i, at + 1});
		a.f.note({at + 121, at + 121});
		a.expect_now(at - 1, at + 121, at + 121);
		for (uint32_t i = 2; i <= 121; i++)
			a.f.note({at + i + kOrderWindow, at + 122});
		a.expect_now(at - 1, at + 121, at + 121 + kOrderWindow);
	}
}

/* A word of the table in which all have arrived says nothing of the number behind it. */
TEST(RecvFlowTest, AWholeWordAtOnce)
{
	for (uint32_t at : {63u, 0xffffffffu, 0x7fffffffu}) {
		Flow a(at);

		for (uint32_t i = 64; i; i--)
			a.f.note({at + i, at + 1});
		a.expect_now(at - 1, at + 64, at + 64);
		a.f.note({at + 66, at + 65});
		a.expect_now(at - 1, at + 64, at + 66);
	}
}

TEST(RecvFlowTest, ANumberThatComesTwiceIsAnotherCount)
{
	for (uint32_t at : kStarts) {
		for (uint32_t twice : {at, at + 2}) {
			Flow a(at);

			a.f.note({at + 2, at + 1});
			a.expect_now(at - 1, at, at + 2);
			a.f.note({twice, twice});
			a.expect_now(twice - 1, twice, twice);
			/* Of what had arrived nothing is left. */
			a.f.note({twice + 1, twice + 1});
			EXPECT_EQ(a.f.now.contig, twice + 1);
		}
	}
}

/* Where counting began moves along, so that it is never half the numbers away. */
TEST(RecvFlowTest, TheBeginningFollowsFarBehind)
{
	constexpr uint32_t kFar = 1u << 30;

	for (uint32_t at : kStarts) {
		Flow a(at);

		a.f.now.first = at - (kFar - 1);
		a.f.note({at + 1, at + 1});
		a.expect_now(at + 1 - kFar, at + 1, at + 1);
		for (uint32_t i = 2; i < 10; i++) {
			a.f.note({at + i, at + i});
			a.expect_now(at + i - kFar, at + i, at + i);
		}
	}
}

/* ---- what is held ---- */

TEST(RecvFlowTest, HeldIsWhatHasArrivedSinceTheBeginning)
{
	for (uint32_t at : kStarts) {
		Flow a(at);

		a.f.note({at + 4, at + 1});
		a.f.freeze();
		EXPECT_FALSE(a.f.holds());
		EXPECT_FALSE(a.f.hold(at - 1)) << "the last before it";
		EXPECT_FALSE(a.f.hold(at + 5)) << "beyond the highest";
		EXPECT_FALSE(a.f.holds());
		EXPECT_TRUE(a.f.hold(at + 4));
		EXPECT_TRUE(a.f.holds());
		EXPECT_EQ(a.f.span(), 4u) << "with the gap of three";
		EXPECT_TRUE(a.f.hold(at));
		EXPECT_EQ(a.f.span(), 5u);
		/* Asked anew: nothing is held of the last time. */
		a.f.freeze();
		EXPECT_FALSE(a.f.holds());
		EXPECT_TRUE(a.f.hold(at));
		EXPECT_EQ(a.f.span(), 5u);
		EXPECT_TRUE(a.f.hold(at + 4));
		EXPECT_EQ(a.f.span(), 5u);
	}
}

/* As many as are held, if a peer that lies used a number more than once. */
TEST(RecvFlowTest, TheSpanIsNoLessThanWhatIsHeld)
{
	Flow a(7);

	a.f.freeze();
	for (uint32_t i = 1; i < 10; i++) {
		EXPECT_TRUE(a.f.hold(7));
		EXPECT_EQ(a.f.span(), i);
	}
}

/* Of one that is arriving 31 bits are known: it is the nearest ahead of all that came. */
TEST(RecvFlowTest, ArrivingIsAheadWithinTheWindow)
{
	constexpr uint32_t kKnown = (1u << 31) - 1;

	for (uint32_t at : kStarts) {
		for (uint32_t ahead : {1u, 2u, 100u, kOrderWindow - 1, kOrderWindow}) {
			Flow a(at);

			a.f.freeze();
			EXPECT_TRUE(a.f.hold_arriving((at + ahead) & kKnown)) << at << " " << ahead;
			EXPECT_EQ(a.f.then.seen, at + ahead);
			EXPECT_EQ(a.f.span(), ahead);
			EXPECT_EQ(a.f.now.seen, at) << "it has not arrived";
		}
		for (uint32_t off : {0u, 0u - 1, kOrderWindow + 1, kOrderWindow + 2}) {
			Flow a(at);

			a.f.freeze();
			EXPECT_FALSE(a.f.hold_arriving((at + off) & kKnown)) << at << " " << off;
			EXPECT_FALSE(a.f.holds());
			EXPECT_EQ(a.f.then.seen, at);
		}
	}
}

/* One that fills a gap is beyond nothing. */
TEST(RecvFlowTest, ArrivingInAGapMovesNoEnd)
{
	for (uint32_t at : kStarts) {
		Flow a(at);

		a.f.note({at + 4, at + 1});
		a.f.freeze();
		EXPECT_TRUE(a.f.hold_arriving((at + 2) & 0x7fffffff));
		EXPECT_EQ(a.f.then.seen, at + 4);
		EXPECT_EQ(a.f.span(), 4u) << "from what is missing first";
	}
}

/* Of a row that is full whoever was silent for longest goes, wherever he is. */
TEST(RecvFlowsTest, TheLongestSilentGoes)
{
	constexpr rds::HashKey kKey = {{5, 6}};
	std::vector<struct rds_endpoint> row;

	for (uint16_t port = 2; row.size() <= rds::kFlowWays; port++) {
		if (!(rds::hash_addr(host::addr4(1), port, kKey) % rds::kFlowRows))
			row.push_back(host::endpoint(host::addr4(1), port));
	}
	for (unsigned int silent = 0; silent < rds::kFlowWays; silent++) {
		rds::RecvFlows flows(kKey);

		for (int round = 0; round < 2; round++)
			for (unsigned int i = 0; i < rds::kFlowWays; i++)
				if (!round || i != silent)
					flows.note(row[i], {1, 1}, true);
		flows.note(row[rds::kFlowWays], {1, 1}, true);
		flows.freeze();
		for (unsigned int i = 0; i <= rds::kFlowWays; i++)
			EXPECT_EQ(flows.frozen(row[i]) == nullptr, i == silent) << i;
	}
}

/* Another host, interface or port is another peer. */
TEST(RecvFlowTest, APeerIsAllOfItsName)
{
	const struct rds_endpoint a = host::endpoint(host::addr6(1), 5000, 3);
	struct rds_endpoint b[4] = {a, a, a, a};

	EXPECT_TRUE(RecvFlow::same(a, b[0]));
	b[0].addr.w[0]++;
	b[1].addr.w[1]++;
	b[2].scope++;
	b[3].port++;
	for (const struct rds_endpoint &other : b)
		EXPECT_FALSE(RecvFlow::same(a, other));
}

/* Messages of which the header has come, with two sockets behind the path. */
class RecvArriving : public SocketTest<0>
{
protected:
	void SetUp() override
	{
		SocketTest::SetUp();
		EXPECT_EQ(s->send(host::endpoint(remote, 5000), {}), 0);
		sim::run_ready();
		rds_path_connected(fake::wire().path);
		sim::run_ready();
		fake::wire().path->conn.orders.store(true); /* as if its hello had said so */
	}
	rds::wire::Header header(uint16_t dport, uint32_t number, uint32_t low)
	{
		rds::wire::Header h;

		rds::wire::encode(h, 0, 5000, dport, 0);
		rds::wire::put64(h.sequence, ++seq_);
		if (number) {
			EXPECT_TRUE(rds::wire::ExtWriter(h).order(number, low));
		}
		return h;
	}
	struct rds_msg *begin(const rds::wire::Header &h)
	{
		struct rds_msg *m = nullptr;

		EXPECT_EQ(rds_recv_begin(fake::wire().path, h.sequence, nullptr, 0, RDS_ATOMIC, &m),
			  0);
		return m;
	}
	struct rds_recv_counts query(const host::Socket &whose)
	{
		struct rds_recv_counts c = {};

		EXPECT_EQ(rds_socket_recv_query(whose.core(), nullptr, &c), 0);
		return c;
	}

private:
	uint64_t seq_ = 0;
};

/* It is its own socket's, not its neighbour's: neither for who asks nor for who lists all. */
TEST_F(RecvArriving, IsOneSocketsOwn)
{
	host::Socket other(*net);

	ASSERT_EQ(other.bind(host::endpoint(a1, 4001)), 0);

	struct rds_msg *m = begin(header(4001, 0, 0));
	struct rds_recv_look look = {};
	struct rds_recv_counts c = {};

	EXPECT_EQ(query(*s).held, 0u);
	EXPECT_EQ(query(other).held, 1u);
	rds_recv_look(net->core(), &look);
	rds_socket_recv_counts(s->core(), &look, &c);
	EXPECT_EQ(c.held, 0u);
	rds_socket_recv_counts(other.core(), &look, &c);
	EXPECT_EQ(c.held, 1u);
	ASSERT_EQ(rds_recv_lock(other.core()), 0);
	rds_socket_recv_counts(other.core(), &look, &c);
	EXPECT_EQ(c.held, RDS_RECV_UNKNOWN) << "a reader is at it";
	rds_recv_unlock(other.core());
	rds_recv_look_end(&look);
	rds_msg_put(m);
	m = begin(header(4000, 0, 0));
	EXPECT_EQ(query(*s).held, 1u);
	EXPECT_EQ(query(other).held, 0u);
	rds_msg_put(m);
}

/* Behind one that is beyond all bounds nobody knows what is missing. */
TEST_F(RecvArriving, OfAFlowThatIsLostNothingIsKnown)
{
	ASSERT_EQ(fake::arrive(fake::wire().path, header(4000, 1, 1)), 0);
	ASSERT_EQ(fake::arrive(fake::wire().path, header(4000, 3 + kOrderWindow, 2)), 0);
	ASSERT_TRUE(s->recv() && s->recv());

	struct rds_msg *m = begin(header(4000, 4, 2));

	EXPECT_EQ(query(*s).held, 1u);
	EXPECT_EQ(query(*s).span, RDS_RECV_UNKNOWN);
	rds_msg_put(m);
}

} // namespace
