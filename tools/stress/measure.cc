// SPDX-License-Identifier: GPL-2.0
#include "measure.h"

#include <poll.h>

#include <algorithm>

#include "../lib/cli.h"
#include "../lib/text.h"

namespace rdstools
{

namespace
{

constexpr std::uint64_t second = 1000000000;
/* Before the first tick three handshakes are made; each may take its time. */
constexpr std::uint64_t silence_limit = 4 * handshake_patience;
/* The duration grows by these, and by the messages that are under way at the end. */
constexpr std::uint64_t surplus = 9 * handshake_patience;
constexpr int nap_ms = 100;

} // namespace

void check_measure_seconds(double seconds)
{
	/* Written so that what is not a number does not pass. */
	if (!(seconds >= least_measure_seconds && seconds <= most_measure_seconds))
		throw Error(format("a test of a matrix takes %.1f to %.0f seconds, not %g",
				   least_measure_seconds, most_measure_seconds, seconds));
}

Json MeasureRequest::json() const
{
	Address bare = to;

	/* Scope ids are those of this host. */
	bare.set_scope(0);
	return {{"plan", plan.json()},
		{"to", bare.host()},
		{"seconds", static_cast<double>(duration_ns) / 1e9}};
}

MeasureRequest MeasureRequest::from_json(const Json &json)
{
	MeasureRequest request;
	auto seconds = json.find("seconds");

	request.plan = Plan::from_json(json.value("plan", Json::object()));
	request.to = numeric_address(word_of(json, "to"));
	if (seconds == json.end() || !seconds->is_number())
		throw Error("the request has no seconds");
	check_measure_seconds(seconds->get<double>());
	request.duration_ns = static_cast<std::uint64_t>(seconds->get<double>() * 1e9);
	return request;
}

Json Measured::json() const
{
	return {{"status", status}, {"reason", reason}, {"result", result}};
}

Measured Measured::from_json(const Json &json)
{
	Measured measured;
	const auto status = number_of(json, "status", exit_peer);

	if (!status)
		throw PeerError("the other side sends nonsense");
	measured.status = static_cast<int>(*status);
	measured.reason = word_of(json, "reason");
	measured.result = json.value("result", Json());
	if (measured.status == exit_ok && !measured.result.is_object())
		throw PeerError("the other side sends nonsense");
	return measured;
}

void must_serve(const Greeting &greeting)
{
	if (!greeting.serves)
		throw PeerError(format("takes no requests: start rds-stress --serve there "
				       "(this one is version %.32s)",
				       greeting.version.c_str()));
	if (greeting.serves < serves_version)
		throw PeerError(format("takes requests of version %u, not of %u: use the same "
				       "version of rds-stress",
				       greeting.serves, serves_version));
}

Measured await_measured(Control &control, std::uint64_t duration_ns,
			const std::function<void()> &say)
{
	const std::uint64_t end = now_ns() + duration_ns + surplus;
	std::uint64_t next_tick = 0;

	for (;;) {
		while (auto message = control.try_receive()) {
			const std::string type = word_of(*message, "type");

			if (type == "measured")
				return Measured::from_json(*message);
			if (type != "tick")
				unexpected(*message, "measured");
		}
		const std::uint64_t now = now_ns();

		if (stopped())
			throw PeerError("interrupted");
		if (control.silence() > silence_limit || now > end)
			throw PeerError("no result came in time");
		if (now >= next_tick) {
			next_tick = now + second;
			tell(control, "tick");
		}
		say();
		pollfd pfd = {control.fd(), POLLIN, 0};
		::poll(&pfd, 1, nap_ms);
	}
}

void Asker::look()
{
	try {
		while (auto message = control_.try_receive())
			if (word_of(*message, "type") != "tick")
				unexpected(*message, "tick");
		if (now_ns() < next_tick_)
			return;
		next_tick_ = now_ns() + second;
		tell(control_, "tick");
	} catch (const PeerError &error) {
		throw AskerGone(format("the one who asked: %s", error.what()));
	}
	if (control_.silence() > silence_limit)
		throw AskerGone("the one who asked has vanished");
}

void Asker::answer(const Measured &measured)
{
	try {
		tell(control_, "measured", measured.json());
	} catch (const PeerError &error) {
		throw AskerGone(format("the one who asked: %s", error.what()));
	}
}

} // namespace rdstools
