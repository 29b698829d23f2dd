// SPDX-License-Identifier: GPL-2.0
/*
 * info.cc: snapshots for rds-info.  Callbacks run under RCU or a spin lock: they may not sleep.
 * Others may run between two connections, and between some messages of one.
 */
#include "conn/conn_table.h"
#include "order.h"
#include "path/path_walk.h"
#include "socket/socket.h"

using namespace rds;

namespace
{

constexpr const char *kStatNames[] = {
#define RDS_STAT_NAME(name) #name,
	RDS_STATS(RDS_STAT_NAME)
#undef RDS_STAT_NAME
};
constexpr const char *kReasonNames[] = {
#define RDS_REASON_NAME(name, text) text,
	RDS_DROP_REASONS(RDS_REASON_NAME, RDS_REASON_NAME)
#undef RDS_REASON_NAME
};
constexpr const char *kEventNames[] = {
#define RDS_EVENT_NAME(name, cause) #name,
	RDS_PATH_EVENTS(RDS_EVENT_NAME)
#undef RDS_EVENT_NAME
};
/* In the order of PathState. */
constexpr const char *kStateNames[] = {"down", "connecting", "disconnecting", "up", "dead"};
static_assert(static_cast<unsigned int>(PathState::kDead) == 4);
static_assert(sizeof(kStatNames) / sizeof(kStatNames[0]) == RDS_STAT_COUNT);

struct rds_msg_info describe(const Message &m, const Socket *owner, const struct rds_addr &local,
			     uint16_t lport, const struct rds_addr &foreign, uint16_t fport)
{
	return {.owner = owner,
		.laddr = local,
		.faddr = foreign,
		.seq = wire::get64(m.hdr.sequence),
		.len = m.len,
		.lport = lport,
		.fport = fport,
		.tos = m.tos};
}

struct rds_path_info describe(const Path &p)
{
	return {.laddr = p.conn.laddr,
		.faddr = p.conn.faddr,
		.next_tx_seq = p.next_tx_seq(),
		.next_rx_seq = p.next_rx_seq(),
		.transport = p.conn.trans.name,
		.state = kStateNames[static_cast<unsigned int>(p.state())],
		.last_reason = kReasonNames[p.last_reason.load()],
		.attempts = p.dial().attempts(),
		.resets = p.resets.load(),
		.index = p.index,
		.tos = p.conn.tos};
}

/* Messages that their order keeps from any path: they have no number yet. */
void each_waiting(Socket &s, void (*fn)(void *arg, const struct rds_msg_info *i), void *arg)
{
	Flows *flows = s.send_flows.load_acquire();

	if (!flows)
		return;
	flows->for_each_waiting([&](const Flow &f, const Message &m) {
		auto i = describe(m, &s, s.bound.addr, s.bound.port, f.conn->faddr, f.port);

		fn(arg, &i);
	});
}

void each_queued(Conn &c, bool sent, Socket *asks,
		 void (*fn)(void *arg, const struct rds_msg_info *i), void *arg) RDS_SLEEPS
{
	auto tell = [&](const Message &m) {
		auto i = describe(m, m.sock, c.laddr, wire::get16(m.hdr.sport), c.faddr,
				  wire::get16(m.hdr.dport));

		fn(arg, &i);
	};

	/* As for_each_path_as_messages_move(). */
	for (unsigned int i = kMaxPaths; i-- > 0;) {
		Path *p = c.paths[i].load_acquire();

		auto walk = [&]() RDS_SLEEPS { p->for_each_queued(sent, tell); };

		if (p && asks)
			asks->user.take_turn(false, walk);
		else if (p)
			walk();
	}
}

/* A snapshot of one table, or of the second of two. */
uint64_t last(uint64_t next)
{
	return next == kWalkEnd ? RDS_INFO_END : next;
}
uint64_t second(uint64_t next)
{
	return kWalkEnd + next;
}
static_assert(RDS_INFO_END == 2 * kWalkEnd);

} // namespace

