// SPDX-License-Identifier: GPL-2.0
/* calls.cc: sending, receiving and naming. */
#include "calls.h"

#include "../lib/check.h"

#include <fcntl.h>
#include <linux/rds.h>
#include <linux/sockios.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstring>

namespace rdstest
{

using Kind = SlowPage::Kind;

namespace
{

const long kLength = strlen(kText);

std::string nameOf(const Address &address)
{
	return {reinterpret_cast<const char *>(address.get()), address.length()};
}

/* ---- what is to be there before, and afterwards ---- */

void arrives(Scene &scene, const char *)
{
	const Received got = receiveSoon(scene.to);

	same(got.data, kText, "what arrived");
	same(receive(scene.to).result, -EAGAIN, "the message came once");
}

void nothingArrives(Scene &scene, const char *)
{
	same(receive(scene.to).result, -EAGAIN, "nothing was sent");
}

void oneWaits(Scene &scene)
{
	same(sendText(scene.from, kText, scene.target), kLength, "send");
	want(waitFor(scene.to, POLLIN), "nothing came");
}

void oneWaitsWithTime(Scene &scene)
{
	setOption(scene.to, SOL_SOCKET, SO_TIMESTAMP, 1);
	oneWaits(scene);
}

void wasRead(Scene &scene, const char *slow)
{
	want(memcmp(slow, kText, kLength) == 0, "other bytes were received");
	same(receive(scene.to).result, -EAGAIN, "the message was taken");
}

void isStillThere(Scene &scene, const char *slow)
{
	want(memcmp(slow, kText, kLength) == 0, "other bytes were received");
	same(receive(scene.to).result, kLength, "a look takes nothing");
}

void isTaken(Scene &scene, const char *)
{
	same(receive(scene.to).result, -EAGAIN, "the message was taken");
}

/* ---- sendmsg ---- */

long sendParts(Scene &scene, Parts parts, int flags = MSG_DONTWAIT)
{
	return sys(sendmsg(scene.from, parts.build(scene), flags));
}

std::string orderMessage()
{
	const uint32_t order = RDS_ORDER_UNORDERED;
	Control control;

	control.add(SOL_RDS, RDS_CMSG_ORDER, order);
	return {static_cast<const char *>(control.data()), control.size()};
}

/* An operation whose local vectors are in the slow page: read before it is refused. */
long sendOperation(Scene &scene, char *slow)
{
	rds_rdma_args args{};
	Control control;

	args.remote_vec.bytes = 8;
	args.local_vec_addr = reinterpret_cast<uintptr_t>(slow);
	args.nr_local = 1;
	control.add(SOL_RDS, RDS_CMSG_RDMA_ARGS, args);
	return sendParts(scene, {.control = control.data(), .controlLength = control.size()});
}

long sendPinned(Scene &scene, char *slow)
{
	const uint32_t cookie = 1;
	Control control;

	control.add(SOL_RDS, RDS_CMSG_ZCOPY_COOKIE, cookie);
	setOption(scene.from, SOL_SOCKET, SO_ZEROCOPY, 1);
	return sendParts(scene,
			 {.data = slow, .control = control.data(), .controlLength = control.size()},
			 MSG_DONTWAIT | MSG_ZEROCOPY);
}

void addSends(std::vector<Call> &table, const Places &places)
{
	const std::string order = orderMessage();
	const rds_iovec local = {0, 8};
	const iovec text = {const_cast<char *>(kText), strlen(kText)};

	table.push_back({"sendmsg data",
			 Kind::absent,
			 kText,
			 kLength,
			 [](Scene &s, char *slow) { return sendParts(s, {.data = slow}); },
			 {},
			 arrives});
	table.push_back({"sendmsg control",
			 Kind::absent,
			 order,
			 kLength,
			 [n = order.size()](Scene &s, char *slow) {
				 return sendParts(s, {.control = slow, .controlLength = n});
			 },
			 {},
			 arrives});
	table.push_back({"sendmsg vector",
			 Kind::absent,
			 bytesOf(text),
			 kLength,
			 [](Scene &s, char *slow) {
				 Parts parts;
				 msghdr *message = parts.build(s);

				 message->msg_iov = reinterpret_cast<iovec *>(slow);
				 return sys(sendmsg(s.from, message, MSG_DONTWAIT));
			 },
			 {},
			 arrives});
	table.push_back({"write data",
			 Kind::absent,
			 kText,
			 kLength,
			 [](Scene &s, char *slow) {
				 same(sys(connect(s.from, s.target.get(), s.target.length())), 0,
				      "connect");
				 return sys(write(s.from, slow, kLength));
			 },
			 {},
			 arrives});
	table.push_back({"sendmsg vectors of an operation",
			 Kind::absent,
			 bytesOf(local),
			 -EOPNOTSUPP,
			 sendOperation,
			 {},
			 nothingArrives});
	table.push_back({"sendmsg data that is lent",
			 Kind::absent,
			 kText,
			 kLength,
			 sendPinned,
			 {},
			 {},
			 true});
	table.push_back({"sendmsg name",
			 Kind::absent,
			 nameOf(places.peer),
			 kLength,
			 [](Scene &s, char *slow) { return sendParts(s, {.name = slow}); },
			 {},
			 {},
			 true});
}

/* ---- recvmsg ---- */

long receiveParts(Scene &scene, char *data, char *name, char *control, int flags = MSG_DONTWAIT)
{
	char room[256], nameRoom[128];
	iovec vector = {data ? data : room, sizeof(room)};
	msghdr message{};

	message.msg_iov = &vector;
	message.msg_iovlen = 1;
	message.msg_name = name ? name : nameRoom;
	message.msg_namelen = sizeof(nameRoom);
	message.msg_control = control;
	message.msg_controllen = control ? 256 : 0;
	return sys(recvmsg(scene.to, &message, flags));
}

void addReceives(std::vector<Call> &table)
{
	table.push_back(
		{"recvmsg data", Kind::absent, "", kLength,
		 [](Scene &s, char *slow) { return receiveParts(s, slow, nullptr, nullptr); },
		 oneWaits, wasRead});
	table.push_back({"recvmsg data, only a look", Kind::absent, "", kLength,
			 [](Scene &s, char *slow) {
				 return receiveParts(s, slow, nullptr, nullptr,
						     MSG_DONTWAIT | MSG_PEEK);
			 },
			 oneWaits, isStillThere});
	table.push_back(
		{"recvmsg data, read-only memory", Kind::readOnly, "", kLength,
		 [](Scene &s, char *slow) { return receiveParts(s, slow, nullptr, nullptr); },
		 oneWaits, wasRead});
	table.push_back(
		{"recvmsg name", Kind::absent, "", kLength,
		 [](Scene &s, char *slow) { return receiveParts(s, nullptr, slow, nullptr); },
		 oneWaits, isTaken});
	table.push_back(
		{"recvmsg control", Kind::absent, "", kLength,
		 [](Scene &s, char *slow) { return receiveParts(s, nullptr, nullptr, slow); },
		 oneWaitsWithTime, isTaken});
	table.push_back({"read data", Kind::absent, "", kLength,
			 [](Scene &s, char *slow) { return sys(read(s.to, slow, 256)); }, oneWaits,
			 wasRead});
}

/* ---- names, ioctl, files ---- */

void addNames(std::vector<Call> &table, const Places &places)
{
	const std::string loop = nameOf(places.loop);

	table.push_back({"bind", Kind::absent, loop, 0, [n = loop.size()](Scene &s, char *slow) {
				 return sys(bind(s.fresh, reinterpret_cast<sockaddr *>(slow), n));
			 }});
	table.push_back({"connect", Kind::absent, loop, 0, [n = loop.size()](Scene &s, char *slow) {
				 return sys(
					 connect(s.fresh, reinterpret_cast<sockaddr *>(slow), n));
			 }});
	table.push_back(
		{"getsockname", Kind::absent, "", 0, [](Scene &s, char *slow) {
			 socklen_t room = 128;

			 return sys(getsockname(s.to, reinterpret_cast<sockaddr *>(slow), &room));
		 }});
	table.push_back(
		{"SIOCRDSSETTOS",
		 Kind::absent,
		 "",
		 0,
		 [](Scene &s, char *slow) { return sys(ioctl(s.from, SIOCRDSSETTOS, slow)); },
		 {},
		 {},
		 true});
	table.push_back({"SIOCRDSGETTOS", Kind::absent, "", 0, [](Scene &s, char *slow) {
				 return sys(ioctl(s.from, SIOCRDSGETTOS, slow));
			 }});
	for (const char *name : {"sockets", "connections", "paths"}) {
		const std::string path = std::string("/proc/net/rds/") + name;

		table.push_back({path, Kind::absent, "", kSomething, [path](Scene &, char *slow) {
					 const Fd file(open(path.c_str(), O_RDONLY | O_CLOEXEC));

					 return sys(read(file, slow, SlowPage::size));
				 }});
	}
}

} // namespace

msghdr *Parts::build(const Scene &scene)
{
	vector = {const_cast<void *>(data ? data : kText), static_cast<size_t>(kLength)};
	header = {};
	header.msg_name = const_cast<void *>(name ? name : scene.target.get());
	header.msg_namelen = scene.target.length();
	header.msg_iov = &vector;
	header.msg_iovlen = 1;
	header.msg_control = const_cast<void *>(control);
	header.msg_controllen = controlLength;
	return &header;
}

Scene::Scene(const Places &where, bool tcp)
	: places(where), from(bindRds(tcp ? where.tcp : where.loop)), to(bindRds(where.loop)),
	  fresh(openRds()), target(tcp ? where.peer : localAddress(to)), overTcp(tcp)
{
}

std::vector<Call> calls(const Places &places)
{
	std::vector<Call> table;

	addSends(table, places);
	addReceives(table);
	addNames(table, places);
	addOptions(table, places);
	return table;
}

} // namespace rdstest
