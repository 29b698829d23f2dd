// SPDX-License-Identifier: GPL-2.0
/*
 * bug_test.cc: promises of the core to itself that were broken on purpose are told, each once, and
 * a path ends its connection.
 */
#include "fixture.h"
#include "net/rds/path/delivered.h"
#include "net/rds/hash.h"
#include "net/rds/net.h"
#include "net/rds/path/path.h"
#include "queue_calls.h"
#include "net/rds/socket/socket.h"

namespace
{

using fake::wire;
using host::endpoint;
using rds::Message;
using rds::MsgList;

class Bug : public SimTest
{
protected:
	Message *make()
	{
		Message *m = rds::message_create(0, RDS_MAY_SLEEP);

		rds::wire::encode(m->hdr, 0, 0, 0, 0);
		return m;
	}
	void clear(rds::SendQueue &q)
	{
		while (Message *m = q.front()) {
			q.remove(m);
			rds::message_put(m);
		}
	}
};

TEST_F(Bug, ABatchThatIsNotNext)
{
	rds::SendQueue q(1);
	rds::Batch b;
	MsgList done;

	q.append(make());
	q.append(make());
	q.begin(b);
	q.add(b, q.next(q.front()));
	(void)q.settle(b, 0, done);
	EXPECT_EQ(told(), "a batch is not what is sent next");
	clear(q);
}

TEST_F(Bug, MessagesMoveThatATransportHas)
{
	rds::SendQueue q(1), other(1);
	rds::SendQueue::Fold f;
	rds::Batch b;
	MsgList done;

	other.append(make());
	other.begin(b);
	other.add(b, other.front());
	(void)other.settle(b, 5, done);
	EXPECT_EQ(told(), "");
	q.begin_fold(f);
	take_all(
		q, f, other, [](const Message &) { return false; }, done);
	EXPECT_EQ(told(), "messages move while a transport has some of them");
	renumber(q, f);
	restart(other);
	clear(other);
}

/* All of one has left, and the peer has not said that it has it: the two queues alike. */
TEST_F(Bug, MessagesMoveThatWereSent)
{
	for (bool its : {true, false}) {
		rds::SendQueue q(1), other(1);
		rds::SendQueue &sends = its ? other : q;
		rds::SendQueue::Fold f;
		rds::Batch b;
		MsgList done;

		sends.append(make());
		sends.append(make());
		sends.begin(b);
		sends.add(b, sends.front());
		(void)sends.settle(b, b.bytes, done);
		EXPECT_EQ(told(), "");
		q.begin_fold(f);
		take_all(
			q, f, other, [](const Message &) { return false; }, done);
		EXPECT_EQ(told(), "messages move while a transport has some of them") << its;
		restart(sends);
		renumber(q, f);
		clear(q);
		clear(other);
	}
}

/* A batch that the transport has is marked, though nothing of it has left yet. */
TEST_F(Bug, MessagesMoveThatATransportMayRead)
{
	rds::SendQueue q(1), other(1);
	rds::SendQueue::Fold f, its;
	rds::Batch b;
	MsgList done;

	other.append(make());
	other.begin(b);
	other.add(b, other.front());
	q.begin_fold(f);
	take_all(
		q, f, other, [](const Message &) { return false; }, done);
	EXPECT_EQ(told(), "messages move while a transport has some of them");
	renumber(q, f);
	EXPECT_EQ(told(), "");
	other.begin_fold(its);
	renumber(other, its);
	EXPECT_EQ(told(), "numbers change while a transport has messages");
	restart(other);
	EXPECT_EQ(told(), "a connection begins anew while a transport has messages");
	(void)other.settle(b, 0, done);
	clear(other);
	EXPECT_EQ(told(), "");
}

TEST_F(Bug, OneWaitsBeforeOneThatDoesNot)
{
	rds::SendQueue q(1);
	Message *m = make();

	q.append(m);
	q.append(make());
	q.hold(m);
	EXPECT_EQ(told(), "a message is held before one that is not");
	q.release();
	clear(q);
}

TEST_F(Bug, AMessageIsTakenBackThatIsLeaving)
{
	rds::SendQueue q(1);
	rds::Batch b;
	Message *m = make();

	q.append(m);
	q.begin(b);
	q.add(b, m);
	q.remove(m);
	EXPECT_EQ(told(), "a message is taken back that a transport has");
	rds::message_put(m);
}

TEST_F(Bug, AMessageOvertakesAsAFrame)
{
	rds::SendQueue q(1);
	MsgList done;
	Message *m = make();

	q.put_first(m, done);
	q.remove(m);
	EXPECT_EQ(told(), "");
	rds::wire::put64(m->hdr.sequence, 1);
	q.put_first(m, done);
	EXPECT_EQ(told(), "a frame with a number overtakes");
	clear(q);
}

/* Or that stay: the second message has number 2. */
TEST_F(Bug, NumbersThatFall)
{
	for (uint64_t first : {9, 2}) {
		rds::SendQueue q(1);
		rds::Batch b;
		MsgList done;

		q.append(make());
		q.append(make());
		rds::wire::put64(q.front()->hdr.sequence, first);
		q.begin(b);
		for (Message *m = q.front(); m; m = q.next(m))
			q.add(b, m);
		(void)q.settle(b, b.bytes, done);
		EXPECT_EQ(told(), "numbers go out that fall") << first;
		restart(q);
		clear(q);
	}
}

/* A message that began to leave in one batch goes on in the next. */
TEST_F(Bug, NoneInWhatGoesOn)
{
	rds::SendQueue q(1);
	rds::Batch b;
	MsgList done;

	q.append(make());
	for (uint64_t bytes : {5, 6, 100}) {
		q.begin(b);
		q.add(b, q.front());
		(void)q.settle(b, bytes, done);
	}
	EXPECT_EQ(told(), "");
	clear(q);
}

TEST_F(Bug, LentPagesComeBackTooSoon)
{
	rds::SendQueue q(1);
	rds::Batch b;
	MsgList done;
	Message *m = make();

	ASSERT_TRUE(rds::message_lend(*m, 1).ok());
	q.append(m);
	q.begin(b);
	q.add(b, m);
	(void)q.settle(b, b.bytes, done);
	q.collect([](const Message &, bool) { return true; }, done);
	EXPECT_EQ(told(), "lent pages come back that a transport may read");
	rds::message_put(done.pop_front());
}

TEST_F(Bug, LentPagesAreGivenBackTwice)
{
	Message *m = make();

	ASSERT_TRUE(rds::message_lend(*m, 1).ok());
	rds_free(rds::message_complete(*m));
	EXPECT_EQ(told(), "");
	EXPECT_EQ(rds::message_complete(*m), nullptr);
	EXPECT_EQ(told(), "lent pages are given back twice");
	rds::message_put(m);
}

TEST_F(Bug, ASenderWaitsForPages)
{
	Message *m = make();

	ASSERT_TRUE(rds::message_lend(*m, 1).ok());
	m->sock = reinterpret_cast<rds::Socket *>(m); /* it is not looked into */
	rds::message_put(m);
	EXPECT_EQ(told(), "a sender waits for pages that nobody gives back");
}

TEST_F(Bug, WhatWasDeliveredIsNotAnyMore)
{
	rds::Delivered d(1);

	d.has(7);
	d.has(7);
	EXPECT_EQ(told(), "");
	d.has(6);
	EXPECT_EQ(told(), "what was delivered is not any more");
}

TEST_F(Bug, MoreMemoryThanWasUsed)
{
	rds::MemAccount mem;

	(void)mem.add(7);
	mem.sub(7);
	EXPECT_EQ(told(), "");
	mem.sub(1);
	EXPECT_EQ(told(), "more memory comes back than was used");
}

struct Entry {
	rds::HashNode node;
};

TEST_F(Bug, ATableWithSomethingInIt)
{
	Entry e;
	{
		rds::HashTable<Entry, &Entry::node> t;

		ASSERT_TRUE(t.init().ok());
		EXPECT_EQ(t.insert(1, &e, [](const Entry &) { return false; }), nullptr);
	}
	EXPECT_EQ(told(), "a table is destroyed, and something is in it");
}

class PathBug : public SocketTest<0>
{
};

/* The connection that may have gone wrong ends; the next one is as good as any. */
TEST_F(PathBug, EndsTheConnection)
{
	ASSERT_EQ(s->send(endpoint(remote, 5000), pattern(10)), 0);
	sim::run_ready();
	rds_path_connected(wire().path);
	sim::run_ready();
	EXPECT_EQ(wire().path->state(), rds::PathState::kUp);
	wire().path->bug("only a test");
	sim::run_ready();
	EXPECT_EQ(told(), "only a test");
	EXPECT_NE(wire().path->state(), rds::PathState::kUp);
	EXPECT_EQ(net->stat(RDS_S_conn_reset), 1u);
}

TEST_F(PathBug, ASocketThatGivesBackWhatItHasNot)
{
	{
		rds::RcuReader rcu;

		s->core()->snd_space.give(s->core(), 1, 0);
	}
	EXPECT_EQ(told(), "more is given back than was to be sent");
	s->close();
	sim::run_ready();
	EXPECT_EQ(told(), "a socket is destroyed that has to send");
}

} // namespace
