// SPDX-License-Identifier: GPL-2.0
#include "genl.h"

#include <cerrno>
#include <tuple>

#include "../lib/text.h"

namespace rdstools
{

namespace
{

template <typename Fn>
void each_nested(const nlattr *outer, Fn &&fn)
{
	const auto *first = static_cast<const nlattr *>(mnl_attr_get_payload(outer));

	each_attribute(first,
		       reinterpret_cast<const char *>(first) + mnl_attr_get_payload_len(outer), fn);
}

/* The number of the group @name, out of the list of a family's groups. */
std::uint32_t find_group(const nlattr *groups, const char *name)
{
	std::uint32_t found = 0;

	each_nested(groups, [&](const nlattr *group) {
		std::uint32_t number = 0;
		bool is_it = false;

		each_nested(group, [&](const nlattr *attr) {
			if (mnl_attr_get_type(attr) == CTRL_ATTR_MCAST_GRP_ID)
				number = mnl_attr_get_u32(attr);
			if (mnl_attr_get_type(attr) == CTRL_ATTR_MCAST_GRP_NAME)
				is_it = !std::strcmp(mnl_attr_get_str(attr), name);
		});
		if (is_it)
			found = number;
	});
	return found;
}

/* The kernel's own words for an error, among the attributes from @skip bytes on. */
std::string own_words(const nlmsghdr *message, std::size_t skip)
{
	std::string text;

	if (message->nlmsg_flags & NLM_F_ACK_TLVS)
		each_attribute(message, skip, [&](const nlattr *attr) {
			if (mnl_attr_get_type(attr) == NLMSGERR_ATTR_MSG &&
			    mnl_attr_validate(attr, MNL_TYPE_NUL_STRING) >= 0)
				text = mnl_attr_get_str(attr);
		});
	return text;
}

[[noreturn]] void refuse(int error, std::string text)
{
	if (text.empty() && error == -EPERM)
		text = "CAP_NET_ADMIN is needed";
	throw Refused(text.empty() ? std::strerror(-error) : text, -error);
}

/* Throws what an answer says of an error; 0 is none. The words are behind the error (and behind
 * the request, where that was copied). */
void look_at_error(const nlmsghdr *message)
{
	const auto *error = static_cast<const nlmsgerr *>(mnl_nlmsg_get_payload(message));
	std::size_t skip = sizeof(*error);

	if (!error->error)
		return;
	if (!(message->nlmsg_flags & NLM_F_CAPPED))
		skip += mnl_nlmsg_get_payload_len(&error->msg);
	refuse(error->error, own_words(message, skip));
}

/* The same of the end of a dump, which has the number alone. */
void look_at_end(const nlmsghdr *message)
{
	int error = 0;

	if (mnl_nlmsg_get_payload_len(message) >= sizeof(error))
		std::memcpy(&error, mnl_nlmsg_get_payload(message), sizeof(error));
	if (error < 0)
		refuse(error, own_words(message, sizeof(error)));
}

/* News of the kernel's list of families. */
bool tells_end_of(const nlmsghdr *message, std::uint16_t family)
{
	const auto *header = static_cast<const genlmsghdr *>(mnl_nlmsg_get_payload(message));
	bool found = false;

	if (message->nlmsg_type != GENL_ID_CTRL || header->cmd != CTRL_CMD_DELFAMILY)
		return false;
	each_attribute(message, sizeof(*header), [&](const nlattr *attr) {
		found |= mnl_attr_get_type(attr) == CTRL_ATTR_FAMILY_ID &&
			 mnl_attr_get_u16(attr) == family;
	});
	return found;
}

} // namespace

Genl::Genl(const char *family, std::uint8_t version, const char *group) : version_(version)
{
	int on = 1;

	socket_ = mnl_socket_open2(NETLINK_GENERIC, SOCK_CLOEXEC);
	if (!socket_ || mnl_socket_bind(socket_, 0, MNL_SOCKET_AUTOPID) < 0)
		throw Error(format("cannot open a netlink socket: %s", std::strerror(errno)));
	/* Without these errors are told by their number alone. */
	mnl_socket_setsockopt(socket_, NETLINK_EXT_ACK, &on, sizeof(on));
	mnl_socket_setsockopt(socket_, NETLINK_CAP_ACK, &on, sizeof(on));

	try {
		std::tie(family_, group_) = find(family, group);
	} catch (const Refused &error) {
		mnl_socket_close(socket_);
		if (error.code() == ENOENT)
			throw Error(format("rds is not loaded, or has no family %s: modprobe rds",
					   family),
				    ENOENT);
		throw;
	}
}

Genl::~Genl()
{
	mnl_socket_close(socket_);
}

std::pair<std::uint16_t, std::uint32_t> Genl::find(const char *family, const char *group)
{
	std::pair<std::uint16_t, std::uint32_t> found;
	Request r;
	nlmsghdr *request = begin(r, GENL_ID_CTRL, CTRL_CMD_GETFAMILY, 0);

	mnl_attr_put_strz(request, CTRL_ATTR_FAMILY_NAME, family);
	talk(request, [&](const nlmsghdr *message) {
		each_attribute(message, sizeof(genlmsghdr), [&](const nlattr *attr) {
			if (mnl_attr_get_type(attr) == CTRL_ATTR_FAMILY_ID)
				found.first = mnl_attr_get_u16(attr);
			if (mnl_attr_get_type(attr) == CTRL_ATTR_MCAST_GROUPS)
				found.second = find_group(attr, group);
		});
	});
	return found;
}

nlmsghdr *Genl::begin(Request &r, std::uint16_t family, std::uint8_t command, int flags)
{
	nlmsghdr *request = mnl_nlmsg_put_header(r.room.data());

	request->nlmsg_type = family;
	request->nlmsg_flags = static_cast<std::uint16_t>(NLM_F_REQUEST | NLM_F_ACK | flags);
	request->nlmsg_seq = ++seq_;

	auto *header =
		static_cast<genlmsghdr *>(mnl_nlmsg_put_extra_header(request, sizeof(genlmsghdr)));

	header->cmd = command;
	header->version = family == GENL_ID_CTRL ? 1 : version_;
	return request;
}

nlmsghdr *Genl::begin(Request &r, std::uint8_t command, int flags)
{
	return begin(r, family_, command, flags);
}

void Genl::talk(nlmsghdr *request, const std::function<void(const nlmsghdr *)> &answer)
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
			if (m->nlmsg_type == NLMSG_DONE)
				look_at_end(m);
			if (m->nlmsg_type == NLMSG_ERROR || m->nlmsg_type == NLMSG_DONE)
				return;
			if (answer)
				answer(m);
		}
	}
}

