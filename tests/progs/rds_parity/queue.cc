// SPDX-License-Identifier: GPL-2.0
/* The send queue: what it takes, what it says when it is full, and what makes room. */
#include "scene.h"

#include <linux/rds.h>
#include <unistd.h>

namespace rdstest
{

namespace
{

void addSizes(Facts &facts)
{
	facts.at("own own6", "queue/accepted", [](const Place &place, Out &out) {
		for (int length : {100, 1000, 4096, 10000}) {
			const Fd fd = bindRds(place.near);
			long sent = 0, last = 0;

			setOption(fd, SOL_SOCKET, SO_SNDBUF, 20000);
			while (sent < 5000) {
				last = sendText(fd, std::string(length, 'x'),
						place.silent.port(4000));
				if (last < 0)
					break;
				sent++;
			}
			out(std::to_string(length) + " bytes", sent);
			out(std::to_string(length) + " bytes, then", last);
		}
	});
	facts.at("own loop", "queue/largest", [](const Place &place, Out &out) {
		Pair pair(place);

		for (int size : {0, 4608, 20000, 65536, 212992}) {
			setOption(pair.from, SOL_SOCKET, SO_SNDBUF, size);
			const int half = getOption(pair.from, SOL_SOCKET, SO_SNDBUF) / 2;
			const std::string name = std::to_string(size);

			out(name + " gives", half);
			out(name + ", half", pair.send(half) == half ? "sent" : "refused");
			out(name + ", half and one", pair.send(half + 1));
			eventually([&] { return readAll(pair.to) || true; });
		}
	});
}

void addFull(Facts &facts)
{
	facts.at("own own6", "queue/full", [](const Place &place, Out &out) {
		Full full(place);
		const Fd other = bindRds(place.near);

		out("error", full.error);
		out("empty message", sendText(full.fd, "", full.silent));
		out("to another port", sendText(full.fd, "x", full.silent.port(4001)));
		out("to itself", sendText(full.fd, "x", localAddress(full.fd)));
		out("another socket", sendText(other, "x", full.silent));
		out("ping", sendText(full.fd, "", full.silent.port(0)));
		out("message too large", sendText(full.fd, std::string(100000, 'x'), full.silent));
		out("SO_ERROR", getOption(full.fd, SOL_SOCKET, SO_ERROR));
		setOption(full.fd, SOL_SOCKET, SO_SNDBUF, 60000);
		out("larger buffer", sendText(full.fd, "x", full.silent));
		out("larger buffer, poll", pollEvents(full.fd));
		out("cancel", full.cancel());
		out("after cancel", sendText(full.fd, "x", full.silent));
		out("cancel of another port",
		    sys(setsockopt(full.fd, SOL_RDS, RDS_CANCEL_SENT_TO, full.silent.port(9).get(),
				   full.silent.length())));
	});
	facts.at("own own6", "queue/woken", [](const Place &place, Out &out) {
		const auto send = [](Full &full) { return sendText(full.fd, "x", full.silent, 0); };
		Full first(place), second(place), third(place);
		Blocked byCancel([&] { return send(first); });
		Blocked byBuffer([&] { return send(second); });
		Blocked byLess([&] { return send(third); });

		first.cancel();
		out("by cancel", byCancel.end());
		setOption(second.fd, SOL_SOCKET, SO_SNDBUF, 60000);
		out("by SO_SNDBUF", byBuffer.end(std::chrono::milliseconds(500)));
		setOption(third.fd, SOL_SOCKET, SO_SNDBUF, 5000);
		out("by less SO_SNDBUF", byLess.end(std::chrono::milliseconds(300)));
	});
}

/* The queue towards a reader empties by itself. */
void addFlow(Facts &facts)
{
	facts.at("tcp tcp6", "queue/empties", [](const Place &place, Out &out) {
		Pair pair(place);
		long last = 0;
		int sent = 0;

		pair.warm();
		setOption(pair.from, SOL_SOCKET, SO_SNDBUF, 8192);
		while (sent < 500 && (last = pair.send(1000)) > 0)
			sent++;
		/* Whether the queue is full first, or the receiver, is luck. */
		out("then", last == -EAGAIN || last == -ENOBUFS || sent == 500 ? "refused"
									       : describe(last));
		out("poll OUT", polled(pair.from, POLLOUT));
		Blocked sender([&] {
			long done = 0;

			for (int i = 0; i < 200 && done >= 0; ++i)
				done = pair.send(1000, 0);
			return done;
		});
		int got = 0;

		eventually([&] {
			got += readAll(pair.to);
			return got >= sent + 200;
		});
		out("all read", got == sent + 200 ? "yes" : "no");
	});
	facts.at("loop own tcp", "queue/closed sender", [](const Place &place, Out &out) {
		Pair pair(place);

		pair.warm();
		pair.send(7);
		out("message", receiveSoon(pair.to).result);
		pair.send(8);
		waitFor(pair.to, POLLIN, soon);
		pair.from.close();
		out("message of a closed socket", receiveSoon(pair.to).result);
		out("answer to it", pair.reply());
	});
	facts.at("own tcp", "queue/no receiver", [](const Place &place, Out &out) {
		Pair pair(place);

		pair.warm();
		pair.to.close();
		for (int i = 0; i < 3; ++i)
			out("send " + std::to_string(i), pair.send());
		out("SO_ERROR", getOption(pair.from, SOL_SOCKET, SO_ERROR));
		out("poll", pollEvents(pair.from));
	});
	facts.at("loop", "queue/least SO_RCVBUF", [](const Place &place, Out &out) {
		Pair pair(place);

		setOption(pair.to, SOL_SOCKET, SO_RCVBUF, 0);
		out("option", getOption(pair.to, SOL_SOCKET, SO_RCVBUF));
		out("1000 bytes", pair.send(1000));
		out("2000 bytes", pair.send(2000));
		out("read", receiveSoon(pair.to).result);
		out("read second", receiveSoon(pair.to).result);
	});
}

} // namespace

void addQueue(Facts &facts)
{
	addSizes(facts);
	addFull(facts);
	addFlow(facts);
}

} // namespace rdstest
