// SPDX-License-Identifier: GPL-2.0
/* rdsctl: settings of RDS that are more than a number: whom this host speaks to. */
#include <net/if.h>

#include <iostream>

#include "../lib/cli.h"
#include "../lib/table.h"
#include "../lib/text.h"
#include "peers.h"

using namespace rdstools;

namespace
{

struct CommandLine {
	std::vector<std::string> words;
	std::string policy;
	bool json = false;
};

void set(const CommandLine &line, bool replace)
{
	PeerWords peer = parse_peer(line.words, true);

	if (peer.key_file.empty()) {
		Peers().set(peer, Key(), replace);
	} else {
		Key key(peer.key_file);

		Peers().set(peer, key, replace);
	}
}

/* The name of an interface; the number of one that has gone. */
Cell device(unsigned index)
{
	char name[IF_NAMESIZE];

	if (!index)
		return {};
	return if_indextoname(index, name) ? std::string(name) : std::to_string(index);
}

void list(const CommandLine &line)
{
	Peers peers;
	Table table;

	table.columns = {{"Peer", "prefix", 18},
			 {"Dev", "dev", 6},
			 {"Policy", "policy", 6},
			 {"Method", "method", 7},
			 {"KeyBytes", "key_bytes", 8}};
	for (const Peer &peer : peers.list())
		table.add_row(peer.prefix.text(), device(peer.prefix.addr.scope()),
			      std::string(policy_name(peer.policy)),
			      std::string(method_name(peer.method)),
			      peer.key_bytes ? Cell(std::uint64_t{peer.key_bytes}) : Cell());

	const char *others = policy_name(peers.get_default());

	if (line.json) {
		Json root = {{"default", others}, {"peers", table.json()}};

		std::cout << root.dump(1, '\t') << '\n';
	} else {
		table.print(std::cout);
		std::cout << "default " << others << '\n';
	}
}

void set_or_show_default(const CommandLine &line)
{
	if (line.policy.empty())
		std::cout << policy_name(Peers().get_default()) << '\n';
	else
		Peers().set_default(parse_policy(line.policy));
}

void del(const CommandLine &line)
{
	const Prefix prefix =
		parse_peer(line.words, false).prefix; /* told before the kernel is asked */

	Peers().del(prefix);
}

/* The subcommand that was given. */
void run(const CLI::App &peer, const CommandLine &line)
{
	if (peer.got_subcommand("add"))
		set(line, false);
	else if (peer.got_subcommand("replace"))
		set(line, true);
	else if (peer.got_subcommand("del"))
		del(line);
	else if (peer.got_subcommand("list"))
		list(line);
	else
		set_or_show_default(line);
}

} // namespace

int main(int argc, char **argv)
{
	CLI::App app("Whom the RDS/TCP of this network namespace speaks to. See rdsctl(8).",
		     "rdsctl");
	CommandLine line;
	constexpr const char *which = "ADDRESS[/LENGTH] [dev INTERFACE]";
	const std::string rule =
		std::string(which) + " [accept|refuse] [key-file FILE] [algo tcp-md5|tcp-ao]";

	app.require_subcommand(1);
	CLI::App *peer = app.add_subcommand("peer", "the table of peers");
	peer->require_subcommand(1);
	for (const char *name : {"add", "replace"})
		peer->add_subcommand(name, name[0] == 'a' ? "a new entry"
							  : "an entry, in place of another")
			->add_option("words", line.words, rule)
			->required();
	peer->add_subcommand("del", "an entry less")
		->add_option("words", line.words, which)
		->required();
	peer->add_subcommand("list", "all entries, and the default")
		->add_flag("--json", line.json, "print JSON");
	peer->add_subcommand("default", "what holds for other hosts; without a word, shows it")
		->add_option("policy", line.policy, "accept or refuse")
		->check(checked_by([](const std::string &text) { parse_policy(text); }, ""));
	return run_tool(app, argc, argv, [&]() -> int {
		try {
			run(*peer, line);
		} catch (const Refused &error) {
			std::cerr << "rdsctl: " << error.what() << '\n';
			return exit_failed;
		}
		return exit_ok;
	});
}