void Genl::dump(std::uint8_t command, const std::function<void()> &restart,
		const std::function<void(const nlmsghdr *)> &answer)
{
	bool again = true;

	while (again) {
		Request r;

		again = false;
		restart();
		try {
			talk(begin(r, command, NLM_F_DUMP), [&](const nlmsghdr *message) {
				again |= message->nlmsg_flags & NLM_F_DUMP_INTR;
				answer(message);
			});
		} catch (const Refused &error) {
			/* Not the family's own words: it has gone, or is going. */
			if (error.code() == ENOENT || error.code() == EPROTONOSUPPORT)
				throw Error("rds was unloaded", ENOENT);
			throw;
		}
	}
}

void Genl::subscribe()
{
	/* A group ends with its family, without a word in it. */
	for (std::uint32_t group : {find("nlctrl", "notify").second, group_})
		if (mnl_socket_setsockopt(socket_, NETLINK_ADD_MEMBERSHIP, &group, sizeof(group)) <
		    0)
			refuse(-errno, {});
}

bool Genl::events(const std::function<void(const nlmsghdr *)> &event)
{
	alignas(nlmsghdr) std::array<char, 32768> room;
	ssize_t got = mnl_socket_recvfrom(socket_, room.data(), room.size());

	if (got < 0 && errno == ENOBUFS)
		return false;
	if (got < 0)
		throw Error(format("no event of the kernel: %s", std::strerror(errno)));
	int left = static_cast<int>(got);
	for (const auto *m = reinterpret_cast<const nlmsghdr *>(room.data()); mnl_nlmsg_ok(m, left);
	     m = mnl_nlmsg_next(m, &left)) {
		if (tells_end_of(m, family_))
			throw Error("rds was unloaded", ENOENT);
		if (m->nlmsg_type == family_)
			event(m);
	}
	return true;
}

int Genl::fd() const
{
	return mnl_socket_get_fd(socket_);
}

} // namespace rdstools
