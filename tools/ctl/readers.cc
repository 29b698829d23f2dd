// SPDX-License-Identifier: GPL-2.0
#include "readers.h"

#include <algorithm>

namespace rdstools
{

namespace
{

bool is_slower(const Json &a, const Json &b)
{
	return a["unread-ms"].get<std::uint64_t>() > b["unread-ms"].get<std::uint64_t>();
}

} // namespace

Readers::Readers(const Json &sockets, Owners &owners)
{
	std::map<Json, Json> slowest;
	Json found = Json::array();

	for (const Json &socket : sockets)
		if (socket["unread-ms"].is_number() && socket["local"].is_string()) {
			auto [at, is_new] = slowest.emplace(socket["local"], socket);

			if (!is_new && is_slower(socket, at->second))
				at->second = socket;
		}
	for (const auto &[local, socket] : slowest)
		found.push_back(socket);
	if (found.empty())
		return;
	for (const Json &row : owners.of(found)) {
		Json reader = Json::object();

		for (const char *field : {"local", "local-port", "unread-ms", "uid", "program"})
			reader[field] = row[field];
		by_address_.emplace(row["local"], std::move(reader));
	}
}

Json Readers::of(const Json &local) const
{
	const auto found = by_address_.find(local);

	return found == by_address_.end() ? Json(nullptr) : found->second;
}

Json Readers::slowest() const
{
	const auto worst = std::ranges::min_element(by_address_, is_slower,
						    &std::map<Json, Json>::value_type::second);

	return worst == by_address_.end() ? Json(nullptr) : worst->second;
}

Json Readers::with(const Json &paths) const
{
	Json rows = paths;

	for (Json &row : rows)
		row["slowest-reader"] = of(row["local"]);
	return rows;
}

} // namespace rdstools
