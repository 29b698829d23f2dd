// SPDX-License-Identifier: GPL-2.0
/* Explores plays (explore.h), and says what of the table of turns none of them came to. */
#include <bit>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>
#include <unistd.h>

#include "check_states.h"
#include "explore.h"
#include "sim.h"

namespace
{

constexpr const char *kUsage =
	"usage: explore [--deviations N] [--interrupts N] [--play NAME,...]\n"
	"       explore --play NAME --choices LIST [--trace]    one history\n"
	"       explore --kept FILE                             those that showed something once\n"
	"       explore --table                                 the table of states\n";

/* A transition that the bound of ctest does not come to, and the unit test that does. */
struct Elsewhere {
	rds::PathState from;
	unsigned int event;
	unsigned int to;
	const char *where;
};
constexpr Elsewhere kElsewhere[] = {
	{rds::PathState::kDisconnecting, RDS_EV_fold, rds::path_table::kDown,
	 "PathFan.APathThatEndsInOrderFoldsAtOnce"},
};

struct Args {
	explore::Bound bound;
	std::string plays, choices, kept;
	bool trace = false, table = false;
	/* All plays, as far as ctest goes: all of the table is to be seen. */
	bool covers() const
	{
		return plays.empty() && bound.deviations >= 2;
	}
};

void died(int sig)
{
	char text[512];
	int n = snprintf(text, sizeof(text), "\nFAILED: signal %d\nplay it again: %s --trace\n",
			 sig, explore::now_playing().c_str());

	(void)!write(STDERR_FILENO, text, static_cast<size_t>(n));
	signal(sig, SIG_DFL);
	raise(sig);
}

void died_because(const char *why)
{
	fprintf(stderr, "FAILED: %s\n", why);
}

const play::Play *find(const std::string &name)
{
	for (const play::Play &p : play::all())
		if (name == p.name)
			return &p;
	fprintf(stderr, "no play is called '%s'\n", name.c_str());
	return nullptr;
}

bool parse(int argc, char **argv, Args &a)
{
	for (int i = 1; i < argc; i++) {
		std::string what = argv[i];

		if (what == "--trace" || what == "--table") {
			(what == "--trace" ? a.trace : a.table) = true;
			continue;
		}
		if (++i == argc)
			return false;
		if (what == "--deviations")
			a.bound.deviations = static_cast<unsigned int>(atoi(argv[i]));
		else if (what == "--interrupts")
			a.bound.interrupts = static_cast<unsigned int>(atoi(argv[i]));
		else if (what == "--play")
			a.plays = argv[i];
		else if (what == "--choices")
			a.choices = argv[i];
		else if (what == "--kept")
			a.kept = argv[i];
		else
			return false;
	}
	return true;
}

constexpr const char *kCauses[] = {
#define RDS_X(name, cause) cause,
	RDS_PATH_EVENTS(RDS_X)
#undef RDS_X
};
constexpr const char *kActs[] = {
#define RDS_X(name, text) text,
	RDS_PATH_ACTS(RDS_X)
#undef RDS_X
};

/* As tests/model/doc.py reads it: event, cause; state, states that follow, what is done. */
int print_table()
{
	for (unsigned int e = 0; e < RDS_EV_COUNT; e++) {
		printf("%s\t%s\n", rds_path_event_name(e), kCauses[e]);
		for (unsigned int s = 0; s < check::kStates; s++) {
			const rds::PathEntry &entry =
				rds::path_entry(e, static_cast<rds::PathState>(s));
			std::string to;

			for (unsigned int next = 0; next <= check::kStates; next++)
				if (entry.to & 1u << next)
					to += std::string(to.empty() ? "" : " ") +
					      check::state_name(next);
			printf("\t%s\t%s\t%s\n", check::state_name(s), to.c_str(),
			       kActs[static_cast<unsigned int>(entry.act)]);
		}
	}
	return 0;
}

int play_one(const std::string &name, const std::string &choices, bool trace)
{
	explore::Coverage seen;
	explore::Choices c;
	const play::Play *p = find(name);

	if (!p || !explore::read(choices, c))
		return 2;

	std::string f = explore::replay(*p, c, trace, seen);

	printf("%s %s: %s\n", name.c_str(), choices.c_str(),
	       f.empty() ? "all is well" : ("FAILED: " + f).c_str());
	return !f.empty();
}

int play_kept(const std::string &file)
{
	std::ifstream in(file);
	std::string line, name, choices;
	int bad = in ? 0 : 2;

	while (std::getline(in, line)) {
		std::istringstream words(line);

		if (line[0] != '#' && words >> name >> choices)
			bad |= play_one(name, choices, false);
	}
	return bad;
}

/* True: none failed. */
bool play_all(const Args &a, explore::Coverage &seen)
{
	for (const play::Play &p : play::all()) {
		if (!a.plays.empty() &&
		    ("," + a.plays + ",").find(std::string(",") + p.name + ",") ==
			    std::string::npos)
			continue;

		auto begin = std::chrono::steady_clock::now();
		explore::Result r = explore::search(p, a.bound, seen);
		std::chrono::duration<double> s = std::chrono::steady_clock::now() - begin;

		printf("%-10s %8u histories %9lu states %9lu decisions %7.1f s\n", p.name,
		       r.histories, r.states, r.decisions, s.count());
		fflush(stdout);
		if (!r.failure.empty()) {
			printf("FAILED: %s\nplay it again: --play %s --choices %s --trace\n",
			       r.failure.c_str(), p.name, explore::show(r.choices).c_str());
			return false;
		}
	}
	return true;
}

unsigned int elsewhere(unsigned int from, unsigned int event)
{
	for (const Elsewhere &e : kElsewhere)
		if (static_cast<unsigned int>(e.from) == from && event == e.event)
			return e.to;
	return 0;
}

/* All of the table was come to, but for what is listed. */
bool covered(const explore::Coverage &seen)
{
	bool all = seen.edges == check::edges_known();
	unsigned int entries = 0;

	if (!all)
		printf("FAILED: edges that were not taken: %x\n",
		       check::edges_known() & ~seen.edges);
	for (unsigned int s = 0; s < check::kStates; s++)
		for (unsigned int e = 0; e < RDS_EV_COUNT; e++) {
			unsigned int missing = check::may_lead(e, s) & ~seen.to[s][e];

			entries += static_cast<unsigned int>(std::popcount(check::may_lead(e, s)));
			if (missing == elsewhere(s, e))
				continue;
			all = false;
			printf("FAILED: turns from %s by %s that were not seen: %x, expected %x\n",
			       check::state_name(s), rds_path_event_name(e), missing,
			       elsewhere(s, e));
		}
	for (const Elsewhere &e : kElsewhere)
		printf("not within this bound: %s by %s, see %s\n",
		       check::state_name(static_cast<unsigned int>(e.from)),
		       rds_path_event_name(e.event), e.where);
	printf("%d edges, %u entries of the table\n", std::popcount(check::edges_known()), entries);
	return all;
}

} // namespace

int main(int argc, char **argv)
{
	explore::Coverage seen;
	Args a;

	if (!parse(argc, argv, a)) {
		fputs(kUsage, stderr);
		return 2;
	}
	for (int sig : {SIGSEGV, SIGABRT, SIGILL, SIGBUS, SIGFPE})
		signal(sig, died);
	sim::on_fail = died_because;
	if (a.table)
		return print_table();
	if (!a.kept.empty())
		return play_kept(a.kept);
	if (!a.choices.empty())
		return play_one(a.plays, a.choices, a.trace);
	return !play_all(a, seen) || (a.covers() && !covered(seen));
}
