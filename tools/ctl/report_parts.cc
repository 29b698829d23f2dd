// SPDX-License-Identifier: GPL-2.0
#include "report_parts.h"

#include <algorithm>

#include "../lib/text.h"

namespace rdstools
{

namespace
{

using Inside = Html::Inside;

void write_row(Html &html, const std::vector<Head> &heads, const Row &row)
{
	Inside tr(html, "tr");

	for (std::size_t at = 0; at < heads.size(); at++) {
		std::string kind = heads[at].kind;

		if (row[at].text == "-" || row[at].text.empty())
			kind += " unknown";
		Inside td(html, "td", {{"class", kind}, {"data-name", heads[at].name}});
		if (row[at].tag)
			html.element("span", {{"class", std::string("tag ") + row[at].tag}},
				     row[at].text);
		else
			html.element("span", {}, row[at].text);
	}
}

void write_rows(Html &html, const std::vector<Head> &heads, const std::vector<Row> &rows,
		std::size_t first, std::size_t end)
{
	Inside table(html, "table", {{"class", heads.size() > 3 ? "wide" : "narrow"}});
	{
		Inside head(html, "thead"), tr(html, "tr");

		for (const Head &h : heads)
			html.element("th", {{"class", h.kind}, {"scope", "col"}}, h.name);
	}
	Inside body(html, "tbody");
	for (std::size_t at = first; at < end; at++)
		write_row(html, heads, rows[at]);
}

void write_bars(Html &html, const std::vector<Bar> &bars)
{
	double most = 0;

	for (const Bar &bar : bars)
		most = std::max(most, bar.value);
	Inside all(html, "div", {{"class", "bars"}});
	for (const Bar &bar : bars) {
		html.element("span", {{"class", "mono"}}, bar.name);
		{
			Inside ground(html, "i");

			html.element("i",
				     {{"style", format("width:%.1f%%",
						       most > 0 ? 100 * bar.value / most : 0.0)}});
		}
		html.element("span", {}, bar.text);
	}
}

} // namespace

void write_table(Html &html, const std::vector<Head> &heads, const std::vector<Row> &rows,
		 const char *nothing, std::size_t shown)
{
	const std::size_t open = std::min(rows.size(), shown);
	Inside card(html, "div", {{"class", "card"}});

	if (rows.empty())
		html.element("p", {{"class", "muted"}}, nothing);
	if (open)
		write_rows(html, heads, rows, 0, open);
	if (open == rows.size())
		return;
	Inside details(html, "details");
	html.element("summary", {},
		     open ? format("%zu more", rows.size() - open)
			  : format("show all %zu", rows.size()));
	write_rows(html, heads, rows, open, rows.size());
}

void write_facts(Html &html, const Facts &facts, const char *name, std::size_t shown)
{
	std::vector<Row> rows;

	for (const auto &[key, value] : facts)
		rows.push_back({{key}, {value}});
	write_table(html, {{name, "address"}, {"Value", ""}}, rows, "None can be read.", shown);
}

void write_chart(Html &html, const char *title, const std::vector<Bar> &bars, const char *nothing)
{
	Inside card(html, "div", {{"class", "card"}});

	html.element("p", {}, title);
	if (bars.empty())
		html.element("p", {{"class", "muted"}}, nothing);
	else
		write_bars(html, bars);
}

} // namespace rdstools
