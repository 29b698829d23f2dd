// SPDX-License-Identifier: GPL-2.0
#include "filter.h"

#include <algorithm>
#include <charconv>

#include "../lib/text.h"
#include "field.h"

namespace rdstools
{

namespace
{

std::string names_of(std::span<const Field> fields)
{
	std::string names;

	for (const Field &field : fields)
		names += (names.empty() ? "" : ", ") + std::string(field.name);
	return names;
}

std::uint64_t parse_number(const Field &field, const std::string &word)
{
	std::uint64_t number = 0;
	auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);

	if (error != std::errc() || end != word.data() + word.size())
		throw Error(format("%s wants a number, not '%s'", field.name, word.c_str()));
	return number;
}

/* @bytes begin as those of @prefix do; IPv4 is mapped, so its lengths begin at 96. */
bool is_in(const Prefix &prefix, const Address &address)
{
	if (prefix.addr.family() != address.family())
		return false;
	const in6_addr a = prefix.addr.bytes(), b = address.bytes();
	unsigned len = prefix.len + (address.family() == AF_INET ? 96 : 0);

	for (unsigned at = 0; at < len; at++)
		if ((a.s6_addr[at / 8] ^ b.s6_addr[at / 8]) >> (7 - at % 8) & 1)
			return false;
	return true;
}

/* A transport has its short name, too: that of SO_RDS_TRANSPORT's constants. */
std::string full_name(const Field &field, const std::string &word)
{
	if (std::string_view(field.name) != "transport")
		return word;
	return word == "ib" ? "infiniband" : word == "loop" ? "loopback" : word;
}

} // namespace

Filter::Filter(std::vector<std::string> words, std::span<const Field> fields)
{
	if (!words.empty() && words.front() == "show")
		words.erase(words.begin());
	for (std::size_t at = 0; at < words.size(); at += 2) {
		auto found = std::ranges::find(fields, words[at], &Field::name);

		if (found == fields.end())
			throw Error(format("'%s' is none of %s", words[at].c_str(),
					   names_of(fields).c_str()));
		if (at + 1 == words.size())
			throw Error(format("%s wants a value", words[at].c_str()));
		wishes_.push_back(wish(*found, words[at + 1]));
	}
}

Filter::Wish Filter::wish(const Field &field, const std::string &word)
{
	Wish w = {&field, full_name(field, word), {}, 0, false};

	switch (field.kind) {
	case Kind::address:
		w.prefix = parse_prefix(word);
		break;
	case Kind::flag:
		if (word != "yes" && word != "no")
			throw Error(format("%s is yes or no, not '%s'", field.name, word.c_str()));
		break;
	case Kind::choice:
		if (std::ranges::find(field.choices, w.word, [](const char *c) {
			    return std::string(c);
		    }) == field.choices.end())
			throw Error(format("%s is never '%s'", field.name, word.c_str()));
		break;
	case Kind::text:
		break;
	default:
		w.at_least = word.starts_with('+');
		w.number = parse_number(field, word.substr(w.at_least ? 1 : 0));
	}
	return w;
}

bool Filter::matches(const Wish &w, const Json &value)
{
	auto fits = [&](std::uint64_t number) {
		return w.at_least ? number >= w.number : number == w.number;
	};

	if (value.is_null())
		return false;
	switch (w.field->kind) {
	case Kind::address:
		return is_in(w.prefix, numeric_address(value.get<std::string>()));
	case Kind::flag:
		return value.get<bool>() == (w.word == "yes");
	case Kind::text:
	case Kind::choice:
		return value.is_string() && value.get<std::string>() == w.word;
	case Kind::ports:
		return std::ranges::any_of(
			value, [&](const Json &port) { return fits(port.get<std::uint64_t>()); });
	case Kind::port_rows:
		return std::ranges::any_of(
			value, [&](const Json &port) { return fits(number(port["port"])); });
	default:
		return fits(value.get<std::uint64_t>());
	}
}

bool Filter::shows(const Json &row) const
{
	return std::ranges::all_of(
		wishes_, [&](const Wish &w) { return matches(w, row.at(w.field->name)); });
}

Json Filter::of(const Json &rows) const
{
	Json shown = Json::array();

	std::ranges::copy_if(rows, std::back_inserter(shown),
			     [this](const Json &row) { return shows(row); });
	return shown;
}

} // namespace rdstools
