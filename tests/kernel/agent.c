// SPDX-License-Identifier: GPL-2.0
/*
 * PID 1 of a test guest: runs the commands that vm.py sends over a port: virtio-serial in QEMU,
 * a serial line in User-Mode Linux. On a host (hosts.py) it is a program among others; its port "-"
 * is its own input and output, and the commands that run end with it.
 *
 * A C program and not a script because it is started with every guest, by an emulated CPU: an
 * interpreter would cost as much as half the kernel's boot. guest.py compiles it (static) and
 * puts it into the initramfs.
 *
 * Both directions carry frames: a struct head, then @len bytes.
 *   host:  RUN command line, RUN_STDIN the same with a pipe for input, INPUT data, INPUT_END,
 *          KILL decimal signal number, SYNC
 *   guest: HELLO once, BEAT every second, OUT output as it comes, EXIT decimal exit code,
 *          LOG one /dev/kmsg record
 * SYNC is answered by EXIT after everything the kernel had logged before it.
 * When this program ends the kernel panics, which the host sees at once.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

enum frame {
	RUN = 1,
	RUN_STDIN,
	INPUT,
	INPUT_END,
	KILL,
	SYNC,
	HELLO = 16,
	BEAT,
	OUT,
	EXIT,
	LOG,
};

struct head {
	uint32_t type;
	uint32_t id; /* of the command, chosen by the host */
	uint32_t len;
};

/* A running command; its process group has the number of its process. */
struct job {
	uint32_t id;
	pid_t pid; /* 0: the slot is free */
	int out;   /* -1: at its end */
	int in;	   /* -1: none */
};

enum { MAX_JOBS = 256, MAX_FRAME = 1 << 20, CHUNK = 1 << 16 };
enum { PORT, KMSG, CHILD, TIMER, FIXED };

static struct job jobs[MAX_JOBS];
static struct pollfd fds[FIXED + MAX_JOBS];
static int port_out; /* fds[PORT].fd but on a host */
static char inbuf[sizeof(struct head) + MAX_FRAME];
static size_t inlen;

static void die(const char *what)
{
	int fd = open("/dev/console", O_WRONLY);

	if (fd >= 0)
		dprintf(fd, "agent: %s: %s\n", what, strerror(errno));
	_exit(1);
}

static void put(const void *data, size_t len)
{
	while (len) {
		ssize_t n = write(port_out, data, len);

		if (n < 0 && errno != EINTR && errno != EAGAIN)
			die("write to the host");
		if (n > 0) {
			data = (const char *)data + n;
			len -= n;
		}
	}
}

static void frame(enum frame type, uint32_t id, const void *data, size_t len)
{
	struct head head = {type, id, len};

	put(&head, sizeof(head));
	put(data, len);
}

static void frame_int(enum frame type, uint32_t id, int value)
{
	char text[16];

	frame(type, id, text, sprintf(text, "%d", value));
}

static struct job *find_job(uint32_t id)
{
	for (struct job *j = jobs; j < jobs + MAX_JOBS; j++)
		if (j->pid && j->id == id)
			return j;
	return NULL;
}

static struct job *free_job(void)
{
	for (struct job *j = jobs; j < jobs + MAX_JOBS; j++)
		if (!j->pid)
			return j;
	return NULL;
}

/* A plain command line needs no shell, and starting one is half of its cost here. A command that is
 * no program (a built-in) comes back and goes to the shell after all.
 */
static void exec_plain(const char *text)
{
	char *words = strdup(text), *argv[64];
	int argc = 0;

	if (!words || strpbrk(text, "|&;<>()$`\\\"'*?[]#~=%!{}\n"))
		return;
	for (char *w = strtok(words, " \t"); w && argc < 63; w = strtok(NULL, " \t"))
		argv[argc++] = w;
	argv[argc] = NULL;
	if (argc && argc < 63)
		execvp(argv[0], argv);
}

static void child(const char *text, int in, int out)
{
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
	setpgid(0, 0);
	if (dup2(in, 0) < 0 || dup2(out, 1) < 0 || dup2(out, 2) < 0)
		_exit(127);
	exec_plain(text);
	execl("/bin/sh", "sh", "-c", text, NULL);
	_exit(127);
}

/* Every descriptor of the agent is close-on-exec, so a command sees only its own three. */
static void run(uint32_t id, const char *text, int with_input)
{
	struct job *job = free_job();
	int out[2], in[2] = {-1, -1};

	if (!job || pipe2(out, O_CLOEXEC))
		die("too many commands");
	if (with_input ? pipe2(in, O_CLOEXEC)
		       : (in[0] = open("/dev/null", O_RDONLY | O_CLOEXEC)) < 0)
		die("input of a command");
	job->pid = fork();
	if (job->pid < 0)
		die("fork");
	if (job->pid == 0)
		child(text, in[0], out[1]);
	setpgid(job->pid, job->pid); /* the child does it too: whoever comes first */
	close(in[0]);
	close(out[1]);
	fcntl(out[0], F_SETFL, O_NONBLOCK);
	if (with_input)
		fcntl(in[1], F_SETFL, O_NONBLOCK);
	job->id = id;
	job->in = in[1];
	job->out = out[0];
}

static void end_input(struct job *job)
{
	if (job->in >= 0)
		close(job->in);
	job->in = -1;
}

/* Returns 0 when there is nothing more now (or ever). */
static int copy_output(struct job *job)
{
	static char buf[CHUNK];
	ssize_t n = read(job->out, buf, sizeof(buf));

	if (n > 0) {
		frame(OUT, job->id, buf, n);
		return 1;
	}
	if (n == 0) {
		close(job->out);
		job->out = -1;
	}
	return 0;
}

