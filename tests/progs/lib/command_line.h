/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Command lines of the test programs. A thin layer over CLI11, which takes half a minute to
 * compile: this way it is compiled once and not for every program.
 */
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace CLI
{
class App;
}

namespace rdstest
{

class CommandLine
{
public:
	explicit CommandLine(const std::string &description);
	~CommandLine();

	/* A command with options of its own; one of them must be given then. */
	CommandLine &command(const std::string &name, const std::string &description);

	/* Options with a value; what stands in the variable is the default. */
	void option(const std::string &name, std::string &value, const std::string &help);
	void option(const std::string &name, std::vector<std::string> &value,
		    const std::string &help);
	void option(const std::string &name, uint16_t &value, const std::string &help);
	void option(const std::string &name, uint32_t &value, const std::string &help);
	void option(const std::string &name, uint64_t &value, const std::string &help);
	void option(const std::string &name, double &value, const std::string &help);
	void required(const std::string &name, std::string &value, const std::string &help);
	void choice(const std::string &name, std::string &value, const std::string &help,
		    const std::vector<std::string> &choices);
	void flag(const std::string &name, bool &value, const std::string &help);

	/* Was this command chosen? */
	bool chosen() const;

	/*
	 * Parses and then calls the body; what it returns is the exit status. 2 when the command
	 * line is wrong or the body throws, with a message.
	 */
	int run(int argc, char **argv, const std::function<int()> &body);

private:
	explicit CommandLine(CLI::App *app);

	std::unique_ptr<CLI::App> own_;
	CLI::App *app_;
	std::vector<std::unique_ptr<CommandLine>> commands_;
};

} // namespace rdstest
