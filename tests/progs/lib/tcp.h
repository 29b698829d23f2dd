/* SPDX-License-Identifier: GPL-2.0 */
/* Plain TCP: the control connection between two programs, and the raw peer's stream. */
#pragma once

#include "address.h"
#include "socket.h"

#include <chrono>
#include <optional>
#include <string>

namespace rdstest
{

/* A listener on this address and port; throws when it cannot be. */
Fd listenTcp(const Address &address);

/* Connects, trying again until the time is over (the peer may not be there yet). */
Fd connectTcp(const Address &to, std::chrono::milliseconds patience, const Address *from = nullptr);

/* The next connection, within the time. */
Fd acceptTcp(int listener, std::chrono::milliseconds patience);

/* Makes close() send a RST. */
void resetOnClose(int fd);

/* Lines of text over a connection. The reader gives nullopt when it is closed or time is over. */
bool writeLine(int fd, const std::string &line);
std::optional<std::string> readLine(int fd, std::chrono::milliseconds patience);

} // namespace rdstest
