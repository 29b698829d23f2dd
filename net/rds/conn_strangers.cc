// SPDX-License-Identifier: GPL-2.0
/*
 * conn_strangers.cc: connections that only peers want: how many there are, what becomes of them.
 *
 * A connection is passive until a socket here sends over it.  All that we have said on one are
 * pongs, probes, maps and acks, so nobody waits for an answer.  The debt to its peer depends on the
 * frames that the peer has sent:
 *
 *	a stranger	nothing that reached a socket here: pings, knocks, maps, messages for ports
 *			that nobody has.  It is owed nothing.  When its paths are down, and it has
 *			been called as often as it may ask for, it is forgotten.
 *	a known host	something did, and may be sent again as long as it was not acknowledged.
 *			When it is down for idle_timeout_ms a tombstone takes its place (tombs.h).
 *
 * The sweep (conn_idle.cc) does both.  When there are more than max_passive_connections it also
 * evicts: strangers that are down, strangers that are silent, known hosts that are down, known
 * hosts that are silent.  It has time for that, because newcomers are admitted up to kPassiveRoom
 * times as many, hosts with a tombstone up to kKnownRoom times.
 *
 * Numbers.  A peer of ours knows our numbers of one connection from those of another by our
 * generation.  Mainline's does not: it takes whatever is not marked as sent again, and of what is
 * marked only numbers beyond the last one it has seen, be that a pong's.  So no connection begins
 * with a number that one before it may have used (ConnTable::first_seq()).
 */
#include "conn_table.h"
#include "path.h"

