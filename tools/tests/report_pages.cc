// SPDX-License-Identifier: GPL-2.0
/* report_pages DIR: rdsctl report's pages of made-up hosts, for tests that read or show them. */
#include <fstream>
#include <iostream>

#include "made_up.h"

using namespace rdstools;

int main(int argc, char **argv)
{
	if (argc != 2)
		return 2;
	for (const auto &[name, report] :
	     {std::pair("none", made_up::none()), std::pair("one", made_up::one()),
	      std::pair("restricted", made_up::restricted()), std::pair("many", made_up::many(200)),
	      std::pair("hostile", made_up::hostile())}) {
		std::ofstream out(std::string(argv[1]) + "/" + name + ".html");

		write_report(out, report);
		if (!out)
			return 1;
		std::cout << name << '\n';
	}
	return 0;
}
