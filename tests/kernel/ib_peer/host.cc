// SPDX-License-Identifier: GPL-2.0
#include "host.h"

#include "offer.h"

#include "../../progs/lib/tcp.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <stdexcept>
#include <thread>

namespace rdstest
{

using Clock = std::chrono::steady_clock;
using nlohmann::json;

namespace
{

constexpr uint16_t kControlPort = 7000;

Patience left(Clock::time_point end)
{
	return std::max(Patience(0), std::chrono::duration_cast<Patience>(end - Clock::now()));
}

std::string unhex(const std::string &hex)
{
	std::string out;

	for (size_t at = 0; at + 1 < hex.size(); at += 2)
		out += static_cast<char>(std::stoi(hex.substr(at, 2), nullptr, 16));
	return out;
}

} // namespace

std::string pattern(size_t n, size_t length)
{
	std::string out(length, '\0');

	for (size_t i = 0; i < length; ++i)
		out[i] = static_cast<char>(n * 31 + i + i / 255);
	return out;
}

Host::Host(const Address &v4, const Address &v6)
	: v4_(v4), v6_(v6), control_(connectTcp(v4.port(kControlPort), kSoon, nullptr))
{
}

json Host::ask(json what)
{
	const std::string line = what.dump();

	if (!writeLine(control_, line))
		throw std::runtime_error("the host does not take: " + line);

	/* Answers may be long, too long for readLine(). */
	std::string room(65536, '\0');
	size_t end;

	while ((end = pending_.find('\n')) == std::string::npos) {
		if (!waitFor(control_, POLLIN, 3 * kSoon))
			throw std::runtime_error("the host does not answer to: " + line);

		const ssize_t got = read(control_, room.data(), room.size());

		if (got <= 0)
			throw std::runtime_error("the host is gone: " + line);
		pending_.append(room, 0, got);
	}

	const json answer = json::parse(pending_.substr(0, end));

	pending_.erase(0, end + 1);
	if (answer.contains("error"))
		throw std::runtime_error(line + ": " + answer["error"].get<std::string>());
	return answer["ok"];
}

void Host::fresh()
{
	ask({{"do", "fresh"}});
}

Host::Counters Host::counters()
{
	return ask({{"do", "counters"}}).get<Counters>();
}

bool Host::grows(const Counters &since, const std::string &name, uint64_t least, Patience patience)
{
	const auto end = Clock::now() + patience;

	while (counters().at(name) < since.at(name) + least) {
		if (Clock::now() >= end)
			return false;
		std::this_thread::sleep_for(std::chrono::milliseconds(5));
	}
	return true;
}

std::string Host::set(const std::string &file, const std::string &value)
{
	return ask({{"do", "set"}, {"file", file}, {"value", value}}).get<std::string>();
}

Host::Sent Host::send(const Address &to, size_t count, size_t length, uint8_t tos)
{
	const json said = ask({{"do", "send"},
			       {"to", plain(to)},
			       {"port", port},
			       {"count", count},
			       {"length", length},
			       {"tos", tos}});

	return {said[0].get<size_t>(), said[1].get<int>()};
}

uint64_t Host::region(size_t length)
{
	return ask({{"do", "region"}, {"length", length}}).get<uint64_t>();
}

std::optional<Host::Message> Host::next(bool v6, Patience patience)
{
	const auto end = Clock::now() + patience;

	/* It may wake up for congestion that changed. */
	do {
		const json said = ask(
			{{"do", "next"}, {"family", v6 ? 1 : 0}, {"patience", left(end).count()}});

		if (!said.is_null())
			return Message{unhex(said["hex"].get<std::string>()),
				       said["from"].get<std::string>(),
				       said["port"].get<uint16_t>()};
	} while (Clock::now() < end);
	return std::nullopt;
}

} // namespace rdstest
