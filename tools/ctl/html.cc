// SPDX-License-Identifier: GPL-2.0
#include "html.h"

#include <cstdint>

namespace rdstools
{

namespace
{

constexpr std::string_view replacement = "\xef\xbf\xbd";

/* Elements that are written without an end. */
bool is_void(std::string_view tag)
{
	return tag == "meta" || tag == "br" || tag == "path" || tag == "rect" || tag == "circle" ||
	       tag == "line";
}

/* The bytes of the character that @text begins with; 0: it is none, or none that XML allows. */
std::size_t character(std::string_view text)
{
	const auto first = static_cast<unsigned char>(text[0]);
	const std::size_t size = first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
	std::uint32_t code = size == 1 ? first : first & (0x7fu >> size);

	if ((first >= 0x80 && first < 0xc2) || first > 0xf4 || text.size() < size)
		return 0;
	for (std::size_t at = 1; at < size; at++) {
		const auto byte = static_cast<unsigned char>(text[at]);

		if ((byte & 0xc0) != 0x80)
			return 0;
		code = code << 6 | (byte & 0x3fu);
	}
	if ((size == 3 && code < 0x800) || (size == 4 && code < 0x10000) || code > 0x10ffff)
		return 0;
	if ((code < 0x20 && code != '\n' && code != '\t') || (code >= 0x7f && code < 0xa0) ||
	    (code >= 0xd800 && code < 0xe000) || (code & 0xfffe) == 0xfffe)
		return 0;
	/* Nor marks that turn the direction of what comes after them. */
	return (code >= 0x202a && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069) ? 0 : size;
}

std::string_view entity(char c)
{
	switch (c) {
	case '&':
		return "&amp;";
	case '<':
		return "&lt;";
	case '>':
		return "&gt;";
	case '"':
		return "&quot;";
	case '\'':
		return "&#39;";
	default:
		return {};
	}
}

} // namespace

std::string escape(std::string_view text)
{
	std::string safe;

	while (!text.empty()) {
		const std::size_t size = character(text);

		if (!size)
			safe += replacement;
		else if (const std::string_view e = entity(text[0]); !e.empty())
			safe += e;
		else
			safe += text.substr(0, size);
		text.remove_prefix(size ? size : 1);
	}
	return safe;
}

Html::Html(std::ostream &out) : out_(out)
{
	out_ << "<!DOCTYPE html>\n";
	open("html", {{"xmlns", "http://www.w3.org/1999/xhtml"}, {"lang", "en"}});
}

Html::~Html()
{
	while (!open_.empty())
		close();
	out_ << '\n';
}

void Html::begin(const char *tag, Attributes attributes)
{
	out_ << '<' << tag;
	for (const auto &[name, value] : attributes)
		out_ << ' ' << name << "=\"" << escape(value) << '"';
}

void Html::open(const char *tag, Attributes attributes)
{
	begin(tag, attributes);
	out_ << '>';
	open_.push_back(tag);
}

void Html::close()
{
	out_ << "</" << open_.back() << ">";
	open_.pop_back();
	if (open_.size() < 4)
		out_ << '\n';
}

void Html::text(std::string_view text)
{
	out_ << escape(text);
}

void Html::element(const char *tag, Attributes attributes, std::string_view text)
{
	begin(tag, attributes);
	if (is_void(tag))
		out_ << "/>";
	else
		out_ << '>' << escape(text) << "</" << tag << '>';
}

void Html::style(const char *sheet)
{
	out_ << "<style>\n" << sheet << "</style>\n";
}

} // namespace rdstools
