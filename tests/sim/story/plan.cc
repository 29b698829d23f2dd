// SPDX-License-Identifier: GPL-2.0
#include "plan.h"

#include <algorithm>
#include <iterator>

namespace story
{
namespace
{

struct Usage {
	Act act;
	const char *name;
	unsigned int weight;
	unsigned int used_per_1000; /* of all seeds */
};

constexpr Usage kUsage[] = {
	{Act::kOpen, "open", 8, 1000},	     {Act::kClose, "close", 4, 500},
	{Act::kFlow, "flow", 40, 1000},	     {Act::kFanOut, "fan-out", 4, 300},
	{Act::kStuck, "stuck", 6, 500},	     {Act::kHabits, "habits", 4, 400},
	{Act::kCancel, "cancel", 4, 250},    {Act::kCut, "cut", 8, 500},
	{Act::kHalf, "half open", 4, 300},   {Act::kLink, "link", 6, 300},
	{Act::kSlow, "slow link", 4, 300},   {Act::kIsolate, "isolate", 4, 200},
	{Act::kRefuse, "refuse", 4, 300},    {Act::kCrash, "crash", 3, 300},
	{Act::kLeave, "leave", 3, 250},	     {Act::kReset, "reset", 6, 400},
	{Act::kTune, "tune", 3, 300},	     {Act::kReload, "reload", 1, 150},
	{Act::kFailNth, "fail nth", 6, 300}, {Act::kFail, "fail", 4, 300},
	{Act::kJump, "jump", 3, 200},	     {Act::kDate, "date", 3, 200},
	{Act::kUnplug, "unplug", 4, 0},	     {Act::kExpose, "expose", 16, 0},
	{Act::kOperate, "operate", 40, 0},   {Act::kUnmap, "unmap", 6, 0},
	{Act::kFlap, "flap", 3, 0},	     {Act::kFamine, "famine", 2, 0},
};
static_assert(sizeof(kUsage) / sizeof(kUsage[0]) == static_cast<size_t>(Act::kCount));

/* Powers of two are as likely: small ones matter most. */
uint64_t scale_free(sim::Rng &r, unsigned int low_bits, unsigned int high_bits)
{
	uint64_t bits = low_bits + r.below(high_bits - low_bits + 1);

	return (1ull << bits) + r.below(1ull << bits);
}

Act pick(sim::Rng &r, uint32_t acts)
{
	unsigned int sum = 0;

	for (const Usage &k : kUsage)
		if (acts >> static_cast<unsigned int>(k.act) & 1)
			sum += k.weight;

	uint64_t at = r.below(sum);

	for (const Usage &k : kUsage) {
		if (!(acts >> static_cast<unsigned int>(k.act) & 1))
			continue;
		if (at < k.weight)
			return k.act;
		at -= k.weight;
	}
	return Act::kFlow;
}

Setup make_setup(sim::Rng &r, uint64_t seed, unsigned int hosts)
{
	Setup s;

	s.seed = seed;
	s.hosts = 2 + static_cast<unsigned int>(r.below(3));
	if (hosts)
		s.hosts = hosts;
	s.slots = 1 + static_cast<unsigned int>(r.below(4));
	s.preempt_per_1000 = r.chance(700) ? 1 + static_cast<unsigned int>(r.below(100)) : 0;
	s.net.delay_max_ns = s.net.delay_min_ns + r.below(200 * 1000);
	s.net.send_window = scale_free(r, 7, 16);
	s.net.recv_window = scale_free(r, 7, 16);
	s.net.partial_per_1000 = r.chance(300) ? 300 : 0;
	s.max_bytes = static_cast<uint32_t>(scale_free(r, 4, r.chance(100) ? 16 : 11));
	s.max_count = static_cast<uint32_t>(scale_free(r, 3, 9));
	s.max_buffer = static_cast<uint32_t>(scale_free(r, 10, 17));
	for (unsigned int i = 0; i < s.hosts; i++)
		s.addrs.push_back(r.chance(300) ? host::addr6(i + 1) : host::addr4(i + 1));
	for (const Usage &k : kUsage)
		if (k.used_per_1000 && r.chance(k.used_per_1000))
			s.acts |= 1u << static_cast<unsigned int>(k.act);
	return s;
}

/* One story of four is played over queue pairs.  Drawn apart: all others stay what they are. */
void choose_carrier(Setup &s, const Wish &wish)
{
	sim::Rng r(s.seed, ~0u);

	s.verbs = (r.chance(250) || wish.rdma || wish.verbs) && !wish.hints;
	if (!s.verbs)
		return;

	/* rdma_cm connects addresses of one family. */
	bool v6 = r.chance(300);

	for (unsigned int i = 0; i < s.hosts; i++)
		s.addrs[i] = v6 ? host::addr6(i + 1) : host::addr4(i + 1);
	s.ib.send_ring = static_cast<unsigned int>(scale_free(r, 2, 7));
	s.ib.recv_ring = static_cast<unsigned int>(scale_free(r, 2, 7));
	s.ib.credits = r.chance(300);
	s.ib.partial_per_1000 = s.net.partial_per_1000;
	s.ib.fabric.error_per_1000 = r.chance(300) ? 1 + static_cast<unsigned int>(r.below(20)) : 0;
	if (r.chance(400))
		s.acts |= 1u << static_cast<unsigned int>(Act::kUnplug);
}

/* Three stories of ten have hosts that are not ours.  Speakers of mainline's protocol use it over
 * streams; lies are told there, too, while ours talk over queue pairs. */
void choose_kinds(Setup &s)
{
	constexpr Kind kOverStreams[] = {Kind::kOurs, Kind::k6, Kind::k7, Kind::k7, Kind::kLiar};
	sim::Rng r(s.seed, ~1u);

	if (!r.chance(300))
		return;
	s.kinds.assign(s.hosts, Kind::kOurs);

	uint64_t ours = r.below(s.hosts);

	for (unsigned int i = 0; i < s.hosts; i++) {
		Kind k = s.verbs ? (r.chance(300) ? Kind::kLiar : Kind::kOurs)
				 : kOverStreams[r.below(std::size(kOverStreams))];

		s.kinds[i] = i == ours ? Kind::kOurs : k;
	}
}

/* Drawn apart, as all that came later.  Over queue pairs four stories of ten have hosts that are
 * not ours, over streams one of six has old ones of ours beside whoever else is there; in one of
 * ten a host is a crowd. */
void choose_peers(Setup &s, const Wish &wish)
{
	constexpr Kind kOverPairs[] = {Kind::kOurs, Kind::k6,	Kind::k7,
				       Kind::k7,    Kind::kOld, Kind::kPairedLiar};
	sim::Rng r(s.seed, ~7u);
	const uint64_t ours = r.below(s.hosts);
	const bool some = (r.chance(s.verbs ? 400 : 160) && !wish.former) || wish.peers;
	const bool crowd = (r.chance(100) && !wish.former) || wish.crowd;

	if (!some && !crowd)
		return;
	s.kinds.resize(s.hosts, Kind::kOurs);
	for (unsigned int i = 0; i < s.hosts && some; i++) {
		Kind k = s.verbs	 ? kOverPairs[r.below(std::size(kOverPairs))]
			 : r.chance(600) ? Kind::kOld
					 : Kind::kOurs;

		if (i != ours && s.kinds[i] == Kind::kOurs)
			s.kinds[i] = k;
	}
	/* Some host stays ours. */
	if (std::count(s.kinds.begin(), s.kinds.end(), Kind::kOurs) == 0)
		s.kinds[ours] = Kind::kOurs;
	if (crowd && s.hosts > 2) {
		s.kinds[(ours + 1) % s.hosts] = Kind::kCrowd;
		s.kinds[ours] = Kind::kOurs;
		s.crowd = 12 + static_cast<unsigned int>(r.below(50));
	}
}

/* One of two over queue pairs has operations. */
void choose_rdma(Setup &s, bool rdma)
{
	sim::Rng r(s.seed, ~3u);

	s.rdma = s.verbs && (r.chance(500) || rdma);
	if (!s.rdma)
		return;
	for (Act a : {Act::kExpose, Act::kOperate, Act::kUnmap})
		s.acts |= 1u << static_cast<unsigned int>(a);
	s.ib.sges = 1 + static_cast<unsigned int>(r.below(8));
	s.ib.max_regions = static_cast<unsigned int>(scale_free(r, 2, 6));
	s.ib.atomics = 1 + static_cast<unsigned int>(r.below(3));
}

/* Two stories of three have several paths. */
void choose_paths(Setup &s)
{
	sim::Rng r(s.seed, ~2u);

	if (r.chance(667))
		s.net.paths = 2u << r.below(3);
}

/* Half of those that count buffers are iWARP's, which mainline's hosts do not speak. */
void choose_iwarp(Setup &s, const Wish &wish)
{
	sim::Rng r(s.seed, ~8u);

	s.ib.iwarp = s.ib.credits && s.kinds.empty() && !wish.former && r.chance(500);
}

/* Hosts of ours may have buffers for larger frames: each as it likes.  Older ones did not count
 * theirs unasked. */
void choose_frames(Setup &s, const Wish &wish)
{
	sim::Rng r(s.seed, ~9u);

	if (wish.former)
		return;
	for (uint8_t &order : s.ib.orders)
		order = static_cast<uint8_t>(r.below(RDS_IB_MOST_ORDER + 1));
	s.ib.counts = r.chance(700);
}

/* In one story of four counters begin where they end. */
void choose_wrap(Setup &s, const Wish &wish)
{
	sim::Rng r(s.seed, ~6u);

	s.wrap = (r.chance(250) && !wish.former) || wish.wrap;
	s.batches = !wish.former;
}

/* One of two with several paths has hints; such a story has small windows and much to send more
 * often, so that its connections fan out. */
void choose_hints(Setup &s, bool hints)
{
	sim::Rng r(s.seed, ~4u);

	if (hints && s.net.paths < 2)
		s.net.paths = 2u << r.below(3);
	s.hints = !s.verbs && s.net.paths > 1 && (r.chance(500) || hints);
	if (!s.hints || !r.chance(700))
		return;
	s.net.send_window = scale_free(r, 7, 12);
	s.net.recv_window = scale_free(r, 7, 12);
	s.max_count = static_cast<uint32_t>(scale_free(r, 7, 10));
}

} // namespace

bool Setup::any(Kind k) const
{
	return std::find(kinds.begin(), kinds.end(), k) != kinds.end();
}

bool Setup::any_trouble() const
{
	return any(Kind::kLiar) || any(Kind::kPairedLiar) || any(Kind::kCrowd);
}

const char *name_of(Act a)
{
	return kUsage[static_cast<size_t>(a)].name;
}

namespace
{

std::string others(const Setup &s)
{
	constexpr const char *kNames[] = {
		"ours", "of 6.x", "of 7.x", "a liar", "old", "a liar over queue pairs", "a crowd"};
	std::string out;

	for (unsigned int i = 0; i < s.hosts; i++)
		if (s.kind(i) != Kind::kOurs)
			out += ", host " + std::to_string(i) + " " +
			       kNames[static_cast<size_t>(s.kind(i))];
	return out;
}

} // namespace

std::string Plan::words() const
{
	std::string out =
		std::to_string(setup.hosts) + " hosts of " + std::to_string(setup.slots) +
		" sockets" +
		(setup.verbs ? " over queue pairs"
			     : ", " + std::to_string(setup.net.paths) + " paths") +
		(setup.hints ? ", hints" : "") + (setup.wrap ? ", counters near their end" : "") +
		others(setup) + ", preempt " + std::to_string(setup.preempt_per_1000) +
		", windows " + std::to_string(setup.net.send_window) + "/" +
		std::to_string(setup.net.recv_window) + ", messages to " +
		std::to_string(setup.max_bytes) + ", pace " + std::to_string(setup.pace_ns / 1000) +
		" us, signals " + std::to_string(setup.signals_per_1000) + ";";

	for (const Usage &k : kUsage)
		if (k.used_per_1000 < 1000 && setup.acts >> static_cast<unsigned int>(k.act) & 1)
			out += std::string(" ") + k.name;
	return out;
}

namespace
{

/* Steps follow each other within microseconds in a third of all stories, within milliseconds to a
 * second in another, within seconds to minutes in the rest; faults last as long.  With that all
 * that waits for time has it: growing pauses, keepalives, time-outs. */
void choose_pace(Setup &s, unsigned int steps)
{
	constexpr unsigned int kBits[][2] = {{10, 19}, {20, 29}, {30, 34}};
	sim::Rng r(s.seed, ~5u);
	/* Liars talk without a pause: of them a minute is a million connections. */
	const unsigned int *bits = kBits[s.any_trouble() ? 0 : r.below(3)];

	s.pace_ns = scale_free(r, bits[0], bits[1]);
	if (bits != kBits[0]) {
		/* Time goes by without it; and all that is due at once is a task at once. */
		s.acts &= ~(1u << static_cast<unsigned int>(Act::kJump));
		/* The longer a plan, the more of it fits into the same time. */
		s.pace_ns = s.pace_ns * 60 / std::max(60u, steps);
	}
	s.signals_per_1000 = r.chance(300) ? 1 + static_cast<unsigned int>(r.below(100)) : 0;
	for (Act a : {Act::kFlap, Act::kFamine})
		if (r.chance(300))
			s.acts |= 1u << static_cast<unsigned int>(a);
}

} // namespace

Plan make_plan(uint64_t seed, unsigned int steps, const Wish &wish)
{
	Plan p;
	sim::Rng r(seed, 0);

	p.setup = make_setup(r, seed, wish.hosts);
	choose_carrier(p.setup, wish);
	choose_kinds(p.setup);
	choose_peers(p.setup, wish);
	choose_iwarp(p.setup, wish);
	choose_frames(p.setup, wish);
	choose_paths(p.setup);
	choose_rdma(p.setup, wish.rdma);
	choose_hints(p.setup, wish.hints);
	choose_wrap(p.setup, wish);
	p.there.assign(p.setup.hosts, true);
	p.setup.strict = wish.strict;

	uint64_t pace = scale_free(r, 12, 20);

	if (!wish.brief) {
		choose_pace(p.setup, steps);
		pace = p.setup.pace_ns;
	}

	for (unsigned int i = 0; i < steps; i++) {
		sim::Rng own(seed, i + 1);
		Act act = pick(own, p.setup.acts);

		p.steps.push_back(Step{i, act, own.next(), own.below(pace)});
	}
	return p;
}

} // namespace story
