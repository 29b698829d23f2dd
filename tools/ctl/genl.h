/* SPDX-License-Identifier: GPL-2.0 */
/* One generic netlink family: requests, the kernel's answers and its own words, and events. */
#ifndef RDSCTL_GENL_H
#define RDSCTL_GENL_H

#include <libmnl/libmnl.h>
#include <linux/genetlink.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <utility>

#include "../lib/error.h"

namespace rdstools
{

/* The kernel's refusal of a request, in its own words. */
class Refused : public Error
{
public:
	using Error::Error;
};

/* Room for a request, which does not stay in memory: it may have a key. */
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

class Genl
{
public:
	/* Throws Error where the kernel has no such family. @group: of its events. */
	Genl(const char *family, std::uint8_t version, const char *group);
	~Genl();
	Genl(const Genl &) = delete;
	Genl &operator=(const Genl &) = delete;

	/* A request in @r, to be filled with attributes. */
	nlmsghdr *begin(Request &r, std::uint8_t command, int flags = 0);
	/* Sends it and hears the answers up to the last. Throws Refused. */
	void talk(nlmsghdr *request, const std::function<void(const nlmsghdr *)> &answer = {});
	/* All of a dump; @restart is called before it begins, and when it does so anew, because the
	 * table has changed in the midst of it. Throws Refused, and Error once the family has
	 * gone. */
	void dump(std::uint8_t command, const std::function<void()> &restart,
		  const std::function<void(const nlmsghdr *)> &answer);
	/* Hears events from the return of this one on. Throws Refused. */
	void subscribe();
	/* Waits for the next ones. False: this reader was slow, and some are lost. Throws Error
	 * once the family has gone, which has no more. */
	bool events(const std::function<void(const nlmsghdr *)> &event);
	/* The descriptor that events come from, for poll(2). */
	int fd() const;

private:
	nlmsghdr *begin(Request &r, std::uint16_t family, std::uint8_t command, int flags);
	/* The numbers of a family and of one of its groups. */
	std::pair<std::uint16_t, std::uint32_t> find(const char *family, const char *group);

	mnl_socket *socket_ = nullptr;
	std::uint8_t version_;
	std::uint16_t family_ = 0;
	std::uint32_t group_ = 0;
	std::uint32_t seq_ = 0;
};

} // namespace rdstools

#endif
