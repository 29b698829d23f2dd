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
 * evicts.  At first those of prefixes that have more than others (shares.h); then strangers that
 * are down, strangers that are silent, known hosts that are down, known hosts that are silent, and
 * at last strangers that have something to say: pings cost nothing, and would keep everybody else
 * out.  It has time for that, because newcomers are admitted up to kPassiveRoom times as many,
 * hosts with a tombstone up to kKnownRoom times, and strangers call no oftener than calls.h lets
 * them.
 *
 * Numbers.  A peer of ours knows our numbers of one connection from those of another by our
 * generation.  Mainline's does not: it takes whatever is not marked as sent again, and of what is
 * marked only numbers beyond the last one it has seen, be that a pong's.  So no connection begins
 * with a number that one before it may have used (ConnTable::first_seq()).
 */
#include "conn_table.h"
#include "../path/path.h"

namespace rds
{
namespace
{

bool is_down(const Conn &c)
{
	bool down = true;

	c.for_each_path([&](Path &p) { down = down && p.state() == PathState::kDown; });
	return down;
}

Rank rank_of(const Conn &c, uint64_t now)
{
	uint64_t silent = c.life.silent_ns(now);

	if (!c.passive.load())
		return Rank::kLast;
	if (c.life.rests(now))
		return c.life.is_evicted() || c.has_reached() ? Rank::kLast : Rank::kStrangerNew;
	if (!c.has_reached())
		return is_down(c)		     ? Rank::kStrangerDown
		       : silent >= kStrangerSilentNs ? Rank::kStrangerSilent
						     : Rank::kStrangerBusy;
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
	if (c.is_local())
		return Status();

	uint64_t most = read_once(net_->tun.max_passive);

	c.passive.store(true);
	c.life.rest_until(rds_now_ns() + kStrangerSweepNs);

	uint64_t others = net_->passive.fetch_add(1);

	if (others < most)
		return Status();
	if (most)
		hurry();
	if (others < most * kPassiveRoom ||
	    (others < most * kKnownRoom && tombs.knows(c.tomb_key(), net_->key)))
		return Status();
	net_->count(RDS_S_conn_passive_refused);
	return Status::fail(err::kEnobufs);
}

/* A known host is not asked for a token: the strangers may have taken all. */
bool ConnTable::may_call(const struct rds_transport &t, const struct rds_addr &laddr,
			 const struct rds_addr &faddr, uint32_t scope, bool known)
{
	if (!known) {
		RcuReader rcu;
		const Conn *c = find(t, laddr, faddr, scope, 0, net_->key);

		known = c && !c->is_stranger();
	}
	if (known ||
	    tombs.knows({laddr, faddr, scope, 0, static_cast<uint8_t>(t.type)}, net_->key) ||
	    calls_.admit(faddr, scope, rds_now_ns(), net_->key))
		return true;
	net_->count(RDS_S_conn_call_refused);
	return false;
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

/* A pass begins, and there are too many.  Without memory prefixes do not count this time. */
void ConnTable::prepare()
{
	pass_.makes_room = excess();
	if (pass_.makes_room && !pass_.shares)
		pass_.shares = create<Shares>(may_sleep(), new_hash_key());
}

/* @c stays, if the room is not needed. */
void ConnTable::rank(const Conn &c, uint64_t now)
{
	const Rank r = rank_of(c, now);

	if (r == Rank::kLast)
		return;
	pass_.ranks[static_cast<uint8_t>(r)]++;
	if (pass_.shares)
		pass_.shares->count(c.faddr, c.scope, r);
}

/* Of a prefix, known hosts included. */
uint32_t ConnTable::share() const
{
	const uint32_t share = read_once(net_->tun.max_passive) / kPrefixShare;

	return share > kLeastShare ? share : kLeastShare;
}

/* All were looked at.  True: more have to go than are going, and there is another pass, in which so
 * many of each rank are evicted as are left in pass_.ranks. */
bool ConnTable::make_room()
{
	const uint32_t needed = excess();
	uint32_t left = needed > pass_.going ? needed - pass_.going : 0, all = 0;

	if (pass_.evicts || !pass_.makes_room)
		return false;
	if (pass_.shares)
		all = pass_.shares->plan(left, share(), pass_.ranks);
	left -= all;
	pass_.ranks[static_cast<uint8_t>(Rank::kStrangerNew)] = 0;
	for (uint32_t &n : pass_.ranks) {
		n = n < left ? n : left;
		left -= n;
		all += n;
	}
	pass_.evicts = true;
	pass_.at = 0;
	return all;
}

void ConnTable::evict(Conn &c, uint64_t now)
{
	const Rank r = c.life.is_in_use() ? rank_of(c, now) : Rank::kLast;

	if (r == Rank::kLast)
		return;
	if (!pass_.shares || !pass_.shares->take(c.faddr, c.scope, r)) {
		if (!pass_.ranks[static_cast<uint8_t>(r)])
			return;
		pass_.ranks[static_cast<uint8_t>(r)]--;
	}
	hand_over(c, Care::kRoom);
}

/* Ports that @c's paths have refused to peers that may send again.  False: no memory. */
bool ConnTable::gather_refused(Conn &c, const TombCount (&counts)[kMaxPaths], TombPorts &ports)
{
	uint32_t n = 0;

	for (const TombCount &count : counts)
		n += count.refused;
	if (!ports.make_room(n))
		return false;
	if (RDS_UNLIKELY(n))
		c.for_each_path([&](Path &p) { (void)p.count(&ports); });
	return true;
}

Status ConnTable::leave_tomb(Conn &c, bool &owed)
{
	TombCount counts[kMaxPaths] = {};
	uint64_t next = c.first().next_tx_seq();
	uint32_t which = 0;
	bool drained = true;

	owed = false;
	if (c.is_local())
		return Status(); /* nobody there knows one number from another */
	c.for_each_path([&](Path &p) {
		bool ended = p.drained.load();

		which |= 1u << p.index;
		counts[p.index] = p.count();
		owed = owed || (p.reached.load() && (!ended || counts[p.index].now.gen));
		drained = drained && ended;
	});
	if (!drained) {
		uint64_t first = net_->first_seq.load();

		while (next > first && !net_->first_seq.compare_exchange(first, next))
			;
	}
	if (!owed) {
		tombs.forget(c.tomb_key(), which, net_->key);
		return Status();
	}

	/* When there are too many it has to go, whatever becomes of others' tombstones. */
	const TombsFull full = excess() ? TombsFull::kForgets : TombsFull::kFails;
	TombPorts ports;

	if (!gather_refused(c, counts, ports))
		return Status::fail(err::kEnomem);

	const Status st = tombs.remember(c.tomb_key(), which, counts, ports, full, net_->key);

	net_->count(RDS_S_conn_tomb_full, st.is(err::kEnobufs));
	return st;
}

} // namespace rds

void rds_conn::use()
{
	claim();
	if (!fcong->wanted.load())
		fcong->wanted.store(true);
}

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

bool rds_path::begin_with(const rds::TombCount &count, const rds::TombPorts &ports)
{
	if (!received_.resume(count.now, count.past))
		return false;
	reached.store(true);

	rds::Guard g(lock);

	return ports.each_of(index,
			     [&](unsigned int ago, uint16_t port, uint64_t below) RDS_NO_TSA {
				     const rds::GenCount &of = count.met(ago);

				     return refused_.go_on(port, of.next - below, of.gen);
			     });
}

/* A generation that ended in order is owed nothing; those that were met before it may be. */
rds::TombCount rds_path::count(rds::TombPorts *ports)
{
	rds::TombCount c = {{received_.next(), received_.generation()}, 0, received_.past()};
	rds::Guard g(lock);

	if (drained.load())
		c.drop_now();
	for (unsigned int ago = 0; ago < rds::kGenerations; ago++) {
		const rds::GenCount &of = c.met(ago);

		if (!of.gen)
			continue;
		refused_.each_of(of.gen, [&](uint16_t port, uint64_t first) {
			c.refused++;
			if (ports)
				ports->add(index, ago, port, of.next - first);
		});
	}
	return c;
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
	       now - since_ns.load() >= rds::kMuteNs;
}

bool rds_path::holds_up(uint64_t now)
{
	return is_mute(now) && is_silent() && has_messages();
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
