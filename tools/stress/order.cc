// SPDX-License-Identifier: GPL-2.0
#include "order.h"

#include <charconv>

#include "../lib/error.h"

namespace rdstools
{

OrderPlan parse_order(const std::string &text)
{
	std::size_t colon = text.find(':');
	std::string kind = text.substr(0, colon);
	OrderPlan order;

	order.unordered = colon != std::string::npos || kind == "unordered";
	order.half = kind != "ordered";
	if (colon == std::string::npos && (kind == "ordered" || kind == "unordered"))
		return order;

	const char *end = text.data() + text.size();
	auto [at, error] = std::from_chars(text.data() + colon + 1, end, order.every);

	if (colon == std::string::npos || (kind != "half" && kind != "ordered") ||
	    error != std::errc() || at != end || !order.every || order.every > most_order_every)
		throw Error("'" + text + "' is no order: ordered, unordered, half:N or ordered:N");
	return order;
}

} // namespace rdstools
