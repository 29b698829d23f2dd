/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The sections rds-info can show. A section knows its letter, its RDS_INFO codes, its columns
 * and how a kernel record becomes a row; printing, JSON and rates are the same for all.
 */
#ifndef RDSTOOLS_INFO_SECTIONS_H
#define RDSTOOLS_INFO_SECTIONS_H

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "../lib/socket.h"
#include "../lib/table.h"

namespace rdstools
{

struct SectionOptions {
	bool ipv6 = false;
	bool verbose = false;
};

struct Section {
	char letter;
	const char *option; /* long option */
	const char *help;
	const char *title; /* heading of the text output */
	const char *key;   /* member of the JSON output */
	/* Fills the table; false: the kernel does not offer it (its transport is not loaded). */
	bool (*collect)(const RdsSocket &socket, const SectionOptions &options, Table &table);
	/* For --watch: which columns name a row, which ones count up. */
	std::vector<std::size_t> identity;
	std::vector<RateColumn> rates;
};

const std::vector<Section> &sections();

/* An option for each; those that are given are @chosen, in the order of the command line. */
void add_sections(CLI::App &app, std::vector<const Section *> &chosen);

} // namespace rdstools

#endif
