// SPDX-License-Identifier: GPL-2.0
#include "uring_calls.h"

#include "uring.h"

#include "../lib/check.h"
#include "../lib/info.h"

#include <linux/rds.h>
#include <poll.h>
#include <unistd.h>

#include <cstring>
#include <memory>

namespace rdstest
{

using Kind = SlowPage::Kind;

namespace
{

const long kLength = strlen(kText);
constexpr uint64_t kFirst = 1, kSecond = 2;
constexpr int kRounds = 100;

/* ---- a buffer that is slow ---- */

long resultOf(Uring &ring, uint64_t name)
{
	const auto result = ring.next();

	want(result.has_value(), "nothing came of a request");
	same(result->name, name, "the request");
	return result->value;
}

long sendSlow(Scene &scene, char *slow, uint8_t flags)
{
	Uring ring;
	Parts parts = {.data = slow};

	ring.submit(sendRequest(scene.from, parts.build(scene), kFirst, flags));
	/* A worker of the kernel's may still be at it, for as long as the memory takes. */
	const auto result = ring.next(std::chrono::seconds(60));
	want(result.has_value(), "nothing came of a request");
	return result->value;
}

long receiveSlow(Scene &scene, char *slow, uint8_t flags)
{
	Uring ring;

	ring.submit(receiveRequest(scene.to, slow, 256, kFirst, flags));
	const auto result = ring.next(std::chrono::seconds(60));
	want(result.has_value(), "nothing came of a request");
	return result->value;
}

void oneWaits(Scene &scene)
{
	same(sendText(scene.from, kText, scene.target), kLength, "send");
	want(waitFor(scene.to, POLLIN), "nothing came");
}

void arrives(Scene &scene, const char *)
{
	same(receiveSoon(scene.to).data, kText, "what arrived");
	same(receive(scene.to).result, -EAGAIN, "the message came once");
}

void wasRead(Scene &scene, const char *slow)
{
	want(memcmp(slow, kText, kLength) == 0, "other bytes were received");
	same(receive(scene.to).result, -EAGAIN, "the message was taken");
}

/* ---- requests that wait ---- */

size_t socketsNow(int asked)
{
	return readInfo(asked, RDS6_INFO_SOCKETS).count();
}

/* A socket whose request waits, and the number of sockets before it was there. */
struct Waiting {
	explicit Waiting(const Places &places)
		: asked(openRds()), before(socketsNow(asked)), from(bindRds(places.loop)),
		  socket(bindRds(places.loop)), name(localAddress(socket)),
		  ring(std::make_unique<Uring>())
	{
	}
	/* The kernel has nothing of it any more. */
	void isGone()
	{
		from.close();
		want(eventually([&] { return socketsNow(asked) == before; }), "a socket is left");
	}
	const Fd asked;
	const size_t before;
	Fd from, socket;
	const Address name;
	std::unique_ptr<Uring> ring;
	char data[64] = {};
};

/* The request has the socket: it is read from though the program has closed it. */
void closedWhileAReadWaits(const Places &places)
{
	Waiting w(places);

	w.ring->submit(receiveRequest(w.socket, w.data, sizeof(w.data), kFirst));
	w.socket.close();
	want(!w.ring->next(std::chrono::milliseconds(0)), "the read has ended");
	same(sendText(w.from, kText, w.name), kLength, "send");
	same(resultOf(*w.ring, kFirst), kLength, "the read");
	want(memcmp(w.data, kText, kLength) == 0, "other bytes were received");
	w.isGone();
}

/* Nothing is lost to a read that is not wanted any more. */
void aReadIsCancelled(const Places &places)
{
	Waiting w(places);

	w.ring->submit(receiveRequest(w.socket, w.data, sizeof(w.data), kFirst));
	w.ring->submit(cancelRequest(kFirst, kSecond));
	for (int i = 0; i < 2; ++i) {
		const auto result = w.ring->next();

		want(result.has_value(), "nothing came of a request");
		same(result->value, result->name == kFirst ? -ECANCELED : 0, "the request");
	}
	same(sendText(w.from, kText, w.name), kLength, "send");
	same(receiveSoon(w.socket).data, kText, "what was sent afterwards");
	w.socket.close();
	w.isGone();
}

void theRingGoes(const Places &places)
{
	Waiting w(places);

	w.ring->submit(receiveRequest(w.socket, w.data, sizeof(w.data), kFirst));
	w.ring->submit(receiveRequest(w.socket, w.data, sizeof(w.data), kSecond, IOSQE_ASYNC));
	w.socket.close();
	w.ring.reset();
	w.isGone();
}

/* Fills the queue to a host that takes nothing. */
void fill(int socket, const Places &places)
{
	const std::string text(1000, 'x');
	long sent = 0;

	for (int i = 0; i < 10000 && sent >= 0; ++i)
		sent = sendText(socket, text, places.peer);
	same(sent, -EAGAIN, "the queue is full");
}

void aSendIsCancelled(const Places &places)
{
	for (const uint8_t flags : {0, int(IOSQE_ASYNC)}) {
		Waiting w(places);
		Fd full = bindRds(places.tcp);
		std::string text(1000, 'y');
		iovec vector = {text.data(), text.size()};
		msghdr message{};

		message.msg_name = const_cast<sockaddr *>(places.peer.get());
		message.msg_namelen = places.peer.length();
		message.msg_iov = &vector;
		message.msg_iovlen = 1;
		fill(full, places);
		w.ring->submit(sendRequest(full, &message, kFirst, flags));
		want(!w.ring->next(std::chrono::milliseconds(0)), "the send has ended");
		/* One that has not begun to wait is not found, or not stopped; again, then. */
		std::optional<long> ended;
		want(eventually([&] {
			     w.ring->submit(cancelRequest(kFirst, kSecond));
			     while (const auto r = w.ring->next(std::chrono::milliseconds(100)))
				     if (r->name == kFirst)
					     ended = r->value;
			     return ended.has_value();
		     }),
		     "the send cannot be cancelled");
		want(*ended == -ECANCELED || *ended == -EINTR, "the send: " + describe(*ended));
		full.close();
		w.socket.close();
		w.isGone();
	}
}

/* The same again and again: memory that is lost each time shows when the modules are unloaded. */
void overAndOver(const Places &places)
{
	for (int i = 0; i < kRounds; ++i) {
		theRingGoes(places);
		closedWhileAReadWaits(places);
	}
}

} // namespace

std::vector<Call> uringCalls()
{
	std::vector<Call> table;

	for (const uint8_t flags : {0, int(IOSQE_ASYNC)}) {
		const std::string how = flags ? " by a worker" : "";

		table.push_back({"io_uring sendmsg data" + how,
				 Kind::absent,
				 kText,
				 kLength,
				 [flags](Scene &s, char *slow) { return sendSlow(s, slow, flags); },
				 {},
				 arrives});
		table.push_back(
			{"io_uring recv data" + how, Kind::absent, "", kLength,
			 [flags](Scene &s, char *slow) { return receiveSlow(s, slow, flags); },
			 oneWaits, wasRead});
	}
	return table;
}

std::vector<UringCase> uringCases()
{
	return {
		{"io_uring: closed while a read waits", closedWhileAReadWaits},
		{"io_uring: a read is cancelled", aReadIsCancelled},
		{"io_uring: a send is cancelled", aSendIsCancelled},
		{"io_uring: the ring goes while reads wait", theRingGoes},
		{"io_uring: over and over", overAndOver},
	};
}

} // namespace rdstest
