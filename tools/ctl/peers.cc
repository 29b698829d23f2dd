// SPDX-License-Identifier: GPL-2.0
#include "peers.h"

#include <array>
#include <cstring>

namespace rdstools
{

namespace
{

/* Those of a message of ours, by number. */
std::array<const nlattr *, RDS_PEERS_A_MAX + 1> attributes(const nlmsghdr *message)
{
	std::array<const nlattr *, RDS_PEERS_A_MAX + 1> found{};

	each_attribute(message, sizeof(genlmsghdr), [&](const nlattr *attr) {
		if (mnl_attr_get_type(attr) <= RDS_PEERS_A_MAX)
			found[mnl_attr_get_type(attr)] = attr;
	});
	return found;
}

unsigned number(const nlattr *attr)
{
	return attr ? mnl_attr_get_u8(attr) : 0;
}

Prefix parse_host(const std::array<const nlattr *, RDS_PEERS_A_MAX + 1> &attrs)
{
	const nlattr *addr = attrs[RDS_PEERS_A_ADDR];
	Prefix prefix;

	if (addr && mnl_attr_get_payload_len(addr) == sizeof(in_addr)) {
		in_addr v4;
		std::memcpy(&v4, mnl_attr_get_payload(addr), sizeof(v4));
		prefix.addr = Address::v4(v4);
	} else if (addr && mnl_attr_get_payload_len(addr) == sizeof(in6_addr)) {
		in6_addr v6;
		std::memcpy(&v6, mnl_attr_get_payload(addr), sizeof(v6));
		prefix.addr = Address::v6(v6);
	}
	prefix.len = number(attrs[RDS_PEERS_A_LEN]);
	if (attrs[RDS_PEERS_A_SCOPE])
		prefix.addr.set_scope(mnl_attr_get_u32(attrs[RDS_PEERS_A_SCOPE]));
	return prefix;
}

Peer parse_answer(const nlmsghdr *message)
{
	auto attrs = attributes(message);
	Peer peer;

	peer.prefix = parse_host(attrs);
	peer.policy = number(attrs[RDS_PEERS_A_POLICY]);
	peer.method = number(attrs[RDS_PEERS_A_METHOD]);
	peer.key_bytes = number(attrs[RDS_PEERS_A_KEY_LEN]);
	peer.alg = number(attrs[RDS_PEERS_A_ALG]);
	peer.sndid = number(attrs[RDS_PEERS_A_SNDID]);
	peer.rcvid = number(attrs[RDS_PEERS_A_RCVID]);
	peer.replaced = attrs[RDS_PEERS_A_OLD_SNDID];
	peer.old_sndid = number(attrs[RDS_PEERS_A_OLD_SNDID]);
	peer.old_rcvid = number(attrs[RDS_PEERS_A_OLD_RCVID]);
	return peer;
}

void put_prefix(nlmsghdr *request, const Prefix &prefix)
{
	in6_addr bytes = prefix.addr.bytes();
	bool v4 = prefix.addr.family() == AF_INET;

	mnl_attr_put(request, RDS_PEERS_A_ADDR, v4 ? 4 : 16, bytes.s6_addr + (v4 ? 12 : 0));
	mnl_attr_put_u8(request, RDS_PEERS_A_LEN, static_cast<std::uint8_t>(prefix.len));
	if (prefix.addr.scope())
		mnl_attr_put_u32(request, RDS_PEERS_A_SCOPE, prefix.addr.scope());
}

} // namespace

Peers::Peers() : genl_(RDS_PEERS_FAMILY_NAME, RDS_PEERS_FAMILY_VERSION, RDS_PEERS_MCGRP_EVENTS)
{
}

void Peers::set(const PeerWords &peer, const Key &key, bool replace)
{
	Request r;
	nlmsghdr *request = genl_.begin(r, RDS_PEERS_CMD_PEER_SET);

	put_prefix(request, peer.prefix);
	mnl_attr_put_u8(request, RDS_PEERS_A_POLICY, static_cast<std::uint8_t>(peer.policy));
	if (key.size()) {
		mnl_attr_put_u8(request, RDS_PEERS_A_METHOD,
				static_cast<std::uint8_t>(peer.method));
		mnl_attr_put(request, RDS_PEERS_A_KEY, key.size(), key.data());
	}
	if (peer.method == RDS_PEERS_TCP_AO) {
		mnl_attr_put_u8(request, RDS_PEERS_A_SNDID, static_cast<std::uint8_t>(peer.sndid));
		mnl_attr_put_u8(request, RDS_PEERS_A_RCVID, static_cast<std::uint8_t>(peer.rcvid));
		mnl_attr_put_u8(request, RDS_PEERS_A_ALG, static_cast<std::uint8_t>(peer.alg));
	}
	if (replace)
		mnl_attr_put(request, RDS_PEERS_A_REPLACE, 0, nullptr);
	genl_.talk(request);
}

void Peers::ask_about(const Prefix &prefix, std::uint8_t command)
{
	Request r;
	nlmsghdr *request = genl_.begin(r, command);

	put_prefix(request, prefix);
	genl_.talk(request);
}

void Peers::del(const Prefix &prefix)
{
	ask_about(prefix, RDS_PEERS_CMD_PEER_DEL);
}

void Peers::forget(const Prefix &prefix)
{
	ask_about(prefix, RDS_PEERS_CMD_KEY_FORGET);
}

std::vector<Peer> Peers::list()
{
	std::vector<Peer> peers;

	genl_.dump(
		RDS_PEERS_CMD_PEER_GET, [&] { peers.clear(); },
		[&](const nlmsghdr *message) { peers.push_back(parse_answer(message)); });
	return peers;
}

void Peers::set_default(rds_peers_policy policy)
{
	Request r;
	nlmsghdr *request = genl_.begin(r, RDS_PEERS_CMD_DEFAULT_SET);

	mnl_attr_put_u8(request, RDS_PEERS_A_POLICY, static_cast<std::uint8_t>(policy));
	genl_.talk(request);
}

unsigned Peers::get_default()
{
	unsigned policy = 0;
	Request r;

	genl_.talk(genl_.begin(r, RDS_PEERS_CMD_DEFAULT_GET), [&](const nlmsghdr *message) {
		policy = number(attributes(message)[RDS_PEERS_A_POLICY]);
	});
	return policy;
}

void Peers::subscribe()
{
	genl_.subscribe();
}

/* Lost ones are no news here: others will come. */
std::vector<PeerEvent> Peers::events()
{
	std::vector<PeerEvent> found;

	(void)genl_.events([&](const nlmsghdr *m) {
		const auto *header = static_cast<const genlmsghdr *>(mnl_nlmsg_get_payload(m));

		if (header->cmd != RDS_PEERS_CMD_REFUSED)
			return;
		auto attrs = attributes(m);
		found.push_back({parse_host(attrs), number(attrs[RDS_PEERS_A_CAUSE])});
	});
	return found;
}

const char *cause_name(unsigned cause)
{
	constexpr std::array names = {"called-us", "not-called", "unsigned",
				      "no-answer", "takeover",	 "cannot-sign"};

	return cause < names.size() ? names[cause] : "?";
}

} // namespace rdstools
