// SPDX-License-Identifier: GPL-2.0
/*
 * bug_test.cc: promises of the core to itself that were broken on purpose are told, each once, and
 * a path ends its connection.
 */
#include "fixture.h"
#include "net/rds/delivered.h"
#include "net/rds/hash.h"
#include "net/rds/net.h"
#include "net/rds/path.h"
#include "net/rds/send_queue.h"
#include "net/rds/send_space.h"
#include "net/rds/socket.h"

namespace
{

using fake::wire;
using host::endpoint;
using rds::Message;
using rds::MsgList;

/* The text told last, if any was since the last question. */
std::string told()
{
	return host::bugs.exchange(0) ? host::last_bug.load() : "";
}

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
	rds::Batch b;
	MsgList done;

	other.append(make());
	other.begin(b);
	other.add(b, other.front());
	(void)other.settle(b, 5, done);
	EXPECT_EQ(told(), "");
	q.take_over(
		other, 7, [](const Message &) { return false; }, done);
	EXPECT_EQ(told(), "messages move while a transport has some of them");
	clear(q);
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
	EXPECT_FALSE(wire().path->bug_on(false, "only a test"));
	EXPECT_EQ(wire().path->state(), rds::PathState::kUp);
	EXPECT_TRUE(wire().path->bug_on(true, "only a test"));
	sim::run_ready();
	EXPECT_EQ(told(), "only a test");
	EXPECT_NE(wire().path->state(), rds::PathState::kUp);
	EXPECT_EQ(net->stat(RDS_S_conn_reset), 1u);
}

} // namespace
