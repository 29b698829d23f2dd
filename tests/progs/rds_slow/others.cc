// SPDX-License-Identifier: GPL-2.0
#include "others.h"

#include "../lib/check.h"
#include "../lib/info.h"

#include <fcntl.h>
#include <linux/rds.h>
#include <linux/sockios.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <vector>

namespace rdstest
{

namespace
{

using Note = std::function<void(const std::string &)>;

/* Mainline's name of the module in the file. */
std::string moduleName(const std::string &file)
{
	const size_t slash = file.rfind('/') + 1;

	return file.substr(slash, file.rfind(".ko") - slash);
}

/* Registering a table, and taking it back, waits for its readers. */
void moduleComesAndGoes(const std::string &file)
{
	const Fd fd(open(file.c_str(), O_RDONLY | O_CLOEXEC));

	same(sys(syscall(SYS_finit_module, int(fd), "", 0)), 0, "finit_module");
	same(sys(syscall(SYS_delete_module, moduleName(file).c_str(), O_NONBLOCK)), 0,
	     "delete_module");
}

void talk(const Address &here, const Note &note)
{
	note("bind");
	const Fd from = bindRds(here), to = bindRds(here);
	const Address target = localAddress(to);

	note("send");
	same(sendText(from, "hello", target), 5, "send");
	note("receive");
	same(receiveSoon(to).data, "hello", "receive");
	note("connect");
	same(sys(connect(from, target.get(), target.length())), 0, "connect");
	note("poll");
	pollEvents(from);
	note("SIOCRDSGETTOS");
	rds_tos_t tos;
	same(sys(ioctl(from, SIOCRDSGETTOS, &tos)), 0, "SIOCRDSGETTOS");
	note("close");
}

void options(const Places &places, const Note &note)
{
	const Fd socket = bindRds(places.loop);
	rds_recv_query query{};
	socklen_t length = sizeof(query);

	for (const int option : {RDS_RECVERR, RDS_CONG_MONITOR, RDS_ORDER}) {
		note("option " + std::to_string(option));
		same(setOption(socket, SOL_RDS, option, 1), 0, "setsockopt");
		same(getOption(socket, SOL_RDS, option), 1, "getsockopt");
	}
	note("RDS_RECV_QUERY");
	same(sys(getsockopt(socket, SOL_RDS, RDS_RECV_QUERY, &query, &length)), 0, "query");
	note("RDS_CANCEL_SENT_TO");
	same(sys(setsockopt(socket, SOL_RDS, RDS_CANCEL_SENT_TO, nullptr, 0)), 0, "cancel");
	for (int code = RDS_INFO_FIRST; code <= RDS_INFO_LAST; ++code) {
		note("table " + std::to_string(code));
		const Info info = readInfo(socket, code);

		want(info.each > 0 || info.each == -ENOPROTOOPT, describe(info.each));
	}
}

void files(const Note &note)
{
	for (const char *name : {"sockets", "connections", "paths"}) {
		char room[4096];
		const std::string path = std::string("/proc/net/rds/") + name;

		note(path);
		const Fd file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
		want(sys(read(file, room, sizeof(room))) > 0, path);
	}
}

void overTcp(const Places &places, const Note &note)
{
	note("bind over TCP");
	const Fd socket = bindRds(places.tcp);

	note("send over TCP");
	same(sendText(socket, "hello", places.peer), 5, "send");
	note("cancel over TCP");
	same(sys(setsockopt(socket, SOL_RDS, RDS_CANCEL_SENT_TO, nullptr, 0)), 0, "cancel");
	note("close over TCP");
}

void everything(const Places &places, const std::string &module, const Note &note)
{
	talk(places.loop, note);
	files(note);
	overTcp(places, note);
	note("a module that registers tables");
	moduleComesAndGoes(module);
	options(places, note);
	note("");
}

} // namespace

Others::Others(const Places &places, const std::string &module)
	: shared_(static_cast<Shared *>(mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE,
					     MAP_SHARED | MAP_ANONYMOUS, -1, 0)))
{
	const Note note = [this](const std::string &deed) {
		snprintf(shared_->deed, sizeof(shared_->deed), "%s", deed.c_str());
	};

	note("fork");
	pid_ = fork();
	if (pid_ != 0)
		return;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	try {
		everything(places, module, note);
	} catch (const std::exception &e) {
		note(std::string(shared_->deed) + ": " + e.what());
		_exit(1);
	}
	_exit(0);
}

/* The call has its memory by now, so nothing holds the process up. */
Others::~Others()
{
	if (pid_ > 0) {
		kill(pid_, SIGKILL);
		waitpid(pid_, nullptr, 0);
	}
	munmap(shared_, sizeof(Shared));
}

std::string Others::result(std::chrono::milliseconds patience)
{
	int status = 0;

	if (!eventually([&] { return waitpid(pid_, &status, WNOHANG) == pid_; }, patience))
		return std::string("others wait: ") + shared_->deed;
	pid_ = -1;
	return status == 0 ? "" : std::string("others: ") + shared_->deed;
}

} // namespace rdstest
