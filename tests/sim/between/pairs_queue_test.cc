// SPDX-License-Identifier: GPL-2.0
/*
 * Queues that a path moves in several holds of its lock, in a reset, a fold, when ports fill and
 * clear, when very much is acknowledged; and a message, a cancel, a close, a look, a reset, a port
 * that fills again or is refused, between two of them.  Each message goes once, in order.
 */
#include <algorithm>

#include "net/rds/path/path_walk.h"
#include "pairs.h"
#include "reach.h"

RDS_REACH(fan_agreed, &rds::Fan::agreed_)
RDS_REACH(fan_n_paths, &rds::Fan::n_paths_)

namespace
{

using fake::wires;

/* More than are moved at once. */
constexpr unsigned int kMany = rds::kQueueStep + 6;
constexpr uint64_t kSchedules = 30;

class QueuePairs : public Pairs
{
protected:
	using Does = std::function<void()>;

	static fake::Wire &wire()
	{
		return *wires()[0];
	}
	/* One who sends, and goes on; and one whose messages are between those. */
	void make_two()
	{
		n_ = others_ = 0;
		t = std::make_unique<host::Socket>(*net);
		ASSERT_EQ(t->bind(host::endpoint(a1, 4001)), 0);
		s->sock().sndbuf = t->sock().sndbuf = 1 << 20;
	}
	void meet()
	{
		rds::wire::Header h;

		say();
		sim::run_ready();
		rds_path_connected(wire().path);
		sim::run_ready();
		rds::wire::encode_hello(h,
					{77, rds::wire::kCapDeliveryAck | rds::wire::kCapRefuse});
		ASSERT_EQ(fake::arrive(wire().path, h), RDS_RECV_SKIP);
		sim::run_ready();
	}
	void say()
	{
		ASSERT_EQ(s->send(to, pattern(10, ++n_)), 0);
	}
	void say_many()
	{
		for (unsigned int i = 0; i < kMany; i++) {
			say();
			if (i % 8 == 0) {
				ASSERT_EQ(t->send(to, pattern(20, ++others_)), 0);
			}
		}
	}
	/* Many that wait for their port, which is full. */
	void put_many_aside()
	{
		wire().room = 0;
		say_many();
		peer_says({5000});
		open_up();
		sim::run_ready();
	}
	static void open_up()
	{
		wire().room = SIZE_MAX;
		rds_path_writable(wire().path);
	}
	/* Nothing of @t is left on any path, but what a transport has. */
	void nothing_of(const rds::Socket *gone)
	{
		wire().path->conn.for_each_path([gone](rds::Path &p) {
			for (bool sent : {true, false})
				p.for_each_queued(sent, [gone](const rds::Message &m) {
					EXPECT_NE(m.sock, gone);
				});
		});
	}
	void cancel_others()
	{
		rds_socket_cancel(t->core(), nullptr);
		nothing_of(t->core());
		others_ = 0;
	}
	void close_others()
	{
		const rds::Socket *gone = t->core();

		t.reset();
		nothing_of(gone);
		others_ = 0;
	}
	void look()
	{
		unsigned int seen = 0;

		for (auto queue : {RDS_QUEUE_RETRANS, RDS_QUEUE_SEND, RDS_QUEUE_RETRANS})
			seen += host::count_messages(net->core(), queue);
		EXPECT_GE(seen, least_seen_);
	}
	/* Messages of @bytes to our port, in order of the wire: which. */
	static std::vector<unsigned int> went(size_t bytes, const fake::Wire &w)
	{
		std::vector<unsigned int> out;

		for (const auto &f : fake::frames(w.sent)) {
			if (rds::wire::decode_refusal(f.header).what == rds::wire::Ext::kResume)
				out.clear(); /* what was before is thrown away */
			if (f.data.size() != bytes || !f.seq)
				continue;
			out.push_back(0);
			for (unsigned int i = 1; i < 2 * kMany && !out.back(); i++)
				if (is_pattern(f.data, i))
					out.back() = i;
		}
		return out;
	}
	static std::vector<unsigned int> up_to(unsigned int first, unsigned int last)
	{
		std::vector<unsigned int> out;

		for (; first <= last; first++)
			out.push_back(first);
		return out;
	}
	/* Each of ours from @first on goes once; so do the others', unless they were taken back. */
	bool all_went(unsigned int first, bool some = false)
	{
		const fake::Wire &w = wire();
		uint64_t last = 0;

		for (const auto &f : fake::frames(w.sent))
			if (f.seq && f.sport) {
				EXPECT_GT(f.seq, last);
				last = f.seq;
			}
		EXPECT_EQ(went(10, w), up_to(first, n_));

		const std::vector<unsigned int> theirs = went(20, w);

		if (some) /* what the transport had at that moment went, and what it had before */
			EXPECT_EQ(std::ranges::adjacent_find(theirs, std::greater_equal()),
				  theirs.end());
		else
			EXPECT_EQ(theirs, up_to(1, others_));
		return !HasFailure();
	}
	/* The peer has all that was said, more and more of it. */
	void end_well()
	{
		sim::options().preempt_per_1000 = 0;
		for (int i = 0; i < 3; i++) {
			sim::run_for(2 * rds::kRetryNs);
			peer_has_all();
		}
		sim::run_ready();
		look_for_none();
	}
	/* ... that was sent. */
	void peer_has_all()
	{
		uint64_t last = 0;

		for (const auto &f : fake::frames(wire().sent))
			last = std::max(last, f.seq);
		peer_has(last);
		sim::run_ready();
	}
	void peer_has(uint64_t seq)
	{
		rds::wire::Header h;

		rds::wire::encode_control(h);
		rds::wire::put64(h.ack, seq);
		(void)fake::arrive(wire().path, h);
	}
	void look_for_none()
	{
		least_seen_ = 0;
		for (auto queue : {RDS_QUEUE_SEND, RDS_QUEUE_RETRANS})
			EXPECT_EQ(host::count_messages(net->core(), queue), 0u);
		t.reset();
	}
	void reconnect()
	{
		rds::wire::Header h;

		sim::options().preempt_per_1000 = 0;
		sim::run_for(1000 * kMs);
		rds_path_connected(wire().path);
		sim::run_ready();
		rds::wire::encode_hello(h, {77, rds::wire::kCapDeliveryAck});
		ASSERT_EQ(fake::arrive(wire().path, h), RDS_RECV_SKIP);
		sim::run_ready();
	}
	/* @play with each of these in its midst. */
	void with_each(const Play &play, const std::vector<std::pair<const char *, Does>> &who)
	{
		for (const auto &[name, does] : who) {
			SCOPED_TRACE(name);

			Play p = play;

			p.schedules = kSchedules;
			p.prepare = [&] {
				make_two();
				play.prepare();
				least_seen_ = std::string(name) == "look" ? n_ - acked_ : 0;
			};
			p.other = [this, &does] {
				sim::spawn("other's", [this, &does] {
					linger(200);
					does();
				});
			};
			every(p);
		}
	}
	/* One of these, in the midst of it. */
	using Deed = std::pair<const char *, Does>;
	Deed send()
	{
		return {"send", [this] { say(); }};
	}
	/* The connection ends after @prepare: all that it had goes on the next one. */
	Play reset_after(const std::function<void()> &prepare)
	{
		return {.prepare = prepare,
			.one = [] { rds_path_drop(wire().path, RDS_DROP_ERROR); },
			.other = {},
			.promise =
				[this] {
					reconnect();
					const bool well = all_went(1);

					end_well();
					return well;
				}};
	}
	Deed cancel()
	{
		return {"cancel", [this] { cancel_others(); }};
	}
	Deed close()
	{
		return {"close", [this] { close_others(); }};
	}
	Deed look_at()
	{
		return {"look", [this] { look(); }};
	}
	static Deed reset()
	{
		return {"reset", [] { rds_path_drop(wire().path, RDS_DROP_ERROR); }};
	}

