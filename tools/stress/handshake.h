/* SPDX-License-Identifier: GPL-2.0 */
/*
 * How two ends of a control connection begin, and how either reads a message of the other's:
 * nothing in one is taken on trust, not even that a member is a text. Everything here throws
 * PeerError for an end that is gone, silent, or says what makes no sense.
 */
#ifndef RDSTOOLS_STRESS_HANDSHAKE_H
#define RDSTOOLS_STRESS_HANDSHAKE_H

#include <cstdint>
#include <string>

#include "control.h"

namespace rdstools
{

inline constexpr std::uint64_t handshake_patience = 10000000000;

/* The requests of measure.h that are served, told in the hello: 0, or nothing, is none. */
inline constexpr unsigned serves_version = 1;

/* The other end, from its hello. */
struct Greeting {
	std::string version;
	unsigned serves = 0;
};

/* Both at once: who am I, which protocol. */
Greeting greet(Control &control, unsigned serves = 0,
	       std::uint64_t timeout_ns = handshake_patience);

void tell(Control &control, const char *type, Json body = Json::object());
/* The next message. That the other end gives up is an Error if it says that the environment is to
 * blame. */
Json next_message(Control &control, std::uint64_t timeout_ns = handshake_patience);
/* The same; it must be of this type. */
Json expect(Control &control, const char *type, std::uint64_t timeout_ns = handshake_patience);
/* A message that came is of another type than is expected. */
[[noreturn]] void unexpected(const Json &message, const char *type);

/* For an abort: what is missing here is not the other side's fault. */
Json complaint(const std::string &text, int status);

/* A member that is a text, fit for a terminal, and not longer than an error may be; else "". */
std::string word_of(const Json &message, const char *member);
/* A member that is a whole number from 0 to @most. */
std::optional<unsigned> number_of(const Json &message, const char *member, unsigned most);

} // namespace rdstools

#endif
