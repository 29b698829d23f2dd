// SPDX-License-Identifier: GPL-2.0
/* rdsctl: what RDS has and does, and settings that are more than a number: whom this host speaks
 * to. */
#include <net/if.h>

#include <ctime>
#include <iostream>

#include "../lib/cli.h"
#include "../lib/table.h"
#include "../lib/text.h"
#include "look.h"
#include "peers.h"

using namespace rdstools;

namespace
{

struct CommandLine {
	std::vector<std::string> words;
	std::string policy;
	bool json = false;
	unsigned count = 0; /* of events; 0: all that come */
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

/* A key's id, if it has one. */
Cell id(bool there, unsigned number)
{
	return there ? Cell(std::uint64_t{number}) : Cell();
}

void list(const CommandLine &line)
{
	Peers peers;
	Table table;

	table.columns = {{"Peer", "prefix", 18},      {"Dev", "dev", 6},
			 {"Policy", "policy", 6},     {"Method", "method", 7},
			 {"Alg", "alg", 12},	      {"SndId", "snd_id", 5},
			 {"RcvId", "rcv_id", 5},      {"OldSnd", "old_snd_id", 6},
			 {"OldRcv", "old_rcv_id", 6}, {"KeyBytes", "key_bytes", 8}};
	for (const Peer &peer : peers.list())
		table.add_row(peer.prefix.text(), device(peer.prefix.addr.scope()),
			      std::string(policy_name(peer.policy)),
			      std::string(method_name(peer.method)),
			      peer.method == RDS_PEERS_TCP_AO
				      ? Cell(std::string(alg_name(peer.alg)))
				      : Cell(),
			      id(peer.method == RDS_PEERS_TCP_AO, peer.sndid),
			      id(peer.method == RDS_PEERS_TCP_AO, peer.rcvid),
			      id(peer.replaced, peer.old_sndid), id(peer.replaced, peer.old_rcvid),
			      peer.key_bytes ? Cell(std::uint64_t{peer.key_bytes}) : Cell());

	const char *others = policy_name(peers.get_default());

	if (line.json) {
		Json root = {
			{"version", json_version}, {"default", others}, {"peers", table.json()}};

		std::cout << root.dump(1, '\t') << '\n';
	} else {
		table.print(std::cout);
		std::cout << "default " << others << '\n';
	}
}

void set_or_show_default(const CommandLine &line)
{
	if (!line.policy.empty()) {
		Peers().set_default(parse_policy(line.policy));
		return;
	}
	const std::string others = policy_name(Peers().get_default());

	if (line.json)
		std::cout << document("default", others).dump(1, '\t') << '\n';
	else
		std::cout << others << '\n';
}

/* An error in the words is told before the kernel is asked. */
Prefix prefix_of(const CommandLine &line)
{
	return parse_peer(line.words, false).prefix;
}

void del(const CommandLine &line)
{
	const Prefix prefix = prefix_of(line);

	Peers().del(prefix);
}

void forget(const CommandLine &line)
{
	const Prefix prefix = prefix_of(line);

	Peers().forget(prefix);
}

void print_event(const PeerEvent &event, bool json)
{
	const std::string host = event.host.text();
	Cell dev = device(event.host.addr.scope());

	if (json) {
		Table table;

		table.columns = {{"Peer", "peer", 18}, {"Dev", "dev", 6}, {"Cause", "cause", 11}};
		table.add_row(host, dev, std::string(cause_name(event.cause)));
		for (const Json &row : table.json()) {
			Json root = {{"version", json_version}};

			root.update(row);
			root["time"] = std::time(nullptr);
			std::cout << root.dump() << '\n';
		}
	} else {
		std::cout << host << ' ' << cause_name(event.cause) << '\n';
	}
	flush_output();
}

/* One line for each event, and a first one once none is missed any more. */
void monitor(const CommandLine &line)
{
	Peers peers;
	unsigned seen = 0;

	peers.subscribe();
	if (!line.json)
		std::cout << "Peer Cause\n";
	flush_output();
	while (!line.count || seen < line.count)
		for (const PeerEvent &event : peers.events())
			if (!line.count || seen++ < line.count)
				print_event(event, line.json);
}

/* The subcommand that was given; without one, the table is listed. */
void run(const CLI::App &peer, const CommandLine &line)
{
	if (peer.got_subcommand("add"))
		set(line, false);
	else if (peer.got_subcommand("replace"))
		set(line, true);
	else if (peer.got_subcommand("del"))
		del(line);
	else if (peer.got_subcommand("forget"))
		forget(line);
	else if (peer.got_subcommand("default"))
		set_or_show_default(line);
	else if (peer.got_subcommand("monitor"))
		monitor(line);
	else
		list(line);
}

/* The command "peer", with its own. */
CLI::App *add_peer(CLI::App &app, CommandLine &line)
{
	constexpr const char *which = "ADDRESS[/LENGTH] [dev INTERFACE]";
	const std::string rule = std::string(which) +
				 " [accept|refuse] [key-file FILE] [algo tcp-md5|tcp-ao]"
				 " [sndid N] [rcvid N] [alg NAME]";
	CLI::App *peer = app.add_subcommand("peer", "the table of peers; without a word, lists it");

	peer->alias("peers");
	peer->require_subcommand(0, 1);
	for (const char *name : {"add", "replace"})
		peer->add_subcommand(name, name[0] == 'a' ? "a new entry"
							  : "an entry, in place of another")
			->add_option("words", line.words, rule)
			->required();
	peer->add_subcommand("del", "an entry less")
		->add_option("words", line.words, which)
		->required();
	peer->add_subcommand("forget", "the TCP-AO key that was replaced is not taken any more")
		->add_option("words", line.words, which)
		->required();
	CLI::App *events = peer->add_subcommand("monitor", "hosts that are refused, as it happens");
	events->add_option("--count", line.count, "end after so many")->check(CLI::PositiveNumber);
	CLI::App *all = peer->add_subcommand("list", "all entries, and the default");
	CLI::App *others = peer->add_subcommand(
		"default", "what holds for other hosts; without a word, shows it");
	others->add_option("policy", line.policy, "accept or refuse")
		->check(checked_by([](const std::string &text) { parse_policy(text); }, ""));
	/* The option of all commands may stand behind each that prints. */
	for (CLI::App *command : {peer, events, all, others})
		command->add_flag("-j,--json", line.json, "print JSON");
	return peer;
}

} // namespace

int main(int argc, char **argv)
{
	CLI::App app("What the RDS of this network namespace does, and whom it speaks to. "
		     "See rdsctl(8).",
		     "rdsctl");
	CommandLine line;
	Look look(app, line.json);

	app.require_subcommand(1);
	app.add_flag("-j,--json", line.json, "print JSON");
	CLI::App *peer = add_peer(app, line);

	return run_tool(app, argc, argv, [&]() -> int {
		try {
			if (look.was_asked())
				return look.run();
			run(*peer, line);
		} catch (const Refused &error) {
			std::cerr << "rdsctl: " << error.what() << '\n';
			return exit_failed;
		}
		return exit_ok;
	});
}
