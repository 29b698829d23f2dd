// SPDX-License-Identifier: GPL-2.0
#include "handshake.h"

#include "../lib/cli.h"
#include "../lib/screen.h"
#include "../lib/text.h"
#include "message.h"

namespace rdstools
{

namespace
{

constexpr std::size_t longest_word = 1000;

} // namespace

Json complaint(const std::string &text, int status)
{
	return {{"text", text}, {"status", status}};
}

std::string word_of(const Json &message, const char *member)
{
	auto found = message.find(member);

	if (found == message.end() || !found->is_string())
		return {};
	return printable(found->get<std::string>().substr(0, longest_word));
}

std::optional<unsigned> number_of(const Json &message, const char *member, unsigned most)
{
	auto found = message.find(member);

	if (found == message.end() || !found->is_number_integer())
		return std::nullopt;

	/* One below 0 is larger than any. */
	const auto value = found->get<std::uint64_t>();

	return value <= most ? std::optional(static_cast<unsigned>(value)) : std::nullopt;
}

void tell(Control &control, const char *type, Json body)
{
	body["type"] = type;
	control.send(body);
}

Json next_message(Control &control, std::uint64_t timeout_ns)
{
	Json message = control.receive(timeout_ns);

	if (word_of(message, "type") != "abort")
		return message;

	const std::string text = "the other side gave up: " + word_of(message, "text");

	if (number_of(message, "status", exit_peer) == exit_usage)
		throw Error(text);
	throw PeerError(text);
}

void unexpected(const Json &message, const char *type)
{
	throw PeerError(format("the other side sent '%.32s' instead of '%s'",
			       word_of(message, "type").c_str(), type));
}

Json expect(Control &control, const char *type, std::uint64_t timeout_ns)
{
	Json message = next_message(control, timeout_ns);

	if (word_of(message, "type") != type)
		unexpected(message, type);
	return message;
}

Greeting greet(Control &control, unsigned serves, std::uint64_t timeout_ns)
{
	Json mine = {{"tool", "rds-stress"}, {"protocol", protocol}, {"version", version}};

	if (serves)
		mine["serves"] = serves;
	tell(control, "hello", mine);

	const Json message = expect(control, "hello", timeout_ns);
	const unsigned theirs = number_of(message, "protocol", UINT32_MAX).value_or(0);
	Greeting greeting = {word_of(message, "version"),
			     number_of(message, "serves", UINT32_MAX).value_or(0)};

	if (word_of(message, "tool") != "rds-stress" || theirs != protocol)
		throw PeerError(format(
			"the other side is rds-stress %.32s with protocol %u, this is %s with "
			"protocol %u: use the same version on both sides",
			greeting.version.empty() ? "?" : greeting.version.c_str(), theirs, version,
			protocol));
	return greeting;
}

} // namespace rdstools
