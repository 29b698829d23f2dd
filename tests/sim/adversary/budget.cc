// SPDX-License-Identifier: GPL-2.0
#include "budget.h"

#include <algorithm>

#include "net/rds/limits.h"
#include "sim.h"

namespace adversary
{
namespace
{

constexpr uint16_t kProbePort = 1;
constexpr uint64_t kKiB = 1024, kNsPerS = 1000ull * 1000 * 1000;

/*
 * Bytes.  Of a connection "congestion maps from thousands of addresses: 8 KiB each", one that goes
 * beside one that comes, on either side; and what a path has queued that no program sent: "knocks
 * while its window is shut: one probe is queued", kMaxPongs pongs, a map, an ack, hello.
 */
constexpr uint64_t kConnBytes = 32 * kKiB, kPathBytes = 4 * kKiB;
constexpr uint64_t kOwnMessages = rds::kMaxPongs + 6, kMessageBytes = 512;
/* "sends on to a socket that does not read: the socket's buffer": of three that the adversary may
 * send to and that are slow; "numbers messages of hundreds of flows": one is told of them; and what
 * the one that sends may have queued. */
constexpr uint64_t kSocketBytes = host::kSpillBytes + 16 * kKiB, kSockets = 3,
		   kFlowBytes = rds::kFlowRows * rds::kFlowWays * 640,
		   kSendBytes = rds::kMemFactor * 16 * kKiB;
/* "a message in pieces of one byte: twice its bytes"; "half a message from each of thousands of
 * addresses: 8 MiB in all", and of each what comes at once: a window of a stream. */
constexpr uint64_t kAtOnceBytes = 32 * kKiB;
/* Memory that waits for a grace period. */
constexpr uint64_t kGraceBytes = 256 * kKiB;
/* When it is gone: of each name a tombstone and the map of one that a socket has sent to. */
constexpr uint64_t kTombBytes = 256, kUsedBytes = 48 * kKiB;

/*
 * Frames of the host's: for each frame an ack, a pong and a map; for each connection hello, probe,
 * pong, map, acks; "fills and empties a small receive buffer: 8 KiB in 10 ms to each peer that
 * sends nothing", and to one that has said something lately whatever changes.
 */
constexpr uint64_t kPerFrame = 3, kPerConnection = 12;
constexpr uint64_t kMapsPerS = 110, kMapsPerFrame = 150;
/* Messages of a program that a new connection sends once more, its queue as it mostly is; to a new
 * life of the peer they do not say that they are, nor if it has refused their port. */
constexpr uint64_t kAgain = 60, kAnew = 4;

/*
 * Calls of a name by the host: "answers each of our calls by a bad header: less than 40 calls in a
 * minute": 30 if it knocks as often, and those after pauses that double up to a minute, which begin
 * anew when it was of use.  Programs of the host's call, too, up to once a second after the first
 * ten; and whoever has brought a message is worth kKnownCalls.
 */
constexpr uint64_t kBadFirst = 6, kBadAgain = 2, kBadPerMinute = 2, kHeededPerMinute = 30;
constexpr uint64_t kCallsFirst = 20, kCallsPerS = 3, kCallsPerFrame = 2, kCallsPerConnection = 3;

/* Processor: runs of workers and timers, and spin locks; beside what honest traffic takes, a second
 * in which a path of each known name pauses (kRetryNs), and one of the programs that may be harmed,
 * at their pace. */
constexpr uint64_t kTurnsFirst = 3000, kTurnsPerS = 1500, kTurnsPaced = 200, kTurnsPerFrame = 7,
		   kTurnsPerConnection = 20;
constexpr uint64_t kLocksFirst = 64000, kLocksPerS = 8000, kLocksPaced = 11000, kLocksPerFrame = 36,
		   kLocksPerConnection = 100, kLocksPerKiB = 1;

} // namespace

Budget::Budget(World &w, const Config &c) : w_(w), config_(c)
{
}

void Budget::measure(uint64_t ns)
{
	const uint64_t turns = sim::turns(), locks = sim::spin_locks(), end = sim::now_ns() + ns;

	while (sim::now_ns() < end) {
		w_.wait(ns / 20);
		base_bytes_ = std::max<uint64_t>(base_bytes_, host::usage().bytes);
	}
	since_ns_ = sim::now_ns();
	since_paced_ns_ = w_.paced_ns;
	turns_ = sim::turns();
	locks_ = sim::spin_locks();
	turns_per_s_ = static_cast<double>(turns_ - turns) * kNsPerS / static_cast<double>(ns);
	locks_per_s_ = static_cast<double>(locks_ - locks) * kNsPerS / static_cast<double>(ns);
}

double Budget::seconds() const
{
	return static_cast<double>(sim::now_ns() - since_ns_) / kNsPerS;
}

double Budget::paced() const
{
	return static_cast<double>(w_.paced_ns - since_paced_ns_) / kNsPerS;
}

void Budget::limit(const char *what, uint64_t is, uint64_t most)
{
	if (is > most)
		w_.complain(std::string(what) + ": " + std::to_string(is) + ", " +
			    std::to_string(most) + " would be enough");
}

Budget::Sums Budget::sums() const
{
	Sums s = {};

	for (const Name &n : w_.adv->names) {
		s.frames += n.tally.frames;
		s.bytes += n.tally.bytes;
		s.heard += n.tally.heard;
		s.again += n.tally.again;
		s.refusals += n.tally.refusals;
		s.opened += n.tally.opened;
		s.called += n.tally.called;
		s.knocks += n.tally.knocks;
	}
	return s;
}

std::vector<Budget::Held> Budget::held() const
{
	struct Arg {
		Adversary &adv;
		std::vector<Held> held;

		Held *of(const struct rds_addr &a)
		{
			Name *n = adv.name_of(a);

			return n ? &held[static_cast<size_t>(n - adv.names.data())] : nullptr;
		}
	} arg = {*w_.adv, std::vector<Held>(w_.adv->names.size())};
	auto message = [](void *p, const struct rds_msg_info *m) {
		Held *h = static_cast<Arg *>(p)->of(m->faddr);

		if (h && m->lport != kSendingPort) {
			h->own++;
			h->probes += m->lport == kProbePort;
		}
	};

	host::info_paths(
		w_.a->core(),
		[](void *p, const struct rds_path_info *i) {
			if (Held *h = static_cast<Arg *>(p)->of(i->faddr)) {
				h->paths++;
				h->conns += !i->index;
			}
		},
		&arg);
	host::info_messages(w_.a->core(), RDS_QUEUE_SEND, message, &arg);
	host::info_messages(w_.a->core(), RDS_QUEUE_RETRANS, message, &arg);
	return arg.held;
}

uint64_t Budget::memory_allowed() const
{
	uint64_t most = base_bytes_ + base_bytes_ / 4 + kGraceBytes, strangers = 0;

	for (const Held &h : held())
		most += h.conns * kConnBytes +
			h.paths * (kPathBytes + kOwnMessages * kMessageBytes);
	for (const auto &t : w_.adv->talks) {
		const Name *n = w_.adv->name_of(t->self);
		const uint64_t part = t->half ? 2 * t->half + 4 * kKiB : 0;

		(n && n->known ? most : strangers) += part;
	}
	strangers = std::min<uint64_t>(strangers, rds::kAssemblyStrangers +
							  w_.adv->names.size() * kAtOnceBytes);
	return most + strangers + kSockets * kSocketBytes + kFlowBytes + kSendBytes;
}

void Budget::look_at_memory()
{
	const uint64_t is = host::usage().bytes, most = memory_allowed();

	worst_bytes_ = std::max(worst_bytes_, static_cast<double>(is) / static_cast<double>(most));
	limit("memory: bytes in use", is, most);
}

void Budget::look_at_objects()
{
	const std::vector<Held> all = held();
	unsigned int strangers = 0;

	for (size_t i = 0; i < all.size(); i++) {
		strangers += w_.adv->names[i].known ? 0 : all[i].conns;
		limit("objects: messages that no program has sent, to one name", all[i].own,
		      kOwnMessages * all[i].paths);
		limit("objects: probes, to one name", all[i].probes, all[i].paths);
		limit("objects: paths", all[i].paths, rds::kMaxPaths * all[i].conns);
	}
	/* Over queue pairs each type of service has a connection. */
	limit("objects: connections of strangers", strangers,
	      config_.max_passive * rds::kPassiveRoom);
}

void Budget::look_at_frames()
{
	const Sums s = sums();
	uint64_t maps = 0;

	for (const auto &t : w_.adv->talks) {
		const uint64_t up = t->since_ns ? sim::now_ns() - t->since_ns : 0;
		const uint64_t allowed = 3 + kMapsPerS * up / kNsPerS + kMapsPerFrame * t->frames;

		limit("frames: maps on one connection", t->maps, allowed);
		maps += t->maps;
	}

	const uint64_t is = s.heard - std::min(s.heard, s.again + maps);
	const uint64_t most = kPerFrame * s.frames + kPerConnection * s.opened + w_.sent_to_it +
			      kAgain * s.opened + kAnew * s.refusals;

	worst_heard_ =
		std::max(worst_heard_, static_cast<double>(is) / static_cast<double>(most + 1));
	limit("frames: what the host has said", is, most);
	limit("frames: messages that were sent again", s.again, kAgain * s.opened);
}

void Budget::look_at_calls()
{
	for (const Name &n : w_.adv->names) {
		const Tally &t = n.tally;
		const uint64_t most = kCallsFirst + kCallsPerFrame * t.frames +
				      kCallsPerConnection * t.opened +
				      static_cast<uint64_t>(kCallsPerS * seconds()) +
				      (n.known ? rds::kKnownCalls : 0);

		worst_called_ = std::max(worst_called_,
					 static_cast<double>(t.called) / static_cast<double>(most));
		limit("calls: of one name by the host", t.called, most);
		look_at_nonsense(t);
	}
}

void Budget::look_at_nonsense(const Tally &t)
{
	const double minutes = seconds() / 60;
	const uint64_t heeded =
		std::min(t.knocks, static_cast<uint64_t>(kHeededPerMinute * minutes) + 1);

	limit("calls: answered by nonsense", t.badly,
	      kBadFirst + kBadAgain * t.opened + static_cast<uint64_t>(kBadPerMinute * minutes) +
		      heeded);
}

/* Of something that honest traffic did @honest times a second, and others do so often. */
uint64_t Budget::by_time(double honest, uint64_t per_s, uint64_t paced_per_s) const
{
	return static_cast<uint64_t>((1.2 * honest + static_cast<double>(paced_per_s)) * paced() +
				     static_cast<double>(per_s) * seconds());
}

void Budget::look_at_time()
{
	const Sums s = sums();
	const uint64_t made = s.opened + s.called + s.knocks;
	const uint64_t said = s.frames + w_.sent_to_it + s.again;
	const uint64_t turns = sim::turns() - turns_, locks = sim::spin_locks() - locks_;
	const uint64_t most_turns = kTurnsFirst + by_time(turns_per_s_, kTurnsPerS, kTurnsPaced) +
				    kTurnsPerFrame * said + kTurnsPerConnection * made;
	const uint64_t most_locks = kLocksFirst + by_time(locks_per_s_, kLocksPerS, kLocksPaced) +
				    kLocksPerFrame * said + kLocksPerConnection * made +
				    kLocksPerKiB * s.bytes / kKiB;

	worst_turns_ = std::max(worst_turns_,
				static_cast<double>(turns) / static_cast<double>(most_turns));
	worst_locks_ = std::max(worst_locks_,
				static_cast<double>(locks) / static_cast<double>(most_locks));
	limit("time: runs of workers and timers", turns, most_turns);
	limit("time: spin locks", locks, most_locks);
}

void Budget::look()
{
	look_at_memory();
	look_at_objects();
	look_at_frames();
	look_at_calls();
	look_at_time();
}

void Budget::look_at_silence()
{
	const std::vector<Held> all = held();
	uint64_t most = base_bytes_ + kGraceBytes;

	for (size_t i = 0; i < all.size(); i++) {
		most += all[i].conns * kConnBytes + all[i].paths * kPathBytes + kTombBytes;
		most += all[i].paths * kOwnMessages * kMessageBytes;
	}
	limit("silence: bytes in use", host::usage().bytes, most);
	/* "connects and says nothing: hung up within half a minute", unless a program here sends to
	 * it; "half a message, and silence: its bytes for half a minute", whoever sends. */
	for (const auto &t : w_.adv->talks) {
		const Name *n = w_.adv->name_of(t->self);

		if (!t->is_open())
			continue;
		if (n && !n->used && !t->frames)
			w_.complain(
				"silence: a connection is still there on which nothing was said");
		if (t->half)
			w_.complain("silence: half a message is still waited for");
	}
}

void Budget::look_at_what_is_left(bool crashed)
{
	const std::vector<Held> all = held();
	uint64_t most = base_bytes_ + kGraceBytes / 4;

	for (size_t i = 0; i < all.size(); i++) {
		const Name &n = w_.adv->names[i];
		/* kKnownCalls without an answer take longer. */
		const bool stays = n.known && crashed;

		most += kTombBytes + all[i].paths * kPathBytes;
		if (n.used || stays)
			most += kUsedBytes;
		else
			limit("end: connections of a name that is gone", all[i].conns, 0);
	}
	limit("end: bytes in use", host::usage().bytes, most);
}

std::string Budget::show() const
{
	char out[200];

	snprintf(out, sizeof(out),
		 "bytes %.2f heard %.2f calls %.2f turns %.2f locks %.2f of what is allowed, "
		 "honest: %llu came, %.1f ms at most",
		 worst_bytes_, worst_heard_, worst_called_, worst_turns_, worst_locks_,
		 static_cast<unsigned long long>(w_.honest),
		 static_cast<double>(w_.worst_ns) / 1e6);
	return out;
}

} // namespace adversary
