// SPDX-License-Identifier: GPL-2.0
#include <gtest/gtest.h>

#include <cstring>
#include <deque>
#include <set>

#include "../stress/rdma.h"

using namespace rdstools;

namespace
{

constexpr std::uint16_t asker_port = 4001;
constexpr std::uint16_t answerer_port = 5001;

Plan some_plan(unsigned depth = 2)
{
	Plan plan;

	plan.depth = depth;
	plan.verify = true;
	plan.rdma.bytes = 3000;
	return plan;
}

template <typename Struct>
Struct payload(const SendControl &control)
{
	Struct s;

	EXPECT_EQ(control.data.size(), sizeof(s));
	std::memcpy(&s, control.data.data(), sizeof(s));
	return s;
}

/* Two tasks of one pair, one asks, one answers; the test is the kernel and the adapter. */
struct Pair {
	explicit Pair(const Plan &p) : plan(p)
	{
	}

	static Message message(Op op, std::uint64_t sequence)
	{
		Message m;
		m.op = op;
		m.sequence = sequence;
		return m;
	}

	/* The cookie is the address, as an adapter without keys would have it. */
	rds_get_mr_args request(std::uint64_t sequence)
	{
		Message m = message(Op::request, sequence);
		SendControl with = asker.before(m, 0);
		EXPECT_EQ(with.type, RDS_CMSG_RDMA_MAP);
		auto map = payload<rds_get_mr_args>(with);
		std::memcpy(reinterpret_cast<void *>(map.cookie_addr), &map.vec.addr,
			    sizeof(map.vec.addr));
		asker.accepted(m, 0);
		EXPECT_EQ(answerer.take_request(m, 0, map.vec.addr), "");
		return map;
	}

	rds_rdma_args answer(std::uint64_t sequence)
	{
		Message m = message(Op::ack, sequence);
		EXPECT_TRUE(answerer.may_answer(0, sequence));
		SendControl with = answerer.before(m, 0);
		EXPECT_EQ(with.type, RDS_CMSG_RDMA_ARGS);
		auto args = payload<rds_rdma_args>(with);
		/* The kernel copies it at once, before the structures are used again. */
		EXPECT_EQ(args.nr_local, 1u);
		local.push_back(*reinterpret_cast<rds_iovec *>(args.local_vec_addr));
		answerer.accepted(m, 0);
		return args;
	}

	void carry_out(const rds_rdma_args &args)
	{
		void *mine = reinterpret_cast<void *>(local.front().addr);
		void *theirs = reinterpret_cast<void *>(args.cookie + args.remote_vec.addr);
		EXPECT_EQ(local.front().bytes, args.remote_vec.bytes);
		local.pop_front();
		if (args.flags & RDS_RDMA_READWRITE)
			std::memcpy(theirs, mine, args.remote_vec.bytes);
		else
			std::memcpy(mine, theirs, args.remote_vec.bytes);
	}

	std::string notice(const rds_rdma_args &args, std::int32_t status = 0)
	{
		unsigned peer = 99;
		return answerer.take_notice({args.user_token, status}, peer);
	}

	std::string ack(std::uint64_t sequence)
	{
		return asker.take_ack(message(Op::ack, sequence), 0);
	}

	Plan plan;
	TaskState asker_state, answerer_state;
	RdmaTask asker{plan, asker_port, answerer_port, asker_state};
	RdmaTask answerer{plan, answerer_port, asker_port, answerer_state};
	std::deque<rds_iovec> local;
};

} // namespace

TEST(PageArena, begins_where_it_was_asked_to)
{
	PageArena arena(4, 8192, 100);
	std::set<std::byte *> seen;

	for (std::size_t i = 0; i < 4; i++) {
		auto piece = arena.piece(i);
		EXPECT_EQ(piece.size(), 8192u);
		EXPECT_EQ(reinterpret_cast<std::uintptr_t>(piece.data()) % 4096, 100u);
		std::memset(piece.data(), static_cast<int>(i), piece.size());
		seen.insert(piece.data());
	}
	for (std::size_t i = 0; i < 4; i++)
		EXPECT_EQ(arena.piece(i).back(), static_cast<std::byte>(i));
	EXPECT_EQ(seen.size(), 4u);
}

