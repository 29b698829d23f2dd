// SPDX-License-Identifier: GPL-2.0
/* metrics_pages DIR: rdsctl metrics of made-up hosts, for tests that read them. */
#include <fstream>
#include <iostream>

#include "made_up_scrape.h"

using namespace rdstools;

int main(int argc, char **argv)
{
	Scrape restricted = made_up::scrape(3);

	if (argc != 2)
		return 2;
	restricted.paths.reset();
	restricted.sockets.reset();
	for (const auto &[name, scrape] :
	     {std::pair("none", Scrape{}), std::pair("all", made_up::scrape(300)),
	      std::pair("restricted", restricted), std::pair("hostile", made_up::hostile_scrape())})
		for (const auto &[ending, format] :
		     {std::pair("prom", Exposition::prometheus),
		      std::pair("openmetrics", Exposition::openmetrics)}) {
			std::ofstream out(std::string(argv[1]) + "/" + name + "." + ending);

			write_families(out, metrics_of(scrape, true), format);
			if (!out)
				return 1;
			std::cout << name << '.' << ending << '\n';
		}
	return 0;
}
