// SPDX-License-Identifier: GPL-2.0
/*
 * bug_ground_test.cc: lists, references, messages and tables tell what their users do wrong, where
 * it would be seen by nobody until much later.
 */
#include "fixture.h"
#include "net/rds/net.h"
#include "net/rds/path/path.h"
#include "net/rds/socket/socket.h"
#include "reach.h"

RDS_REACH(conns_table, &rds::ConnTable::table_)

namespace
{

using host::endpoint;

struct Item {
	rds::ListNode link;
};
using Items = rds::List<Item, &Item::link>;

class GroundBug : public SimTest
{
};

TEST_F(GroundBug, OnTwoLists)
{
	Items one, two;
	Item item;

	one.push_back(&item);
	EXPECT_EQ(told(), "");
	two.push_back(&item);
	EXPECT_EQ(told(), "what is on a list is put on one");
	EXPECT_TRUE(two.empty());
	EXPECT_EQ(one.front(), &item) << "it stays where it is";
	one.remove(&item);
	EXPECT_EQ(told(), "");
	one.remove(&item);
	EXPECT_EQ(told(), "what is on no list is taken off one");
}

TEST_F(GroundBug, AReferenceTooMany)
{
	rds::RefCount refs(1);

	EXPECT_TRUE(refs.put());
	EXPECT_EQ(told(), "");
	EXPECT_FALSE(refs.put()) << "it is gone already";
	EXPECT_EQ(told(), "more references are given back than were taken");
}

TEST_F(GroundBug, AReferenceOnWhatIsGone)
{
	rds::RefCount refs(1);

	EXPECT_TRUE(refs.put());
	refs.get();
	EXPECT_EQ(told(), "a reference is taken on what nobody has");
}

TEST_F(GroundBug, AMessageThatIsQueued)
{
	rds::Message *m = rds::message_create(0, RDS_MAY_SLEEP);
	rds::MsgList queue;

	queue.push_back(m);
	rds::message_put(m);
	EXPECT_EQ(told(), "a message is freed that is queued");
	queue.remove(m);
	rds::message_free_raw(m);
}

TEST_F(GroundBug, ASocketThatIsNotBound)
{
	rds::BindTable table;
	rds::Bound nobody;

	ASSERT_TRUE(table.init().ok());
	table.remove(nobody);
	EXPECT_EQ(told(), "a socket is taken out of a table that has it not");
}

/* A connection with somebody who does not answer. */
class ConnBug : public SocketTest<0>
{
protected:
	void SetUp() override
	{
		SocketTest::SetUp();
		ASSERT_EQ(s->send(endpoint(remote, 5000), pattern(10)), 0);
		sim::run_ready();
	}
	static rds_conn &conn()
	{
		return fake::wire().path->conn;
	}
};

TEST_F(ConnBug, TheTablesReference)
{
	conn().put();
	EXPECT_EQ(told(), "the last reference of a connection that lives is given back");
	sim::run_for(1000ull * 1000 * 1000);
	EXPECT_EQ(fake::wires().size(), 1u) << "it lives on";
}

TEST_F(ConnBug, BuriedAndInNoTable)
{
	rds_conn &c = conn();

	EXPECT_TRUE((net->core()->conns.*reach(conns_table())).remove(&c));
	c.kill();
	EXPECT_TRUE(sim::run_until([] { return fake::wires().empty(); }, 1000ull * 1000 * 1000));
	EXPECT_EQ(told(), "a connection is reaped that the table has not");
}

TEST_F(ConnBug, ClaimedAndNotCounted)
{
	conn().claim();
	EXPECT_EQ(told(), "");
	conn().passive.store(true);
	conn().claim();
	EXPECT_EQ(told(), "a passive connection was not counted");
	EXPECT_EQ(net->core()->passive.load(), 0u);
}

} // namespace
