// SPDX-License-Identifier: GPL-2.0
#include "topology.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "../lib/text.h"
#include "field.h"
#include "top.h"

namespace rdstools
{

namespace
{

/* Units of the drawing: a phone is about as wide. */
constexpr int width = 400, local_width = 128, peer_width = 176, box_height = 34, box_step = 42;
constexpr int peer_left = width - peer_width, square_step = 16, square = 12;
constexpr std::size_t address_letters = 17, local_letters = 15, most_locals = 6;
/* A path whose oldest message waits so long is not well. */
constexpr std::uint64_t long_wait_ms = 1000;

std::string state_text(const Host &host)
{
	std::string text = host.up == host.paths ? "up" : host.up ? "partly up" : "not up";

	if (host.paths > 1)
		text = format("%u of %u paths up", host.up, host.paths);
	if (host.waits_ms)
		return text + ", waits " + duration_text(host.waits_ms);
	if (host.unacked)
		return text + ", " + at_most(host.unacked) + " wait";
	if (host.tx + host.rx >= 1)
		return text + ", " + rate_text(host.tx + host.rx) + "B/s";
	return text;
}

std::string title_of(const Host &host)
{
	return host.address + ": " + state_text(host) +
	       format(", sent %sB/s, received %sB/s", rate_text(host.tx).c_str(),
		      rate_text(host.rx).c_str());
}

void draw_box(Html &html, const char *kind, int x, int y, int w, const std::string &name,
	      const std::string &below, const std::string &title, std::size_t letters)
{
	Html::Inside g(html, "g", {{"class", kind}});
	const std::string left = std::to_string(x + 10);

	html.element("title", {}, title);
	html.element("rect", {{"x", std::to_string(x)},
			      {"y", std::to_string(y)},
			      {"width", std::to_string(w)},
			      {"height", std::to_string(box_height)},
			      {"rx", "6"}});
	html.element("text", {{"x", left}, {"y", std::to_string(y + (below.empty() ? 21 : 15))}},
		     shortened(name, letters));
	if (!below.empty())
		html.element("text",
			     {{"class", "small"}, {"x", left}, {"y", std::to_string(y + 28)}},
			     shortened(below, letters + 10));
}

/* From our address at the left to the host's box; thick where much goes. */
void draw_line(Html &html, const Host &host, int from_y, int to_y)
{
	const double all = host.tx + host.rx;
	const double thick = all > 1e8 ? 5 : all > 1e6 ? 3.5 : all > 1e3 ? 2.5 : 1.5;

	html.element("path", {{"class", std::string("link ") + health_class(host.health)},
			      {"d", format("M%d %dC%d %d %d %d %d %d", local_width, from_y,
					   local_width + 48, from_y, peer_left - 48, to_y,
					   peer_left, to_y)},
			      {"stroke-width", format("%.1f", thick)}});
}

void draw_squares(Html &html, const std::vector<Host> &hosts, std::size_t first, int top)
{
	constexpr std::size_t in_row = width / square_step;

	html.element("text", {{"class", "small"}, {"x", "0"}, {"y", std::to_string(top + 12)}},
		     format("%zu more hosts, a square each", hosts.size() - first));
	for (std::size_t at = first; at < hosts.size(); at++) {
		const auto place = static_cast<int>(at - first);
		Html::Inside g(html, "g", {{"class", health_class(hosts[at].health)}});

		html.element("title", {}, title_of(hosts[at]));
		html.element("rect",
			     {{"x", std::to_string(place % static_cast<int>(in_row) * square_step)},
			      {"y", std::to_string(top + 20 +
						   place / static_cast<int>(in_row) * square_step)},
			      {"width", std::to_string(square)},
			      {"height", std::to_string(square)},
			      {"rx", "2"}});
	}
}

/* Heights of the middles of our addresses' boxes, by address. */
std::map<std::string, int> local_places(const std::vector<Host> &hosts, int height)
{
	std::map<std::string, int> places;

	for (const Host &host : hosts)
		for (const std::string &local : host.locals)
			if (places.size() < most_locals)
				places[local] = 0;

	int at = 0;
	height = std::max(height, static_cast<int>(places.size()) * box_step);
	for (auto &[local, y] : places)
		y = height * (2 * at++ + 1) / (2 * static_cast<int>(places.size()));
	return places;
}

int rows_of_squares(std::size_t squares)
{
	constexpr std::size_t in_row = width / square_step;

	return static_cast<int>((squares + in_row - 1) / in_row);
}

} // namespace

const char *health_class(Health health)
{
	switch (health) {
	case Health::good:
		return "good";
	case Health::poor:
		return "poor";
	case Health::bad:
		return "bad";
	case Health::idle:
		return "idle";
	}
	return "idle";
}

Health health_of(const Json &path)
{
	if (path["state"] != "up")
		return number(path["unacked"]) ? Health::bad : Health::idle;
	return number(path["waits-ms"]) >= long_wait_ms || number(path["congested"]) ||
			       number(path["refused"])
		       ? Health::poor
		       : Health::good;
}

std::vector<Host> hosts_of(const Json &paths)
{
	std::map<std::string, Host> hosts;
	std::vector<Host> list;

	for (const Json &path : paths) {
		Host &host = hosts[path["remote"].get<std::string>()];
		const Health health = health_of(path);

		host.address = path["remote"].get<std::string>();
		host.locals.insert(path["local"].get<std::string>());
		host.paths++;
		host.up += path["state"] == "up";
		host.unacked += number(path["unacked"]);
		host.waits_ms = std::max(host.waits_ms, number(path["waits-ms"]));
		host.tx += real(path["tx-bytes-rate"]);
		host.rx += real(path["rx-bytes-rate"]);
		host.health = std::min(host.health, health);
	}
	for (auto &[address, host] : hosts)
		list.push_back(std::move(host));
	std::ranges::stable_sort(
		list, {}, [](const Host &h) { return std::tuple(h.health, -(h.tx + h.rx)); });
	return list;
}

std::string shortened(const std::string &text, std::size_t most)
{
	if (text.size() <= most)
		return text;
	const std::size_t tail = most / 2, head = most - tail - 1;

	return text.substr(0, head) + "\xe2\x80\xa6" + text.substr(text.size() - tail);
}

void draw_topology(Html &html, const std::vector<Host> &hosts)
{
	const std::size_t boxes = std::min(hosts.size(), topology_boxes);
	const int boxes_height = static_cast<int>(boxes) * box_step;
	const auto places = local_places({hosts.begin(), hosts.begin() + static_cast<long>(boxes)},
					 boxes_height);
	const int tall = std::max(boxes_height, static_cast<int>(places.size()) * box_step);
	const std::size_t rest = hosts.size() - boxes;
	const int height = tall + (rest ? 28 + rows_of_squares(rest) * square_step : 0);
	const std::string box = format("-1 0 %d %d", width + 2, height);
	Html::Inside svg(html, "svg",
			 {{"xmlns", "http://www.w3.org/2000/svg"},
			  {"viewBox", box},
			  {"role", "img"},
			  {"aria-label", "hosts that this one speaks to"}});

	for (std::size_t at = 0; at < boxes; at++)
		for (const std::string &local : hosts[at].locals)
			if (auto place = places.find(local); place != places.end())
				draw_line(html, hosts[at], place->second,
					  static_cast<int>(at) * box_step + box_step / 2);
	for (const auto &[local, y] : places)
		draw_box(html, "self", 0, y - box_height / 2, local_width, local, "this host",
			 local, local_letters);
	for (std::size_t at = 0; at < boxes; at++) {
		const Host &host = hosts[at];

		draw_box(html, health_class(host.health), peer_left,
			 static_cast<int>(at) * box_step + (box_step - box_height) / 2, peer_width,
			 host.address, state_text(host), title_of(host), address_letters);
	}
	if (rest)
		draw_squares(html, hosts, boxes, tall);
}

} // namespace rdstools
