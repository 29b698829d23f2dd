// SPDX-License-Identifier: GPL-2.0
#include "attempt.h"

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sim.h"

namespace cli
{
namespace
{

Shared *noting; /* in the child */

constexpr char kEndless[] = "endless";

void note_why(const std::string &why)
{
	snprintf(noting->why, sizeof(noting->why), "%s", why.c_str());
}

struct Attempt {
	Shared *sh;
	const story::Plan *plan;
};

void play_one(void *arg)
{
	auto *a = static_cast<Attempt *>(arg);
	story::Result r;

	limit_time();
	r = story::play(*a->plan);
	if (!r.complaint.empty())
		give_up(a->sh, r.complaint);
}

bool fails(Shared *sh, const story::Plan &plan, const std::string &kind)
{
	Attempt a = {sh, &plan};

	return fails_so(sh, kind, play_one, &a);
}

void shrink_steps(Shared *sh, story::Plan &plan, const std::string &kind)
{
	leave_out<story::Step>(plan.steps, [&](const std::vector<story::Step> &steps) {
		story::Plan less = plan;

		less.steps = steps;
		return fails(sh, less, kind);
	});
}

} // namespace

Shared *make_shared()
{
	void *p = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		       -1, 0);

	if (p == MAP_FAILED) {
		perror("mmap");
		exit(2);
	}
	return new (p) Shared{};
}

void limit_time()
{
	const struct itimerval once = {{}, {kMostSeconds, 0}};

	setitimer(ITIMER_PROF, &once, nullptr);
}

void give_up(Shared *sh, const std::string &why)
{
	noting = sh;
	note_why(why);
	fflush(stdout);
	_exit(1); /* the world is as it was: no leaks to be counted */
}

bool in_child(Shared *sh, bool quiet, void (*body)(void *arg), void *arg)
{
	int status = 0;

	sh->why[0] = 0;
	fflush(stdout);

	pid_t pid = fork();

	if (!pid) {
		if (quiet) {
			int null = open("/dev/null", O_WRONLY);

			dup2(null, 1);
			dup2(null, 2);
		}
		noting = sh;
		sim::on_fail = [](const char *why) { note_why(std::string("seam: ") + why); };
		body(arg);
		exit(0);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid) {
		perror("fork");
		exit(2);
	}
	if (WIFEXITED(status) && !WEXITSTATUS(status))
		return true;
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGPROF)
		snprintf(sh->why, sizeof(sh->why), "%s: it has taken %u s of a processor", kEndless,
			 kMostSeconds);
	else if (!sh->why[0])
		snprintf(sh->why, sizeof(sh->why), "crash: %s",
			 WIFSIGNALED(status) ? strsignal(WTERMSIG(status)) : "sanitizer");
	return false;
}

std::string kind_of(const std::string &why)
{
	/* Complaints of the seam have no numbers in them. */
	return why.compare(0, 5, "seam:") ? why.substr(0, why.find(':')) : why;
}

bool fails_so(Shared *sh, const std::string &kind, void (*body)(void *arg), void *arg)
{
	/* Each attempt to make it smaller would take as long. */
	return kind != kEndless && !in_child(sh, true, body, arg) && kind_of(sh->why) == kind;
}

story::Plan shrink(Shared *sh, const story::Plan &plan, const std::string &why)
{
	std::string kind = kind_of(why);
	story::Plan best = plan;

	if (!fails(sh, best, kind))
		return best; /* not of itself: it needs what was before */
	shrink_steps(sh, best, kind);
	for (size_t i = 0; i < best.there.size(); i++) {
		story::Plan less = best;

		less.there[i] = false;
		if (best.there[i] && fails(sh, less, kind))
			best = std::move(less);
	}
	shrink_steps(sh, best, kind);
	fails(sh, best, kind); /* for its words */
	return best;
}

} // namespace cli
