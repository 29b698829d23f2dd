// SPDX-License-Identifier: GPL-2.0
/* Operations: begun with their message, decided once, told of once. */
#include "fixture.h"
#include "net/rds/net.h"
#include "net/rds/rdma.h"
#include "net/rds/socket/socket.h"
#include "pages.h"

namespace
{

using fake::wire;
using host::endpoint;
using host::Socket;

constexpr int kEinval = -22, kEopnotsupp = -95, kEmsgsize = -90, kEnomem = -12, kEfault = -14,
	      kEagain = -11;
constexpr uint64_t kNotify = rds::kRdmaNotifyMe, kSilent = rds::kRdmaSilent,
		   kFence = rds::kRdmaFence;
constexpr uint64_t kMs = 1000 * 1000;
using Told = std::vector<std::pair<uint64_t, int>>;

/* One path to a remote host over a transport with RDMA, whose peer acknowledges by number. */
class RdmaOp : public SocketTest<RDS_CAP_PREFER_LOOP | RDS_CAP_RDMA | RDS_CAP_DELIVERY_ACK |
				 RDS_CAP_NUMBERED>
{
protected:
	void SetUp() override
	{
		SocketTest::SetUp();
		fake::set_rdma(true);
	}
	void bring_up()
	{
		sim::run_ready();
		rds_path_connected(wire().path);
		sim::run_ready();
		hello();
	}
	void hello()
	{
		rds::wire::Header h;

		rds::wire::encode_hello(h, {77, rds::wire::kCapDeliveryAck});
		ASSERT_EQ(fake::arrive(wire().path, h), RDS_RECV_SKIP);
		sim::run_ready();
	}
	void die()
	{
		rds_path_drop(wire().path, RDS_DROP_ERROR);
		sim::run_ready();
	}
	void reconnect()
	{
		die();
		sim::run_for(1000 * kMs);
		bring_up();
	}
	void peer_has(uint64_t seq)
	{
		rds::wire::Header h;

		rds::wire::encode_control(h);
		rds::wire::put64(h.ack, seq);
		ASSERT_EQ(fake::arrive(wire().path, h), RDS_RECV_SKIP);
	}
	struct rds_op_args write_op(uint64_t token, uint64_t flags = kNotify)
	{
		struct rds_op_args a = {};

		local = {memory.addr(), 100};
		a.kind = RDS_OP_WRITE;
		a.cookie = 0x700000042;
		a.remote_addr = 0x20;
		a.remote_bytes = 100;
		a.local = &local;
		a.n_local = 1;
		a.flags = flags;
		a.token = token;
		return a;
	}
	struct rds_op_args atomic_op(unsigned char kind)
	{
		struct rds_op_args a = write_op(1);

		local.bytes = a.remote_bytes = 8;
		a.remote_addr = 1; /* behind the cookie's 7: a word */
		a.kind = kind;
		a.compare_add = 5;
		a.swap = 6;
		return a;
	}
	struct rds_msg *message(uint32_t len)
	{
		host::Bytes data = pattern(len);
		struct rds_uio from = {data.data(), data.size()};
		struct rds_msg *m = nullptr;

		refused = rds_msg_create(s->core(), &to, len, &from, 0, 0, &m);
		return m;
	}
	int refused = 0; /* the last one: why there is none */
	/* 0 or what the send ended with. */
	int send_op(const struct rds_op_args &a, uint32_t len = 10)
	{
		struct rds_msg *m = message(len);

		if (!m)
			return refused;

		int err = rds_msg_set_op(s->core(), m, &a);

		if (!err)
			err = rds_socket_send(s->core(), &to, m, 0);
		if (err)
			rds_msg_drop(s->core(), m);
		sim::run_ready();
		return err;
	}
	/* An established path with nothing queued. */
	void open()
	{
		ASSERT_EQ(s->send(to, pattern(4)), 0);
		bring_up();
		peer_has(1);
		wire().sent.clear();
	}
	Told told()
	{
		struct rds_notice n;
		Told out;

		while (rds_socket_notices(s->core(), &n, 1)) {
			out.emplace_back(n.token, n.status);
			rds_socket_notices_done(s->core(), 1);
		}
		return out;
	}
	/* Messages: no hello, map or ack. */
	std::vector<fake::Frame> sent()
	{
		auto all = fake::frames(wire().sent);

		std::erase_if(all, [](const fake::Frame &f) { return !f.seq; });
		return all;
	}
	const struct rds_op &begun(size_t i = 0)
	{
		return *rds_msg_op(wire().ops.at(i));
	}

	host::Region memory{8192};
	struct rds_iov local = {};
	struct rds_endpoint to = endpoint(host::addr4(99), 4001);
};

TEST_F(RdmaOp, IsBegunWithItsMessage)
{
	open();
	ASSERT_EQ(send_op(write_op(7, kNotify | kFence)), 0);
	ASSERT_EQ(wire().ops.size(), 1);
	EXPECT_EQ(begun().kind, RDS_OP_WRITE);
	EXPECT_EQ(begun().rkey, 0x42);
	EXPECT_EQ(begun().raddr, 0x27);
	EXPECT_EQ(begun().bytes, 100);
	EXPECT_TRUE(begun().fence);
	EXPECT_FALSE(begun().alone);

	const auto frames = sent();

	ASSERT_EQ(frames.size(), 1);

	/* The peer frees what may be used once. */
	rds::wire::ExtReader r(frames[0].header);
	rds::wire::ExtView e;

	ASSERT_TRUE(r.next(e));
	EXPECT_EQ(e.type, rds::wire::Ext::kRdma);
	EXPECT_EQ(rds::wire::get32(e.data), 0x42);
	EXPECT_EQ(net->stat(RDS_S_send_rdma), 1);
	EXPECT_EQ(net->stat(RDS_S_send_rdma_bytes), 100);
}

/* The remote piece may be the larger one: as much moves as there is memory for here. */
TEST_F(RdmaOp, MovesWhatOurMemoryHas)
{
	struct rds_op_args a = write_op(7);

	a.remote_bytes = 300;
	ASSERT_EQ(send_op(a), 0);
	bring_up();
	EXPECT_EQ(net->stat(RDS_S_send_rdma_bytes), 100);
}

/* Memory that an atomic operation counted at may be used again. */
TEST_F(RdmaOp, AnAtomicOneFreesNothing)
{
	open();
	ASSERT_EQ(send_op(atomic_op(RDS_OP_FADD)), 0);
	ASSERT_EQ(sent().size(), 1);
	EXPECT_EQ(sent()[0].header.ext[0], 0);
	wire().op_done(rds::kRdmaSuccess);
	EXPECT_EQ(told(), (Told{{1, 0}}));
}

TEST_F(RdmaOp, TheFirstWordIsTheNotification)
{
	open();
	ASSERT_EQ(send_op(write_op(7)), 0);
	EXPECT_EQ(told(), Told{});
	EXPECT_EQ(s->sock().woken_read.load(), 0u);
	wire().op_done(rds::kRdmaSuccess);
	EXPECT_EQ(s->sock().woken_read.load(), 1u);
	EXPECT_TRUE(s->readable());
	EXPECT_EQ(told(), (Told{{7, 0}}));
	EXPECT_FALSE(s->readable());
	peer_has(2);
	reconnect();
	EXPECT_EQ(told(), Told{});
}

TEST_F(RdmaOp, WithoutTheFlagNobodyIsTold)
{
	open();
	ASSERT_EQ(send_op(write_op(7, 0)), 0);
	wire().op_done(rds::kRdmaRemoteError);
	EXPECT_EQ(told(), Told{});
}

TEST_F(RdmaOp, RecverrTellsOfFailuresOnly)
{
	open();
	rds_socket_set_recverr(s->core(), 1);
	ASSERT_EQ(send_op(write_op(7, 0)), 0);
	ASSERT_EQ(send_op(write_op(8, 0)), 0);
	wire().op_done(rds::kRdmaSuccess);
	wire().op_done(rds::kRdmaRemoteError);
	EXPECT_EQ(told(), (Told{{8, 1}}));
}

TEST_F(RdmaOp, AnAckedMessageProvesItsWrite)
{
	open();
	ASSERT_EQ(send_op(write_op(7)), 0);
	peer_has(2);
	EXPECT_EQ(told(), (Told{{7, 0}}));
	wire().op_done(rds::kRdmaDropped);
	EXPECT_EQ(told(), Told{});
}

/* A read's data may come after the peer has the message that went behind it. */
TEST_F(RdmaOp, AnAckedMessageDoesNotProveItsRead)
{
	struct rds_op_args a = write_op(7);

	open();
	a.kind = RDS_OP_READ;
	ASSERT_EQ(send_op(a), 0);
	peer_has(2);
	EXPECT_EQ(told(), Told{});
	wire().op_done(rds::kRdmaSuccess);
	EXPECT_EQ(told(), (Told{{7, 0}}));
}

TEST_F(RdmaOp, ADroppedOneTakesItsMessageAlong)
{
	open();
	ASSERT_EQ(send_op(write_op(7)), 0);
	ASSERT_EQ(s->send(to, pattern(20)), 0);
	reconnect();
	EXPECT_EQ(told(), (Told{{7, 3}}));
	ASSERT_EQ(sent().size(), 1); /* what has no operation */
	EXPECT_EQ(sent()[0].data, pattern(20));
	EXPECT_TRUE(wire().ops.empty());
}

/* Its message does not go, so no ack is waited for. */
TEST_F(RdmaOp, AFailedOneLeavesWithoutAnAck)
{
	open();
	ASSERT_EQ(send_op(write_op(7)), 0);
	wire().op_done(rds::kRdmaOtherError);
	EXPECT_EQ(told(), (Told{{7, rds::kRdmaOtherError}}));
	ASSERT_EQ(s->send(to, pattern(20)), 0);
	EXPECT_EQ(host::count_messages(net->core(), RDS_QUEUE_RETRANS), 1u) << "the other one";
	peer_has(3);
	EXPECT_EQ(host::count_messages(net->core(), RDS_QUEUE_RETRANS), 0u);
}

TEST_F(RdmaOp, ADoneOneIsNotDoneAgain)
{
	open();
	ASSERT_EQ(send_op(write_op(7)), 0);
	wire().op_done(rds::kRdmaSuccess);
	reconnect();
	EXPECT_EQ(told(), (Told{{7, 0}}));
	ASSERT_EQ(sent().size(), 1);
	EXPECT_EQ(sent()[0].data, pattern(10));
	EXPECT_TRUE(wire().ops.empty());
}

TEST_F(RdmaOp, WhatWasNotBegunWaitsForTheNextConnection)
{
	open();
	wire().room = 0;
	ASSERT_EQ(send_op(write_op(7)), 0);
	EXPECT_TRUE(wire().ops.empty());
	wire().room = SIZE_MAX;
	reconnect();
	EXPECT_EQ(told(), Told{});
	ASSERT_EQ(wire().ops.size(), 1);
	wire().op_done(rds::kRdmaSuccess);
	EXPECT_EQ(told(), (Told{{7, 0}}));
}

TEST_F(RdmaOp, CancelledBeforeItBegan)
{
	open();
	wire().room = 0;
	ASSERT_EQ(send_op(write_op(7)), 0);
	rds_socket_cancel(s->core(), &to);
	EXPECT_EQ(told(), (Told{{7, 2}}));
}

TEST_F(RdmaOp, CancelledAfterwardsTheAdapterHasTheWord)
{
	open();
	ASSERT_EQ(send_op(write_op(7)), 0);
	rds_socket_cancel(s->core(), &to);
	EXPECT_EQ(told(), Told{});
	wire().op_done(rds::kRdmaSuccess);
	EXPECT_EQ(told(), (Told{{7, 0}}));
}

TEST_F(RdmaOp, CancelledInTheMidstOfXmit)
{
	open();
	wire().on_xmit = [this] { rds_socket_cancel(s->core(), &to); };
	ASSERT_EQ(send_op(write_op(7)), 0);
	ASSERT_EQ(wire().ops.size(), 1);
	reconnect();
	EXPECT_EQ(told(), (Told{{7, 3}}));
	EXPECT_TRUE(sent().empty());
}

TEST_F(RdmaOp, CancelledInTheMidstOfAnXmitWithoutRoom)
{
	open();
	wire().room = 0;
	wire().on_xmit = [this] { rds_socket_cancel(s->core(), &to); };
	ASSERT_EQ(send_op(write_op(7)), 0);
	EXPECT_EQ(told(), (Told{{7, 2}}));
	EXPECT_TRUE(wire().ops.empty());
}

TEST_F(RdmaOp, ADestroyedPathDropsWhatWaits)
{
	open();
	wire().room = 0;
	ASSERT_EQ(send_op(write_op(7)), 0);
	rds_transport_net_exit(net->core(), fake::ops());
	EXPECT_EQ(told(), (Told{{7, 3}}));
}

TEST_F(RdmaOp, TheSocketMayGoFirst)
{
	open();
	ASSERT_EQ(send_op(write_op(7)), 0);
	s->close();
	sim::run_ready();
	wire().op_done(rds::kRdmaSuccess);
}

TEST_F(RdmaOp, UnreadNotificationsGoWithTheSocket)
{
	open();
	ASSERT_EQ(send_op(write_op(7)), 0);
	wire().op_done(rds::kRdmaSuccess);
	s->close();
}

TEST_F(RdmaOp, ASilentOneWithoutPayloadGoesAlone)
{
	open();
	ASSERT_EQ(send_op(write_op(7, kNotify | kSilent), 0), 0);
	ASSERT_EQ(send_op(write_op(8, kNotify | kSilent), 5), 0);
	ASSERT_EQ(wire().ops.size(), 2);
	EXPECT_TRUE(begun(0).alone);
	EXPECT_FALSE(begun(1).alone);
	ASSERT_EQ(sent().size(), 1);
	EXPECT_EQ(sent()[0].data.size(), 5);
	wire().op_done(rds::kRdmaSuccess);
	wire().op_done(rds::kRdmaSuccess);
	peer_has(3);
	EXPECT_EQ(told(), (Told{{7, 0}, {8, 0}}));
	EXPECT_EQ(s->core()->snd_space.mem().used(), 0);
}

/* Nobody acknowledges what is not sent: it leaves when it is done. */
TEST_F(RdmaOp, AloneItLeavesTheQueueWhenDone)
{
	open();
	ASSERT_EQ(send_op(write_op(7, kSilent), 0), 0);
	EXPECT_NE(s->core()->snd_space.mem().used(), 0);
	wire().op_done(rds::kRdmaSuccess);
	EXPECT_EQ(s->core()->snd_space.mem().used(), 0);
}

/* One that acknowledges when it is asked, and only then, has to be asked by a message. */
TEST_F(RdmaOp, AloneItDoesNotKeepTheOneBeforeFromAsking)
{
	ASSERT_EQ(send_op(write_op(7), 5), 0);
	ASSERT_EQ(send_op(write_op(8, kSilent), 0), 0);
	sim::run_ready();
	rds_path_connected(wire().path);
	sim::run_ready();
	ASSERT_EQ(wire().ops.size(), 2);
	ASSERT_EQ(sent().size(), 1);
	EXPECT_TRUE(sent()[0].flags & rds::wire::kAckRequired);
}

TEST_F(RdmaOp, AloneAndDroppedItIsNotTriedAgain)
{
	open();
	ASSERT_EQ(send_op(write_op(7, kNotify | kSilent), 0), 0);
	reconnect();
	EXPECT_EQ(told(), (Told{{7, 3}}));
	EXPECT_TRUE(wire().ops.empty());
	EXPECT_EQ(s->core()->snd_space.mem().used(), 0);
}

TEST_F(RdmaOp, WhatIsWrongWithOne)
{
	struct rds_op_args a = write_op(1);

	a.n_local = 0;
	EXPECT_EQ(send_op(a), kEinval);
	a = write_op(1);
	a.n_local = 1025;
	EXPECT_EQ(send_op(a), kEmsgsize);
	a = write_op(1);
	a.remote_bytes = (1 << 20) + 1;
	EXPECT_EQ(send_op(a), kEmsgsize);
	a = write_op(1);
	a.remote_bytes = 99;
	EXPECT_EQ(send_op(a), kEinval);
	a = write_op(1);
	local.bytes = 0;
	EXPECT_EQ(send_op(a), kEinval);
	a = write_op(1);
	local.bytes = (1 << 20) + 1;
	EXPECT_EQ(send_op(a), kEinval);
	a = write_op(1);
	local.bytes = a.remote_bytes = 1 << 20;
	EXPECT_EQ(send_op(a), kEfault) << "so much may be, but is not there";
	a = write_op(1);
	local.addr = ~0ull - 5;
	EXPECT_EQ(send_op(a), kEinval);
	a = write_op(1);
	local.addr = ~0ull - 99;
	EXPECT_EQ(send_op(a), kEfault) << "it ends where addresses do, and is nobody's";
	EXPECT_EQ(told(), Told{});
	a = write_op(1);
	local.bytes = 1;
	EXPECT_EQ(send_op(a), 0) << "one byte is the least";
	rds_socket_cancel(s->core(), &to);
}

/* A program that never reads how its operations ended is stopped; what it reads makes room. */
TEST_F(RdmaOp, NotesThatNobodyReadsHoldTheirRoom)
{
	constexpr uint32_t kOps = 1000 * rds::kMemFactor / rds::kOpNoteBytes;
	uint32_t n = 0;

	open();
	s->sock().sndbuf = 1000;
	while (n <= kOps && !send_op(write_op(n))) {
		wire().op_done(rds::kRdmaSuccess);
		peer_has(2 + n++);
	}
	EXPECT_LE(n, kOps);
	EXPECT_EQ(s->core()->snd_space.bytes(), 0u) << "all of it is delivered";
	EXPECT_EQ(s->core()->snd_space.mem().used(), n * rds::kOpNoteBytes);
	EXPECT_EQ(send_op(write_op(n)), kEagain);

	const uint32_t woken = s->sock().woken_write.load();

	rds_socket_notices_done(s->core(), 1);
	EXPECT_EQ(s->sock().woken_write.load(), woken + 1) << "it was refused";
	EXPECT_EQ(send_op(write_op(n)), 0);
	wire().op_done(rds::kRdmaSuccess);
	peer_has(2 + n);
	EXPECT_EQ(told().size(), n);
	EXPECT_EQ(s->core()->snd_space.mem().used(), 0u);
}

/* Nor does one that nobody is told of keep any, nor one whose socket is gone first. */
TEST_F(RdmaOp, EveryNoteGivesItsRoomBack)
{
	open();
	rds_socket_set_recverr(s->core(), 1);
	ASSERT_EQ(send_op(write_op(1, 0)), 0);
	wire().op_done(rds::kRdmaSuccess);
	peer_has(2);
	EXPECT_EQ(s->core()->snd_space.mem().used(), 0u) << "only errors are told";
	ASSERT_EQ(send_op(write_op(2)), 0);
	ASSERT_EQ(send_op(write_op(3)), 0);
	wire().op_done(rds::kRdmaSuccess);

	rds::Socket *core = s->core();

	s->close(); /* its memory stays for a grace period */
	EXPECT_EQ(core->snd_space.mem().used(), 0u) << "one unread, one under way";
	wire().op_done(rds::kRdmaSuccess);
	EXPECT_EQ(core->snd_space.mem().used(), 0u);
}

TEST_F(RdmaOp, TwoInOneMessage)
{
	struct rds_op_args a = write_op(1);
	struct rds_msg *m = message(0);

	ASSERT_EQ(rds_msg_set_op(s->core(), m, &a), 0);
	EXPECT_EQ(rds_msg_set_op(s->core(), m, &a), kEinval);
	rds_msg_drop(s->core(), m);
	EXPECT_EQ(told(), Told{});
}

TEST_F(RdmaOp, NotToThisHost)
{
	to = endpoint(a2, 4001);
	EXPECT_EQ(send_op(write_op(1)), kEopnotsupp);
}

TEST_F(RdmaOp, NotWhereThereIsNone)
{
	fake::set_rdma(false);
	EXPECT_EQ(send_op(write_op(1)), kEopnotsupp);
}

TEST_F(RdmaOp, AnAtomicAsTheAdapterHasIt)
{
	struct rds_op_args a = atomic_op(RDS_OP_FADD);

	open();
	ASSERT_EQ(send_op(a), 0);
	EXPECT_FALSE(begun(0).masked);
	EXPECT_EQ(begun(0).compare_add, 5);
	/* Masks that mean nothing need no adapter that has any. */
	a.masked = 1;
	ASSERT_EQ(send_op(a), 0);
	EXPECT_FALSE(begun(1).masked);
	a.compare_add_mask = 1;
	EXPECT_EQ(send_op(a), kEopnotsupp);
	a = atomic_op(RDS_OP_CSWP);
	a.masked = 1;
	a.compare_add_mask = a.swap_mask = ~0ull;
	ASSERT_EQ(send_op(a), 0);
	EXPECT_FALSE(begun(2).masked);
	EXPECT_EQ(begun(2).swap, 6);
	a.swap_mask = 0xff;
	EXPECT_EQ(send_op(a), kEopnotsupp);
	fake::regions().atomics = 0;
	EXPECT_EQ(send_op(atomic_op(RDS_OP_FADD)), kEopnotsupp);
}

TEST_F(RdmaOp, AnAtomicOfAnAdapterThatOnlyKnowsMasks)
{
	open();
	fake::regions().atomics = RDS_ATOMICS_MASKED;
	ASSERT_EQ(send_op(atomic_op(RDS_OP_FADD)), 0);
	EXPECT_TRUE(begun(0).masked);
	EXPECT_EQ(begun(0).compare_add_mask, 0);
	ASSERT_EQ(send_op(atomic_op(RDS_OP_CSWP)), 0);
	EXPECT_EQ(begun(1).compare_add_mask, ~0ull);
	EXPECT_EQ(begun(1).swap_mask, ~0ull);
}

TEST_F(RdmaOp, EveryAllocationMayFail)
{
	struct rds_op_args a = write_op(1);
	int got = kEnomem;
	unsigned int nth = 0;

	while (got == kEnomem) {
		struct rds_msg *m = message(10);

		sim::fail_nth(++nth);
		got = rds_msg_set_op(s->core(), m, &a);
		sim::fail_nth(0);
		rds_msg_drop(s->core(), m);
	}
	EXPECT_EQ(got, 0);
	EXPECT_GT(nth, 3);
}

/* It is begun with the first byte of its message, and not with every part of it. */
TEST_F(RdmaOp, IsCountedOnce)
{
	open();
	wire().room = 1;
	ASSERT_EQ(send_op(write_op(7)), 0);
	for (int i = 0; i < 3; i++) {
		wire().room = 10;
		rds_path_writable(wire().path);
		sim::run_ready();
	}
	wire().room = SIZE_MAX;
	rds_path_writable(wire().path);
	sim::run_ready();
	ASSERT_EQ(sent().size(), 1u);
	EXPECT_EQ(net->stat(RDS_S_send_rdma), 1u);
	EXPECT_EQ(net->stat(RDS_S_send_rdma_bytes), 100u);
}

/* Memory that is sent from need not be writable; memory that is read into has to be. */
TEST_F(RdmaOp, OnlyAWriteTakesWhatMayNotBeChanged)
{
	host::Region fixed(4096, false);

	open();
	for (unsigned char kind : {RDS_OP_WRITE, RDS_OP_READ, RDS_OP_FADD, RDS_OP_CSWP}) {
		struct rds_op_args a = atomic_op(kind);

		local.addr = fixed.addr();
		EXPECT_EQ(send_op(a), kind == RDS_OP_WRITE ? 0 : kEfault) << kind;
	}
	wire().op_done(rds::kRdmaSuccess);
	EXPECT_EQ(told().size(), 1u);
}

/* As many as there may be, of a byte each. */
TEST_F(RdmaOp, ManyPiecesAreOne)
{
	std::vector<struct rds_iov> pieces;
	struct rds_op_args a = write_op(7);

	for (uint64_t i = 0; i < 1024; i++)
		pieces.push_back({memory.addr() + 2 * i, 1});
	a.local = pieces.data();
	a.n_local = 1024;
	a.remote_bytes = 1024;
	open();
	ASSERT_EQ(send_op(a), 0);
	EXPECT_EQ(begun().bytes, 1024u);
	wire().op_done(rds::kRdmaSuccess);
	EXPECT_EQ(told(), (Told{{7, 0}}));
}

/* Of what was handed over together it is begun when the transport has come to it. */
TEST_F(RdmaOp, IsNotBegunWithTheMessageBeforeIt)
{
	open();
	wire().room = 0;
	ASSERT_EQ(s->send(to, pattern(100)), 0);
	ASSERT_EQ(send_op(write_op(7)), 0);
	wire().room = 10;
	rds_path_writable(wire().path);
	sim::run_ready();
	EXPECT_EQ(net->stat(RDS_S_send_rdma), 0u);
	wire().room = SIZE_MAX;
	rds_path_writable(wire().path);
	sim::run_ready();
	EXPECT_EQ(net->stat(RDS_S_send_rdma), 1u);
}

} // namespace
