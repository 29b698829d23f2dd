// SPDX-License-Identifier: GPL-2.0
#include <random>
#include <set>
#include <vector>

#include "fixture.h"
#include "queue_calls.h"

namespace
{

using rds::Batch;
using rds::Message;
using rds::MsgList;
using rds::SendQueue;

constexpr uint32_t kHeader = RDS_HEADER_BYTES;
constexpr uint64_t kFirst = 7;

uint64_t number(const Message &m)
{
	return rds::wire::get64(m.hdr.sequence);
}

/* Messages of no path: the queue knows none. */
class Queue : public SimTest
{
protected:
	void SetUp() override
	{
		SimTest::SetUp();
		q = std::make_unique<SendQueue>(kFirst);
	}
	void TearDown() override
	{
		restart(
			*q, [](const Message &) { return true; }, done);
		drop();
		q.reset();
		SimTest::TearDown();
	}
	static Message *make(uint16_t flags = 0)
	{
		Message *m = rds::message_create(0, RDS_MAY_SLEEP);

		rds::wire::encode(m->hdr, 0, 0, 0, 0);
		m->flags = flags;
		return m;
	}
	/* Of @payload bytes, as far as the queue can tell. */
	Message *append(uint32_t payload = 0, uint16_t flags = 0)
	{
		Message *m = make(flags);

		m->len = payload;
		q->append(m);
		return m;
	}
	/* One of the kernel's frames. */
	static Message *map()
	{
		Message *m = make(rds::kMsgOnce);

		m->hdr.flags = rds::wire::kCongBitmap;
		return m;
	}
	/* A sender, of whom the queue knows no more than who it is. */
	static rds::Socket *sender(uintptr_t which)
	{
		return reinterpret_cast<rds::Socket *>(which << 12);
	}
	/* Of sender @which, and it waits for company. */
	Message *hold(uintptr_t which)
	{
		Message *m = append();

		m->sock = sender(which);
		q->hold(m);
		return m;
	}
	/* An answer of sender @which; nullptr: it does not pass. */
	Message *overtake(uintptr_t which)
	{
		Message *m = make();

		m->sock = sender(which);
		if (q->overtake(m, [](const Message &waits) { return waits.tos == 0; }))
			return m;
		rds::message_put(m);
		return nullptr;
	}
	/* All that is ready becomes the batch, @most messages of it. */
	void mark(unsigned int most = rds::kXmitBatch, bool promises = false)
	{
		q->begin(b);
		Message *m = q->ready();

		for (; m && b.n < most; m = q->next_ready(m))
			q->add(b, m);
		b.bytes -= b.off;
		if (m && promises)
			q->promise(b, *m);
	}
	/* So many @bytes of a batch are taken, and none follows for now. */
	unsigned int settle(uint64_t bytes)
	{
		const unsigned int begun = q->settle(b, bytes, done);

		q->end_promise();
		return begun;
	}
	unsigned int send(uint64_t bytes, unsigned int most = rds::kXmitBatch)
	{
		mark(most);
		return settle(bytes);
	}
	/* Numbers of messages that left the queue; they go. */
	std::vector<uint64_t> drop()
	{
		std::vector<uint64_t> numbers;

		while (Message *m = done.pop_front()) {
			numbers.push_back(number(*m));
			m->len = 0;
			rds::message_put(m);
		}
		return numbers;
	}
	std::vector<uint64_t> numbers() const
	{
		std::vector<uint64_t> all;

		for (Message *m = q->front(); m; m = q->next(m))
			all.push_back(number(*m));
		return all;
	}
	using Numbers = std::vector<uint64_t>;

