// SPDX-License-Identifier: GPL-2.0
#include "matrix.h"

#include <algorithm>

#include "../lib/cli.h"
#include "../lib/text.h"

namespace rdstools
{

namespace
{

/* A member of a row of the result; not a number: not known. */
std::optional<double> figure(const Json &result, const char *row, const char *column)
{
	auto found = result.find(row);

	if (found == result.end() || !found->is_object())
		return std::nullopt;

	auto value = found->find(column);

	if (value == found->end() || !value->is_number())
		return std::nullopt;
	return value->get<double>();
}

Json number(const std::optional<double> &value)
{
	return value ? Json(*value) : Json(nullptr);
}

const char *name_of(Pair::State state)
{
	switch (state) {
	case Pair::State::measured:
		return "measured";
	case Pair::State::failed:
		return "failed";
	case Pair::State::open:
		break;
	}
	return "open";
}

std::string reason_of(const Measured &measured)
{
	if (!measured.reason.empty())
		return measured.reason;
	return measured.result.is_object() ? "messages are missing" : "no reason was given";
}

} // namespace

std::vector<Host> parse_hosts(const std::vector<std::string> &names)
{
	std::vector<Host> hosts;

	if (names.size() < 2 || names.size() > most_hosts)
		throw Error(
			format("a matrix is of 2 to %zu hosts, not %zu", most_hosts, names.size()));
	for (const std::string &name : names) {
		const Address address = parse_address(name);
		auto same = std::ranges::find_if(hosts, [&](const Host &other) {
			return other.address.same_host(address) &&
			       other.address.scope() == address.scope();
		});

		if (same != hosts.end())
			throw Error(format("'%s' and '%s' are the same host", same->name.c_str(),
					   name.c_str()));
		hosts.push_back({name, address, {}});
	}
	return hosts;
}

Matrix::Matrix(std::vector<Host> hosts, const Plan &plan, double seconds)
	: hosts_(std::move(hosts)), plan_(plan), seconds_(seconds)
{
	plan_.one_sided = true;
	for (std::size_t from = 0; from < hosts_.size(); from++) {
		for (std::size_t to = 0; to < hosts_.size(); to++) {
			if (from == to)
				continue;
			Pair &pair = pairs_.emplace_back();
			pair.from = from;
			pair.to = to;
		}
	}
}

const Pair &Matrix::pair(std::size_t from, std::size_t to) const
{
	return pairs_.at(from * (hosts_.size() - 1) + to - (to > from));
}

std::size_t Matrix::count(Pair::State state) const
{
	return static_cast<std::size_t>(std::ranges::count(pairs_, state, &Pair::state));
}

int Matrix::status() const
{
	return count(Pair::State::measured) == pairs_.size() ? exit_ok : exit_failed;
}

void Matrix::run(const MatrixCalls &calls)
{
	for (Host &host : hosts_) {
		if (calls.stopped())
			return;
		try {
			calls.check(host);
		} catch (const Error &error) {
			host.gone = error.what();
		}
	}
	for (std::size_t i = 0; i < pairs_.size() && !calls.stopped(); i++)
		measure(pairs_[i], calls, i + 1);
}

void Matrix::measure(Pair &pair, const MatrixCalls &calls, std::size_t number)
{
	Host &from = hosts_[pair.from];
	const Host &to = hosts_[pair.to];

	try {
		for (const Host *host : {static_cast<const Host *>(&from), &to})
			if (!host->gone.empty())
				throw Error(host->name + ": " + host->gone);
		pair.asked = true;
		take(pair, calls.measure(from, to, number));
	} catch (const HostGone &error) {
		pair.asked = false;
		from.gone = error.what();
		pair.reason = from.name + ": " + error.what();
	} catch (const Error &error) {
		pair.reason = error.what();
	}
	/* A test that a signal has ended says nothing of the pair. */
	if (pair.state == Pair::State::open && !calls.stopped())
		pair.state = Pair::State::failed;
}

void Matrix::take(Pair &pair, Measured measured) const
{
	if (measured.status != exit_ok)
		pair.reason = reason_of(measured);
	pair.result = std::move(measured.result);
	if (measured.status != exit_ok)
		return;

	const auto requests = figure(pair.result, "peer_total", "rx_rate");

	if (!requests)
		throw PeerError("the result has no rate of the other side");
	pair.mbytes = *requests * static_cast<double>(plan_.request_bytes) / 1e6;
	if (!plan_.oneway)
		pair.p99_usec = figure(pair.result, "total", "rtt_p99_usec");
	pair.state = Pair::State::measured;
}

Json Matrix::json() const
{
	Json hosts = Json::array(), pairs = Json::array();

	for (const Host &host : hosts_)
		hosts.push_back({{"name", host.name},
				 {"address", host.address.host()},
				 {"gone", host.gone.empty() ? Json(nullptr) : Json(host.gone)}});
	for (const Pair &pair : pairs_)
		pairs.push_back({{"from", hosts_[pair.from].name},
				 {"to", hosts_[pair.to].name},
				 {"state", name_of(pair.state)},
				 {"reason", pair.state == Pair::State::failed ? Json(pair.reason)
									      : Json(nullptr)},
				 {"mbytes_rate", number(pair.mbytes)},
				 {"rtt_p99_usec", number(pair.p99_usec)},
				 {"result", pair.result}});
	return {{"type", "matrix"},
		{"version", matrix_json_version},
		{"seconds", seconds_},
		{"plan", plan_.json()},
		{"measured", count(Pair::State::measured)},
		{"failed", count(Pair::State::failed)},
		{"open", count(Pair::State::open)},
		{"hosts", hosts},
		{"pairs", pairs}};
}

} // namespace rdstools
