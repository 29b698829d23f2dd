// SPDX-License-Identifier: GPL-2.0
/*
 * adversary_run: a hostile peer from seeds.
 *
 *	adversary_run --seed S [--seeds N] [--steps N]	seeds S .. S + N - 1
 *	--keep 3,7,12	only these steps; --only NAME	only steps of this harm
 *	--replay	what happens in it; --verbose	a line for each seed
 *	--no-shrink	a failing seed is not made smaller; --harms	the names of all harms
 *
 * The first failing seed ends the run: as many of its steps are left out as can be, and the rest is
 * printed with the command that plays it again.  The same seed is the same history.
 */
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <unistd.h>

#include "attempt.h"
#include "harms.h"
#include "play.h"
#include "rng.h"
#include "sim.h"

namespace
{

using adversary::Plan;
using ull = unsigned long long;

struct Args {
	const char *self;
	uint64_t seed = 1, seeds = 1;
	unsigned int steps = 30;
	std::vector<unsigned int> keep;
	const char *only = nullptr;
	bool verbose = false, replay = false, shrink = true;
};

bool parse_value(const char *name, char *value, Args &a)
{
	if (!strcmp(name, "--seed"))
		a.seed = strtoull(value, nullptr, 0);
	else if (!strcmp(name, "--seeds"))
		a.seeds = strtoull(value, nullptr, 0);
	else if (!strcmp(name, "--steps"))
		a.steps = static_cast<unsigned int>(strtoul(value, nullptr, 0));
	else if (!strcmp(name, "--only"))
		a.only = value;
	else if (!strcmp(name, "--keep"))
		for (char *n = strtok(value, ","); n; n = strtok(nullptr, ","))
			a.keep.push_back(static_cast<unsigned int>(strtoul(n, nullptr, 0)));
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
		else if (i + 1 >= argc || !parse_value(argv[i], argv[i + 1], a))
			return false;
		else
			i++;
	}
	return true;
}

Plan plan_of(const Args &a, uint64_t seed)
{
	Plan p = adversary::make_plan(seed, a.steps);

	std::erase_if(p.steps, [&](const adversary::Step &s) {
		if (a.only && strcmp(a.only, adversary::harms[s.harm].name))
			return true;
		return !a.keep.empty() &&
		       std::find(a.keep.begin(), a.keep.end(), s.number) == a.keep.end();
	});
	return p;
}

struct Attempt {
	cli::Shared *sh;
	const Plan *plan;
};

void play_one(void *arg)
{
	auto *a = static_cast<Attempt *>(arg);

	cli::limit_time();

	adversary::Result r = adversary::play(*a->plan);

	if (!r.complaint.empty())
		cli::give_up(a->sh, r.complaint);
}

Plan shrink(cli::Shared *sh, Plan plan, const std::string &why)
{
	const std::string kind = cli::kind_of(why);

	cli::leave_out<adversary::Step>(plan.steps, [&](const std::vector<adversary::Step> &steps) {
		Plan less = plan;
		Attempt a = {sh, &less};

		less.steps = steps;
		return cli::fails_so(sh, kind, play_one, &a);
	});
	return plan;
}

struct Run {
	const Args *args;
	cli::Shared *sh;
};

void play_all(void *arg)
{
	auto *run = static_cast<Run *>(arg);
	cli::Shared *sh = run->sh;

	for (uint64_t seed = run->args->seed; seed < run->args->seed + run->args->seeds; seed++) {
		const Plan plan = plan_of(*run->args, seed);

		sh->seed = seed;
		cli::limit_time();

		adversary::Result r = adversary::play(plan);

		if (run->args->verbose || run->args->replay)
			printf("seed %llu: %llu frames said, %llu s; %s\n", ull(seed),
			       ull(r.frames), ull(r.virtual_ns / 1000000000), r.told.c_str());
		if (!r.complaint.empty())
			cli::give_up(sh, r.complaint);
		sh->seeds++;
		sh->sent += r.frames;
		sh->received += r.honest;
		sh->virtual_ns += r.virtual_ns;
		sh->history = sim::mix(sh->history ^ r.history);
	}
}

void tell_failure(const Args &a, cli::Shared *sh)
{
	const std::string why = sh->why;
	Plan p = plan_of(a, sh->seed);

	if (a.shrink && !a.replay)
		p = shrink(sh, p, why);
	printf("FAILED: seed %llu: %s\n", ull(sh->seed), why.c_str());
	printf("over %s, %zu steps:\n", p.config.pairs ? "queue pairs" : "streams", p.steps.size());
	for (const auto &s : p.steps)
		printf("  %2u %-14s %s\n", s.number, adversary::harms[s.harm].name,
		       adversary::harms[s.harm].what);
	printf("again: %s --seed %llu --steps %u --replay --keep ", a.self, ull(sh->seed), a.steps);
	for (const auto &s : p.steps)
		printf("%u,", s.number);
	printf("\n");
}

} // namespace

int main(int argc, char **argv)
{
	Args a;

	if (argc == 2 && !strcmp(argv[1], "--harms")) {
		for (unsigned int i = 0; i < adversary::n_harms; i++)
			printf("%-14s %s\n", adversary::harms[i].name, adversary::harms[i].what);
		return 0;
	}
	if (!parse(argc, argv, a)) {
		fprintf(stderr,
			"usage: %s --seed S [--seeds N] [--steps N] [--keep 1,2] "
			"[--only NAME] [--replay] [--verbose] [--no-shrink] | --harms\n",
			argv[0]);
		return 2;
	}

	cli::Shared *sh = cli::make_shared();
	Run run = {&a, sh};

	sim::tracing = a.replay;
	if (!cli::in_child(sh, false, play_all, &run)) {
		sim::tracing = false;
		tell_failure(a, sh);
		return 1;
	}
	printf("%llu seeds passed, %llu frames of the adversary's, %llu honest messages, %.1f "
	       "minutes of "
	       "virtual time, history %016llx\n",
	       ull(sh->seeds), ull(sh->sent), ull(sh->received),
	       static_cast<double>(sh->virtual_ns) / 60e9, ull(sh->history));
	return 0;
}