	std::unique_ptr<SendQueue> q;
	MsgList done;
	Batch b;
};

TEST_F(Queue, NumbersFollowEachOther)
{
	EXPECT_TRUE(q->empty());
	EXPECT_EQ(q->next_number(), kFirst);
	append();
	EXPECT_EQ(q->skip_number(), kFirst + 1);
	append();
	EXPECT_EQ(numbers(), (Numbers{kFirst, kFirst + 2}));
	EXPECT_EQ(q->next_number(), kFirst + 3);
	EXPECT_EQ(q->unsent_bytes(), 2 * kHeader);
}

/* As a host with much memory may have. */
TEST_F(Queue, MoreBytesMayWaitThanThirtyTwoBitsCount)
{
	append(UINT32_MAX - kHeader);
	append(UINT32_MAX - kHeader);
	EXPECT_EQ(q->unsent_bytes(), 2ull * UINT32_MAX);
}

TEST_F(Queue, TheCursorStopsInsideOfAMessage)
{
	Message *first = append(100), *second = append(50);

	EXPECT_EQ(send(10), 1u);
	EXPECT_EQ(q->unsent(), first);
	EXPECT_EQ(q->cursor(), 10u);
	EXPECT_TRUE(q->is_half_sent(*first));
	EXPECT_EQ(q->begun(), kFirst);
	EXPECT_EQ(send(kHeader + 90), 1u) << "to its end, no further";
	EXPECT_EQ(b.off, 10u);
	EXPECT_EQ(b.bytes, kHeader + 90 + kHeader + 50);
	EXPECT_EQ(first->end_off, kHeader + 100);
	EXPECT_EQ(q->unsent(), second);
	EXPECT_EQ(q->cursor(), 0u);
	EXPECT_EQ(send(0), 0u);
	EXPECT_EQ(q->begun(), kFirst);
	EXPECT_EQ(send(kHeader + 50), 1u);
	EXPECT_EQ(q->unsent(), nullptr);
	EXPECT_EQ(q->unsent_bytes(), 0u);
	EXPECT_EQ(second->end_off, 2 * kHeader + 150);
}

TEST_F(Queue, ABatchIsLeavingUntilItIsSettled)
{
	Message *m = append(), *other = append();

	mark(1);
	EXPECT_TRUE(q->is_leaving(*m));
	EXPECT_FALSE(q->is_leaving(*other));
	settle(1);
	EXPECT_TRUE(q->is_leaving(*m)) << "half of it is out";
	send(kHeader - 1, 1);
	EXPECT_FALSE(q->is_leaving(*m));
}

/* A transport was told that more follows, and keeps the end of the batch back for it. */
TEST_F(Queue, WhatBeginsTheNextBatchStays)
{
	Message *m = append(), *next = append(), *after = append();

	mark(1, true);
	EXPECT_EQ(b.next, next);
	EXPECT_TRUE(q->is_leaving(*next));
	EXPECT_TRUE(q->may_have_left(kFirst + 1)) << "for certain it will have";
	EXPECT_FALSE(q->is_leaving(*after));
	q->settle(b, kHeader, done);
	EXPECT_FALSE(q->is_leaving(*m));
	EXPECT_TRUE(q->is_leaving(*next)) << "between the two";
	EXPECT_FALSE(q->may_have_left(kFirst + 2));
	q->end_promise();
	EXPECT_FALSE(q->is_leaving(*next)) << "there is no next batch";

	mark(1, true);
	EXPECT_EQ(b.next, after);
	q->settle(b, kHeader - 1, done);
	EXPECT_FALSE(q->is_leaving(*after)) << "the next batch begins with another";
	EXPECT_TRUE(q->is_leaving(*next));
	send(1, 1);
	mark(1, true);
	EXPECT_EQ(b.next, nullptr);
	settle(kHeader);
}

/* It may be replaced, and freed, while the batch is with the transport. */
TEST_F(Queue, AFrameIsNotPromised)
{
	append();
	send(1);
	EXPECT_FALSE(q->has_unsent_news());
	q->put_first(map(), done);
	EXPECT_TRUE(q->has_unsent_news()) << "behind half a message";

	mark(1, true);
	EXPECT_EQ(b.next, nullptr);
	q->put_first(map(), done);
	EXPECT_EQ(drop(), Numbers{0}) << "the older one";
	settle(0);
}

/* Taken back on their way, or of the kernel: gone with the last byte, and not before. */
TEST_F(Queue, MessagesThatNobodyWaitsForLeave)
{
	append(0, rds::kMsgOnce);
	append(0, rds::kMsgCancelled);
	append();
	send(1);
	EXPECT_EQ(drop(), Numbers{kFirst + 1}) << "it has not begun";
	EXPECT_EQ(numbers(), (Numbers{kFirst, kFirst + 2}));
	send(kHeader - 1);
	EXPECT_EQ(drop(), Numbers{kFirst});
	q->unsent()->flags |= rds::kMsgCancelled;
	send(1);
	EXPECT_TRUE(drop().empty());
	send(kHeader - 1);
	EXPECT_EQ(drop(), Numbers{kFirst + 2});
}

TEST_F(Queue, AFrameOvertakesWholeMessagesAlone)
{
	Message *hello = make(), *map = make(), *newer = make();

	for (Message *m : {map, newer})
		m->hdr.flags = rds::wire::kCongBitmap;
	append(100);
	append();
	send(5);
	q->put_first(hello, done);
	q->put_first(map, done);
	EXPECT_EQ(numbers(), (Numbers{kFirst, 0, 0, kFirst + 1}));
	EXPECT_EQ(q->next(q->front()), hello) << "after hello";
	q->put_first(newer, done);
	EXPECT_EQ(drop().size(), 1u) << "the older map";
	EXPECT_EQ(q->next(hello), newer);
	EXPECT_EQ(q->unsent_bytes(), kHeader + 100 + 3 * kHeader);
	send(kHeader + 95);
	EXPECT_EQ(q->unsent(), hello);
}

TEST_F(Queue, ThoseThatWaitAreNotReady)
{
	Message *first = append(), *second = hold(1), *third = hold(2);

	EXPECT_EQ(q->ready(), first);
	EXPECT_EQ(q->next_ready(first), nullptr);
	EXPECT_EQ(q->unsent_bytes(), 3 * kHeader);
	EXPECT_EQ(send(kHeader), 1u);
	EXPECT_EQ(q->ready(), nullptr);
	EXPECT_EQ(q->unsent(), second);
	q->remove(second);
	done.push_back(second);
	EXPECT_EQ(q->unsent(), third);
	EXPECT_EQ(q->ready(), nullptr) << "the next one waits still";

	MsgList none;

	q->put_first(make(rds::kMsgOnce), none);
	EXPECT_EQ(q->ready(), q->unsent()) << "a frame does not wait";
	EXPECT_EQ(q->next_ready(q->ready()), nullptr);
	q->release();
	EXPECT_FALSE(q->holds_any());
	EXPECT_EQ(q->next_ready(q->ready()), third);
	EXPECT_EQ(send(2 * kHeader), 2u);
	EXPECT_EQ(drop(), (Numbers{kFirst + 1, 0}));
}

TEST_F(Queue, AnAnswerPassesThoseThatWait)
{
	EXPECT_EQ(overtake(1), nullptr) << "nobody";
	append();

	Message *second = hold(1), *third = hold(2), *passed = overtake(3);

	ASSERT_NE(passed, nullptr);
	EXPECT_EQ(number(*passed), kFirst + 1);
	EXPECT_EQ(number(*second), kFirst + 2);
	EXPECT_EQ(number(*third), kFirst + 3);
	EXPECT_EQ(q->next_number(), kFirst + 4);
	EXPECT_EQ(q->unsent_bytes(), 4 * kHeader);
	EXPECT_EQ(overtake(1), nullptr) << "one of its own sender's";
	EXPECT_EQ(overtake(2), nullptr) << "one of its own sender's";
	third->tos = 1;
	EXPECT_EQ(overtake(4), nullptr) << "one that nobody may pass";
	third->tos = 0;
	EXPECT_EQ(send(2 * kHeader), 2u);
	EXPECT_EQ(q->begun(), kFirst + 1);
	EXPECT_EQ(q->ready(), nullptr);

	Message *next = overtake(3);

	EXPECT_EQ(q->ready(), next) << "all before are sent";
	EXPECT_EQ(numbers(), (Numbers{kFirst, kFirst + 1, kFirst + 2, kFirst + 3, kFirst + 4}));
}

TEST_F(Queue, AnAnswerPassesNoMoreThanSome)
{
	for (unsigned int i = 0; i < rds::kMostOvertaken; i++)
		hold(1);
	EXPECT_NE(overtake(2), nullptr);
	hold(1);
	EXPECT_EQ(overtake(3), nullptr);
}

/* A connection begins anew, or another queue's messages come: nothing waits any more. */
TEST_F(Queue, NothingWaitsBehindWhatIsSentAgain)
{
	Message *first = hold(1);

	restart(*q);
	EXPECT_EQ(q->ready(), first);
	q->hold(first);

	SendQueue::Fold f;

	q->begin_fold(f);
	EXPECT_EQ(q->ready(), first);
	renumber(*q, f);
}

/* The first of an empty queue, and of one that was sent, is the next. */
TEST_F(Queue, AFrameIsNext)
{
	q->put_first(make(), done);
	EXPECT_EQ(q->unsent(), q->front());
	send(kHeader);
	append();
	send(kHeader);
	Message *m = make();

	q->put_first(m, done);
	EXPECT_EQ(q->unsent(), m);
	EXPECT_EQ(numbers(), (Numbers{0, kFirst, 0}));
}

TEST_F(Queue, OnlySentMessagesAreCollectedInTheirOrder)
{
	auto taken = [](const Message &, bool all) { return all; };

	append(10);
	append(10);
	append(10);
	send(2 * (kHeader + 10) + 1);
	q->set_acked(2 * (kHeader + 10) - 1);
	q->collect(taken, done);
	EXPECT_EQ(drop(), Numbers{kFirst});
	q->set_acked(1); /* an older word */
	q->collect([](const Message &m, bool) { return number(m) != kFirst + 1; }, done);
	EXPECT_TRUE(drop().empty()) << "none passes one that stays";
	q->set_acked(2 * (kHeader + 10));
	q->collect(taken, done);
	EXPECT_EQ(drop(), Numbers{kFirst + 1});
	q->collect([](const Message &, bool) { return true; }, done);
	EXPECT_TRUE(drop().empty()) << "half sent";
}

TEST_F(Queue, ARestartSendsAgain)
{
	Message *sent = append(10), *half = append(10), *fresh = append(10);

	sent->hdr.flags |= rds::wire::kAckRequired;
	send(kHeader + 10 + 1);
	EXPECT_EQ(restart(*q), 2u);
	for (Message *m : {sent, half}) {
		EXPECT_EQ(m->hdr.flags, rds::wire::kRetransmitted);
		EXPECT_EQ(m->end_off, 0u);
	}
	EXPECT_EQ(fresh->hdr.flags, 0);
	EXPECT_EQ(q->unsent(), sent);
	EXPECT_EQ(q->cursor(), 0u);
	EXPECT_EQ(q->unsent_bytes(), 3 * (kHeader + 10));
	EXPECT_EQ(q->begun(), 0u);
	EXPECT_EQ(q->begun_before(), kFirst + 1);
	send(kHeader + 10);
	EXPECT_EQ(sent->end_off, kHeader + 10) << "offsets begin anew";
	EXPECT_EQ(restart(
			  *q, [&](const Message &m) { return &m == half; }, done),
		  1u);
	EXPECT_EQ(q->begun_before(), kFirst + 1) << "the highest counts";
	EXPECT_EQ(drop(), Numbers{kFirst + 1});
}

/* Also on a connection before; also with the transport, which has not said how much it took. */
TEST_F(Queue, NobodyHasWhatHasNotLeft)
{
	for (int i = 0; i < 3; i++)
		append(10);
	EXPECT_TRUE(q->may_have_left(kFirst - 7));
	EXPECT_FALSE(q->may_have_left(kFirst));
	mark(2);
	EXPECT_TRUE(q->may_have_left(kFirst + 1));
	EXPECT_FALSE(q->may_have_left(kFirst + 2));
	q->settle(b, 1, done);
	EXPECT_TRUE(q->may_have_left(kFirst));
	EXPECT_FALSE(q->may_have_left(kFirst + 1)) << "it came back";
	restart(*q);
	EXPECT_TRUE(q->may_have_left(kFirst));
	EXPECT_FALSE(q->may_have_left(kFirst + 1));
}

TEST_F(Queue, AnotherQueueIsTakenOver)
{
	SendQueue from(1);
	SendQueue::Fold f;
	const uint64_t at = kFirst + 1;

	append();
	q->begin_fold(f);
	append();
	for (uint16_t flags : {0, int{rds::kMsgOnce}, 0}) {
		Message *m = make(flags);

		from.append(m);
		m->hdr.flags = rds::wire::kRetransmitted;
	}
	take_all(
		*q, f, from, [](const Message &m) { return m.flags & rds::kMsgOnce; }, done);
	EXPECT_EQ(drop(), Numbers{2});
	EXPECT_TRUE(from.empty());
	EXPECT_EQ(from.unsent(), nullptr);
	EXPECT_EQ(from.unsent_bytes(), 0u);
	EXPECT_EQ(numbers(), (Numbers{kFirst, at, at, at + 1}));
	EXPECT_EQ(q->next(q->front())->hdr.flags, 0);
	EXPECT_EQ(q->unsent_bytes(), 4 * kHeader);
	renumber(*q, f);
	EXPECT_EQ(numbers(), (Numbers{kFirst, at, at + 1, at + 2}));
	EXPECT_EQ(q->next_number(), at + 3);
}

/* A fold that ends with nothing in it takes a number and no more. */
TEST_F(Queue, AFoldOfNothing)
{
	SendQueue from(1);
	SendQueue::Fold f;

	append();
	q->begin_fold(f);
	take_all(
		*q, f, from, [](const Message &) { return false; }, done);
	renumber(*q, f);
	EXPECT_EQ(numbers(), Numbers{kFirst});
	EXPECT_EQ(q->next_number(), kFirst + 2);
	EXPECT_EQ(number(*append()), kFirst + 2);
}

/* Between any two steps messages may come behind it, and any may go. */
TEST_F(Queue, AFoldInManySteps)
{
	for (unsigned int seed = 1; seed <= 300 && !HasFailure(); seed++) {
		SCOPED_TRACE(seed);

		std::minstd_rand rng(seed);
		std::vector<Message *> wanted; /* in this order */
		SendQueue from(1);
		SendQueue::Fold f;
		auto lose = [&](SendQueue &of) {
			Message *m = of.front();

			for (unsigned int n = rng() % 200; m && n; n--)
				m = of.next(m);
			if (!m || rng() % 2)
				return;
			of.remove(m);
			done.push_back(m);
			std::erase(wanted, m);
			drop();
		};
		auto more = [&] {
			for (unsigned int n = rng() % 3; n; n--)
				wanted.push_back(append());
			lose(*q);
			lose(from);
		};

		for (unsigned int n = rng() % 3; n; n--)
			wanted.push_back(append());
		q->begin_fold(f);
		for (unsigned int n = rng() % 300; n; n--) {
			wanted.push_back(make());
			from.append(wanted.back());
		}
		more();
		while (q->take_some(
			f, from, [](const Message &) { return false; }, done))
			more();
		while (q->renumber_some(f))
			more();
		EXPECT_TRUE(from.empty());

		std::vector<Message *> got;
		uint64_t last = 0;

		for (Message *m = q->front(); m; m = q->next(m)) {
			got.push_back(m);
			EXPECT_GT(number(*m), last);
			last = number(*m);
		}
		EXPECT_EQ(got, wanted);
		EXPECT_LT(last, q->next_number());
		EXPECT_EQ(q->unsent(), q->front());
		EXPECT_EQ(q->unsent_bytes(), got.size() * kHeader);
		restart(
			*q, [](const Message &) { return true; }, done);
		drop();
	}
}

/* The same of a connection that is gone: each that was sent goes again, once. */
TEST_F(Queue, ARestartInManySteps)
{
	for (unsigned int seed = 1; seed <= 100 && !HasFailure(); seed++) {
		SCOPED_TRACE(seed);

		std::minstd_rand rng(seed);
		const unsigned int all = 1 + rng() % 300, sent = rng() % (all + 1);
		SendQueue::Walk walk;
		uint32_t again = 0;
		std::set<Message *> begun;

		for (unsigned int n = 0; n < all; n++)
			append();
		for (unsigned int n = 0; n < sent; n++)
			send(kHeader, 1);
		if (sent < all)
			send(rng() % kHeader, 1);
		for (Message *m = q->front(); m; m = q->next(m))
			if (m->end_off || q->is_half_sent(*m))
				begun.insert(m);
		q->begin_restart();
		while (q->restart_some(
			walk, [](const Message &) { return false; }, [](Message &) {}, again)) {
			append();
			if (rng() % 2)
				continue;

			Message *m = q->front();

			begun.erase(m);
			q->remove(m);
			done.push_back(m);
			drop();
		}
		EXPECT_GE(again, begun.size());
		for (Message *m = q->front(); m; m = q->next(m)) {
			EXPECT_EQ(m->end_off, 0u);
			EXPECT_EQ(m->hdr.flags != 0, begun.contains(m));
		}
		EXPECT_EQ(q->unsent(), q->front());
		EXPECT_EQ(q->cursor(), 0u);
		restart(
			*q, [](const Message &) { return true; }, done);
		drop();
	}
}

/* Any story of calls against a plain account of the bytes: what is not sent, how much of the first,
 * and where each message ended. */
class QueueStories : public Queue
{
protected:
	void check()
	{
		uint64_t last = 0, bytes = 0;
		bool unsent = false;

		for (Message *m = q->front(); m; m = q->next(m)) {
			unsent |= m == q->unsent();
			if (uint64_t n = number(*m)) {
				EXPECT_GT(n, last);
				last = n;
			}
			bytes += unsent ? kHeader + m->len : 0;
			EXPECT_EQ(m->end_off != 0, !unsent);
			EXPECT_FALSE(m->flags & rds::kMsgInXmit);
		}
		EXPECT_EQ(unsent, q->unsent() != nullptr);
		EXPECT_EQ(q->unsent_bytes(), bytes);
		EXPECT_LT(q->cursor(), q->unsent() ? kHeader + q->unsent()->len : 1);
		EXPECT_LT(last, q->next_number());
	}
	/* A message that the queue may give up, if there is one. */
	Message *any()
	{
		Numbers all = numbers();
		size_t at = all.empty() ? 0 : rng() % all.size();
		Message *m = q->front();

		while (m && at--)
			m = q->next(m);
		return m && !q->is_leaving(*m) ? m : nullptr;
	}
	void act()
	{
		switch (rng() % 10) {
		case 0:
			q->put_first(make(rds::kMsgOnce), done);
			break;
		case 1:
			if (Message *m = any()) {
				q->remove(m);
				done.push_back(m);
			}
			break;
		case 2:
			q->set_acked(rng() % 2000);
			q->collect([](const Message &, bool all) { return all; }, done);
			break;
		case 3:
			if (rng() % 4 == 0)
				restart(
					*q, [](const Message &m) { return m.flags != 0; }, done);
			break;
		case 4:
		case 5: {
			Message *m = append(rng() % 100);

			m->sock = sender(1 + rng() % 2);
			if (q->holds_any() || rng() % 3 == 0)
				q->hold(m);
			break;
		}
		case 6:
			overtake(1 + rng() % 3);
			break;
		case 7:
			q->release();
			break;
		default:
			mark(1 + rng() % 4, rng() % 2);
			settle(b.bytes ? rng() % (b.bytes + 1) : 0);
		}
	}
	std::minstd_rand rng;
};

TEST_F(QueueStories, TheAccountIsRight)
{
	for (unsigned int seed = 1; seed <= 200 && !HasFailure(); seed++) {
		SCOPED_TRACE("story " + std::to_string(seed));
		rng.seed(seed);
		for (unsigned int i = 0; i < 200 && !HasFailure(); i++) {
			act();
			check();
			drop();
		}
	}
}

/* Walks that stop between any two messages, in the same stories.  Numbers tell messages apart. */
class QueueWalks : public QueueStories
{
protected:
	struct Walker {
		SendQueue::Walk walk;
		bool begun = false, over = false;
		std::set<uint64_t> there, met; /* all the time; and already */
	};

