/* SPDX-License-Identifier: GPL-2.0 */
/*
 * HTML that is well-formed XML as well.  Text and values of attributes go through escape() always,
 * for names, reasons and addresses are whatever a peer, or another user, has chosen.
 */
#ifndef RDSCTL_HTML_H
#define RDSCTL_HTML_H

#include <initializer_list>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rdstools
{

/* UTF-8 without markup: a byte that no UTF-8 has there, or a control character, is U+FFFD. */
std::string escape(std::string_view text);

class Html
{
public:
	using Attributes = std::initializer_list<std::pair<const char *, std::string>>;

	/* Begins the document; all that is open at the end is closed. */
	explicit Html(std::ostream &out);
	~Html();
	Html(const Html &) = delete;
	Html &operator=(const Html &) = delete;

	void text(std::string_view text);
	/* With a text, or nothing, in it. */
	void element(const char *tag, Attributes attributes, std::string_view text = {});
	/* A sheet of ours; there is no way for anybody's text to get here. */
	void style(const char *sheet);

	/* An element as long as this one lives. */
	class Inside
	{
	public:
		Inside(Html &html, const char *tag, Attributes attributes = {}) : html_(html)
		{
			html_.open(tag, attributes);
		}
		~Inside()
		{
			html_.close();
		}
		Inside(const Inside &) = delete;
		Inside &operator=(const Inside &) = delete;

	private:
		Html &html_;
	};

private:
	void open(const char *tag, Attributes attributes);
	void close();
	void begin(const char *tag, Attributes attributes);

	std::ostream &out_;
	std::vector<const char *> open_;
};

} // namespace rdstools

#endif