	std::unique_ptr<host::Socket> t;
	unsigned int n_ = 0, others_ = 0, acked_ = 0, least_seen_ = 0;
};

/* All goes again, on the next connection. */
TEST_F(QueuePairs, AReset)
{
	with_each(reset_after([this] {
			  meet();
			  say_many();
			  sim::run_ready();
		  }),
		  {send(), close(), look_at()});
}

/* The same, of which many wait for a port. */
TEST_F(QueuePairs, AResetWithAFullPort)
{
	with_each(reset_after([this] {
			  meet();
			  put_many_aside();
		  }),
		  {cancel()});
}

/* They step aside when their turn comes; who sends later waits behind them. */
TEST_F(QueuePairs, APortFills)
{
	with_each({.prepare =
			   [this] {
				   meet();
				   peer_has(wire().path->next_tx_seq() - 1);
				   wire().room = 0;
				   say_many();
				   peer_says({5000});
				   sim::run_ready();
			   },
		   .one = [] { open_up(); },
		   .other = {},
		   .promise =
			   [this] {
				   const bool reset = wire().path->resets.load();

				   if (reset)
					   reconnect();
				   sim::options().preempt_per_1000 = 0;
				   peer_says({});
				   sim::run_ready();

				   const bool well = all_went(reset ? 2 : 1);

				   end_well();
				   return well;
			   }},
		  {close(), reset()});
}

/* They go back, and one after the other goes out. */
TEST_F(QueuePairs, APortClears)
{
	with_each({.prepare =
			   [this] {
				   meet();
				   peer_has(wire().path->next_tx_seq() - 1);
				   put_many_aside();
				   peer_says({});
			   },
		   .one = [] {},
		   .other = {},
		   .promise =
			   [this] {
				   const bool taken = !others_;

				   sim::options().preempt_per_1000 = 0;
				   peer_says({});
				   sim::run_ready();

				   const bool well = all_went(1, taken);

				   end_well();
				   return well;
			   }},
		  {send(), cancel(), close(), look_at(), {"fill", [] { peer_says({5000}); }}});
}

/* The first, which was sent before, is refused while those behind it go back. */
TEST_F(QueuePairs, APortIsRefusedThatClears)
{
	uint64_t first = 0;

	with_each({.prepare =
			   [&] {
				   meet();
				   first = wire().path->next_tx_seq() - 1;
				   put_many_aside();
				   peer_says({});
			   },
		   .one = [] {},
		   .other = {},
		   .promise =
			   [this] {
				   end_well();
				   return all_went(1);
			   }},
		  {{"refuse", [&] {
			    rds::wire::Header h;

			    rds::wire::encode_refusal(h, {.what = rds::wire::Ext::kRefused,
							  .port = 5000,
							  .epoch = 9,
							  .number = first});
			    ASSERT_EQ(fake::arrive(wire().path, h), RDS_RECV_SKIP);
			    peer_has(first);
		    }}});
}

/* The connection dies, with all that it has; whoever walks through that stands in it. */
TEST_F(QueuePairs, ADeath)
{
	with_each(
		{.prepare =
			 [this] {
				 meet();
				 say_many();
				 sim::run_ready();
			 },
		 .one = [] { wire().path->conn.kill(); },
		 .other = {},
		 .promise =
			 [this] {
				 sim::options().preempt_per_1000 = 0;
				 for (const auto &alive : net->core()->conns.alive)
					 EXPECT_EQ(alive.load(), 0u);
				 look_for_none();
				 return !HasFailure();
			 }},
		{{"cancel", [this] { rds_socket_cancel(t->core(), nullptr); }},
		 {"close", [this] { t.reset(); }},
		 {"show", [this] { (void)host::count_messages(net->core(), RDS_QUEUE_RETRANS); }}});
}

/* Very much is acknowledged at once. */
TEST_F(QueuePairs, AnAck)
{
	uint64_t last = 0;

	with_each({.prepare =
			   [&] {
				   meet();
				   say_many();
				   sim::run_ready();
				   acked_ = n_;
				   last = wire().path->next_tx_seq() - 1;
			   },
		   .one = [&] { peer_has(last); },
		   .other = {},
		   .promise =
			   [this] {
				   const bool taken = !others_;
				   const bool well = all_went(1, taken);

				   sim::options().preempt_per_1000 = 0;
				   EXPECT_EQ(host::count_messages(net->core(), RDS_QUEUE_RETRANS),
					     n_ - acked_);
				   acked_ = 0;
				   end_well();
				   return well;
			   }},
		  {send(), cancel()});
}

/* The peer comes back with one path: what was on another comes to the first. */
TEST_F(QueuePairs, AFold)
{
	const struct rds_endpoint there = to;
	auto hello = [this](uint16_t paths, uint32_t gen) {
		rds::wire::Header h;

		rds::wire::encode_hello(
			h, {gen, rds::wire::kCapDeliveryAck | rds::wire::kCapOrder, paths, 0});
		(void)fake::arrive(wire().path, h);
	};
	auto up = [this, hello](uint16_t paths, uint32_t gen) {
		sim::run_ready();
		rds_path_connected(wire().path);
		sim::run_ready();
		hello(paths, gen);
	};

	with_each({.prepare =
			   [&] {
				   fake::set_max_paths(8);
				   to = host::endpoint(host::addr4(0), 5000);
				   say();
				   up(8, 77);
				   sim::run_ready();

				   rds::Fan &fan = wire().path->conn.fan;

				   (fan.*reach(fan_n_paths())).store(8);
				   while (fan.index_for(4000, to.port) == 0 ||
					  fan.index_for(4000, to.port) !=
						  fan.index_for(4001, to.port))
					   to.port++;
				   say_many();
				   sim::run_ready();
				   rds_path_drop(wire().path, RDS_DROP_ERROR);
				   sim::run_for(1000 * kMs);
				   sim::run_ready();
				   rds_path_connected(wire().path);
				   sim::run_ready();
			   },
		   .one = [&] { hello(1, 78); },
		   .other = {},
		   .promise =
			   [&] {
				   sim::options().preempt_per_1000 = 0;
				   EXPECT_EQ(net->stat(RDS_S_conn_fold), 1u);
				   sim::run_for(1000 * kMs);
				   up(1, 78);
				   sim::run_ready();

				   const bool well = all_went(1);

				   peer_has_all();
				   look_for_none();
				   to = there;
				   return well;
			   }},
		  {send(), close(), look_at()});
}

} // namespace
