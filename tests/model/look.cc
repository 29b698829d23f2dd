// SPDX-License-Identifier: GPL-2.0
#include "look.h"

#include <vector>

#include "net/rds/net.h"
#include "net/rds/path/path_walk.h"
#include "net/rds/socket/socket.h"
#include "reach.h"
#include "rng.h"
#include "stream.h"
#include "task.h"

RDS_REACH(conn_table, &rds::ConnTable::table_)
RDS_REACH(conn_sweep, &rds::ConnTable::sweep_work_)
RDS_REACH(conn_sweep_timer, &rds::ConnTable::sweep_timer_)
RDS_REACH(conn_reap, &rds::ConnTable::reap_work_)
RDS_REACH(conn_work, &rds_conn::work_)
RDS_REACH(conn_killed, &rds_conn::killed_)
RDS_REACH(conn_dead, &rds_conn::dead_)
RDS_REACH(life_state, &rds::Lifecycle::state_)
RDS_REACH(path_send_work, &rds_path::send_work_)
RDS_REACH(path_events, &rds_path::events_)
RDS_REACH(path_drop_reason, &rds_path::drop_reason_)
RDS_REACH(path_accepted, &rds_path::accepted_)
RDS_REACH(path_spoken, &rds_path::spoken_)
RDS_REACH(path_dial, &rds_path::dial_)
RDS_REACH(dial_state, &rds::Dial::state_)
RDS_REACH(dial_backoff, &rds::Dial::backoff_ms_)
RDS_REACH(path_timer, &rds_path::state_timer_)
RDS_REACH(path_flush, &rds_path::hold_timer_)
RDS_REACH(path_pause, &rds_path::pause_timer_)
RDS_REACH(path_map_timer, &rds_path::memory_timer_)
RDS_REACH(path_ack_timer, &rds_path::ack_timer_)
RDS_REACH(path_hello_due, &rds_path::hello_due_)
RDS_REACH(path_passive_open, &rds_path::passive_open_)
RDS_REACH(path_asking, &rds_path::asking_)
RDS_REACH(path_received, &rds_path::received_)
RDS_REACH(received_armed, &rds::Received::armed_)
RDS_REACH(received_known, &rds::Received::known_)
RDS_REACH(received_acked, &rds::Received::acked_)
RDS_REACH(path_queue, &rds_path::queue_)
RDS_REACH(path_delivered, &rds_path::delivered_)
RDS_REACH(delivered_asked, &rds::Delivered::asked_)
RDS_REACH(path_open, &rds_path::open_)
RDS_REACH(path_sending, &rds_path::sending_)
RDS_REACH(path_blocked, &rds_path::blocked_)
RDS_REACH(path_room_came, &rds_path::room_came_)
RDS_REACH(path_coalesce, &rds_path::coalesce_)
RDS_REACH(coalesce_held, &rds::Coalesce::held_)
RDS_REACH(path_dead, &rds_path::dead_)
RDS_REACH(path_map_news, &rds_path::map_news_)
RDS_REACH(news_whole_due, &rds::MapNews::whole_due_)
RDS_REACH(news_changes, &rds::MapNews::takes_changes_)

namespace look
{
namespace
{

class Digest final
{
public:
	template <typename... T>
	void add(T... values)
	{
		((h_ = step(h_ ^ static_cast<uint64_t>(values))), ...);
	}
	/* Is it queued, running, armed? */
	template <typename T>
	void add_pending(const T &t)
	{
		add(sim::deferred_inside(&t, &t + 1));
	}
	uint64_t value() const
	{
		return sim::mix(h_);
	}

private:
	/* Of the fields of a state there are hundreds, and all but the last are mixed again. */
	static uint64_t step(uint64_t h)
	{
		h *= 0x9e3779b97f4a7c15ull;
		return h ^ h >> 29;
	}

