/* SPDX-License-Identifier: GPL-2.0 */
#pragma once

#include <sys/socket.h>

#include <cstring>
#include <string>
#include <vector>

namespace rdstest
{

/* Control messages to send, one after the other; malformed ones too. */
class Control
{
public:
	/* A message with these bytes. */
	Control &add(int level, int type, const void *data, size_t length);

	/* A message with the bytes of a struct. */
	template <typename T>
	Control &add(int level, int type, const T &value)
	{
		return add(level, type, &value, sizeof(value));
	}

	/* Only a header, whose cmsg_len says what the caller likes. */
	Control &addRaw(int level, int type, size_t cmsgLen);

	const void *data() const
	{
		return bytes_.data();
	}
	size_t size() const
	{
		return bytes_.size();
	}

private:
	std::string bytes_;
};

/* A control message that was received. */
struct ControlMessage {
	int level;
	int type;
	std::string data;

	/* The payload as a struct; T{} when it is too short. */
	template <typename T>
	T as() const
	{
		T value{};

		if (data.size() >= sizeof(T))
			std::memcpy(&value, data.data(), sizeof(T));
		return value;
	}
};

std::vector<ControlMessage> parseControl(msghdr &message);

} // namespace rdstest