static void finish(struct job *job, int status)
{
	/* A background child may hold the pipe open: take what is there, do not wait for its end.
	 */
	while (job->out >= 0 && copy_output(job))
		;
	if (job->out >= 0)
		close(job->out);
	end_input(job);
	frame_int(EXIT, job->id, WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
	job->pid = 0;
}

/* Our commands and, as PID 1, everybody's orphans. */
static void reap(void)
{
	struct signalfd_siginfo info;
	int status;
	pid_t pid;

	if (read(fds[CHILD].fd, &info, sizeof(info)) < 0 && errno != EAGAIN)
		die("signalfd");
	while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
		for (struct job *j = jobs; j < jobs + MAX_JOBS; j++)
			if (j->pid == pid)
				finish(j, status);
}

static void kernel_log(void)
{
	static const char lost[] = "4,0,0,-;WARNING: agent: kernel log records were overwritten\n";
	static char record[8192];

	for (;;) {
		ssize_t n = read(fds[KMSG].fd, record, sizeof(record));

		if (n > 0)
			frame(LOG, 0, record, n);
		else if (n < 0 && errno == EPIPE)
			frame(LOG, 0, lost, sizeof(lost) - 1);
		else
			return;
	}
}

static void obey(const struct head *head, char *data)
{
	struct job *job = find_job(head->id);

	switch (head->type) {
	case RUN:
	case RUN_STDIN:
		run(head->id, data, head->type == RUN_STDIN);
		break;
	case INPUT:
		/* It closed its input, or left a whole pipe unread: the command sees the end. */
		if (job && job->in >= 0 && write(job->in, data, head->len) < 0)
			end_input(job);
		break;
	case INPUT_END:
		if (job)
			end_input(job);
		break;
	case KILL:
		if (job)
			kill(-job->pid, atoi(data));
		break;
	case SYNC:
		kernel_log();
		frame_int(EXIT, head->id, 0);
		break;
	default:
		errno = EPROTO;
		die("frame of unknown type");
	}
}

/* Nobody is there any more, and this host goes on without us. */
static void leave(void)
{
	for (struct job *j = jobs; j < jobs + MAX_JOBS; j++)
		if (j->pid)
			kill(-j->pid, SIGKILL);
	_exit(0);
}

static void from_host(void)
{
	ssize_t n = read(fds[PORT].fd, inbuf + inlen, sizeof(inbuf) - inlen);
	struct head head;

	if (n <= 0 && getpid() != 1)
		leave();
	if (n <= 0) {
		usleep(10000); /* the host's end is closed: it will switch us off */
		return;
	}
	inlen += n;
	while (inlen >= sizeof(head)) {
		memcpy(&head, inbuf, sizeof(head));
		if (head.len >= MAX_FRAME)
			die("frame too long");
		if (inlen < sizeof(head) + head.len)
			break;
		/* The payload becomes a string; the byte behind it is put back after use. */
		char *end = inbuf + sizeof(head) + head.len, keep = *end;

		*end = 0;
		obey(&head, inbuf + sizeof(head));
		*end = keep;
		inlen -= end - inbuf;
		memmove(inbuf, end, inlen);
	}
}

static int open_port(const char *path)
{
	int fd = strcmp(path, "-") ? open(path, O_RDWR | O_NOCTTY | O_CLOEXEC)
				   : fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	struct termios raw;

	port_out = fd;
	if (!strcmp(path, "-"))
		port_out = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	if (!tcgetattr(fd, &raw)) {
		cfmakeraw(&raw);
		tcsetattr(fd, TCSANOW, &raw);
	}
	return fd;
}

static void setup(const char *port)
{
	struct itimerspec second = {{1, 0}, {1, 0}};
	struct sched_param prio = {.sched_priority = 10};
	sigset_t chld;

	sigemptyset(&chld);
	sigaddset(&chld, SIGCHLD);
	sigprocmask(SIG_BLOCK, &chld, NULL);
	signal(SIGPIPE, SIG_IGN);
	fds[PORT].fd = open_port(port);
	fds[KMSG].fd = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	fds[CHILD].fd = signalfd(-1, &chld, SFD_NONBLOCK | SFD_CLOEXEC);
	fds[TIMER].fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
	for (int i = 0; i < FIXED; i++) {
		if (fds[i].fd < 0)
			die("opening the port, the kernel log or a timer");
		fds[i].events = POLLIN;
	}
	timerfd_settime(fds[TIMER].fd, 0, &second, NULL);
	/* Ahead of ordinary tasks, so that silence means a hang and not a busy guest. */
	sched_setscheduler(0, SCHED_RR | SCHED_RESET_ON_FORK, &prio);
}

int main(int argc, char **argv)
{
	uint64_t ticks;

	if (argc != 3 || chdir(argv[1]))
		die("working directory");
	setup(argv[2]);
	frame(HELLO, 0, NULL, 0);
	for (;;) {
		for (int i = 0; i < MAX_JOBS; i++)
			fds[FIXED + i] = (struct pollfd){jobs[i].pid ? jobs[i].out : -1, POLLIN, 0};
		if (poll(fds, FIXED + MAX_JOBS, -1) < 0 && errno != EINTR)
			die("poll");
		for (int i = 0; i < MAX_JOBS; i++)
			if (fds[FIXED + i].revents)
				copy_output(&jobs[i]);
		if (fds[KMSG].revents)
			kernel_log();
		if (fds[CHILD].revents)
			reap();
		if (fds[TIMER].revents && read(fds[TIMER].fd, &ticks, sizeof(ticks)) > 0)
			frame(BEAT, 0, NULL, 0);
		if (fds[PORT].revents)
			from_host();
	}
}
