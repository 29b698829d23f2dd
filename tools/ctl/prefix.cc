// SPDX-License-Identifier: GPL-2.0
#include "prefix.h"

#include <net/if.h>

#include <array>
#include <charconv>
#include <cstring>

#include "../lib/error.h"
#include "../lib/text.h"

namespace rdstools
{

namespace
{

unsigned bits_of(const Address &addr)
{
	return addr.family() == AF_INET ? 32 : 128;
}

/* The address without what lies beyond the prefix. */
Address masked(const Address &addr, unsigned len)
{
	in6_addr bytes = addr.bytes();
	unsigned keep = 128 - bits_of(addr) + len;

	for (unsigned bit = keep; bit < 128; bit++)
		bytes.s6_addr[bit / 8] &= static_cast<std::uint8_t>(~(0x80u >> (bit % 8)));
	if (addr.family() == AF_INET6)
		return Address::v6(bytes, 0, addr.scope());

	in_addr inner;
	std::memcpy(&inner, bytes.s6_addr + 12, sizeof(inner));
	return Address::v4(inner);
}

unsigned parse_length(const std::string &text, const std::string &whole, unsigned most)
{
	unsigned value = 0;

	if (text.empty() || text.size() > 3 ||
	    text.find_first_not_of("0123456789") != std::string::npos)
		throw Error(format("'%s': a prefix length is a number", whole.c_str()));
	for (char digit : text)
		value = value * 10 + static_cast<unsigned>(digit - '0');
	if (value > most)
		throw Error(format("'%s': at most %u bits", whole.c_str(), most));
	if (!value)
		throw Error(format("'%s' is every host: rdsctl peer default", whole.c_str()));
	return value;
}

/* The word behind @at, which goes there. */
const std::string &argument(const std::vector<std::string> &words, std::size_t &at)
{
	if (at + 1 == words.size())
		throw Error(format("'%s' needs an argument", words[at].c_str()));
	return words[++at];
}

void set_device(Prefix &prefix, const std::string &name)
{
	unsigned index = if_nametoindex(name.c_str());

	if (!index)
		throw Error(format("no interface '%s'", name.c_str()));
	if (!prefix.addr.link_local())
		throw Error("dev goes with link-local addresses only");
	prefix.addr.set_scope(index);
}

rds_peers_method parse_method(const std::string &word)
{
	if (word == "tcp-md5")
		return RDS_PEERS_TCP_MD5;
	if (word == "tcp-ao")
		return RDS_PEERS_TCP_AO;
	throw Error(format("'%s': algo is tcp-md5 or tcp-ao", word.c_str()));
}

constexpr std::array algs = {"hmac(sha256)", "hmac(sha1)", "cmac(aes128)"};

rds_peers_alg parse_alg(const std::string &word)
{
	for (std::size_t i = 0; i < algs.size(); i++)
		if (word == algs[i])
			return static_cast<rds_peers_alg>(i);
	throw Error(format("'%s': alg is hmac(sha256), hmac(sha1) or cmac(aes128)", word.c_str()));
}

unsigned parse_id(const std::string &word)
{
	unsigned id = 0;
	auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), id);

	if (error != std::errc() || end != word.data() + word.size() || id > 255)
		throw Error(format("'%s': a key's id is 0 to 255", word.c_str()));
	return id;
}

/* One word of what TCP-AO has beyond the key; false: it is none. */
bool parse_ao(PeerWords &peer, const std::vector<std::string> &words, std::size_t &at)
{
	const std::string &word = words[at];

	if (word == "sndid")
		peer.sndid = parse_id(argument(words, at));
	else if (word == "rcvid")
		peer.rcvid = parse_id(argument(words, at));
	else if (word == "alg")
		peer.alg = parse_alg(argument(words, at));
	else
		return false;
	return true;
}

/* One word of the rule, and its argument. */
void parse_rule(PeerWords &peer, const std::vector<std::string> &words, std::size_t &at)
{
	const std::string &word = words[at];

	if (word == "accept" || word == "refuse")
		peer.policy = parse_policy(word);
	else if (word == "key-file")
		peer.key_file = argument(words, at);
	else if (word == "algo")
		peer.method = parse_method(argument(words, at));
	else
		throw Error(format("'%s' is none of dev, accept, refuse, key-file, algo, sndid, "
				   "rcvid, alg",
				   word.c_str()));
}

} // namespace

std::string Prefix::text() const
{
	Address plain = addr;

	plain.set_scope(0);
	return len == bits_of(addr) ? plain.host() : format("%s/%u", plain.host().c_str(), len);
}

Prefix parse_prefix(const std::string &text)
{
	std::size_t slash = text.find('/');
	Prefix prefix;

	prefix.addr = numeric_address(text.substr(0, slash));
	prefix.len = bits_of(prefix.addr);
	if (slash != std::string::npos)
		prefix.len = parse_length(text.substr(slash + 1), text, prefix.len);

	Prefix right = {masked(prefix.addr, prefix.len), prefix.len};
	if (!right.addr.same_host(prefix.addr))
		throw Error(format("'%s' has bits beyond the prefix, which is %s", text.c_str(),
				   right.text().c_str()));
	return prefix;
}

rds_peers_policy parse_policy(const std::string &word)
{
	if (word == "accept")
		return RDS_PEERS_ACCEPT;
	if (word == "refuse")
		return RDS_PEERS_REFUSE;
	throw Error(format("'%s' is neither accept nor refuse", word.c_str()));
}

const char *policy_name(unsigned policy)
{
	return policy == RDS_PEERS_ACCEPT ? "accept" : "refuse";
}

const char *alg_name(unsigned alg)
{
	return alg < algs.size() ? algs[alg] : "?";
}

const char *method_name(unsigned method)
{
	return method == RDS_PEERS_TCP_MD5  ? "tcp-md5"
	       : method == RDS_PEERS_TCP_AO ? "tcp-ao"
					    : "none";
}

PeerWords parse_peer(const std::vector<std::string> &words, bool rule)
{
	PeerWords peer;
	bool ao = false;

	if (words.empty())
		throw Error("which peer? ADDRESS[/LENGTH] is needed");
	peer.prefix = parse_prefix(words[0]);
	for (std::size_t at = 1; at < words.size(); at++) {
		if (words[at] == "dev")
			set_device(peer.prefix, argument(words, at));
		else if (rule && parse_ao(peer, words, at))
			ao = true;
		else if (rule)
			parse_rule(peer, words, at);
		else
			throw Error(format("'%s' says nothing of which peer", words[at].c_str()));
	}
	if (peer.key_file.empty() && peer.method != RDS_PEERS_NONE)
		throw Error("algo needs a key-file");
	if (peer.policy == RDS_PEERS_REFUSE && !peer.key_file.empty())
		throw Error("a host that is refused has no key");
	if (!peer.key_file.empty() && peer.method == RDS_PEERS_NONE)
		peer.method = RDS_PEERS_TCP_MD5;
	if (ao && peer.method != RDS_PEERS_TCP_AO)
		throw Error("sndid, rcvid and alg go with algo tcp-ao");
	return peer;
}

} // namespace rdstools
