// SPDX-License-Identifier: GPL-2.0
/*
 * sim_run: stories from seeds.
 *
 *	sim_run --seed S [--seeds N] [--steps N] [--nodes K]	seeds S .. S + N - 1
 *	sim_run --seed S ... --replay		one of them, with everything that happens
 *	sim_run --soak [--seed S]		seeds until stopped, failures and all
 *	--keep 3,7,12	only these steps; --without 2	without these hosts
 *	--rdma		over queue pairs and with operations, whatever the seed says
 *	--hints		over several paths and with ordering hints, the same
 *	--verbs, --peers, --crowd	over queue pairs; with hosts that are not ours;
 *			with many strangers at once: the same
 *	--former	without what came to seeds later: peers of new kinds, wraps, batches
 *	--wrap		with counters that begin near their end, the same
 *	--brief		nothing takes long: microseconds between steps
 *	--strict	what is known to be wrong with the core is a failure, too (seeds.txt)
 *	--no-shrink	a failing seed is not made smaller; --verbose	a line for each seed
 *
 * The first failing seed ends the run: its plan is made as small as it goes and printed with the
 * command that plays it again.  The same seed is the same history; its digest is printed.
 */
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <sys/resource.h>
#include <unistd.h>

#include "attempt.h"
#include "check_states.h"
#include "sim.h"

namespace
{

using ull = unsigned long long;

struct Args {
	const char *self;
	uint64_t seed = 1;
	uint64_t seeds = 1;
	unsigned int steps = 60;
	story::Wish wish;
	std::vector<unsigned int> keep, without;
	bool some = false; /* --keep was given */
	bool verbose = false, replay = false, shrink = true, soak = false;
};

std::vector<unsigned int> numbers(const char *s)
{
	std::vector<unsigned int> out;

	while (*s) {
		char *end;

		out.push_back(static_cast<unsigned int>(strtoul(s, &end, 10)));
		s = *end ? end + 1 : end;
	}
	return out;
}

bool parse_value(const char *name, const char *value, Args &a)
{
	if (!strcmp(name, "--seed"))
		a.seed = strtoull(value, nullptr, 0);
	else if (!strcmp(name, "--seeds"))
		a.seeds = strtoull(value, nullptr, 0);
	else if (!strcmp(name, "--steps"))
		a.steps = static_cast<unsigned int>(strtoul(value, nullptr, 0));
	else if (!strcmp(name, "--nodes"))
		a.wish.hosts = static_cast<unsigned int>(strtoul(value, nullptr, 0));
	else if (!strcmp(name, "--without"))
		a.without = numbers(value);
	else if (!strcmp(name, "--keep"))
		a.keep = numbers(value), a.some = true;
	else
		return false;
	return true;
}

bool parse(int argc, char **argv, Args &a)
{
	a.self = argv[0];
	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--verbose"))
			a.verbose = true;
		else if (!strcmp(argv[i], "--replay"))
			a.replay = true;
		else if (!strcmp(argv[i], "--no-shrink"))
			a.shrink = false;
		else if (!strcmp(argv[i], "--soak"))
			a.soak = true;
		else if (!strcmp(argv[i], "--rdma"))
			a.wish.rdma = true;
		else if (!strcmp(argv[i], "--hints"))
			a.wish.hints = true;
		else if (!strcmp(argv[i], "--verbs"))
			a.wish.verbs = true;
		else if (!strcmp(argv[i], "--peers"))
			a.wish.peers = true;
		else if (!strcmp(argv[i], "--crowd"))
			a.wish.crowd = true;
		else if (!strcmp(argv[i], "--former"))
			a.wish.former = true;
		else if (!strcmp(argv[i], "--wrap"))
			a.wish.wrap = true;
		else if (!strcmp(argv[i], "--brief"))
			a.wish.brief = true;
		else if (!strcmp(argv[i], "--strict"))
			a.wish.strict = true;
		else if (i + 1 >= argc || !parse_value(argv[i], argv[i + 1], a))
			return false;
		else
			i++;
	}
	return true;
}