extern "C" {

const char *rds_path_event_name(unsigned int event)
{
	return event < RDS_EV_COUNT ? kEventNames[event] : nullptr;
}

const char *rds_drop_reason_name(unsigned int why)
{
	return why < sizeof(kReasonNames) / sizeof(kReasonNames[0]) ? kReasonNames[why] : "?";
}

unsigned int rds_path_state(const struct rds_path *path)
{
	return static_cast<unsigned int>(path->state());
}

const char *rds_stat_name(unsigned int id)
{
	return id < RDS_STAT_COUNT ? kStatNames[id] : nullptr;
}

uint64_t rds_info_conns(struct rds_net *net, uint64_t pos,
			void (*fn)(void *arg, const struct rds_conn_info *i), void *arg)
{
	Guard sleeps(kMaySleep); /* a program's call */

	return last(net->conns.visit(pos, [&](const Conn &c) {
		const Path &p = c.first();
		PathState st = p.state();
		unsigned int flags = (p.sending() ? 1u : 0) |
				     (st == PathState::kConnecting ? 2u : 0) |
				     (st == PathState::kUp ? 4u : 0);
		struct rds_conn_info i = {.laddr = c.laddr,
					  .faddr = c.faddr,
					  .next_tx_seq = p.next_tx_seq(),
					  .next_rx_seq = p.next_rx_seq(),
					  .transport = c.trans.name,
					  .flags = static_cast<unsigned char>(flags),
					  .tos = c.tos};

		fn(arg, &i);
	}));
}

uint64_t rds_info_paths(struct rds_net *net, uint64_t pos,
			void (*fn)(void *arg, const struct rds_path_info *i), void *arg)
{
	Guard sleeps(kMaySleep); /* a program's call */

	return last(net->conns.visit(pos, [&](const Conn &c) RDS_SLEEPS {
		c.for_each_path([&](const Path &p) RDS_NO_TSA {
			struct rds_path_info i = describe(p);

			fn(arg, &i);
			let_others_run();
		});
	}));
}

int rds_info_path_facts(struct rds_net *net, struct rds_path_place *at,
			int (*fn)(void *arg, const struct rds_path_facts *f), void *arg)
{
	Guard sleeps(kMaySleep); /* a program's call */
	bool room = true;

	if (at->pos == RDS_INFO_END)
		return 0;
	if (at->pos >= at->end) {
		at->end = net->conns.end_of(at->pos);
		at->conn = at->index = 0;
	}
	net->conns.visit(at->pos, at->end, [&](const Conn &c) RDS_SLEEPS {
		const auto conn = reinterpret_cast<uintptr_t>(&c);

		c.for_each_path([&](Path &p) RDS_NO_TSA {
			if (!room || conn < at->conn || (conn == at->conn && p.index < at->index))
				return;
			struct rds_path_facts f = {};

			f.i = describe(p);
			p.look(f);
			room = fn(arg, &f);
			if (room) {
				at->conn = conn;
				at->index = p.index + 1u;
			}
			let_others_run();
		});
	});
	if (room)
		at->pos = last(at->end);
	return room && at->pos != RDS_INFO_END;
}

uint64_t rds_info_messages(struct rds_net *net, enum rds_info_queue q, struct rds_socket *asks,
			   uint64_t pos, void (*fn)(void *arg, const struct rds_msg_info *i),
			   void *arg)
{
	Guard sleeps(kMaySleep); /* a program's call */
	auto on_path = [&](Conn &c) RDS_SLEEPS {
		each_queued(c, q == RDS_QUEUE_RETRANS, asks, fn, arg);
	};

	if (q == RDS_QUEUE_RETRANS)
		return last(net->conns.visit(pos, on_path));
	if (q == RDS_QUEUE_SEND && pos >= kWalkEnd)
		return second(net->conns.visit(pos - kWalkEnd, on_path));

	RcuReader rcu;

	if (q == RDS_QUEUE_SEND)
		return net->bind.walk(pos, [&](Socket &s) { each_waiting(s, fn, arg); });
	return last(net->bind.walk(pos, [&](Socket &s) RDS_READS(kRcu) {
		s.for_each_received([&](const Message &m) {
			auto i = describe(m, &s, s.bound.addr, s.bound.port, m.saddr,
					  wire::get16(m.hdr.sport));

			fn(arg, &i);
		});
	}));
}

uint64_t rds_info_sockets(struct rds_net *net, uint64_t pos,
			  void (*fn)(void *arg, const struct rds_socket_info *i), void *arg)
{
	RcuReader rcu;

	return last(net->bind.walk(pos, [&](Socket &s) {
		struct rds_socket_info i = {.s = &s, .bound = s.bound, .peer = {}};

		(void)s.get_peer(i.peer);
		fn(arg, &i);
	}));
}

} // extern "C"
