// SPDX-License-Identifier: GPL-2.0
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include <gtest/gtest.h>

#include "../lib/cli.h"

using namespace rdstools;

TEST(Signals, a_task_leaves_them_to_its_leader)
{
	const pid_t task = fork();
	int status = -1;

	if (!task) {
		catch_stop_signals();
		ignore_stop_signals();
		raise(SIGINT);
		raise(SIGTERM);
		_exit(stopped());
	}
	ASSERT_EQ(waitpid(task, &status, 0), task);
	EXPECT_TRUE(WIFEXITED(status)) << "by signal " << WTERMSIG(status);
	EXPECT_EQ(WEXITSTATUS(status), 0) << "nor does it stop itself";
}
