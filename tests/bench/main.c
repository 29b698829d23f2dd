// SPDX-License-Identifier: GPL-2.0
/*
 * rdsperf suite [-o OFFSET] [FAMILY[:TEST[:SIZE]]]...   run matching cases, all when none is given
 * rdsperf list
 *
 * Needs root and makes network namespaces of its own: meant for the guest that machine.py boots.
 * One line per case: RES fam= test= size= n= ns= idle= per= cpu= disorder=, or RES ... FAIL why.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include "perf.h"

static const struct family fams[] = {
	{"rds-lo", RDS, LO, 1},	    {"rds-self", RDS, SELF, 0}, {"rds-veth", RDS, VETH, 0},
	{"tcp-veth", TCP, VETH, 0}, {"unix-lo", UNIX, LO, 0},
};
#define NFAM (sizeof(fams) / sizeof(fams[0]))

static const struct test tests[] = {
	{"lat", 1, 1, {64, 8192}},	 {"stream", 1, 1, {64, 1024, 8192, 65536, 1048576}},
	{"batch", 1, BATCH, {64, 1024}}, {"fan16", 16, 1, {64, 8192}},
	{"fan256", 256, 1, {64}},
};
#define NTEST (sizeof(tests) / sizeof(tests[0]))

/*
 * Comes before the measured cases: with some timings mainline never delivers the first message
 * between two nodes (acknowledged by TCP, no drop counted), and would hang in the first case.
 */
static const struct test first = {"first", 1, 1, {64}};
#define FIRST_TRIES 4

struct perf_case pc;
struct shared *sh;
char *mbuf;
static int offset; /* other ports, so other paths of mainline's eight */

static void on_alarm(int s)
{
	(void)s;
	errno = ETIMEDOUT;
	die("case");
}

/* Both children must end well; when one does not, the other one is of no use. */
static int reap(pid_t r, pid_t s)
{
	int i, st, bad = 0;
	pid_t w;

	for (i = 0; i < 2; i++) {
		w = wait(&st);
		if (!WIFEXITED(st) || WEXITSTATUS(st)) {
			bad = 1;
			kill(w == r ? s : r, SIGKILL);
		}
	}
	return bad;
}

static void print_result(long n, int bad)
{
	uint64_t d = sh->t1 - sh->t0, idle = sh->idle1 - sh->idle0;

	printf("RES fam=%s test=%s size=%zu n=%ld ", pc.fam->name, pc.test->name, pc.size, n);
	if (bad || sh->err[0]) {
		printf("FAIL %s\n", sh->err[0] ? sh->err : "killed");
		return;
	}
	if (idle > d)
		idle = d;
	printf("ns=%" PRIu64 " idle=%" PRIu64 " per=%.1f cpu=%.1f disorder=%" PRIu64 "\n", d, idle,
	       (double)d / n, (double)(d - idle) / n, sh->bad);
}

static void run_case(const struct family *f, const struct test *t, size_t size)
{
	static int seqno;
	long n = size <= 1024 ? 4096 : size <= 8192 ? 2048 : size <= 65536 ? 512 : 64;
	long warm = t->senders > 32 ? 2 * t->senders : size > 65536 ? 64 : 128;
	unsigned int limit = 120;
	int bad;
	pid_t r, s;

	if (t == &first) {
		n = warm = 1;
		limit = 20;
	} else if (!strcmp(t->name, "lat")) {
		n /= 2;
	}
	pc = (struct perf_case){.fam = f,
				.test = t,
				.size = size,
				.nsend = t->senders,
				.window = size > 524288	 ? 2
					  : size > 16384 ? (1 << 20) / size
							 : 64,
				.lat = t == &first || !strcmp(t->name, "lat")};
	memset(sh, 0, sizeof(*sh));
	sh->port = 4000 + (seqno++ % 60) * 1000 + (offset % 100) * 17;
	if (pipe(pc.r2s) || pipe(pc.s2r))
		exit(1);
	fflush(stdout);
	r = fork();
	if (!r) {
		alarm(limit);
		receiver(warm, n);
	}
	s = fork();
	if (!s) {
		alarm(limit);
		sender(warm, n);
	}
	bad = reap(r, s);
	close(pc.r2s[0]);
	close(pc.r2s[1]);
	close(pc.s2r[0]);
	close(pc.s2r[1]);
	print_result(n, bad);
	fflush(stdout);
	usleep(200000);
}

static int match(const char *pat, const char *fam, const char *test, size_t size)
{
	size_t l = strlen(pat);
	char s[96];

	snprintf(s, sizeof(s), "%s:%s:%zu", fam, test, size);
	return !strncmp(s, pat, l) && (s[l] == 0 || s[l] == ':' || pat[l - 1] == ':');
}

static int wanted(int argc, char **argv, const char *fam, const char *test, size_t size)
{
	int i, want = argc == 0;

	for (i = 0; i < argc; i++)
		want |= match(argv[i], fam, test, size);
	return want;
}

static int suite(int argc, char **argv)
{
	unsigned int f, t, z;
	int i, veth = argc == 0;

	if (net_setup()) {
		fprintf(stderr, "rdsperf: network set-up failed: %s\n", strerror(errno));
		return 1;
	}
	for (i = 0; i < argc; i++)
		veth |= !strncmp(argv[i], "rds-veth", 8);
	for (i = 0; veth && i < FIRST_TRIES; i++)
		run_case(&fams[2], &first, 64);
	for (t = 0; t < NTEST; t++)
		for (z = 0; z < 6 && tests[t].size[z]; z++)
			for (f = 0; f < NFAM; f++)
				if (wanted(argc, argv, fams[f].name, tests[t].name,
					   tests[t].size[z]))
					run_case(&fams[f], &tests[t], tests[t].size[z]);
	return 0;
}

static void list(void)
{
	unsigned int f, t, z;

	for (t = 0; t < NTEST; t++)
		for (z = 0; z < 6 && tests[t].size[z]; z++)
			for (f = 0; f < NFAM; f++)
				printf("%s:%s:%zu\n", fams[f].name, tests[t].name,
				       tests[t].size[z]);
}

int main(int argc, char **argv)
{
	struct rlimit rl = {65536, 65536};

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc == 2 && !strcmp(argv[1], "list")) {
		list();
		return 0;
	}
	if (argc < 2 || strcmp(argv[1], "suite")) {
		fprintf(stderr, "usage: rdsperf suite [-o OFFSET] [FAM[:TEST[:SIZE]]]... | list\n");
		return 2;
	}
	argv += 2;
	argc -= 2;
	if (argc >= 2 && !strcmp(argv[0], "-o")) {
		offset = atoi(argv[1]);
		argv += 2;
		argc -= 2;
	}
	signal(SIGALRM, on_alarm);
	signal(SIGPIPE, SIG_IGN);
	setrlimit(RLIMIT_NOFILE, &rl);
	sh = mmap(NULL, sizeof(*sh), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	mbuf = mmap(NULL, MBUF, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (sh == MAP_FAILED || mbuf == MAP_FAILED)
		return 1;
	memset(mbuf, 0x5a, MBUF);
	return suite(argc, argv);
}
