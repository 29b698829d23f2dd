// SPDX-License-Identifier: GPL-2.0
#include "command_line.h"

#include <CLI/CLI.hpp>

#include <iostream>

namespace rdstest
{

CommandLine::CommandLine(const std::string &description)
	: own_(std::make_unique<CLI::App>(description)), app_(own_.get())
{
}

CommandLine::CommandLine(CLI::App *app) : app_(app)
{
}

CommandLine::~CommandLine() = default;

CommandLine &CommandLine::command(const std::string &name, const std::string &description)
{
	app_->require_subcommand(1);
	commands_.emplace_back(new CommandLine(app_->add_subcommand(name, description)));
	return *commands_.back();
}

void CommandLine::option(const std::string &name, std::string &value, const std::string &help)
{
	app_->add_option(name, value, help);
}

void CommandLine::option(const std::string &name, std::vector<std::string> &value,
			 const std::string &help)
{
	app_->add_option(name, value, help);
}

void CommandLine::option(const std::string &name, uint16_t &value, const std::string &help)
{
	app_->add_option(name, value, help);
}

void CommandLine::option(const std::string &name, uint32_t &value, const std::string &help)
{
	app_->add_option(name, value, help);
}

void CommandLine::option(const std::string &name, uint64_t &value, const std::string &help)
{
	app_->add_option(name, value, help);
}

void CommandLine::option(const std::string &name, double &value, const std::string &help)
{
	app_->add_option(name, value, help);
}

void CommandLine::required(const std::string &name, std::string &value, const std::string &help)
{
	app_->add_option(name, value, help)->required();
}

void CommandLine::choice(const std::string &name, std::string &value, const std::string &help,
			 const std::vector<std::string> &choices)
{
	app_->add_option(name, value, help)->check(CLI::IsMember(choices));
}

void CommandLine::flag(const std::string &name, bool &value, const std::string &help)
{
	app_->add_flag(name, value, help);
}

bool CommandLine::chosen() const
{
	return app_->parsed();
}

int CommandLine::run(int argc, char **argv, const std::function<int()> &body)
{
	try {
		app_->parse(argc, argv);
	} catch (const CLI::ParseError &error) {
		return app_->exit(error) ? 2 : 0; /* --help is no failure */
	}
	try {
		return body();
	} catch (const std::exception &error) {
		const std::string path = argv[0];

		std::cerr << path.substr(path.rfind('/') + 1) << ": " << error.what() << "\n";
		return 2;
	}
}

} // namespace rdstest
