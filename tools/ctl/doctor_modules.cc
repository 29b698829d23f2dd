// SPDX-License-Identifier: GPL-2.0
/* Modules: those that are loaded, and those that lie on disk for the kernel that runs. */
#include "doctor_checks.h"

#include <algorithm>
#include <sstream>

#include "host.h"

namespace rdstools
{

namespace
{

namespace fs = std::filesystem;

std::optional<std::string> version_of(const Evidence &e, const std::string &module)
{
	return first_line(e.root / "sys/module" / module / "version");
}

/* Transports that are loaded. */
std::vector<std::string> loaded_transports(const Evidence &e)
{
	std::vector<std::string> loaded;

	for (const std::string name : rds_modules)
		if (name != "rds" && is_loaded(e, name))
			loaded.push_back(name);
	return loaded;
}

void look_at_versions(const Evidence &e, Findings &found)
{
	const auto version = version_of(e, "rds");

	for (const std::string &name : loaded_transports(e))
		if (const auto has = version_of(e, name); has != version)
			found.push_back(
				{"modules", true,
				 name + " is of another version than rds: " + has.value_or("none") +
					 ", " + version.value_or("none"),
				 "modules of one version go together",
				 "modprobe -r " + name + " && modprobe " + name});
	if (loaded_transports(e).empty())
		found.push_back({"modules", true, "no transport is loaded",
				 "sockets cannot be bound, and nobody is reached",
				 "modprobe rds_tcp"});
}

/* ---- on disk ---- */

/* A module's file, which may be compressed. */
bool is_rds(const fs::path &file)
{
	const std::string name = file.filename();

	return std::ranges::any_of(
		std::initializer_list<const char *>{"", ".xz", ".zst", ".gz"},
		[&](const char *packed) { return name == std::string("rds.ko") + packed; });
}

/* Directories with an rds that is not the kernel's own, below that of the kernel's modules. */
std::vector<std::string> sets_of(const Evidence &e)
{
	const fs::path all = e.root / "lib/modules" /
			     first_line(e.root / "proc/sys/kernel/osrelease").value_or("?");
	std::vector<std::string> sets;
	std::error_code none;

	/* Links, as those to the kernel's sources, are not followed. */
	for (fs::recursive_directory_iterator
		     at(all, fs::directory_options::skip_permission_denied, none),
	     end;
	     !none && at != end; at.increment(none)) {
		if (!at.depth() && at->path().filename() == "kernel")
			at.disable_recursion_pending();
		else if (is_rds(at->path()))
			sets.push_back(at->path().parent_path().lexically_relative(all));
	}
	std::ranges::sort(sets);
	sets.erase(std::unique(sets.begin(), sets.end()), sets.end());
	return sets;
}

void look_at_sets(const std::vector<std::string> &sets, Findings &found)
{
	std::string names;

	if (sets.size() < 2)
		return;
	for (const std::string &set : sets)
		names += (names.empty() ? "" : ", ") + set;
	/* By make install they lie right in updates. */
	found.push_back({"modules", false,
			 std::to_string(sets.size()) + " sets of modules are installed: " + names,
			 "modprobe takes one of them, and an upgrade of the other changes nothing; "
			 "where they get mixed a transport is not loaded",
			 std::ranges::find(sets, "updates") != sets.end()
				 ? "make uninstall"
				 : "modinfo -n rds rds_tcp rds_loop"});
}

/* The name of a file below the directory of the kernel's modules. */
std::string short_name(const std::string &file)
{
	const std::string all = "lib/modules/";
	const auto at = file.find(all);
	const auto slash =
		at == std::string::npos ? std::string::npos : file.find('/', at + all.size());

	return slash == std::string::npos ? file : file.substr(slash + 1);
}

/* All that is loaded goes, transports before what they need, and the same comes back. */
std::string reload_command(const Evidence &e)
{
	std::string transports;

	for (const std::string &name : loaded_transports(e))
		transports += ' ' + name;
	return "modprobe -r" + transports + " rds && modprobe -a" +
	       (transports.empty() ? " rds" : transports);
}

void tell_of_own(const std::string &name, const std::string &file,
		 const std::vector<std::string> &sets, Findings &found)
{
	found.push_back({"modules", false,
			 "modprobe would take the kernel's own " + name + ": " + file,
			 "what is loaded goes on, and after the next boot mainline's runs in its "
			 "place",
			 sets.empty() ? "make install" : "depmod"});
}

/* The file that modprobe would take is another than what is loaded: the first such module's. */
void look_at_files(const Evidence &e, const std::vector<std::string> &sets, Findings &found)
{
	for (const std::string name : rds_modules) {
		const auto at = e.files.find(name);

		if (at == e.files.end() || !is_loaded(e, name))
			continue;
		const ModuleFile &file = at->second;
		const std::string version = version_of(e, name).value_or("");
		const std::string build =
			first_line(e.root / "sys/module" / name / "srcversion").value_or("");
		const bool same = file.version == version;

		if (same && (file.build == build || file.build.empty() || build.empty()))
			continue;
		if (const std::string where = short_name(file.name); where.starts_with("kernel/"))
			tell_of_own(name, where, sets, found);
		else
			found.push_back(
				{"modules", false,
				 name + " " + (version.empty() ? "?" : version) +
					 " is loaded, and modprobe would take " +
					 (same ? "another build of it"
					       : (file.version.empty() ? "?" : file.version)) +
					 ": " + where,
				 same ? "what was changed in it does not run before it is loaded"
				      : "it does not run before it is loaded, and until then a "
					"transport that is not loaded cannot be",
				 reload_command(e)});
		return;
	}
}

} // namespace

ModuleFile module_file(const std::string &modinfo)
{
	std::istringstream in(modinfo);
	std::string field;
	ModuleFile file;

	while (std::getline(in, field, '\0')) {
		const auto end = field.find_first_of("=:");

		if (end == std::string::npos)
			continue;
		const std::string key = field.substr(0, end);
		const auto begin = field.find_first_not_of(' ', end + 1);
		const std::string value = begin == std::string::npos ? "" : field.substr(begin);

		if (key == "filename")
			file.name = value;
		else if (key == "version")
			file.version = value;
		else if (key == "srcversion")
			file.build = value;
	}
	return file;
}

void look_at_modules(const Evidence &e, Findings &found)
{
	const std::vector<std::string> sets = sets_of(e);

	look_at_sets(sets, found);
	if (!is_loaded(e, "rds")) {
		found.push_back({"modules", true, "rds is not loaded",
				 "no program of this host can open an RDS socket, and no peer "
				 "reaches it",
				 "modprobe rds_tcp"});
		return;
	}
	if (!fs::exists(e.root / "proc/net/rds")) {
		found.push_back(
			{"modules", true, "the rds that is loaded is not this project's",
			 "it has none of the guarantees of rds(7), and this tool cannot look "
			 "into it",
			 "modprobe -r rds_tcp rds_rdma rds; modprobe rds_tcp"});
		return;
	}
	look_at_versions(e, found);
	look_at_files(e, sets, found);
}

} // namespace rdstools