	uint64_t h_ = 1;
};

void add_queue(Digest &d, rds::Path &p)
{
	const rds::Message *unsent = (p.*reach(path_queue())).unsent();

	p.for_each_queued(true, [&](const rds::Message &m) {
		d.add(rds::wire::get64(m.hdr.sequence), m.hdr.flags, m.flags, m.sock != nullptr,
		      m.end_off != 0);
	});
	d.add(77);
	p.for_each_queued(false, [&](const rds::Message &m) {
		d.add(rds::wire::get64(m.hdr.sequence), m.hdr.flags, m.flags, m.sock != nullptr);
	});
	d.add(unsent != nullptr);
}

void add_state(Digest &d, rds::Path &p)
{
	d.add(p.index, p.state(), (p.*reach(path_events())).load(),
	      (p.*reach(path_drop_reason())).load(), !(p.*reach(path_accepted())).empty(),
	      (p.*reach(path_spoken())).load(), (p.*reach(path_dial()).*reach(dial_state())).load(),
	      p.*reach(path_dial()).*reach(dial_backoff()) != 0, p.*reach(path_hello_due()),
	      (p.*reach(path_passive_open())).load(), p.*reach(path_asking()));
	d.add(p.reached.load(), p.heard.load(), p.drained.load(),
	      p.dial().calls() >= rds::kStrangerCalls, p.resets.load() != 0, p.pongs.load());
	d.add_pending(p.*reach(path_send_work()));
	d.add_pending(p.*reach(path_timer()));
	d.add_pending(p.*reach(path_flush()));
	d.add_pending(p.*reach(path_pause()));
	d.add_pending(p.*reach(path_map_timer()));
	d.add_pending(p.*reach(path_ack_timer()));
	d.add(stream::digest(p.priv));
}

void add_numbers(Digest &d, rds::Path &p)
{
	const rds::Received &r = p.*reach(path_received());

	d.add(p.peer(), r.generation(), r.is_due(), (r.*reach(received_armed())).load(),
	      (r.*reach(received_known())).load(), (r.*reach(received_acked())).load(), r.next(),
	      p.next_tx_seq(), p.delivered());
	const rds::SendQueue &q = p.*reach(path_queue());

	d.add(q.cursor(), q.begun(), q.begun_before(),
	      p.*reach(path_delivered()).*reach(delivered_asked()), p.*reach(path_open()),
	      p.*reach(path_sending()), p.*reach(path_blocked()), p.*reach(path_room_came()),
	      (p.*reach(path_coalesce())).*reach(coalesce_held()), p.*reach(path_dead()),
	      p.*reach(path_map_news()).*reach(news_whole_due()),
	      (p.*reach(path_map_news()).*reach(news_changes())).load());
}

void add_conn(Digest &d, rds::Conn &c)
{
	d.add(c.gen, c.passive.load(), c.fan.agreed(), c.fan.n_paths(), c.fan.is_gated(),
	      c.fan.gate_number(), c.fan.is_folding(), (c.life.*reach(life_state())).load(),
	      c.life.care(), c.life.is_evicted(), c.closing, (c.*reach(conn_killed())).load(),
	      (c.*reach(conn_dead())).load());
	d.add_pending(c.*reach(conn_work()));
	c.for_each_path([&](rds::Path &p) {
		add_state(d, p);
		add_numbers(d, p);
		add_queue(d, p);
	});
}

template <typename F>
void for_each_conn(const host::Net &net, F fn)
{
	rds::RcuReader rcu;

	(net.core()->conns.*reach(conn_table())).for_each(fn);
}

} // namespace

uint64_t digest(const host::Net &net)
{
	const rds::ConnTable &conns = net.core()->conns;
	Digest d;

	std::vector<rds::Conn *> all; /* nobody runs meanwhile */

	for_each_conn(net, [&](rds::Conn &c) { all.push_back(&c); });
	for (rds::Conn *c : all)
		add_conn(d, *c);
	d.add_pending(conns.*reach(conn_sweep()));
	d.add_pending(conns.*reach(conn_sweep_timer()));
	d.add_pending(conns.*reach(conn_reap()));
	for (const auto &alive : conns.alive)
		d.add(alive.load());
	return d.value();
}

std::string name(const host::Net &net, const void *work)
{
	std::string out;

	if (work == &(net.core()->conns.*reach(conn_sweep())))
		return "sweep";
	if (work == &(net.core()->conns.*reach(conn_reap())))
		return "burial";
	for_each_conn(net, [&](rds::Conn &c) {
		if (work == &(c.*reach(conn_work())))
			out = "connection";
		c.for_each_path([&](rds::Path &p) {
			if (work == &(p.*reach(path_send_work())))
				out = "sender of path " + std::to_string(p.index);
		});
	});
	return out;
}

unsigned int connections(const host::Net &net)
{
	unsigned int n = 0;

	for_each_conn(net, [&](rds::Conn &) { n++; });
	return n;
}

bool fan_out(const host::Net &net)
{
	bool done = false;

	for_each_conn(net, [&](rds::Conn &c) {
		rds::Path &p = c.first();
		rds::Guard g(p.lock);

		if (p.state() != rds::PathState::kUp || done)
			return;
		for (unsigned int i = 0; i < rds::kFanBlocks && !done; i++)
			done = p.fan_out_locked();
	});
	return done;
}

} // namespace look
