// SPDX-License-Identifier: GPL-2.0
#include "doctor_checks.h"

#include <algorithm>
#include <map>
#include <set>

#include "host.h"

namespace rdstools
{

namespace
{

struct Port {
	std::uint64_t number;
	const char *protocol;
};

/* RDS over TCP; over iWARP; RoCE v2, which has all of RDMA. */
constexpr Port our_ports[] = {{16385, "tcp"}, {18634, "tcp"}, {4791, "udp"}};

using Strings = std::vector<std::string>;

/* A rule as far as it matters here. */
struct Rule {
	std::string family, table, chain, verdict;
	std::vector<std::uint64_t> ports = {}; /* of ours, that it names */
	bool narrow = false;		       /* it is about some packets of the ports only */
	bool of_programs = false; /* it asks whose packet it is: the kernel's own pass */
};

bool is_about(const Rule &rule, std::uint64_t port)
{
	return std::ranges::find(rule.ports, port) != rule.ports.end();
}

struct Filter {
	std::vector<Rule> rules;
	std::vector<Rule> closed; /* chains of hook input that drop what no rule takes */
};

Json member(const Json &object, const char *name)
{
	return object.is_object() && object.contains(name) ? object[name] : Json();
}

std::string text(const Json &object, const char *name)
{
	const Json value = member(object, name);

	return value.is_string() ? value.get<std::string>() : "";
}

/* Whether a value of nft's JSON has the port: a number, a range, a set, "@name". */
bool has_port(const Json &value, std::uint64_t port, const Json &sets)
{
	if (value.is_string() && value.get<std::string>().starts_with('@'))
		return has_port(member(sets, value.get<std::string>().c_str() + 1), port, Json());
	if (value.is_number_unsigned())
		return value == port;
	const Json range = member(value, "range");

	if (range.is_array() && range.size() == 2 && range[0].is_number() && range[1].is_number())
		return range[0] <= port && range[1] >= port;
	const Json &list = value.is_array() ? value : member(value, "set");

	return list.is_array() && std::ranges::any_of(list, [&](const Json &one) {
		       return has_port(one, port, sets);
	       });
}

void add_match(const Json &match, const Json &sets, Rule &rule)
{
	const Json left = member(match, "left"), right = member(match, "right");
	const std::string field = text(member(left, "payload"), "field");
	const std::string key = text(member(left, "meta"), "key");

	const std::string protocol = text(member(left, "payload"), "protocol");

	if (field == "dport" && text(match, "op") != "!=") {
		for (const Port &port : our_ports)
			if ((protocol == port.protocol || protocol == "th") &&
			    has_port(right, port.number, sets))
				rule.ports.push_back(port.number);
	} else if (key == "skuid" || key == "skgid") {
		rule.of_programs = true;
	} else if (key != "l4proto" && field != "protocol" && field != "flags") {
		rule.narrow = true;
	}
}

Rule rule_of(const Json &row, const Json &sets)
{
	Rule rule = {text(row, "family"), text(row, "table"), text(row, "chain"), ""};

	for (const Json &part : row.contains("expr") ? row["expr"] : Json::array()) {
		if (const Json match = member(part, "match"); !match.is_null())
			add_match(match, sets, rule);
		for (const char *verdict : {"accept", "drop", "reject"})
			if (part.is_object() && part.contains(verdict))
				rule.verdict = verdict;
	}
	return rule;
}

/* Elements of named sets, by name. */
Json named_sets(const Json &list)
{
	Json sets = Json::object();

	for (const Json &row : list)
		if (const Json set = member(row, "set"); set.is_object())
			sets[text(set, "name")] = member(set, "elem");
	return sets;
}

using Names = std::set<std::string>;
using Jumps = std::multimap<std::string, std::string>;

/* Names of chains begin with these words: each table has its own. */
std::string table_of(const Json &row)
{
	return text(row, "family") + " " + text(row, "table") + " ";
}

/* Chains that a rule or a map leads to: a map of verdicts has them deep within. */
void add_targets(const Json &value, const std::string &from, const std::string &table, Jumps &jumps)
{
	for (const auto &[name, inner] : value.items()) {
		if (name == "jump" || name == "goto")
			jumps.emplace(from, table + text(inner, "target"));
		else if (inner.is_structured())
			add_targets(inner, from, table, jumps);
	}
}

void add_reached(const std::string &chain, const Jumps &jumps, Names &reached)
{
	if (!reached.insert(chain).second)
		return;
	for (auto [at, end] = jumps.equal_range(chain); at != end; ++at)
		add_reached(at->second, jumps, reached);
}

/* Chains of packets that pass from one host to another, and of none to or from this one. */
Names forwarding_chains(const Json &list)
{
	Jumps jumps;
	Names own, others;

	for (const Json &row : list)
		for (const char *kind : {"rule", "map"})
			if (const Json one = member(row, kind); one.is_object())
				add_targets(one, table_of(one) + text(one, "chain"), table_of(one),
					    jumps);
	for (const Json &row : list) {
		const Json chain = member(row, "chain");
		const std::string hook = text(chain, "hook");

		/* A map has a table and no chain: its rule may be any. */
		add_reached(table_of(chain), jumps, own);
		if (!hook.empty())
			add_reached(table_of(chain) + text(chain, "name"), jumps,
				    hook == "forward" ? others : own);
	}
	std::erase_if(others, [&](const std::string &name) { return own.contains(name); });
	return others;
}

Filter filter_of(const Json &ruleset)
{
	const Json list = member(ruleset, "nftables");
	Filter filter;

	if (!list.is_array())
		return filter;
	const Json sets = named_sets(list);
	const Names others = forwarding_chains(list);

	for (const Json &row : list) {
		if (const Json rule = member(row, "rule");
		    rule.is_object() && !others.contains(table_of(rule) + text(rule, "chain")))
			filter.rules.push_back(rule_of(rule, sets));
		const Json chain = member(row, "chain");

		if (text(chain, "hook") == "input" && text(chain, "policy") == "drop")
			filter.closed.push_back({text(chain, "family"), text(chain, "table"),
						 text(chain, "name"), ""});
	}
	return filter;
}

std::string chain_name(const Rule &rule)
{
	return rule.family + " " + rule.table + " " + rule.chain;
}

/* Whether a rule before @rule in its chain takes packets of @port. */
bool accepted_before(const Filter &filter, const Rule &rule, std::uint64_t port)
{
	return std::any_of(filter.rules.data(), &rule, [&](const Rule &r) {
		return chain_name(r) == chain_name(rule) && r.verdict == "accept" &&
		       is_about(r, port);
	});
}

void look_at_rule(const Filter &filter, const Rule &rule, Findings &found)
{
	const std::string does = rule.verdict == "drop" ? "drops" : "rejects";

	/* packaging/pf_rds.nft is meant so. */
	if (rule.ports.empty() || rule.of_programs ||
	    (rule.verdict != "drop" && rule.verdict != "reject"))
		return;
	auto reached = [&](std::uint64_t p) { return !accepted_before(filter, rule, p); };
	const auto port = std::ranges::find_if(rule.ports, reached);
	const bool late = port == rule.ports.end();

	found.push_back({"firewall", !rule.narrow && !late,
			 "a rule of the chain " + chain_name(rule) + " " + does + " port " +
				 std::to_string(late ? rule.ports.front() : *port) +
				 (rule.narrow ? " for some packets" : "") +
				 (late ? ", but one before it accepts some, if not all" : ""),
			 rule.verdict == "drop"
				 ? "calls are not answered: peers time out, again and again"
				 : "peers, or this host, are refused the port of RDS",
			 "nft -a list chain " + chain_name(rule)});
}

/* nft does not list them, though they are asked as well. */
void look_at_old_tables(const Evidence &e, Findings &found)
{
	for (const std::string family : {"ip", "ip6"}) {
		const std::string program = family + "tables";

		if (!first_line(e.root / "proc/net" / (family + "_tables_names")))
			continue;
		found.push_back(
			{"firewall", false,
			 "there are old tables of " + program + ", which were not looked at",
			 "a rule there that drops TCP port 16385 keeps peers away",
			 program + (e.rules ? "-legacy" : "") +
				 "-save | grep -e 16385 -e 18634 -e ' DROP'"});
	}
}

} // namespace

void look_at_firewall(const Evidence &e, Findings &found)
{
	look_at_old_tables(e, found);
	if (!e.rules)
		return;

	const Filter filter = filter_of(*e.rules);

	for (const Rule &rule : filter.rules)
		look_at_rule(filter, rule, found);
	for (const Rule &chain : filter.closed)
		if (is_loaded(e, "rds_tcp") &&
		    std::ranges::none_of(filter.rules, [&](const Rule &r) {
			    return r.family == chain.family && r.table == chain.table &&
				   r.verdict == "accept" && is_about(r, our_ports[0].number);
		    }))
			found.push_back(
				{"firewall", false,
				 "the chain " + chain_name(chain) +
					 " drops what no rule accepts, and none names port "
					 "16385",
				 "peers cannot call this host, unless a rule lets them in "
				 "by address or device",
				 "nft add rule " + chain_name(chain) + " tcp dport 16385 accept"});
}

} // namespace rdstools
