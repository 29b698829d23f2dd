// SPDX-License-Identifier: GPL-2.0
/* When all users have gone, everything has to be there for others. */
#include "users.h"

#include "../lib/check.h"

#include <linux/rds.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>

namespace rdstest
{

namespace
{

constexpr uint16_t lendingPort = 7100;

void everyPort()
{
	std::vector<std::string> texts = {"127.0.0.1", "::1", "127.0.0.9"};

	for (const std::string &text : texts)
		for (uint16_t port :
		     {2, 1023, 4000, 4001, 4002, 4003, 4004, 4005, 16385, 18634, 65535}) {
			const Address at = Address::parse(text, port);
			const Fd fd = openRds();
			long result = 0;

			eventually([&] {
				result = sys(bind(fd, at.get(), at.length()));
				return result == 0;
			});
			same(result, 0, "nobody is there any more, and a bind to " + at.text());
		}
}

/* As the user, all pages are lent to somebody who is not there; for its ends a piece counts as two
 * more. */
void everyPage(const User &user, const UserOptions &options)
{
	const Address nobody = Address::parse(options.there, lendingPort);
	const Fd fd = bindRds(Address::parse(options.here, 0));
	alignas(4096) static char pages[(kLockedPages - 2) * 4096];
	const rlimit most = {kLockedPages * 4096, kLockedPages * 4096};
	Control control;

	setrlimit(RLIMIT_MEMLOCK, &most);
	same(sys(setresuid(user.uid, user.uid, user.uid)), 0, "setresuid");
	setOption(fd, SOL_SOCKET, SO_ZEROCOPY, 1);
	control.add(SOL_RDS, RDS_CMSG_ZCOPY_COOKIE, uint32_t{1});

	long result = 0;
	eventually([&] {
		result = sendBytes(
			fd, pages, sizeof(pages),
			{.flags = MSG_DONTWAIT | MSG_ZEROCOPY, .to = &nobody, .control = &control});
		return result >= 0;
	});
	same(result, sizeof(pages), "uid " + std::to_string(user.uid) + " lends all his pages");
}

} // namespace

void nothingIsKept(const std::vector<User> &users, const UserOptions &options)
{
	everyPort();
	for (const User &user : users) {
		const pid_t pid = fork();
		int status = 0;

		if (pid == 0) {
			try {
				everyPage(user, options);
			} catch (const Failed &error) {
				fprintf(stderr, "%s\n", error.what());
				_exit(1);
			}
			_exit(0);
		}
		waitpid(pid, &status, 0);
		want(status == 0,
		     "pages of uid " + std::to_string(user.uid) + " are still counted as lent");
	}
}

} // namespace rdstest
