// SPDX-License-Identifier: GPL-2.0
#include "check_states.h"

#include <algorithm>
#include <map>

#include "host.h"
#include "net/rds/net.h"
#include "net/rds/path/path.h"
#include "sim.h"
#include "turns.h"

namespace check
{
namespace
{

/* In the order of PathState and rds_drop_reason. */
constexpr const char *kNames[] = {"down", "connecting", "disconnecting", "up", "dead"};
constexpr const char *kWhy[] = {
	"-",	    "peer closed",  "error",	       "connect failed", "knocked", "replaced",
	"protocol", "send failed",  "paths changed",   "admin",		 "idle",    "evicted",
	"stalled",  "refused here", "no answer; key?", "destroy"};

/* Calls in a row that led to nothing, within a second or so. */
struct Calls {
	const void *conn = nullptr; /* whose path it is */
	uint64_t since = 0;
	unsigned int n = 0;
	unsigned int most = 0; /* by the shortest pause that was set meanwhile */
	unsigned int ups = 0;  /* times that path 0 of the same connection came up meanwhile */
};

struct Watch {
	std::map<const struct rds_path *, unsigned int> last;
	std::map<const struct rds_path *, Calls> calls;
	std::string complaint;
	unsigned int taken = 0;
};

Watch &watch()
{
	static auto *w = new Watch;
	return *w;
}

/* A path pauses between its calls, for half of reconnect_max_ms on average once some have failed:
 * four times that rate and a hundred, for knocks and the first, are too many.  Each time that path
 * 0 comes up the further paths call at once, and once more when that fails: three for each. */
void count_calls(const struct rds_path *p, rds::PathState to)
{
	constexpr uint64_t kSecond = 1000ull * 1000 * 1000;
	Calls &c = watch().calls[p];

	if (to == rds::PathState::kUp || to == rds::PathState::kDead ||
	    sim::now_ns() - c.since > kSecond)
		c = {.since = sim::now_ns()};
	c.conn = &p->conn;
	if (to == rds::PathState::kUp && !rds_path_index(p))
		for (auto &[path, calls] : watch().calls)
			if (calls.conn == &p->conn)
				calls.ups++;
	c.most = std::max(c.most, 100 + 8000 / p->conn.net.tun.reconnect_max_ms);
	if (to == rds::PathState::kConnecting && ++c.n > c.most + 3 * c.ups &&
	    watch().complaint.empty())
		watch().complaint = "states: a path calls " + std::to_string(c.n) +
				    " times in a second, and nobody answers";
}

unsigned int edge_bit(unsigned int from, unsigned int to)
{
	return 1u << (from * (kStates + 1) + to);
}

void changed(const struct rds_path *p, unsigned int from, unsigned int to, unsigned int why)
{
	Watch &w = watch();
	auto it = w.last.find(p);
	unsigned int was = it == w.last.end() ? 0 : it->second; /* born down */
	const unsigned int edge = edge_bit(from, to);
	const bool legal = (edges_known() & edge) != 0;

	w.taken |= edge;
	sim::note(uint64_t{from} << 8 | to);
	sim::say("path %u %s -> %s: %s to %s (%s)", rds_path_index(p),
		 host::show(*rds_path_laddr(p)).c_str(), host::show(*rds_path_faddr(p)).c_str(),
		 kNames[from], kNames[to], why < sizeof(kWhy) / sizeof(kWhy[0]) ? kWhy[why] : "?");
	if ((!legal || was != from) && w.complaint.empty())
		w.complaint = "states: a path went from state " + std::to_string(from) +
			      " (last seen in " + std::to_string(was) + ") to " +
			      std::to_string(to) + " because " + std::to_string(why);
	count_calls(p, static_cast<rds::PathState>(to));
	if (to == static_cast<unsigned int>(rds::PathState::kDead))
		w.last.erase(p); /* the address may come again */
	else
		w.last[p] = to;
}

void turned(const Turn &t)
{
	Watch &w = watch();

	if (!legal(t) && w.complaint.empty())
		w.complaint = "states: a turn that the table does not have: " + show(t);
}

} // namespace

void watch_states()
{
	watch() = Watch();
	host::on_state = changed;
	watch_turns(turned);
}

const std::string &states_complaint()
{
	return watch().complaint;
}

unsigned int edges_taken()
{
	return watch().taken;
}

unsigned int edges_known()
{
	unsigned int known = 0;

	for (unsigned int from = 0; from < kStates; from++)
		for (unsigned int to = 0; to <= kStates; to++)
			for (unsigned int e = 0; e < RDS_EV_COUNT; e++)
				if (may_lead(e, from) & 1u << to)
					known |= edge_bit(from, to);
	/* On the way to its end a path is down first (rds_path::close_down()). */
	for (unsigned int from = 1; from < kStates; from++)
		known &= ~edge_bit(from, static_cast<unsigned int>(rds::PathState::kDead));
	return known;
}

} // namespace check
