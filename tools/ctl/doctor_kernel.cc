// SPDX-License-Identifier: GPL-2.0
#include "doctor_checks.h"

#include <fstream>
#include <sstream>

#include "host.h"

namespace rdstools
{

namespace
{

namespace fs = std::filesystem;

/* Options that a kernel can have, and that cost every message much. */
struct Costly {
	const char *option, *what;
};

constexpr Costly costly[] = {
	{"CONFIG_KASAN", "checks every access to memory"},
	{"CONFIG_KMSAN", "checks every access to memory"},
	{"CONFIG_KCSAN", "watches accesses to memory for races"},
	{"CONFIG_PROVE_LOCKING", "checks the order of every lock"},
	{"CONFIG_DEBUG_KMEMLEAK", "notes every allocation"},
	{"CONFIG_SLUB_DEBUG_ON", "checks every object that is allocated or freed"},
	{"CONFIG_DEBUG_PAGEALLOC_ENABLE_DEFAULT", "unmaps every page that is freed"},
};

std::string text_of(const fs::path &file)
{
	std::ifstream in(file);
	std::ostringstream text;

	text << in.rdbuf();
	return text.str();
}

/* As it was built; empty: it is not known. */
std::string config_of(const Evidence &e)
{
	if (e.config)
		return *e.config;
	return text_of(e.root / "boot" /
		       ("config-" + first_line(e.root / "proc/sys/kernel/osrelease").value_or("")));
}

bool has(const std::string &config, const std::string &option, char how = 'y')
{
	return ("\n" + config).find("\n" + option + "=" + how + "\n") != std::string::npos;
}

void look_at_costs(const std::string &config, Findings &found)
{
	for (const Costly &c : costly)
		if (has(config, c.option))
			found.push_back(
				{"kernel", false,
				 std::string("the kernel has ") + c.option + ": it " + c.what,
				 "each message costs several times as much: a kernel for "
				 "tests, not for use",
				 "apt install linux-image-amd64"});
}

/* Modules that cannot be loaded, and would be missed. */
void look_at_loading(const Evidence &e, const std::string &config, Findings &found)
{
	if (is_loaded(e, "rds"))
		return;
	if (has(config, "CONFIG_RDS"))
		found.push_back({"kernel", true, "the kernel has an rds of its own built in",
				 "the family is taken: this project's modules cannot be loaded",
				 "apt install linux-image-amd64"});
	if (number_of(e, "proc/sys/kernel/modules_disabled").value_or(0))
		found.push_back({"kernel", true, "kernel.modules_disabled is 1",
				 "no module can be loaded before the next boot",
				 "grep -r modules_disabled /etc/sysctl.conf /etc/sysctl.d"});
	if (has(config, "CONFIG_MODULE_SIG_FORCE"))
		found.push_back({"kernel", false, "the kernel takes signed modules only",
				 "DKMS signs with a key of its own, which the firmware has to know",
				 "mokutil --test-key /var/lib/dkms/mok.pub"});
}

} // namespace

void look_at_kernel(const Evidence &e, Findings &found)
{
	const std::string config = config_of(e);
	std::error_code none;

	look_at_loading(e, config, found);
	if (config.empty())
		return;
	look_at_costs(config, found);
	if (!has(config, "CONFIG_TCP_MD5SIG"))
		found.push_back({"kernel", false, "the kernel has no CONFIG_TCP_MD5SIG",
				 "no key of tcp-md5 can be given to a peer", "rdsctl peer list"});
	if (!has(config, "CONFIG_INFINIBAND_ADDR_TRANS") &&
	    !fs::is_empty(e.root / "sys/class/infiniband", none) && !none)
		found.push_back({"kernel", false, "the kernel has no CONFIG_INFINIBAND_ADDR_TRANS",
				 "there are RDMA devices, and no rds_rdma that could use them",
				 "ls /sys/class/infiniband"});
}

} // namespace rdstools
