// SPDX-License-Identifier: GPL-2.0
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <iostream>

#include <gtest/gtest.h>

#include "../lib/cli.h"
#include "../lib/error.h"

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

TEST(Output, that_cannot_be_written_is_an_error)
{
	CLI::App app("", "tool");
	char name[] = "tool";
	char *argv[] = {name, nullptr};
	auto run = [&] { return run_tool(app, 1, argv, [] { return exit_ok; }); };

	flush_output();
	EXPECT_EQ(run(), exit_ok);
	std::cout.setstate(std::ios::badbit);
	EXPECT_THROW(flush_output(), Error);
	testing::internal::CaptureStderr();
	const int status = run();
	const std::string text = testing::internal::GetCapturedStderr();
	std::cout.clear();
	EXPECT_EQ(status, exit_usage);
	EXPECT_EQ(text, "tool: cannot write the output\n");
}
