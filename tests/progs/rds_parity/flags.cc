// SPDX-License-Identifier: GPL-2.0
/* Each bit of the flags of sendmsg and recvmsg alone, and what a receiver sees of the sender's. */
#include "scene.h"

#include <linux/rds.h>
#include <fcntl.h>

#include <cstdio>

namespace rdstest
{

namespace
{

std::string bitName(int bit)
{
	char text[20];

	std::snprintf(text, sizeof(text), "0x%08x", 1u << bit);
	return text;
}

/* "5, msg_flags 0x80, 0 control, name 16" */
std::string told(const Received &got)
{
	char text[100];

	if (got.result < 0)
		return describe(got.result);
	std::snprintf(text, sizeof(text), "%ld, msg_flags %#x, %zu control, name %u", got.result,
		      static_cast<unsigned int>(got.flags), got.control.size(), got.from.length());
	return text;
}

void sendBit(const Place &place, Out &out, int bit)
{
	Pair pair(place);

	pair.warm();
	/* Alone it may sleep; nothing makes it. */
	out("send", interrupted(soon, [&] { return pair.send(5, 1u << bit); }));
	out("arrives", told(receiveSoon(pair.to, 100, std::chrono::milliseconds(300))));
	out("then", pair.send(6, 0));
	out("then arrives", receiveSoon(pair.to, 100, soon).result);
}

/* Of a message that is there, one that is longer than the room, and none. */
void receiveBit(const Place &place, Out &out, int bit)
{
	Pair pair(place);
	const auto with = [&](size_t room, size_t controlRoom) {
		Received got;

		interrupted(soon, [&] {
			got = receive(pair.to, room, 1u << bit, controlRoom);
			return got.result;
		});
		return told(got);
	};
	const int flag = static_cast<int>(1u << bit);

	pair.warm();
	pair.send(5);
	waitFor(pair.to, POLLIN, soon);
	out("message", with(100, 100));
	out("left", readAll(pair.to));
	pair.send(5);
	waitFor(pair.to, POLLIN, soon);
	out("no room", with(2, 0));
	out("left of it", readAll(pair.to));
	out("none", describe(receive(pair.to, 100, flag | MSG_DONTWAIT).result));
	fcntl(pair.to, F_SETFL, O_NONBLOCK);
	out("none, O_NONBLOCK", describe(receive(pair.to, 100, flag).result));
}

} // namespace

void addFlags(Facts &facts)
{
	for (int bit = 0; bit < 32; ++bit) {
		facts.at("loop own tcp", "flags/send " + bitName(bit),
			 [bit](const Place &place, Out &out) { sendBit(place, out, bit); });
		facts.at("loop tcp", "flags/recv " + bitName(bit),
			 [bit](const Place &place, Out &out) { receiveBit(place, out, bit); });
	}
	facts.at("loop tcp", "flags/recv, several", [](const Place &place, Out &out) {
		static const std::pair<const char *, int> several[] = {
			{"PEEK+TRUNC", MSG_PEEK | MSG_TRUNC},
			{"PEEK+WAITALL", MSG_PEEK | MSG_WAITALL},
			{"TRUNC+WAITALL", MSG_TRUNC | MSG_WAITALL},
			{"PEEK+OOB", MSG_PEEK | MSG_OOB},
			{"PEEK+ERRQUEUE", MSG_PEEK | MSG_ERRQUEUE},
			{"CMSG_CLOEXEC+PEEK", MSG_CMSG_CLOEXEC | MSG_PEEK},
		};

		for (const auto &[name, flags] : several) {
			Pair pair(place);

			pair.warm();
			pair.send(5);
			waitFor(pair.to, POLLIN, soon);
			out(name, told(receive(pair.to, 2, flags | MSG_DONTWAIT)));
			out(std::string(name) + ", left", readAll(pair.to));
		}
	});
}

} // namespace rdstest
