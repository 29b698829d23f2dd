// SPDX-License-Identifier: GPL-2.0
/* rdsctl metrics: a look, as text that Prometheus reads. */
#include "look.h"

#include <cerrno>
#include <iostream>
#include <sstream>

#include "../lib/cli.h"
#include "../lib/text.h"
#include "host.h"
#include "metrics.h"
#include "whole_file.h"

namespace rdstools
{

namespace
{

/* A table; nothing: the kernel refuses it to this user. */
std::optional<Json> table(State &state, Json (State::*rows)())
{
	try {
		return (state.*rows)();
	} catch (const Refused &) {
		return {};
	}
}

Scrape scrape()
{
	Scrape s;

	s.modules = module_rows("/");
	try {
		State state;

		s.up = true;
		s.counters = table(state, &State::counters);
		s.paths = table(state, &State::paths);
		/* A user who may not see paths is told of his own sockets alone. */
		if (s.paths)
			s.sockets = table(state, &State::sockets);
	} catch (const Error &error) {
		if (error.code() != ENOENT)
			throw;
	}
	return s;
}

} // namespace

void Look::add_metrics()
{
	CLI::App *metrics =
		add("metrics", "all of this as numbers, for Prometheus", &Look::metrics);

	metrics->add_option("-o,--output", file_, "put them in the place of this file, in one step")
		->type_name("FILE");
	metrics->add_flag("--peers", peers_, "also of each peer, 256 at most");
	metrics->add_flag("--openmetrics", openmetrics_, "by OpenMetrics, not for a textfile");
}

int Look::metrics()
{
	std::ostringstream text;

	if (json_)
		throw Error("metrics are not JSON: rdsctl -j show, path, socket, stats");
	write_families(text, metrics_of(scrape(), peers_),
		       openmetrics_ ? Exposition::openmetrics : Exposition::prometheus);
	if (!file_.empty()) {
		replace_file(file_, text.str(), 0644);
		return exit_ok;
	}
	std::cout << text.str();
	return exit_ok;
}

} // namespace rdstools
