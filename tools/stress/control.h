/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The TCP connection between the two parents: JSON objects, each behind a magic and a length.
 * Everything has a deadline; a peer that vanishes is an exception, never a hang.
 */
#ifndef RDSTOOLS_STRESS_CONTROL_H
#define RDSTOOLS_STRESS_CONTROL_H

#include <cstdint>
#include <optional>
#include <string>

#include "../lib/address.h"
#include "../lib/error.h"
#include "../lib/socket.h"
#include "../lib/table.h"

namespace rdstools
{

/* A message is missing, wrong or late: what rds-stress is there to find. */
class TestFailed : public Error
{
public:
	using Error::Error;
};

/* The other side is gone, silent, or not rds-stress. */
class PeerError : public Error
{
public:
	using Error::Error;
};

class Control
{
public:
	/* A connected stream socket. */
	explicit Control(UniqueFd fd);

	int fd() const
	{
		return fd_.get();
	}
	void send(const Json &message);
	/* Lines that have arrived completely, without waiting. */
	std::optional<Json> try_receive();
	/* Waits; PeerError when nothing comes in time. */
	Json receive(std::uint64_t timeout_ns);
	/* Nanoseconds since anything was received. */
	std::uint64_t silence() const;

private:
	bool read_some();
	std::optional<Json> take_frame();

	UniqueFd fd_;
	std::string buffer_;
	std::uint64_t heard_;
};

/* Active side. local may be unspecified. Throws Error or PeerError. */
UniqueFd connect_control(const Address &server, const Address &local, std::uint64_t timeout_ns);

class Listener
{
public:
	/* An unspecified address listens on all, both families. */
	Listener(const Address &local, std::uint16_t port);
	/* Waits for the next caller; nothing when a signal asked us to stop. */
	std::optional<UniqueFd> accept();

private:
	UniqueFd fd_;
};

} // namespace rdstools

#endif
