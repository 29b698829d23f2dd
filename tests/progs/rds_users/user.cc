// SPDX-License-Identifier: GPL-2.0
#include "user.h"

#include "../lib/check.h"

#include <poll.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <linux/rds.h>

#include <cstring>

namespace rdstest
{

namespace
{

constexpr unsigned int faultsOfTen = 3, mostFaults = 24;
/* Codes of the kernel's own, which no program may see, begin here. */
constexpr int lastErrno = 511;

std::vector<sockaddr_storage> addressesOf(const User &user, size_t &local)
{
	std::vector<std::string> texts = {"127.0.0.1", "::1", "127.0.0.9"};
	std::vector<sockaddr_storage> found;

	if (user.place != User::Alone) {
		const bool cable = user.place == User::Cable;

		for (const char *text : cable ? kOfCable : kOfHost)
			texts.emplace_back(text);
		local = texts.size();
		for (const char *text : cable ? kOfHost : kOfCable)
			texts.emplace_back(text);
	} else {
		local = texts.size();
	}
	for (const char *text : {"10.77.0.9", "fd00:77::9"}) /* there is nobody */
		texts.emplace_back(text);
	for (const std::string &text : texts) {
		const Address one = Address::parse(text);

		memcpy(&found.emplace_back(), one.get(), one.length());
	}
	return found;
}

} // namespace

#define CALL(name) &UserProcess::plain<&Calls::name>

const UserProcess::Kind UserProcess::kinds[] = {
	{"socket", 5, Fresh, true, &UserProcess::open},
	{"close", 4, Any, false, &UserProcess::close},
	{"bind, connect", 8, Any, true, CALL(bindOrConnect)},
	{"disconnect", 2, Any, true, &UserProcess::disconnect},
	{"names", 2, Any, true, CALL(names)},
	{"sendmsg", 34, Bound, true, &UserProcess::send},
	{"sendmsg MSG_ZEROCOPY", 6, Cabled, true, &UserProcess::sendLent},
	{"sendmmsg", 4, Bound, true, &UserProcess::sendSome},
	{"sendmsg, any", 6, Any, true, CALL(sendMessage)},
	{"recvmsg", 36, Readable, true, &UserProcess::receive},
	{"recvmmsg, any", 3, Bound, true, CALL(receiveMany)},
	{"recvmsg, any", 5, Any, true, CALL(receiveMessage)},
	{"setsockopt", 12, Any, true, CALL(setOption)},
	{"setsockopt SOL_SOCKET", 6, Any, true, CALL(setSocketOption)},
	/* Linux complains when there is no memory for one. */
	{"a filter", 1, Any, false, CALL(attachFilter)},
	{"getsockopt", 10, Any, true, CALL(getOption)},
	{"RDS_RECV_QUERY", 2, Bound, false, CALL(query)},
	{"ioctl", 3, Any, true, CALL(ioctls)},
	{"poll", 4, Any, true, CALL(wait)},
	{"epoll", 4, Any, true, &UserProcess::edge},
	{"others", 3, Any, true, CALL(others)},
	{"dup", 2, Any, true, &UserProcess::duplicate},
	{"a file", 4, Any, true, &UserProcess::readFile},
	{"a setting", 2, Any, true, &UserProcess::writeSetting},
	{"netlink", 3, Any, true, &UserProcess::askNetlink},
	{"two threads", 6, Bound, false, &UserProcess::race},
	{"killed in a call", 2, Bound, false, &UserProcess::killed},
	{"fork", 1, Any, false, &UserProcess::forked},
	{"a socket is passed on", 2, Any, true, &UserProcess::pass},
	{"a socket is taken", 3, Fresh, true, &UserProcess::take},
	{"a new namespace", 1, Any, false, &UserProcess::beginAnew},
};

UserProcess::UserProcess(const User &user, const Ties &ties)
	: Calls(0, {}, 0), user_(user), ties_(ties), edges_(epoll_create1(EPOLL_CLOEXEC)),
	  lent_(kLockedPages * Memory::pageBytes, plainByte)
{
	addresses_ = addressesOf(user, local_);
	/* Of a file that root opens: it is the user's own. */
	if (ties.faults)
		fault_.emplace();
	become(user);
	settings_ = settingsOfRds();
}

bool UserProcess::fits(const Slot &slot, Wanted wanted) const
{
	pollfd polled = {slot.fd, POLLIN, 0};

	if (wanted == Fresh || slot.fd < 0)
		return wanted == Fresh && slot.fd < 0;
	if (wanted == Readable)
		return poll(&polled, 1, 0) == 1;
	if (wanted == Cabled)
		return slot.bound && otherEnd(slot.at);
	return wanted == Any || slot.bound;
}

std::optional<Address> otherEnd(const Address &address)
{
	for (size_t i = 0; i < std::size(kOfHost); i++) {
		const Address host = Address::parse(kOfHost[i]),
			      other = Address::parse(kOfCable[i]);

		if (address.port(0) == host)
			return other;
		if (address.port(0) == other)
			return host;
	}
	return std::nullopt;
}

/* The first one from some place on that is as wanted, else the one that is there. */
UserProcess::Slot &UserProcess::choose(Wanted wanted)
{
	const size_t from = below(slots);

	for (size_t i = 0; i < slots; i++)
		if (Slot &slot = slots_[(from + i) % slots]; fits(slot, wanted))
			return slot;
	return slots_[from];
}

/* A name tells what the socket is now, whoever has made it so. */
void UserProcess::remember(Slot &slot)
{
	Address name;

	slot.bound = slot.fd >= 0 && getsockname(slot.fd, name.get(), name.lengthPtr()) == 0 &&
		     name.port();
	if (slot.bound)
		slot.at = name;
}

Answer UserProcess::deed(const Order &order)
{
	Answer answer{};

	reseed(order.seed);
	wrong.clear();

	const Kind &kind = weighted(kinds);
	Slot &slot = choose(kind.wanted);
	const Kind &made = slot.fd < 0 && kind.wanted != Fresh ? kinds[0] : kind;
	const int nth = fault_ && made.mayFail && often(faultsOfTen)
				? static_cast<int>(1 + below(1 + below(mostFaults)))
				: 0;

	answer.turn = order.turn;
	strncpy(answer.deed, made.name, sizeof(answer.deed) - 1);
	memcpy(ties_.doing, answer.deed, kDoing);
	if (nth)
		fault_->arm(nth);
	answer.result = static_cast<int32_t>(sys((this->*made.make)(slot)));
	answer.failed = nth && fault_->disarm();
	remember(slot);
	if (answer.result < -lastErrno)
		wrong = "errno " + std::to_string(-answer.result);
	strncpy(answer.wrong, wrong.c_str(), sizeof(answer.wrong) - 1);
	return answer;
}

void UserProcess::run()
{
	Order order;

	while (::read(ties_.control, &order, sizeof(order)) == sizeof(order)) {
		const Answer answer = deed(order);

		if (::write(ties_.control, &answer, sizeof(answer)) != sizeof(answer))
			break;
	}
}

/* ---- sockets come and go ---- */

long UserProcess::takeInto(Slot &slot, long fd)
{
	if (fd >= 0) {
		slot = Slot();
		slot.fd = Fd(static_cast<int>(fd));
	}
	return fd;
}

long UserProcess::open(Slot &slot)
{
	return takeInto(slot, openSocket());
}

long UserProcess::close(Slot &slot)
{
	return ::close(slot.fd.release());
}

long UserProcess::duplicate(Slot &slot)
{
	return takeInto(choose(Fresh), dup(slot.fd));
}

long UserProcess::disconnect(Slot &slot)
{
	const Address none = Address().length(sizeof(sockaddr_in));

	return connect(slot.fd, none.get(), none.length());
}

/* Once it is there, its edges come, with those of all others. */
long UserProcess::edge(Slot &slot)
{
	epoll_event event = {static_cast<uint32_t>(EPOLLET | (next() & 0x7ff)), {}};
	epoll_event seen[4];

	if (often(4))
		return epoll_ctl(edges_, often(7) ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, slot.fd, &event);
	if (!below(4))
		return epoll_ctl(edges_, EPOLL_CTL_DEL, slot.fd, &event);
	return epoll_wait(edges_, seen, 4, static_cast<int>(below(3)));
}

void runUser(const User &user, const Ties &ties)
{
	try {
		UserProcess(user, ties).run();
	} catch (const std::exception &error) {
		Answer answer{};

		strncpy(answer.deed, "begin", sizeof(answer.deed) - 1);
		strncpy(answer.wrong, error.what(), sizeof(answer.wrong) - 1);
		if (::write(ties.control, &answer, sizeof(answer)) < 0)
			_exit(3);
	}
	_exit(0);
}

} // namespace rdstest
