// SPDX-License-Identifier: GPL-2.0
/* A receiver that is full: what the sender is told, how it waits, and how it is woken. */
#include "scene.h"

#include "../lib/info.h"

#include <linux/rds.h>
#include <sys/epoll.h>

namespace rdstest
{

namespace
{

const char *const places = "own own6 tcp tcp6";

/* The result of the next recvmsg: an errno, "n bytes", or "notice of this port". */
std::string next(Congested &scene)
{
	const Received got = receive(scene.pair.from);
	const ControlMessage *notice = got.find(SOL_RDS, RDS_CMSG_CONG_UPDATE);

	if (got.result < 0)
		return describe(got.result);
	if (!notice)
		return describe(got.result) + " bytes";
	return std::to_string(got.result) + ", notice " +
	       (notice->as<uint64_t>() & RDS_CONG_MONITOR_MASK(scene.pair.target.port())
			? "of this port"
			: "of others");
}

/* It is luck how many messages go before the sender hears that the port is full, or clear; mainline
 * tells it by a worker, which may be late. So it has time near the border. */
void hearNear(int border, int bytes)
{
	usleep(abs(bytes - border) < 5000 ? 30000 : 3000 * (bytes < 15000));
}

void addTold(Facts &facts)
{
	facts.at("own own6", "congestion/accepted", [](const Place &place, Out &out) {
		for (int length : {100, 1000, 4000}) {
			Pair pair(place);
			int sent = 0;
			long last = 0;

			setOption(pair.to, SOL_SOCKET, SO_RCVBUF, 20000);
			while (sent < 3000 && last >= 0) {
				last = pair.send(length);
				sent += last >= 0;
				hearNear(20000, sent * length);
			}
			const std::string name = std::to_string(length) + " bytes";

			out(name + ", then", last);
			out(name + ", all that fit", sent * length >= 20000 ? "taken" : "refused");
			while (pair.send(length) < 0 && receive(pair.to).result > 0)
				hearNear(10000, --sent * length);
			out(name + ", unread when it is clear", sent);
		}
	});
	facts.at("loop loop6", "congestion/on loopback", [](const Place &place, Out &out) {
		Congested scene(place);

		out.say(scene.error < 0 ? describe(scene.error) : "no limit");
	});
	facts.at(places, "congestion/full", [](const Place &place, Out &out) {
		Congested scene(place);
		const Fd other = bindFar(place);

		out("error", scene.error);
		out("again", scene.pair.send());
		out("empty message", scene.pair.send(0));
		out("to another port", sendText(scene.pair.from, "other", localAddress(other)));
		out("another sender", sendText(bindRds(place.near), "x", scene.pair.target));
		out("SO_ERROR", getOption(scene.pair.from, SOL_SOCKET, SO_ERROR));
		out("the full one sends", scene.pair.reply());
		out("and that is read", receiveSoon(scene.pair.from).result);
	});
}

/* poll, recvmsg and epoll of a sender that has met ENOBUFS, until the port is clear. */
void addPolled(Facts &facts)
{
	for (bool monitor : {false, true}) {
		const std::string with = monitor ? "monitor" : "no monitor";

		facts.at(places, "congestion/poll, " + with,
			 [monitor](const Place &place, Out &out) {
				 Congested scene(place, monitor);

				 pollEvents(scene.pair.from); /* what happened before */
				 scene.pair.send();
				 out("full", pollEvents(scene.pair.from));
				 Blocked sleeper([&] {
					 pollfd entry = {scene.pair.from, POLLIN, 0};

					 poll(&entry, 1, 3 * soon.count());
					 return static_cast<long>(entry.revents & POLLIN);
				 });
				 scene.drain();
				 out("sleeping poll", sleeper.end());
				 if (monitor)
					 out("recvmsg", next(scene));
				 eventually([&] { return scene.pair.send() > 0; }, soon);
				 out("send", scene.pair.send());
				 eventually([&] { return next(scene) == "EAGAIN"; }, soon);
				 pollEvents(scene.pair.from);
				 out("at rest", pollEvents(scene.pair.from));
			 });
		facts.at("own tcp", "congestion/epoll edge, " + with,
			 [monitor](const Place &place, Out &out) {
				 Congested scene(place, monitor);
				 const Fd epoll(epoll_create1(0));
				 epoll_event event{};

				 event.events = EPOLLIN | EPOLLET;
				 epoll_ctl(epoll, EPOLL_CTL_ADD, scene.pair.from, &event);
				 epoll_wait(epoll, &event, 1, 50);
				 scene.pair.send();
				 scene.drain();
				 out("clear", sys(epoll_wait(epoll, &event, 1, soon.count())));
				 eventually([&] { return scene.pair.send() > 0; }, soon);
				 out("send", scene.pair.send());
			 });
	}
}

void addBlocked(Facts &facts)
{
	const auto blockedSend = [](Congested &scene) { return scene.pair.send(6, 0); };

	facts.at(places, "congestion/blocked send", [=](const Place &place, Out &out) {
		Congested first(place);
		Blocked byReading([&] { return blockedSend(first); });

		first.drain();
		out("woken by reading", byReading.end());
		Congested second(place);
		Blocked byClose([&] { return blockedSend(second); });

		second.pair.to.close();
		out("woken by close", byClose.end());
		Congested third(place);
		Blocked byBuffer([&] { return blockedSend(third); });

		setOption(third.pair.to, SOL_SOCKET, SO_RCVBUF, 100000);
		out("woken by SO_RCVBUF", byBuffer.end(std::chrono::milliseconds(500)));
		third.drain();
		out("then by reading", byBuffer.end());
	});
	facts.at("own tcp", "congestion/half read", [=](const Place &place, Out &out) {
		Congested scene(place);

		receive(scene.pair.to);
		out("one read", scene.pair.send());
		scene.drain();
		eventually([&] { return scene.pair.send() > 0; }, soon);
		out("all read", scene.pair.send());
	});
}

/* The port of @scene fills by another socket of its host, and is read: until the monitor of the
 * first one knows, or does not. */
void fillAndDrain(const Place &place, Congested &scene, const std::function<void()> &meanwhile)
{
	const Fd other = bindRds(place.near);

	eventually(
		[&] {
			long error = 0;

			sendUntil(other, scene.pair.target, error);
			return error == -ENOBUFS;
		},
		2 * soon);
	meanwhile();
	scene.drain();
	/* A sender is told of it then. */
	eventually([&] { return sendText(other, "x", scene.pair.target) > 0; }, soon);
	usleep(100000);
}

void addTimesTold(Facts &facts)
{
	facts.at("own tcp", "congestion/monitor, told once", [](const Place &place, Out &out) {
		Congested scene(place, true);

		scene.pair.send();
		scene.drain();
		waitFor(scene.pair.from, POLLIN, soon);
		out("the port that was met full", next(scene));
		eventually([&] { return next(scene) == "EAGAIN"; }, soon);
		fillAndDrain(place, scene, [] {});
		out("full again by another's messages", next(scene));
		fillAndDrain(place, scene, [&] { scene.pair.send(); });
		out("and met again", next(scene));
	});
	facts.at("own tcp", "congestion/monitor, a send that waits",
		 [](const Place &place, Out &out) {
			 Congested scene(place, true);

			 scene.pair.send();
			 scene.drain();
			 eventually([&] { return next(scene) == "EAGAIN"; }, soon);

			 std::unique_ptr<Blocked> blocked;

			 fillAndDrain(place, scene, [&] {
				 blocked = std::make_unique<Blocked>(
					 [&] { return scene.pair.send(6, 0); });
			 });
			 out("it is woken", blocked->end());
			 out("a notice", next(scene));
		 });
}

void addCounted(Facts &facts)
{
	for (bool monitor : {false, true}) {
		facts.at("own tcp",
			 std::string("congestion/counted") + (monitor ? ", monitor" : ""),
			 [monitor](const Place &place, Out &out) {
				 Congested scene(place, monitor);
				 auto before = readCounterMap(scene.pair.from);
				 const auto tell = [&](const std::string &when) {
					 auto after = readCounterMap(scene.pair.from);

					 for (const char *name :
					      {"cong_send_error", "cong_send_blocked"})
						 out(when + ", " + name,
						     static_cast<long>(after[name] - before[name]));
					 before = after;
				 };

				 for (int i = 0; i < 3; ++i)
					 scene.pair.send();
				 tell("three that do not wait");

				 Blocked blocked([&] { return scene.pair.send(6, 0); });

				 scene.drain();
				 blocked.end();
				 tell("one that waits");
			 });
	}
}

void addMonitor(Facts &facts)
{
	facts.at("own tcp", "congestion/monitor", [](const Place &place, Out &out) {
		Congested scene(place, true);

		sendText(scene.pair.to, "data", scene.pair.source);
		scene.pair.send();
		scene.drain();
		waitFor(scene.pair.from, POLLIN, soon);
		eventually([&] { return scene.pair.send(1) > 0; }, soon);
		std::string first = next(scene);

		/* Of what there is, in which order. */
		out("first", first);
		std::string second = next(scene);
		while (second.find("notice") != std::string::npos)
			second = next(scene);
		out("after the notices", second);
	});
	facts.at("own", "congestion/monitor switched", [](const Place &place, Out &out) {
		Congested scene(place, true);

		scene.pair.send();
		setOption(scene.pair.from, SOL_RDS, RDS_CONG_MONITOR, 0);
		scene.drain();
		out("off again", next(scene));
		setOption(scene.pair.from, SOL_RDS, RDS_CONG_MONITOR, 1);
		out("on again", next(scene));
	});
	facts.at("own tcp", "congestion/monitor switched on again",
		 [](const Place &place, Out &out) {
			 Congested scene(place, true);

			 scene.pair.send();
			 setOption(scene.pair.from, SOL_RDS, RDS_CONG_MONITOR, 1);
			 scene.drain();
			 waitFor(scene.pair.from, POLLIN, soon);
			 out("the port that was full before", next(scene));
		 });
	facts.at("own", "congestion/notice in little room", [](const Place &place, Out &out) {
		Congested scene(place, true);

		scene.pair.send();
		scene.drain();
		waitFor(scene.pair.from, POLLIN, soon);
		const Received none = receive(scene.pair.from, 100, MSG_DONTWAIT, 0);

		out("no room", none.result);
		out("no room, flags", none.flags);
		out("then", next(scene));
	});
}

} // namespace

void addCongestion(Facts &facts)
{
	addTold(facts);
	addPolled(facts);
	addBlocked(facts);
	addMonitor(facts);
	addTimesTold(facts);
	addCounted(facts);
}

} // namespace rdstest