TEST(Rdma, writes_and_reads_in_turn)
{
	Pair pair(some_plan());

	for (std::uint64_t n = 1; n <= 100; n++) {
		pair.request(n);
		auto args = pair.answer(n);
		EXPECT_EQ(!!(args.flags & RDS_RDMA_READWRITE), n % 2 == 1);
		pair.carry_out(args);
		EXPECT_EQ(pair.notice(args), "");
		EXPECT_EQ(pair.ack(n), "");
		EXPECT_EQ(pair.asker.take_to_free(0, n), 0u);
	}
	EXPECT_EQ(pair.answerer_state.operations, 100u);
	EXPECT_EQ(pair.answerer_state.notices_due, 100u);
	EXPECT_EQ(pair.answerer_state.notices, 100u);
	for (TaskState *state : {&pair.asker_state, &pair.answerer_state}) {
		EXPECT_EQ(state->rdma_in_bytes, 50 * 3000u);
		EXPECT_EQ(state->rdma_out_bytes, 50 * 3000u);
	}
}

TEST(Rdma, asks_for_what_the_plan_says)
{
	for (unsigned bits = 0; bits < 8; bits++) {
		Plan plan = some_plan();
		plan.rdma.use_once = bits & 1;
		plan.rdma.use_fence = bits >> 1 & 1;
		plan.rdma.use_notify = bits >> 2;
		Pair pair(plan);
		for (std::uint64_t n = 1; n <= 2; n++) {
			auto map = pair.request(n);
			auto args = pair.answer(n);
			bool reads = n == 2 && (plan.rdma.use_fence || plan.rdma.use_notify);
			EXPECT_TRUE(map.flags & RDS_RDMA_READWRITE);
			EXPECT_EQ(!!(map.flags & RDS_RDMA_USE_ONCE),
				  plan.rdma.use_once && (!reads || plan.rdma.use_fence));
			EXPECT_EQ(!(args.flags & RDS_RDMA_READWRITE), reads) << bits;
			EXPECT_EQ(!!(args.flags & RDS_RDMA_FENCE), plan.rdma.use_fence);
			EXPECT_EQ(!!(args.flags & RDS_RDMA_NOTIFY_ME), plan.rdma.use_notify);
		}
	}
}

TEST(Rdma, notices_a_write_that_did_not_happen)
{
	Pair pair(some_plan());

	pair.request(1);
	pair.answer(1);
	EXPECT_EQ(pair.ack(1), "what operation 1 wrote differs from byte 0 on");
}

TEST(Rdma, notices_the_last_byte_of_a_read)
{
	Pair pair(some_plan());

	for (std::uint64_t n = 1; n <= 2; n++) {
		pair.request(n);
		auto args = pair.answer(n);
		args.remote_vec.bytes -= n == 2;
		pair.local.front().bytes = args.remote_vec.bytes;
		pair.carry_out(args);
		EXPECT_EQ(pair.notice(args),
			  n == 2 ? "what operation 2 read differs from byte 2999 on" : "");
	}
}

TEST(Rdma, checks_a_read_without_notice_when_its_place_is_wanted_again)
{
	Plan plan = some_plan(1);

	plan.rdma.use_notify = 0;
	Pair pair(plan);
	for (std::uint64_t n = 1; n <= 2; n++) {
		pair.request(n);
		auto args = pair.answer(n);
		if (n == 1)
			pair.carry_out(args);
	}
	EXPECT_EQ(pair.answerer.take_request(Pair::message(Op::request, 3), 0, 1),
		  "what operation 2 read differs from byte 0 on");
}

