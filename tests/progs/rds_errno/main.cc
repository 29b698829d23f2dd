// SPDX-License-Identifier: GPL-2.0
/*
 * rds_errno: does the socket interface answer every call as it should?
 *
 * Goes through the table (table.h) row by row. With --flavour mainline the answers of
 * mainline's modules are wanted, which proves the table; with --flavour ours those of this
 * project's; with --facts they are printed, one a line. Needs a loopback device; rows that need
 * more are left out unless the addresses are given.
 */
#include "table.h"

#include "../lib/command_line.h"
#include "../lib/tap.h"

#include <fnmatch.h>
#include <unistd.h>

#include <iostream>

using namespace rdstest;

namespace
{

struct Options {
	std::string flavour = "ours";
	std::string only = "*";
	bool list = false, facts = false;
	std::string local, local6, linkLocal;
};

/* A row that blocks for ever ends the program; the last line names it. */
constexpr unsigned int secondsPerRow = 60;

std::string runRow(const Row &row)
{
	try {
		alarm(secondsPerRow);
		const std::string got = row.call();
		alarm(0);
		return got;
	} catch (const std::exception &error) {
		alarm(0);
		return std::string("'") + error.what() + "'";
	}
}

/*
 * One of mainline's alternatives stands for all of them, so that two runs say the same. A row
 * that differs on purpose is a fact like any other.
 */
std::string asFact(const std::string &got, const std::string &wanted)
{
	const bool one = ("|" + wanted + "|").find("|" + got + "|") != std::string::npos;

	return one ? wanted : got;
}

int runTable(const Table &table, const Options &options)
{
	Tap tap;

	for (const Row &row : table.rows()) {
		if (fnmatch(options.only.c_str(), row.name.c_str(), 0) != 0)
			continue;
		if (options.list) {
			std::cout << row.name << ": mainline " << row.mainline << ", ours "
				  << row.ours << "\n";
			continue;
		}
		if (options.facts) {
			std::cout << "fact errno/" << row.name << " = "
				  << asFact(runRow(row), row.mainline) << std::endl;
			continue;
		}
		tap.is(runRow(row), options.flavour == "ours" ? row.ours : row.mainline, row.name);
	}
	return options.list || options.facts ? 0 : tap.finish();
}

Env makeEnv(const Options &options)
{
	Env env;

	if (!options.local.empty())
		env.local = Address::parse(options.local);
	if (!options.local6.empty())
		env.local6 = Address::parse(options.local6);
	if (!options.linkLocal.empty())
		env.linkLocal = Address::parse(options.linkLocal);
	return env;
}

} // namespace

int main(int argc, char **argv)
{
	CommandLine line("Errno table of the RDS socket interface");
	Options options;

	line.choice("--flavour", options.flavour, "whose answers are wanted", {"mainline", "ours"});
	line.option("--only", options.only, "rows whose name matches this glob");
	line.flag("--list", options.list, "print the table and run nothing");
	line.flag("--facts", options.facts, "print the answers as facts and judge nothing");
	line.option("--local", options.local, "a local IPv4 address that rds_tcp serves");
	line.option("--local6", options.local6, "a local IPv6 address that rds_tcp serves");
	line.option("--link-local", options.linkLocal, "a local fe80:: address with %device");
	return line.run(argc, argv, [&] {
		const Env env = makeEnv(options);
		Table table;

		addNames(table, env);
		addSendmsg(table, env);
		addRecvmsg(table, env);
		addOptions(table, env);
		addControl(table, env);
		addInfo(table, env);
		return runTable(table, options);
	});
}