namespace rds
{
namespace
{

/* In this order room is made. */
enum class Rank : uint8_t { kStrangerDown, kStrangerSilent, kKnownDown, kKnownSilent, kLast };

bool is_down(const Conn &c)
{
	bool down = true;

	c.for_each_path([&](Path &p) { down = down && p.state() == PathState::kDown; });
	return down;
}

Rank rank_of(const Conn &c, uint64_t now)
{
	uint64_t silent = now - c.silent_since_ns;

	if (!c.passive.load() || c.asked || now < c.not_before_ns)
		return Rank::kLast;
	if (!c.has_reached())
		return is_down(c)		     ? Rank::kStrangerDown
		       : silent >= kStrangerSilentNs ? Rank::kStrangerSilent
						     : Rank::kLast;
	if (silent < kStrangerSilentNs)
		return Rank::kLast;
	return is_down(c)		  ? Rank::kKnownDown
	       : silent >= kKnownSilentNs ? Rank::kKnownSilent
					  : Rank::kLast;
}

} // namespace

/*
 * Any host that reaches us can make connections: so many and no more.  On loopback only our own
 * programs can.
 */
Status ConnTable::admit_passive(Conn &c)
{
	if (c.trans.caps & RDS_CAP_SHARED_CONG)
		return Status();

	uint64_t most = read_once(net_->tun.max_passive);

	c.passive.store(true);
	c.not_before_ns = rds_now_ns() + kStrangerSweepNs;

	uint64_t others = net_->passive.fetch_add(1);

	if (others < most)
		return Status();
	if (most)
		hurry();
	if (others < most * kPassiveRoom ||
	    (others < most * kKnownRoom && tombs.knows(c.tomb_key(), net_->seed)))
		return Status();
	net_->count(RDS_S_conn_passive_refused);
	return Status::fail(err::kEnobufs);
}

void ConnTable::hurry()
{
	/* Both exchange: a sweep that has not seen our call yet sees what we have counted. */
	if (swept_.load() || hurried_.exchange(true))
		return;
	rds_timer_arm(&sweep_timer_, kStrangerSweepNs);
}

/* So many have to go. */
uint32_t ConnTable::excess() const
{
	uint32_t n = net_->passive.load(), most = read_once(net_->tun.max_passive);

	return n > most ? n - most : 0;
}

/* Behind the @n that are picked already; how many it makes.  Those that are going anyway are not
 * to go twice. */
unsigned int ConnTable::pick_evicted(unsigned int n)
{
	RcuReader rcu;
	uint64_t now = rds_now_ns();
	uint32_t most = excess(), found = 0;

	table_.for_each([&](Conn &c) {
		bool goes = c.asked || c.care == Care::kGone ||
			    (c.urged.load() && now < c.not_before_ns);

		found += c.passive.load() && goes;
	});
	for (uint8_t rank = 0; rank < static_cast<uint8_t>(Rank::kLast); rank++) {
		if (found >= most || n == kSweepBatch)
			break;
		table_.for_each([&](Conn &c) {
			if (found >= most || rank_of(c, now) != static_cast<Rank>(rank) ||
			    c.care != Care::kNone || !take(c, n))
				return;
			c.care = Care::kRoom;
			found++;
		});
	}
	return n;
}

/* Up, or calling: it is to end.  One of ours ends in order, if it does when it is first asked. */
void ConnTable::urge(Conn &c)
{
	bool first = !c.urged.exchange(true), in_order = first && c.care != Care::kMute;

	if (first)
		net_->count(RDS_S_conn_evicted);
	/* Then it is down, or refuses; or is at it, for kDrainTimeoutNs at most. */
	c.not_before_ns = rds_now_ns() + kStrangerSweepNs;
	c.for_each_path([&](Path &p) {
		PathState now = p.state();

		if (now == PathState::kUp && p.peer_parts() && in_order)
			p.post(kEvIdle);
		else if (now == PathState::kUp || now == PathState::kConnecting)
			p.drop(RDS_DROP_EVICTED);
	});
}

/* @c's paths count no further.  -ENOMEM: it cannot be forgotten now.  @owed: a tombstone is
 * left. */
Status ConnTable::leave_tomb(Conn &c, bool &owed)
{
	TombCount counts[kMaxPaths] = {};
	uint64_t next = c.first().next_tx_seq();
	uint32_t which = 0;
	bool parted = true;

	owed = false;
	c.for_each_path([&](Path &p) {
		bool ended = p.parted.load();

		which |= 1u << p.index;
		if (!ended)
			counts[p.index] = p.count();
		owed = owed || (p.reached.load() && !ended);
		parted = parted && ended;
	});
	/* One run of the sweep at a time: nobody else writes it. */
	if (!parted && next > net_->first_seq.load())
		net_->first_seq.store(next);
	if (owed)
		return tombs.remember(c.tomb_key(), which, counts, net_->seed);
	tombs.forget(c.tomb_key(), which, net_->seed);
	return Status();
}

} // namespace rds

void rds_conn::hurry()
{
	net.conns.hurry();
}

bool rds_conn::has_reached() const
{
	bool any = false;

	for_each_path([&](rds::Path &p) { any = any || p.reached.load(); });
	return any;
}

/* ---- what it takes of a path ---- */

void rds_path::begin_with(const rds::TombCount &count)
{
	received_.resume(count.next_rx_seq, count.gen);
	reached.store(true);
}

rds::TombCount rds_path::count() const
{
	return {received_.next(), received_.generation()};
}

bool rds_path::is_resting() const
{
	rds::PathState now = state();

	if (now != rds::PathState::kDown && now != rds::PathState::kConnecting)
		return false;
	return dial_.calls() >= rds::kStrangerCalls ||
	       (now == rds::PathState::kDown && dial_.is_idle());
}

bool rds_path::is_mute(uint64_t now) const
{
	return state() == rds::PathState::kUp && peer() == rds::Peer::kUnknown &&
	       now - up_ns.load() >= rds::kMuteNs;
}

bool rds_path::is_calling() const
{
	return !dial_.is_idle() && !received_.generation();
}

/* Pongs and the like are nobody's; and passive is a connection that no socket has used. */
bool rds_path::has_messages()
{
	rds::Guard g(lock);

	return (!queue_.empty() || !full_ports_.empty()) && !conn.passive.load();
}
