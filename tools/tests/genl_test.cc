// SPDX-License-Identifier: GPL-2.0
/* The family that every kernel has stands for ours. */
#include <sys/socket.h>

#include <cerrno>
#include <optional>

#include <gtest/gtest.h>

#include "../ctl/genl.h"
#include "../lib/socket.h"

using namespace rdstools;

namespace
{

/* To @genl, as if the kernel said it. False: only an administrator may. */
bool say(const Genl &genl, std::uint8_t command, std::uint16_t family)
{
	UniqueFd fd(socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_GENERIC));
	sockaddr_nl to = {};
	socklen_t len = sizeof(to);
	Request r;
	nlmsghdr *message = mnl_nlmsg_put_header(r.room.data());

	message->nlmsg_type = GENL_ID_CTRL;
	static_cast<genlmsghdr *>(mnl_nlmsg_put_extra_header(message, sizeof(genlmsghdr)))->cmd =
		command;
	mnl_attr_put_strz(message, CTRL_ATTR_FAMILY_NAME, "some");
	mnl_attr_put_u16(message, CTRL_ATTR_FAMILY_ID, family);
	getsockname(genl.fd(), reinterpret_cast<sockaddr *>(&to), &len);
	return sendto(fd.get(), message, message->nlmsg_len, 0, reinterpret_cast<sockaddr *>(&to),
		      sizeof(to)) >= 0;
}

} // namespace

TEST(Genl, the_end_of_its_family_ends_what_hears_events)
{
	std::optional<Genl> genl;
	unsigned seen = 0;
	auto hear = [&] { return genl->events([&](const nlmsghdr *) { seen++; }); };

	try {
		genl.emplace("nlctrl", 1, "notify");
	} catch (const Error &error) {
		GTEST_SKIP() << error.what();
	}
	genl->subscribe();
	if (!say(*genl, CTRL_CMD_DELFAMILY, GENL_ID_CTRL + 1))
		GTEST_SKIP() << "nobody but an administrator may speak for the kernel";
	EXPECT_TRUE(hear()) << "another family's";
	EXPECT_TRUE(say(*genl, CTRL_CMD_NEWFAMILY, GENL_ID_CTRL) && hear());
	EXPECT_EQ(seen, 2u);
	ASSERT_TRUE(say(*genl, CTRL_CMD_DELFAMILY, GENL_ID_CTRL));
	try {
		hear();
		ADD_FAILURE() << "it would wait without end";
	} catch (const Error &error) {
		EXPECT_STREQ(error.what(), "rds was unloaded");
	}
}
