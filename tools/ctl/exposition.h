/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Metrics as text that Prometheus reads: its own format (version 0.0.4), which node_exporter's
 * textfile collector takes, or OpenMetrics 1.0.
 */
#ifndef RDSCTL_EXPOSITION_H
#define RDSCTL_EXPOSITION_H

#include <cstdint>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rdstools
{

/* A counter only grows, and its samples end in _total; those of an info in _info, and are 1. */
enum class MetricType { counter, gauge, info };

struct Sample {
	std::vector<std::pair<const char *, std::string>> labels;
	std::string value;
};

struct Family {
	std::string name; /* without what its type adds */
	MetricType type;
	std::string help; /* a sentence of one line */
	std::vector<Sample> samples = {};

	Family &add(std::uint64_t value, decltype(Sample::labels) labels = {});
	Family &add_seconds(std::uint64_t milliseconds, decltype(Sample::labels) labels = {});
	/* In seconds, too. */
	Family &add_microseconds(std::uint64_t time, decltype(Sample::labels) labels = {});
	/* As its samples have it. */
	std::string sample_name() const;
};

enum class Exposition { prometheus, openmetrics };

/* Each family once: what it is, and its samples. One without samples is left out. */
void write_families(std::ostream &out, const std::vector<Family> &families, Exposition format);

/* @text with no character that a name of a metric may not have. */
std::string legal_name(std::string_view text);

} // namespace rdstools

#endif