	std::set<uint64_t> numbered() const
	{
		std::set<uint64_t> all;

		for (uint64_t n : numbers())
			if (n)
				all.insert(n);
		return all;
	}
	/* Up to @most messages; each at most once, and at the end all that were there. */
	void look(Walker &w, unsigned int most)
	{
		for (unsigned int i = 0; i < most && !w.over; i++) {
			Message *m = q->step(w.walk);

			w.over = !m;
			if (m && number(*m)) {
				EXPECT_TRUE(w.met.insert(number(*m)).second) << number(*m);
			}
		}
		for (uint64_t n : w.over ? w.there : std::set<uint64_t>()) {
			EXPECT_TRUE(w.met.contains(n)) << n;
		}
	}
	/* Messages that left the queue are not missed. */
	void forget_gone(Walker (&all)[3])
	{
		const std::set<uint64_t> now = numbered();

		for (Walker &w : all)
			std::erase_if(w.there, [&](uint64_t n) { return !now.contains(n); });
	}
	void play()
	{
		Walker w[3];

		for (unsigned int i = 0; i < 100 && !HasFailure(); i++) {
			Walker &one = w[rng() % 3];

			if (!one.begun)
				one.there = numbered();
			one.begun = true;
			look(one, 1 + rng() % 3);
			act();
			check();
			forget_gone(w);
			drop();
		}
		for (Walker &each : w)
			if (each.begun && !each.over)
				q->stop(each.walk);
	}
};

TEST_F(QueueWalks, MeetAllThatStays)
{
	for (unsigned int seed = 1; seed <= 200 && !HasFailure(); seed++) {
		SCOPED_TRACE("story " + std::to_string(seed));
		rng.seed(seed);
		play();
	}
}

/* A message that steps aside and comes back, to any place behind those that the walk has met. */
TEST_F(Queue, AWalkMeetsAMessageThatCameBack)
{
	SendQueue::Walk w;
	Message *first = append(), *second = append(), *third = append();

	EXPECT_EQ(q->step(w), first);
	q->remove(second);
	q->remove(third);
	q->append(second);
	EXPECT_EQ(q->step(w), second) << "the walk stood at the end";
	q->append(third);
	EXPECT_EQ(q->step(w), third);
	EXPECT_EQ(q->step(w), nullptr);
}

/* A queue that is taken over brings nothing that was met there; the other walk ends. */
TEST_F(Queue, WalksGoOnWhenAQueueIsTakenOver)
{
	SendQueue from(1);
	SendQueue::Walk mine, its;
	SendQueue::Fold f;
	Message *first = append(), *moved[2] = {make(), make()};

	for (Message *m : moved)
		from.append(m);
	EXPECT_EQ(q->step(mine), first);
	EXPECT_EQ(from.step(its), moved[0]);
	q->begin_fold(f);
	take_all(
		*q, f, from, [](const Message &) { return false; }, done);
	EXPECT_EQ(from.step(its), nullptr);
	for (Message *m : moved)
		EXPECT_EQ(q->step(mine), m);
	EXPECT_EQ(q->step(mine), nullptr);
	renumber(*q, f);
}

} // namespace
