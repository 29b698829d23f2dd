// SPDX-License-Identifier: GPL-2.0
/*
 * rds_parity: tells facts of the socket interface, one a line (facts.h).
 *
 *	rds_parity [--local A --local6 A] [--netns NAME --remote A --remote6 A] [--only GLOB]
 *
 * The remote addresses are in another network namespace of this host, NAME of `ip netns`, so
 * that one program holds both ends. With --nobody each item is played by root and by user
 * nobody, and told is only what nobody is answered otherwise, as nobody/ITEM.
 */
#include "facts.h"

#include "../lib/command_line.h"

#include <fcntl.h>
#include <fnmatch.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <iostream>
#include <set>
#include <sstream>

using namespace rdstest;

namespace
{

struct Options {
	std::string local, local6, remote, remote6, netns;
	std::string silent = "10.9.0.77", silent6 = "fd00:9::77";
	std::vector<std::string> only;
	bool list = false, nobody = false;
};

constexpr std::chrono::seconds limit{40}; /* of an item */
constexpr uid_t nobodysUid = 65534;

int openPath(const std::string &path)
{
	const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		fail(path, sys(-1));
	return fd;
}

Env makeEnv(const Options &options)
{
	const Address silent = Address::parse(options.silent);
	const Address silent6 = Address::parse(options.silent6);
	const auto add = [](Env &env, const char *name, const std::string &near,
			    const std::string &far, const Address &nobodyThere) -> Place * {
		if (near.empty() || far.empty())
			return nullptr;
		env.places.push_back(
			{name, Address::parse(near), Address::parse(far), nobodyThere});
		return &env.places.back();
	};
	Env env;

	add(env, "loop", "127.0.0.1", "127.0.0.1", silent);
	add(env, "loop6", "::1", "::1", silent6);
	add(env, "own", options.local, options.local, silent);
	add(env, "own6", options.local6, options.local6, silent6);
	if (options.netns.empty())
		return env;
	const int home = openPath("/proc/self/ns/net");
	const int netns = openPath("/run/netns/" + options.netns);

	for (int six : {0, 1}) {
		Place *place = six ? add(env, "tcp6", options.local6, options.remote6, silent6)
				   : add(env, "tcp", options.local, options.remote, silent);

		if (place)
			place->netns = netns, place->home = home;
	}
	return env;
}

void runItem(const Facts::Item &item, bool nobody)
{
	Out out(item.name);

	if (nobody) {
		if (setegid(nobodysUid) < 0 || seteuid(nobodysUid) < 0)
			fail("seteuid", sys(-1));
		prctl(PR_SET_DUMPABLE, 1); /* or /proc/self is root's */
	}
	try {
		item.run(out);
	} catch (const std::exception &error) {
		out("failed", error.what());
	}
}

/* Waits for the end of the output, or of the time. */
std::string readUntilEnd(int fd, bool &late)
{
	const auto end = std::chrono::steady_clock::now() + limit;
	std::string text;
	char room[4096];

	for (;;) {
		const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
			end - std::chrono::steady_clock::now());

		late = left.count() <= 0 || !waitFor(fd, POLLIN | POLLHUP, left);
		const ssize_t got = late ? 0 : read(fd, room, sizeof(room));

		if (got <= 0)
			return text;
		text.append(room, got);
	}
}

/* Runs an item in a process; what it printed. */
std::string play(const Facts::Item &item, bool nobody)
{
	int ends[2];
	bool late = false;

	if (pipe2(ends, O_CLOEXEC) < 0)
		fail("pipe", sys(-1));
	const pid_t child = fork();

	if (child < 0)
		fail("fork", sys(-1));
	if (child == 0) {
		setpgid(0, 0);
		dup2(ends[1], STDOUT_FILENO);
		runItem(item, nobody);
		_exit(0);
	}
	close(ends[1]);
	std::string text = readUntilEnd(ends[0], late);

	close(ends[0]);
	if (late)
		text += "fact " + item.name + "/ends = never\n";
	/* Its children too. One that cannot be killed is left behind. */
	kill(-child, SIGKILL);
	kill(child, SIGKILL);
	eventually([&] { return waitpid(child, nullptr, WNOHANG) != 0; });
	return text;
}

/* The lines that root's answers do not have. */
std::string others(const std::string &roots, const std::string &nobodys)
{
	std::istringstream first(roots), second(nobodys);
	std::set<std::string> known;
	std::string line, text;

	while (std::getline(first, line))
		known.insert(line);
	while (std::getline(second, line)) {
		if (!known.count(line))
			text += "fact nobody/" + line.substr(std::string("fact ").size()) + "\n";
	}
	return text;
}

bool wanted(const std::string &name, const Options &options)
{
	return options.only.empty() ||
	       std::any_of(options.only.begin(), options.only.end(), [&](const std::string &glob) {
		       return fnmatch(glob.c_str(), name.c_str(), 0) == 0;
	       });
}

int tellAll(const Facts &facts, const Options &options)
{
	int told = 0;

	for (const Facts::Item &item : facts.items()) {
		if (!wanted(item.name, options))
			continue;
		told++;
		if (options.list)
			std::cout << item.name << std::endl;
		else if (options.nobody)
			std::cout << others(play(item, false), play(item, true)) << std::flush;
		else
			std::cout << play(item, false) << std::flush;
	}
	std::cout << (options.nobody ? "fact nobody/items = " : "# ") << told
		  << (options.nobody ? "" : " items") << std::endl;
	return told ? 0 : 1;
}

} // namespace

int main(int argc, char **argv)
{
	CommandLine line("Facts of the RDS socket interface");
	Options options;

	line.option("--local", options.local, "a local IPv4 address that rds_tcp serves");
	line.option("--local6", options.local6, "a local IPv6 address that rds_tcp serves");
	line.option("--netns", options.netns, "the network namespace of the remote addresses");
	line.option("--remote", options.remote, "an IPv4 address there");
	line.option("--remote6", options.remote6, "an IPv6 address there");
	line.option("--silent", options.silent, "an IPv4 address without a host");
	line.option("--silent6", options.silent6, "an IPv6 address without a host");
	line.option("--only", options.only, "items whose name matches one of these globs");
	line.flag("--list", options.list, "print the items' names and play none");
	line.flag("--nobody", options.nobody, "tell what user nobody is answered otherwise");
	return line.run(argc, argv, [&] {
		const Env env = makeEnv(options);
		Facts facts(env);

		for (auto add : {addPoll, addEpoll, addWaiters, addQueue, addCongestion, addSignals,
				 addTimeouts, addSharing, addFlags, addCalls, addOptions, addIoctls,
				 addInfo, addFiles})
			add(facts);
		return tellAll(facts, options);
	});
}