story::Plan plan_of(const Args &a, uint64_t seed)
{
	story::Plan p = story::make_plan(seed, a.steps, a.wish);

	std::erase_if(p.steps, [&](const story::Step &s) {
		for (unsigned int n : a.keep)
			if (n == s.number)
				return false;
		return a.some;
	});
	for (unsigned int n : a.without)
		if (n < p.there.size())
			p.there[n] = false;
	return p;
}

void add(cli::Shared *sh, const story::Result &r)
{
	sh->seeds++;
	sh->sent += r.sent;
	sh->received += r.received;
	sh->lost += r.lost;
	sh->cuts += r.cuts;
	sh->cancels += r.cancels;
	sh->failed_allocs += r.failed_allocs;
	sh->virtual_ns += r.virtual_ns;
	sh->ops += r.ops;
	sh->ops_done += r.ops_done;
	sh->overtaken += r.overtaken;
	sh->edges |= r.edges;
	sh->recovered[std::min<uint64_t>(r.recovery_ns / 1000000, cli::kRecoveries - 1)]++;
	sh->history = sim::mix(sh->history ^ r.history);
	sh->peak_bytes = r.peak_bytes > sh->peak_bytes ? r.peak_bytes : sh->peak_bytes;
}

/* Processor time of this process and the children that have ended, s. */
double used(int who)
{
	struct rusage u;

	getrusage(who, &u);
	return static_cast<double>(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
	       static_cast<double>(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

/* So long, in ms of virtual time, did at most @per_1000 stories take to recover. */
unsigned int recovery(const cli::Shared *sh, unsigned int per_1000)
{
	uint64_t seen = 0;

	for (unsigned int ms = 0; ms < cli::kRecoveries; ms++) {
		seen += sh->recovered[ms];
		if (seen * 1000 >= sh->seeds * per_1000)
			return ms;
	}
	return cli::kRecoveries;
}

void print_sums(const cli::Shared *sh, double seconds, uint64_t violations)
{
	printf("%llu seeds, %llu messages sent, %llu received (%.0f a second), %llu lost, %llu "
	       "cuts, "
	       "%llu operations, %llu told that they are done, %llu overtaken, "
	       "%llu allocations failed, %.0f virtual hours, peak %zu kB, at peace all is well "
	       "after %u ms (99 %%), %u ms (all), %llu violations\n",
	       static_cast<ull>(sh->seeds), static_cast<ull>(sh->sent),
	       static_cast<ull>(sh->received), static_cast<double>(sh->received) / seconds,
	       static_cast<ull>(sh->lost), static_cast<ull>(sh->cuts), static_cast<ull>(sh->ops),
	       static_cast<ull>(sh->ops_done), static_cast<ull>(sh->overtaken),
	       static_cast<ull>(sh->failed_allocs), static_cast<double>(sh->virtual_ns) / 3.6e12,
	       sh->peak_bytes / 1024, recovery(sh, 990), recovery(sh, 1000),
	       static_cast<ull>(violations));
	fflush(stdout);
}

struct Run {
	const Args *a;
	cli::Shared *sh;
	uint64_t from, end, violations = 0;
	double before = 0; /* processor time of children that played, and have ended, s */
};

void play_seeds(void *arg)
{
	auto *run = static_cast<Run *>(arg);
	time_t told = time(nullptr);

	for (uint64_t seed = run->from; seed < run->end; seed++) {
		story::Plan p = plan_of(*run->a, seed);

		run->sh->seed = seed;
		cli::limit_time();

		story::Result r = story::play(p);

		if (run->a->verbose)
			printf("seed %llu: %s: sent %llu received %llu lost %llu history %016llx "
			       "%s\n",
			       static_cast<ull>(seed), p.words().c_str(), static_cast<ull>(r.sent),
			       static_cast<ull>(r.received), static_cast<ull>(r.lost),
			       static_cast<ull>(r.history), r.complaint.c_str());
		if (!r.complaint.empty())
			cli::give_up(run->sh, r.complaint);
		add(run->sh, r);
		if (run->a->soak && time(nullptr) >= told + 10) {
			told = time(nullptr);
			print_sums(run->sh, run->before + used(RUSAGE_SELF), run->violations);
		}
	}
}

std::string list(const std::vector<std::string> &items)
{
	std::string out;

	for (const std::string &s : items)
		out += (out.empty() ? "" : ",") + s;
	return out;
}

/* The command that plays @p. */
std::string command(const Args &a, uint64_t seed, const story::Plan &p)
{
	std::vector<std::string> keep, without;
	std::string out = std::string(a.self) + " --seed " + std::to_string(seed) + " --steps " +
			  std::to_string(a.steps);

	for (const story::Step &s : p.steps)
		keep.push_back(std::to_string(s.number));
	for (size_t i = 0; i < p.there.size(); i++)
		if (!p.there[i])
			without.push_back(std::to_string(i));
	if (a.wish.rdma)
		out += " --rdma";
	if (a.wish.hints)
		out += " --hints";
	if (a.wish.verbs)
		out += " --verbs";
	if (a.wish.peers)
		out += " --peers";
	if (a.wish.crowd)
		out += " --crowd";
	if (a.wish.former)
		out += " --former";
	if (a.wish.wrap)
		out += " --wrap";
	if (a.wish.brief)
		out += " --brief";
	if (a.wish.strict)
		out += " --strict";
	if (a.wish.hosts)
		out += " --nodes " + std::to_string(a.wish.hosts);
	if (keep.size() < a.steps)
		out += " --keep " + (keep.empty() ? "none" : list(keep));
	if (!without.empty())
		out += " --without " + list(without);
	return out + " --replay";
}

void report(const Args &a, cli::Shared *sh)
{
	uint64_t seed = sh->seed;
	std::string why = sh->why;
	story::Plan p = plan_of(a, seed);

	printf("seed %llu FAILED: %s\n  %s\n", static_cast<ull>(seed), why.c_str(),
	       p.words().c_str());
	fflush(stdout);
	if (a.shrink) {
		p = cli::shrink(sh, p, why);
		printf("  as small as it goes: %s\n", sh->why);
		for (const story::Step &s : p.steps)
			printf("    step %u: %s\n", s.number, story::name_of(s.act));
	}
	printf("again with: %s\n", command(a, seed, p).c_str());
	fflush(stdout);
}

int replay(const Args &a)
{
	story::Plan p = plan_of(a, a.seed);

	setvbuf(stdout, nullptr, _IOLBF, 0);
	sim::tracing = true;
	printf("%s\n", p.words().c_str());

	story::Result r = story::play(p);

	printf("sent %llu received %llu lost %llu, history %016llx\n%s\n", static_cast<ull>(r.sent),
	       static_cast<ull>(r.received), static_cast<ull>(r.lost), static_cast<ull>(r.history),
	       r.complaint.empty() ? "all is well" : r.complaint.c_str());
	fflush(stdout);
	_exit(r.complaint.empty() ? 0 : 1);
}

} // namespace

int main(int argc, char **argv)
{
	Args a;
	unsigned int all_edges = check::edges_known();

	if (!parse(argc, argv, a)) {
		fprintf(stderr,
			"usage: %s --seed S [--seeds N] [--steps N] [--nodes K] [--rdma] [--hints] "
			"[--verbs] [--peers] [--crowd] [--former] [--wrap] [--brief] [--strict] "
			"[--soak] "
			"[--replay] "
			"[--keep LIST] [--without LIST] [--no-shrink] [--verbose]\n",
			argv[0]);
		return 2;
	}
	if (a.replay)
		return replay(a);
	if (a.soak)
		a.seeds = ~0ull - a.seed;

	cli::Shared *sh = cli::make_shared();
	Run run = {&a, sh, a.seed, a.seed + a.seeds};
	while (run.from < run.end) {
		double began = used(RUSAGE_CHILDREN);
		bool done = cli::in_child(sh, false, play_seeds, &run);

		run.before += used(RUSAGE_CHILDREN) - began;
		if (done)
			break;
		run.violations++;
		run.from = sh->seed + 1;
		report(a, sh);
		if (!a.soak)
			return 1;
	}
	print_sums(sh, run.before, run.violations);
	printf("state edges taken: %x of %x; history %016llx\n", sh->edges, all_edges,
	       static_cast<ull>(sh->history));
	/* Many stories together visit every edge of the state table. */
	if (a.seeds >= 100 && sh->edges != all_edges) {
		printf("FAILED: some edges of the state table were never taken\n");
		return 1;
	}
	return run.violations ? 1 : 0;
}
