// SPDX-License-Identifier: GPL-2.0
/*
 * rdsperf suite [-o OFFSET] [-i a|b|s|t] [-k METHOD] [FAMILY[:TEST[:SIZE]]]...
 *					run matching cases, all when none is given; -i: those
 *					over soft-RoCE, of which this guest runs one end, or both
 *					(s; t: with modules that take no shorter way); -k tcp-md5 or
 *					tcp-ao: connections over veth are signed
 * rdsperf suite strangers		a stream, strangers (visit.c), and a stream beside strangers
 * rdsperf suite neighbour		a ping-pong beside users who do their worst (neighbour.c)
 * rdsperf list
 *
 * Needs root and makes network namespaces of its own: meant for the guests that counted.py boots.
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
	{"rds-lo", RDS, LO, 1},	       {"rds-self", RDS, SELF, 0},
	{"rds-veth", RDS, VETH, 0},    {"tcp-veth", TCP, VETH, 0},
	{"unix-lo", UNIX, LO, 0},      {"rds-ib", RDS, PEER, 0},
	{"rds-ib-self", RDS, NEAR, 0}, {"rds-ib-through", RDS, THROUGH, 0},
};

static const struct test tests[] = {
	{"lat", 1, 1, {64, 8192}},
	{"stream", 1, 1, {64, 1024, 8192, 65536, 1048576}},
	{"batch", 1, BATCH, {64, 1024}},
	{"fan16", 16, 1, {64, 8192}},
	{"fan256", 256, 1, {64}},
	{"take", 1, 1, {64}, NONE, TAKES},
	{"many", 1, BATCH, {64, 1024}, NONE, TAKES | GIVES},
};

/* With soft-RoCE. */
static const struct test ib_tests[] = {
	{"lat", 1, 1, {64}},
	{"stream", 1, 1, {64, 8192, 65536}},
	{"batch", 1, BATCH, {64}},
	{"write", 1, 1, {8192, 65536}, WRITE},
	{"read", 1, 1, {8192, 65536}, READ},
	{"map", 1, 1, {8192, 65536}, MAP},
};

/* Strangers that have a token, strangers that have none, a stream beside them. */
static const struct test visits[] = {
	{"stream", 1, 1, {64}},
	{"visit", 1, 1, {64}, VISIT},
	{"refused", 1, 1, {64}, VISIT},
	{"beside", 1, 1, {64}},
};
#define BESIDE_MESSAGES 32768
#define PINGS 500     /* half a second of each neighbour */
#define LET_IN 1500   /* fewer than come in at once */
#define TOO_MANY 3000 /* more than do */
#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/*
 * Comes before the measured cases: with some timings mainline never delivers the first message
 * between two nodes (acknowledged by TCP, no drop counted), and would hang in the first case.
 */
static const struct test first = {"first", 1, 1, {64}};
#define FIRST_TRIES 4

struct perf_case pc;
struct shared *sh;
char *mbuf;
static int offset;	    /* other ports, so other paths of mainline's eight */
static const char *signing; /* NULL: not */
static char role; /* with soft-RoCE; 'a': the end that sends, 'b': that receives, 's', 't': both */

static void on_alarm(int s)
{
	(void)s;
	errno = ETIMEDOUT;
	die("case");
}

static pid_t spawn(void (*end)(long, long), long warm, long n, unsigned int limit)
{
	pid_t p = fork();

	if (!p) {
		alarm(limit);
		end(warm, n);
	}
	return p;
}

/* All children must end well; when one does not, the other one is of no use. */
static int reap(pid_t r, pid_t s)
{
	int i, st, bad = 0;
	pid_t w;

	for (i = 0; i < (r > 0) + (s > 0); i++) {
		w = wait(&st);
		if (!WIFEXITED(st) || WEXITSTATUS(st)) {
			bad = 1;
			w = w == r ? s : r;
			if (w > 0)
				kill(w, SIGKILL);
		}
	}
	return bad;
}