TEST(Rdma, holds_an_ack_until_the_notice_of_the_one_before_it)
{
	Pair pair(some_plan(2));

	for (std::uint64_t n = 1; n <= 2; n++)
		pair.request(n);
	auto first = pair.answer(1);
	auto second = pair.answer(2);
	EXPECT_FALSE(pair.answerer.may_answer(0, 3));
	EXPECT_FALSE(pair.answerer.may_answer(0, 4));
	pair.carry_out(first);
	EXPECT_EQ(pair.notice(first), "");
	EXPECT_TRUE(pair.answerer.may_answer(0, 3));
	EXPECT_FALSE(pair.answerer.may_answer(0, 4));
	pair.carry_out(second);
	EXPECT_EQ(pair.notice(second), "");
	EXPECT_TRUE(pair.answerer.may_answer(0, 4));
}

TEST(Rdma, takes_each_notice_once)
{
	Pair pair(some_plan());

	pair.request(1);
	auto args = pair.answer(1);
	pair.carry_out(args);
	EXPECT_EQ(pair.notice(args), "");
	EXPECT_EQ(pair.notice(args), "a notice of operation 1, which is not under way");
	args.user_token = 0;
	EXPECT_NE(pair.notice(args), "");
	args.user_token = ~std::uint64_t{0};
	EXPECT_NE(pair.notice(args), "");
	EXPECT_EQ(pair.answerer_state.notices, 1u);
}

TEST(Rdma, tells_how_an_operation_failed)
{
	Pair pair(some_plan());

	pair.request(1);
	auto args = pair.answer(1);
	EXPECT_EQ(pair.notice(args, RDS_RDMA_REMOTE_ERROR),
		  "operation 1 (write of 3000 bytes) ended with status 1, remote error");
	EXPECT_EQ(pair.notice(args, RDS_RDMA_DROPPED),
		  "operation 1 (write of 3000 bytes) ended with status 3, dropped");
}

TEST(Rdma, wants_the_cookie)
{
	Pair pair(some_plan());

	EXPECT_EQ(pair.answerer.take_request(Pair::message(Op::request, 1), 0, 0),
		  "request 1 came without the cookie of its memory");
}

TEST(Rdma, expects_no_notice_of_what_was_refused)
{
	Pair pair(some_plan());
	Message ack = Pair::message(Op::ack, 1);

	pair.request(1);
	pair.answerer.before(ack, 0);
	pair.answerer.refused(ack);
	EXPECT_EQ(pair.answerer_state.notices_due, 0u);
	EXPECT_EQ(pair.answerer_state.operations, 0u);
	EXPECT_TRUE(pair.answerer.may_answer(0, 1));
}

TEST(Rdma, frees_what_nobody_else_does)
{
	Plan plan = some_plan(2);

	plan.rdma.use_once = 0;
	Pair fenced(plan);
	for (std::uint64_t n = 1; n <= 8; n++) {
		auto map = fenced.request(n);
		EXPECT_EQ(fenced.asker.take_to_free(0, n), map.vec.addr);
	}

	/* Without a fence the ack proves the operation that is older by the depth. */
	plan.rdma.use_fence = 0;
	Pair loose(plan);
	std::vector<std::uint64_t> cookies = {0};
	for (std::uint64_t n = 1; n <= 8; n++) {
		cookies.push_back(loose.request(n).vec.addr);
		EXPECT_EQ(loose.asker.take_to_free(0, n), n > 2 ? cookies[n - 2] : 0);
	}

	/* Used once: only what is read without a fence is left to be freed. */
	plan.rdma.use_once = 1;
	Pair once(plan);
	cookies = {0};
	for (std::uint64_t n = 1; n <= 8; n++) {
		cookies.push_back(once.request(n).vec.addr);
		EXPECT_EQ(once.asker.take_to_free(0, n), n > 2 && n % 2 == 0 ? cookies[n - 2] : 0);
	}
}

TEST(Rdma, offers_no_memory_that_may_still_be_read)
{
	Plan plan = some_plan(3);

	plan.rdma.use_fence = 0;
	Pair pair(plan);
	std::vector<std::uint64_t> used;
	for (std::uint64_t n = 1; n <= 30; n++) {
		used.push_back(pair.request(n).vec.addr);
		for (std::size_t back = 1; back < 6 && back < used.size(); back++)
			EXPECT_NE(used[used.size() - 1 - back], used.back());
	}
}
