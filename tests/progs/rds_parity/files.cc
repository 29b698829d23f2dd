// SPDX-License-Identifier: GPL-2.0
/* The modules as /proc and /sys show them, and as modinfo does. */
#include "scene.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace rdstest
{

namespace
{

namespace fs = std::filesystem;

std::string firstLine(const fs::path &path)
{
	std::ifstream file(path);
	std::string line;

	if (!std::getline(file, line))
		return file.eof() && !file.bad() ? "(empty)" : "(unreadable)";
	std::replace(line.begin(), line.end(), '\t', ' ');
	return line;
}

std::string mode(const fs::path &path)
{
	struct stat status {
	};
	char text[10];

	if (stat(path.c_str(), &status) < 0)
		return describe(-errno);
	std::snprintf(text, sizeof(text), "%04o", status.st_mode & 07777);
	return text;
}

/* Names, values and rights of all files below a directory. */
void tellTree(Out &out, const fs::path &top, bool values)
{
	std::vector<fs::path> files;
	std::error_code error;

	for (const auto &entry : fs::recursive_directory_iterator(top, error))
		files.push_back(entry.path());
	std::sort(files.begin(), files.end());
	for (const fs::path &file : files) {
		const std::string name = file.lexically_relative(top);

		out(name + " mode", mode(file));
		if (values && fs::is_regular_file(file))
			out(name, firstLine(file));
	}
	out("exists", fs::exists(top) ? "yes" : "no");
}

/* The whole line of modinfo; empty when it knows nothing. */
std::vector<std::string> modinfo(const std::string &module, const std::string &field)
{
	const std::string command = "modinfo -F " + field + " " + module + " 2>/dev/null";
	std::vector<std::string> lines;
	char line[1000];
	FILE *pipe = popen(command.c_str(), "r");

	while (pipe && std::fgets(line, sizeof(line), pipe))
		lines.emplace_back(line, std::string(line).find_last_not_of('\n') + 1);
	if (pipe)
		pclose(pipe);
	std::sort(lines.begin(), lines.end());
	return lines;
}

void addModules(Facts &facts)
{
	for (const std::string module : {"rds", "rds_tcp", "rds_rdma"}) {
		facts.many("files/modinfo/" + module, [module](Out &out) {
			for (const char *field : {"alias", "depends", "softdep", "license",
						  "version", "author", "description"}) {
				std::string all;

				for (const std::string &line : modinfo(module, field))
					all += (all.empty() ? "" : "; ") + line;
				out(field, all.empty() ? "(none)" : all);
			}
			/* A line for each: ours may have more. */
			for (const std::string &line : modinfo(module, "parm")) {
				const size_t colon = line.find(':');
				const size_t kind = line.rfind('(');

				out("parm " + line.substr(0, colon),
				    kind == std::string::npos ? "" : line.substr(kind));
			}
		});
		facts.many("files/module/" + module, [module](Out &out) {
			const fs::path top = "/sys/module/" + module;

			tellTree(out, top / "parameters", true);
			out("version",
			    fs::exists(top / "version") ? firstLine(top / "version") : "(none)");
			out("loaded", fs::exists(top) ? "yes" : "no");
		});
	}
}

} // namespace

void addFiles(Facts &facts)
{
	facts.many("files/sysctl", [](Out &out) { tellTree(out, "/proc/sys/net/rds", true); });
	facts.many("files/net", [](Out &out) {
		tellTree(out, "/proc/self/net/rds", false);
		for (const char *name : {"rds_sockets", "rds_conn", "rds_info", "pf_rds"})
			out(name,
			    fs::exists(fs::path("/proc/self/net") / name) ? "exists" : "absent");
	});
	/* protocol size sockets memory press maxhdr slab module, then which calls it has */
	facts.at("loop", "files/protocols", [](const Place &place, Out &out) {
		const Fd fd = bindRds(place.near);
		std::ifstream file("/proc/self/net/protocols");
		std::string line;

		while (std::getline(file, line)) {
			std::istringstream words(line);
			std::vector<std::string> word;

			for (std::string one; words >> one;)
				word.push_back(one);
			if (word.empty() || word[0] != "RDS")
				continue;
			out("name", word[0]);
			out("memory", word[3] == "-1" ? "not counted" : "counted");
			out("pressure", word[4]);
			out("largest header", word[5]);
			out("slab", word[6]);
			out("module", word[7]);
			std::string calls;
			for (size_t i = 8; i < word.size(); ++i)
				calls += word[i];
			out("calls", calls);
		}
	});
	addModules(facts);
}

} // namespace rdstest