/* How the two ends of the case hear of each other. */
static void join_ends(void)
{
	int fd;

	if (pc.fam->topo != PEER) {
		if (pipe(pc.r2s) || pipe(pc.s2r))
			exit(1);
		return;
	}
	fd = peer_meet();
	if (fd < 0) {
		fprintf(stderr, "rdsperf: the other machine is not there: %s\n", strerror(errno));
		exit(1);
	}
	pc.r2s[0] = pc.r2s[1] = pc.s2r[0] = pc.s2r[1] = fd;
}

static void part_ends(void)
{
	close(pc.r2s[0]);
	if (pc.fam->topo == PEER)
		return;
	close(pc.r2s[1]);
	close(pc.s2r[0]);
	close(pc.s2r[1]);
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
	printf("ns=%" PRIu64 " idle=%" PRIu64 " per=%.1f cpu=%.1f disorder=%" PRIu64, d, idle,
	       (double)d / n, (double)(d - idle) / n, sh->bad);
	if (pc.paced)
		printf(" p50=%" PRIu64 " p99=%" PRIu64 " most=%" PRIu64 " rounds=%" PRIu64, sh->p50,
		       sh->p99, sh->most, sh->rounds);
	if (sh->visits)
		printf(" visits=%" PRIu64 " open=%" PRIu64, sh->visits1 - sh->visits0,
		       sh->open1 - sh->open0);
	printf("\n");
}

/* How many messages of @t, and before them to warm up. */
static void size_case(const struct test *t, size_t size, long *warm, long *n)
{
	*n = size <= 1024 ? 4096 : size <= 8192 ? 2048 : size <= 65536 ? 512 : 64;
	*warm = t->senders > 32 ? 2 * t->senders : size > 65536 ? 64 : 128;
	if (t == &first) {
		*n = *warm = 1;
	} else if (t->op == PACED) {
		*n = PINGS;
	} else if (!strcmp(t->name, "lat")) {
		*n /= 2;
	} else if (!strcmp(t->name, "beside")) {
		*n = BESIDE_MESSAGES;
	} else if (t->op == VISIT) {
		*n = LET_IN;
		*warm = strcmp(t->name, "visit") ? TOO_MANY : 16;
	}
}

/* The processes of the case; 0, or 1 if one of them fails. */
static int play(const struct test *t, long warm, long n)
{
	unsigned int limit = t == &first ? 20 : 120;
	pid_t r, s, v = 0;
	int bad;

	if (t->op == VISIT)
		v = spawn(visited, 0, 0, limit);
	else if (!strcmp(t->name, "beside"))
		v = spawn(visitor_beside, 0, 0, limit);
	if (pc.paced)
		v = neighbour_begin();
	r = role == 'a' || t->op == VISIT ? 0 : spawn(receiver, warm, n, limit);
	s = role == 'b' ? 0 : spawn(t->op == VISIT ? visitor : sender, warm, n, limit);
	bad = reap(r, s);
	if (pc.paced) {
		neighbour_end(v);
	} else if (v) {
		kill(v, SIGKILL);
		waitpid(v, NULL, 0);
	}
	return bad;
}

