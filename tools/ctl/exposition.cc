// SPDX-License-Identifier: GPL-2.0
#include "exposition.h"

#include <algorithm>

#include "../lib/table.h"
#include "../lib/text.h"

namespace rdstools
{

namespace
{

/* UTF-8: a byte that has no place there is U+FFFD. */
std::string utf8(const std::string &text)
{
	const Json any(text);

	return Json::parse(any.dump(-1, ' ', false, Json::error_handler_t::replace))
		.get<std::string>();
}

/* Prometheus's own format has no escape for a quote but between quotes. */
std::string escaped(const std::string &text, bool quotes)
{
	std::string out;

	for (const char c : utf8(text)) {
		if (c == '\\' || (c == '"' && quotes))
			out += '\\';
		if (c == '\n')
			out += "\\n";
		else
			out += c;
	}
	return out;
}

const char *suffix(MetricType type)
{
	switch (type) {
	case MetricType::counter:
		return "_total";
	case MetricType::info:
		return "_info";
	case MetricType::gauge:
		break;
	}
	return "";
}

/* Prometheus's own format knows no infos. */
const char *type_word(MetricType type, Exposition format)
{
	if (type == MetricType::counter)
		return "counter";
	return type == MetricType::info && format == Exposition::openmetrics ? "info" : "gauge";
}

/* OpenMetrics wants to be told what the name ends in. */
std::string unit_of(const std::string &name)
{
	for (const char *unit : {"bytes", "seconds"})
		if (name.ends_with(std::string("_") + unit))
			return unit;
	return {};
}

void write_sample(std::ostream &out, const std::string &name, const Sample &sample)
{
	const char *before = "{";

	out << name;
	for (const auto &[label, value] : sample.labels) {
		out << before << label << "=\"" << escaped(value, true) << '"';
		before = ",";
	}
	out << (sample.labels.empty() ? " " : "} ") << sample.value << '\n';
}

} // namespace

Family &Family::add(std::uint64_t value, decltype(Sample::labels) labels)
{
	samples.push_back({std::move(labels), std::to_string(value)});
	return *this;
}

Family &Family::add_seconds(std::uint64_t milliseconds, decltype(Sample::labels) labels)
{
	samples.push_back({std::move(labels),
			   format("%llu.%03u", static_cast<unsigned long long>(milliseconds / 1000),
				  static_cast<unsigned>(milliseconds % 1000))});
	return *this;
}

Family &Family::add_microseconds(std::uint64_t time, decltype(Sample::labels) labels)
{
	samples.push_back({std::move(labels),
			   format("%llu.%06u", static_cast<unsigned long long>(time / 1000000),
				  static_cast<unsigned>(time % 1000000))});
	return *this;
}

std::string Family::sample_name() const
{
	return name + suffix(type);
}

void write_families(std::ostream &out, const std::vector<Family> &families, Exposition format)
{
	const bool open = format == Exposition::openmetrics;

	for (const Family &family : families) {
		const std::string name = open ? family.name : family.sample_name();
		const std::string unit = unit_of(family.name);

		if (family.samples.empty())
			continue;
		out << "# TYPE " << name << ' ' << type_word(family.type, format) << '\n';
		if (open && !unit.empty())
			out << "# UNIT " << name << ' ' << unit << '\n';
		out << "# HELP " << name << ' ' << escaped(family.help, open) << '\n';
		for (const Sample &sample : family.samples)
			write_sample(out, family.sample_name(), sample);
	}
	if (open)
		out << "# EOF\n";
}

std::string legal_name(std::string_view text)
{
	std::string name(text);

	std::ranges::replace_if(
		name,
		[](char c) {
			return !((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
				 (c >= '0' && c <= '9') || c == '_');
		},
		'_');
	return name;
}

} // namespace rdstools
