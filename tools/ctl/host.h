/* SPDX-License-Identifier: GPL-2.0 */
/* The host itself, from files below a root: what a colleague asks for first. Nothing secret. */
#ifndef RDSCTL_HOST_H
#define RDSCTL_HOST_H

#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "../lib/table.h"

namespace rdstools
{

using Facts = std::vector<std::pair<std::string, std::string>>;

/* The core, and transports. */
inline constexpr const char *rds_modules[] = {"rds", "rds_tcp", "rds_loop", "rds_rdma"};

/* The first line of a file; nothing: it is not there, or may not be read. */
std::optional<std::string> first_line(const std::filesystem::path &file);

/* Name, system, kernel, processors, memory, since when. */
Facts host_facts(const std::filesystem::path &root);
/* Modules of RDS with their versions and parameters: rows of name, version, parameters. */
Json module_rows(const std::filesystem::path &root);
/* Of RDS by name, and those of TCP and of sockets that matter to it. */
Facts settings(const std::filesystem::path &root);
/* Rows of name, kind ("network" or "RDMA"), state, details. */
Json device_rows(const std::filesystem::path &root);

} // namespace rdstools

#endif
