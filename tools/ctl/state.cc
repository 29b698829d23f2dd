// SPDX-License-Identifier: GPL-2.0
#include "state.h"

#include <cerrno>

#include "../lib/address.h"

namespace rdstools
{

namespace
{

constexpr const char *state_words[] = {"down", "connecting", "disconnecting", "up", "dead"};
constexpr const char *news_words[] = {"up", "down", "failed", "refused", "folded", "full", "clear"};
constexpr const char *method_words[] = {"none", "tcp-md5", "tcp-ao"};
constexpr const char *peer_words[] = {"unknown", "other", "pf-rds"};
/* As the kernel names them in a path. */
constexpr const char *transport_words[] = {"infiniband", "iwarp", "tcp", "loopback"};

constexpr Field port_table[] = {
	{RDS_PORT_A_PORT, "port", Kind::u16},
	{RDS_PORT_A_REFUSED_MS, "refused-ms", Kind::u32},
};

constexpr Field path_table[] = {
	{RDS_PATH_A_LOCAL, "local", Kind::address},
	{RDS_PATH_A_REMOTE, "remote", Kind::address},
	{RDS_PATH_A_SCOPE, "scope", Kind::u32},
	{RDS_PATH_A_TOS, "tos", Kind::u8},
	{RDS_PATH_A_INDEX, "index", Kind::u8},
	{RDS_PATH_A_TRANSPORT, "transport", Kind::text},
	{RDS_PATH_A_STATE, "state", Kind::choice, state_words},
	{RDS_PATH_A_STATE_MS, "state-ms", Kind::u64},
	{RDS_PATH_A_LAST_REASON, "last-reason", Kind::text},
	{RDS_PATH_A_ATTEMPTS, "attempts", Kind::u32},
	{RDS_PATH_A_RESETS, "resets", Kind::u32},
	{RDS_PATH_A_NEXT_TX, "next-tx", Kind::u64},
	{RDS_PATH_A_NEXT_RX, "next-rx", Kind::u64},
	{RDS_PATH_A_UNACKED, "unacked", Kind::u64},
	{RDS_PATH_A_UNSENT_BYTES, "unsent-bytes", Kind::u32},
	{RDS_PATH_A_HOLDS, "holds", Kind::flag},
	{RDS_PATH_A_CONGESTED, "congested", Kind::u32},
	{RDS_PATH_A_CONGESTED_PORTS, "congested-ports", Kind::ports},
	{RDS_PATH_A_REFUSED, "refused", Kind::u32},
	{RDS_PATH_A_REFUSES, "refuses", Kind::flag},
	{RDS_PATH_A_RTT_US, "rtt-us", Kind::u32},
	{RDS_PATH_A_HEARD_MS, "heard-ms", Kind::u32},
	{RDS_PATH_A_TX_BYTES, "tx-bytes", Kind::u64},
	{RDS_PATH_A_RX_BYTES, "rx-bytes", Kind::u64},
	{RDS_PATH_A_SIGNED, "signed", Kind::choice, method_words},
	{RDS_PATH_A_WAITS_MS, "waits-ms", Kind::u32},
	{RDS_PATH_A_CONGESTED_MS, "congested-ms", Kind::u32},
	{RDS_PATH_A_PEER, "peer", Kind::choice, peer_words},
	{RDS_PATH_A_REFUSED_PORTS, "refused-ports", Kind::port_rows},
	{RDS_PATH_A_ACK_US, "ack-us", Kind::u32},
	{RDS_PATH_A_EVENT, "event", Kind::choice, news_words}, /* the last: see path_fields() */
};

constexpr Field socket_table[] = {
	{RDS_SOCKET_A_LOCAL, "local", Kind::address},
	{RDS_SOCKET_A_LOCAL_PORT, "local-port", Kind::u16},
	{RDS_SOCKET_A_REMOTE, "remote", Kind::address},
	{RDS_SOCKET_A_REMOTE_PORT, "remote-port", Kind::u16},
	{RDS_SOCKET_A_SCOPE, "scope", Kind::u32},
	{RDS_SOCKET_A_TRANSPORT, "transport", Kind::choice, transport_words},
	{RDS_SOCKET_A_TOS, "tos", Kind::u8},
	{RDS_SOCKET_A_INODE, "inode", Kind::u64},
	{RDS_SOCKET_A_UID, "uid", Kind::u32},
	{RDS_SOCKET_A_SNDBUF, "sndbuf", Kind::u32},
	{RDS_SOCKET_A_RCVBUF, "rcvbuf", Kind::u32},
	{RDS_SOCKET_A_UNACKED, "unacked", Kind::u32},
	{RDS_SOCKET_A_UNREAD, "unread", Kind::u64},
	{RDS_SOCKET_A_CONGESTED, "congested", Kind::flag},
	{RDS_SOCKET_A_CONGESTED_MS, "congested-ms", Kind::u32},
	{RDS_SOCKET_A_UNREAD_MS, "unread-ms", Kind::u32},
};

constexpr Field counter_table[] = {
	{RDS_COUNTER_A_NAME, "name", Kind::text},
	{RDS_COUNTER_A_VALUE, "value", Kind::u64},
};

/* A number as the kernel has it, if there are as many bytes. */
template <typename T>
Json number(const nlattr *attr)
{
	T value;

	if (mnl_attr_get_payload_len(attr) != sizeof(value))
		return nullptr;
	std::memcpy(&value, mnl_attr_get_payload(attr), sizeof(value));
	return value;
}

Json address(const nlattr *attr)
{
	in_addr v4;
	in6_addr v6;

	if (mnl_attr_get_payload_len(attr) == sizeof(v4)) {
		std::memcpy(&v4, mnl_attr_get_payload(attr), sizeof(v4));
		return Address::v4(v4).host();
	}
	if (mnl_attr_get_payload_len(attr) != sizeof(v6))
		return nullptr;
	std::memcpy(&v6, mnl_attr_get_payload(attr), sizeof(v6));
	return Address::v6(v6).host();
}

Json ports(const nlattr *attr)
{
	Json list = Json::array();
	const auto *bytes = static_cast<const char *>(mnl_attr_get_payload(attr));

	for (std::size_t at = 0; at + 2 <= mnl_attr_get_payload_len(attr); at += 2) {
		std::uint16_t port;

		std::memcpy(&port, bytes + at, sizeof(port));
		list.push_back(port);
	}
	return list;
}

/* A word; the number of one that is newer than this program. */
Json choice(const nlattr *attr, std::span<const char *const> words)
{
	Json value = number<std::uint8_t>(attr);

	if (value.is_null() || value.get<unsigned>() >= words.size())
		return value;
	return words[value.get<unsigned>()];
}

Json row_of_nothing(std::span<const Field> fields)
{
	Json row = Json::object();

	for (const Field &field : fields)
		row[field.name] = field.kind == Kind::flag ? Json(false) : Json(nullptr);
	return row;
}

void add(Json &row, const nlattr *attr, std::span<const Field> fields);

Json port_row(const nlattr *nest)
{
	Json row = row_of_nothing(port_table);
	const auto *first = static_cast<const nlattr *>(mnl_attr_get_payload(nest));

	each_attribute(first,
		       reinterpret_cast<const char *>(first) + mnl_attr_get_payload_len(nest),
		       [&](const nlattr *attr) { add(row, attr, port_table); });
	return row;
}

Json value_of(const nlattr *attr, const Field &field)
{
	switch (field.kind) {
	case Kind::u8:
		return number<std::uint8_t>(attr);
	case Kind::u16:
		return number<std::uint16_t>(attr);
	case Kind::u32:
		return number<std::uint32_t>(attr);
	case Kind::u64:
		return number<std::uint64_t>(attr);
	case Kind::text:
		return mnl_attr_validate(attr, MNL_TYPE_NUL_STRING) < 0
			       ? Json(nullptr)
			       : Json(mnl_attr_get_str(attr));
	case Kind::flag:
		return true;
	case Kind::address:
		return address(attr);
	case Kind::ports:
		return ports(attr);
	case Kind::choice:
		return choice(attr, field.choices);
	case Kind::port_rows:
		return port_row(attr);
	}
	return nullptr;
}

/* Notes in @row what @attr says of it. */
void add(Json &row, const nlattr *attr, std::span<const Field> fields)
{
	for (const Field &field : fields)
		if (mnl_attr_get_type(attr) == field.attr && field.kind == Kind::port_rows)
			row[field.name].push_back(value_of(attr, field));
		else if (mnl_attr_get_type(attr) == field.attr)
			row[field.name] = value_of(attr, field);
}

} // namespace

/* News alone have an event. */
std::span<const Field> path_fields()
{
	return news_fields().first(std::size(path_table) - 1);
}

std::span<const Field> news_fields()
{
	return path_table;
}

std::span<const Field> socket_fields()
{
	return socket_table;
}

std::span<const Field> counter_fields()
{
	return counter_table;
}

Json decode(const nlmsghdr *message, std::span<const Field> fields)
{
	Json row = row_of_nothing(fields);

	each_attribute(message, sizeof(genlmsghdr),
		       [&](const nlattr *attr) { add(row, attr, fields); });
	return row;
}

State::State() : genl_(RDS_STATE_FAMILY_NAME, RDS_STATE_FAMILY_VERSION, RDS_STATE_MCGRP_EVENTS)
{
}

Json State::dump(std::uint8_t command, std::span<const Field> fields)
{
	Json rows;

	genl_.dump(
		command, [&] { rows = Json::array(); },
		[&](const nlmsghdr *message) { rows.push_back(decode(message, fields)); });
	return rows;
}

Json State::paths()
{
	return dump(RDS_STATE_CMD_PATH_GET, path_fields());
}

Json State::paths_or_null(std::string &refused)
{
	refused.clear();
	try {
		return paths();
	} catch (const Refused &error) {
		if (error.code() != EPERM)
			throw;
		refused = error.what();
	}
	return nullptr;
}

Json State::sockets()
{
	return dump(RDS_STATE_CMD_SOCKET_GET, socket_fields());
}

Json State::counters()
{
	return dump(RDS_STATE_CMD_COUNTER_GET, counter_fields());
}

void State::subscribe()
{
	genl_.subscribe();
}

bool State::events(const std::function<void(const Json &)> &event)
{
	return genl_.events([&](const nlmsghdr *m) {
		const auto *header = static_cast<const genlmsghdr *>(mnl_nlmsg_get_payload(m));

		if (header->cmd == RDS_STATE_CMD_PATH_EVENT)
			event(decode(m, news_fields()));
	});
}

} // namespace rdstools
