// SPDX-License-Identifier: GPL-2.0
#include "peers.h"

#include <libmnl/libmnl.h>
#include <linux/genetlink.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <ctime>

#include "../lib/text.h"

namespace rdstools
{

namespace
{

/* A request, whose key does not stay in memory. */
struct Request {
	alignas(nlmsghdr) std::array<char, 1024> room;

	~Request()
	{
		explicit_bzero(room.data(), room.size());
	}
};

/* The attributes from @attr to @end; libmnl's loops are C alone. */
template <typename Fn>
void each_attribute(const nlattr *attr, const char *end, Fn &&fn)
{
	while (mnl_attr_ok(attr, static_cast<int>(end - reinterpret_cast<const char *>(attr)))) {
		fn(attr);
		attr = mnl_attr_next(attr);
	}
}

/* Those of a message from @skip bytes of its payload on. */
template <typename Fn>
void each_attribute(const nlmsghdr *message, std::size_t skip, Fn &&fn)
{
	each_attribute(
		static_cast<const nlattr *>(mnl_nlmsg_get_payload_offset(message, MNL_ALIGN(skip))),
		static_cast<const char *>(mnl_nlmsg_get_payload_tail(message)), fn);
}

template <typename Fn>
void each_nested(const nlattr *outer, Fn &&fn)
{
	const auto *first = static_cast<const nlattr *>(mnl_attr_get_payload(outer));

	each_attribute(first,
		       reinterpret_cast<const char *>(first) + mnl_attr_get_payload_len(outer), fn);
}

/* The number of the group of events, out of the list of a family's groups. */
std::uint32_t group_of_events(const nlattr *groups)
{
	std::uint32_t found = 0;

	each_nested(groups, [&](const nlattr *group) {
		std::uint32_t number = 0;
		bool events = false;

		each_nested(group, [&](const nlattr *attr) {
			if (mnl_attr_get_type(attr) == CTRL_ATTR_MCAST_GRP_ID)
				number = mnl_attr_get_u32(attr);
			if (mnl_attr_get_type(attr) == CTRL_ATTR_MCAST_GRP_NAME)
				events = !std::strcmp(mnl_attr_get_str(attr),
						      RDS_PEERS_MCGRP_EVENTS);
		});
		if (events)
			found = number;
	});
	return found;
}

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

/* Throws what an answer says of an error; 0 is none. The kernel's own words are in an attribute
 * behind the error (and behind the request, where that was copied). */
void look_at_error(const nlmsghdr *message)
{
	const auto *error = static_cast<const nlmsgerr *>(mnl_nlmsg_get_payload(message));
	std::string text;
	std::size_t skip = sizeof(*error);

	if (!error->error)
		return;
	if (!(message->nlmsg_flags & NLM_F_CAPPED))
		skip += mnl_nlmsg_get_payload_len(&error->msg);
	if (message->nlmsg_flags & NLM_F_ACK_TLVS)
		each_attribute(message, skip, [&](const nlattr *attr) {
			if (mnl_attr_get_type(attr) == NLMSGERR_ATTR_MSG &&
			    mnl_attr_validate(attr, MNL_TYPE_NUL_STRING) >= 0)
				text = mnl_attr_get_str(attr);
		});
	if (error->error == -EPERM)
		text = "CAP_NET_ADMIN is needed";
	throw Refused(text.empty() ? std::strerror(-error->error) : text, -error->error);
}

} // namespace

Peers::Peers()
{
	int on = 1;

	socket_ = mnl_socket_open2(NETLINK_GENERIC, SOCK_CLOEXEC);
	if (!socket_ || mnl_socket_bind(socket_, 0, MNL_SOCKET_AUTOPID) < 0)
		throw Error(format("cannot open a netlink socket: %s", std::strerror(errno)));
	/* Without these errors are told by their number alone. */
	mnl_socket_setsockopt(socket_, NETLINK_EXT_ACK, &on, sizeof(on));
	mnl_socket_setsockopt(socket_, NETLINK_CAP_ACK, &on, sizeof(on));

	Request r;
	nlmsghdr *request = begin(r.room.data(), GENL_ID_CTRL, CTRL_CMD_GETFAMILY, 0);

	mnl_attr_put_strz(request, CTRL_ATTR_FAMILY_NAME, RDS_PEERS_FAMILY_NAME);
	try {
		talk(request, [this](const nlmsghdr *message) {
			each_attribute(message, sizeof(genlmsghdr), [this](const nlattr *attr) {
				if (mnl_attr_get_type(attr) == CTRL_ATTR_FAMILY_ID)
					family_ = mnl_attr_get_u16(attr);
				if (mnl_attr_get_type(attr) == CTRL_ATTR_MCAST_GROUPS)
					group_ = group_of_events(attr);
			});
		});
	} catch (const Refused &error) {
		mnl_socket_close(socket_);
		if (error.code() == ENOENT)
			throw Error("rds is not loaded, or has no table of peers: modprobe rds");
		throw;
	}
}

Peers::~Peers()
{
	mnl_socket_close(socket_);
}

nlmsghdr *Peers::begin(void *room, std::uint16_t family, std::uint8_t command, int flags)
{
	nlmsghdr *request = mnl_nlmsg_put_header(room);

	request->nlmsg_type = family;
	request->nlmsg_flags = static_cast<std::uint16_t>(NLM_F_REQUEST | NLM_F_ACK | flags);
	request->nlmsg_seq = ++seq_;

	auto *header =
		static_cast<genlmsghdr *>(mnl_nlmsg_put_extra_header(request, sizeof(genlmsghdr)));

	header->cmd = command;
	header->version = family == GENL_ID_CTRL ? 1 : RDS_PEERS_FAMILY_VERSION;
	return request;
}

void Peers::talk(nlmsghdr *request, const std::function<void(const nlmsghdr *)> &answer)
{
	alignas(nlmsghdr) std::array<char, 32768> room;

	if (mnl_socket_sendto(socket_, request, request->nlmsg_len) < 0)
		throw Error(format("cannot ask the kernel: %s", std::strerror(errno)));
	for (;;) {
		ssize_t got = mnl_socket_recvfrom(socket_, room.data(), room.size());

		if (got < 0)
			throw Error(format("no answer of the kernel: %s", std::strerror(errno)));
		int left = static_cast<int>(got);
		for (const auto *m = reinterpret_cast<const nlmsghdr *>(room.data());
		     mnl_nlmsg_ok(m, left); m = mnl_nlmsg_next(m, &left)) {
			if (m->nlmsg_seq != request->nlmsg_seq)
				continue;
			if (m->nlmsg_type == NLMSG_ERROR)
				look_at_error(m);
			if (m->nlmsg_type == NLMSG_ERROR || m->nlmsg_type == NLMSG_DONE)
				return;
			if (answer)
				answer(m);
		}
	}
}

void Peers::set(const PeerWords &peer, const Key &key, bool replace)
{
	Request r;
	nlmsghdr *request = begin(r.room.data(), family_, RDS_PEERS_CMD_PEER_SET, 0);

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
	talk(request);
}

void Peers::ask_about(const Prefix &prefix, std::uint8_t command)
{
	Request r;
	nlmsghdr *request = begin(r.room.data(), family_, command, 0);

	put_prefix(request, prefix);
	talk(request);
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
	bool again = true;

	while (again) {
		Request r;

		again = false;
		peers.clear();
		talk(begin(r.room.data(), family_, RDS_PEERS_CMD_PEER_GET, NLM_F_DUMP),
		     [&](const nlmsghdr *message) {
			     /* The table changed in the midst of it. */
			     again |= message->nlmsg_flags & NLM_F_DUMP_INTR;
			     peers.push_back(parse_answer(message));
		     });
	}
	return peers;
}

void Peers::set_default(rds_peers_policy policy)
{
	Request r;
	nlmsghdr *request = begin(r.room.data(), family_, RDS_PEERS_CMD_DEFAULT_SET, 0);

	mnl_attr_put_u8(request, RDS_PEERS_A_POLICY, static_cast<std::uint8_t>(policy));
	talk(request);
}

unsigned Peers::get_default()
{
	unsigned policy = 0;
	Request r;

	talk(begin(r.room.data(), family_, RDS_PEERS_CMD_DEFAULT_GET, 0),
	     [&](const nlmsghdr *message) {
		     policy = number(attributes(message)[RDS_PEERS_A_POLICY]);
	     });
	return policy;
}

void Peers::subscribe()
{
	if (mnl_socket_setsockopt(socket_, NETLINK_ADD_MEMBERSHIP, &group_, sizeof(group_)) < 0)
		throw Refused(errno == EPERM ? "CAP_NET_ADMIN is needed" : std::strerror(errno),
			      errno);
}

std::vector<PeerEvent> Peers::events()
{
	alignas(nlmsghdr) std::array<char, 32768> room;
	std::vector<PeerEvent> found;
	ssize_t got = mnl_socket_recvfrom(socket_, room.data(), room.size());

	/* ENOBUFS: we were slow, and some are lost; others will come. */
	if (got < 0 && errno != ENOBUFS)
		throw Error(format("no event of the kernel: %s", std::strerror(errno)));
	int left = got < 0 ? 0 : static_cast<int>(got);
	for (const auto *m = reinterpret_cast<const nlmsghdr *>(room.data()); mnl_nlmsg_ok(m, left);
	     m = mnl_nlmsg_next(m, &left)) {
		const auto *header = static_cast<const genlmsghdr *>(mnl_nlmsg_get_payload(m));

		if (m->nlmsg_type != family_ || header->cmd != RDS_PEERS_CMD_REFUSED)
			continue;
		auto attrs = attributes(m);
		found.push_back({parse_host(attrs), number(attrs[RDS_PEERS_A_CAUSE])});
	}
	return found;
}

const char *cause_name(unsigned cause)
{
	constexpr std::array names = {"called-us", "not-called", "unsigned",
				      "no-answer", "takeover",	 "cannot-sign"};

	return cause < names.size() ? names[cause] : "?";
}

} // namespace rdstools