static void run_case(const struct family *f, const struct test *t, size_t size)
{
	static int seqno;
	long n, warm;
	int bad;

	size_case(t, size, &warm, &n);
	pc = (struct perf_case){.fam = f,
				.test = t,
				.size = size,
				.nsend = t->senders,
				.window = size > 524288	 ? 2
					  : size > 16384 ? (1 << 20) / size
							 : 64,
				.lat = t == &first || !strcmp(t->name, "lat") || t->op == PACED,
				.paced = t->op == PACED};
	memset(sh, 0, sizeof(*sh));
	sh->port = 4000 + (seqno++ % 60) * 1000 + (offset % 100) * 17;
	join_ends();
	fflush(stdout);
	bad = play(t, warm, n);
	part_ends();
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

static int setup(void)
{
	int e = role ? ib_setup(role) : net_setup();

	if (!e && signing)
		e = keys_setup(signing);
	if (e)
		fprintf(stderr, "rdsperf: network set-up failed: %s\n", strerror(errno));
	return e;
}

/* Does a guest with such a role run the test for the family? */
static int plays(const struct family *f, const struct test *t, char who)
{
	if (f->topo == PEER)
		return who == 'a' || who == 'b';
	if (f->topo == THROUGH)
		return who == 't';
	/* In one machine ours take the loop transport, which has no operations. */
	return !t->op && who == (f->topo == NEAR ? 's' : 0);
}

/* Calls @fn for each case that a guest with such a role runs. */
static void each_case(char who, void (*fn)(const struct family *, const struct test *, size_t))
{
	const struct test *all = who ? ib_tests : tests;
	unsigned int n = who ? COUNT(ib_tests) : COUNT(tests), f, t, z;

	for (t = 0; t < n; t++)
		for (z = 0; z < COUNT(all[t].size) && all[t].size[z]; z++)
			for (f = 0; f < COUNT(fams); f++)
				if (plays(&fams[f], &all[t], who))
					fn(&fams[f], &all[t], all[t].size[z]);
}

static char **patterns;
static int n_patterns;

static void run_if_wanted(const struct family *f, const struct test *t, size_t size)
{
	if (wanted(n_patterns, patterns, f->name, t->name, size))
		run_case(f, t, size);
}

static int strangers(void)
{
	unsigned int i;

	if (visit_setup())
		return 1;
	for (i = 0; i < FIRST_TRIES; i++)
		run_case(&fams[2], &first, 64);
	for (i = 0; i < COUNT(visits); i++)
		run_case(&fams[2], &visits[i], 64);
	return 0;
}

/* All of them, or those that are named; and who only computes, to compare with. */
static int is_wanted_beside(const char *name, int argc, char **argv)
{
	int i, want = !argc || !strcmp(name, "spin");

	for (i = 0; i < argc; i++)
		want |= !strcmp(name, argv[i]);
	return want;
}

static int neighbours(int argc, char **argv)
{
	struct test t = {"", 1, 1, {64}, PACED};
	unsigned int i;
	pid_t crowd;

	for (i = 0; i < FIRST_TRIES; i++)
		run_case(&fams[2], &first, 64);
	memset(sh, 0, sizeof(*sh));
	sh->port = 4000 + (offset % 100) * 17;
	crowd = neighbour_crowd();
	if (sh->err[0])
		fprintf(stderr, "rdsperf: %s\n", sh->err);
	for (i = 0; (t.name = neighbour_name(i)); i++)
		if (is_wanted_beside(t.name, argc, argv))
			run_case(&fams[2], &t, 64);
	kill(crowd, SIGKILL);
	waitpid(crowd, NULL, 0);
	return 0;
}

static int suite(int argc, char **argv)
{
	int i, veth = argc == 0;

	if (setup())
		return 1;
	if (argc && !strcmp(argv[0], "strangers"))
		return strangers();
	if (argc && !strcmp(argv[0], "neighbour"))
		return neighbours(argc - 1, argv + 1);
	for (i = 0; i < argc; i++)
		veth |= !strncmp(argv[i], "rds-veth", 8);
	for (i = 0; veth && !role && i < FIRST_TRIES; i++)
		run_case(&fams[2], &first, 64);
	patterns = argv;
	n_patterns = argc;
	each_case(role, run_if_wanted);
	return 0;
}

static void print_name(const struct family *f, const struct test *t, size_t size)
{
	printf("%s:%s:%zu\n", f->name, t->name, size);
}

int main(int argc, char **argv)
{
	struct rlimit rl = {65536, 65536};

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc == 2 && !strcmp(argv[1], "list")) {
		each_case(0, print_name);
		each_case('s', print_name);
		each_case('t', print_name);
		each_case('a', print_name);
		return 0;
	}
	if (argc < 2 || strcmp(argv[1], "suite")) {
		fprintf(stderr, "usage: rdsperf suite [-o OFFSET] [-i a|b|s|t] "
				"[-k METHOD] [FAM[:TEST[:SIZE]]]... | list\n");
		return 2;
	}
	argv += 2;
	argc -= 2;
	for (; argc >= 2 && argv[0][0] == '-'; argv += 2, argc -= 2) {
		if (!strcmp(argv[0], "-o"))
			offset = atoi(argv[1]);
		else if (!strcmp(argv[0], "-i"))
			role = argv[1][0];
		else if (!strcmp(argv[0], "-k"))
			signing = argv[1];
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
