/* SPDX-License-Identifier: GPL-2.0 */
/* The deeds of one user, and his memory: his sockets, by the facts that are known of them. */
#pragma once

#include "users.h"

#include "../lib/calls.h"
#include "../lib/fault.h"

#include <functional>
#include <optional>

namespace rdstest
{

class UserProcess : private Calls
{
public:
	UserProcess(const User &user, const Ties &ties);
	void run();

private:
	static constexpr size_t slots = 8;
	struct Slot {
		Fd fd;
		bool bound = false, lends = false;
		Address at; /* if it is bound */
	};
	/* Which socket a deed is for, if there is one. */
	enum Wanted { Any, Bound, Cabled, Readable, Fresh };
	struct Kind {
		const char *name;
		unsigned int weight;
		Wanted wanted;
		bool mayFail; /* allocations and copies on purpose */
		long (UserProcess::*make)(Slot &slot);
	};
	static const Kind kinds[];

	Slot &choose(Wanted wanted);
	bool fits(const Slot &slot, Wanted wanted) const;
	Answer deed(const Order &order);
	void remember(Slot &slot);
	long takeInto(Slot &slot, long fd);

	/* A call of Calls, on a socket. */
	template <long (Calls::*call)(int)>
	long plain(Slot &slot)
	{
		return (this->*call)(slot.fd);
	}

	/* ---- user.cc ---- */
	long open(Slot &slot);
	long close(Slot &slot);
	long duplicate(Slot &slot);
	long disconnect(Slot &slot);
	long edge(Slot &slot);

	/* ---- talk.cc: messages that the receiver can tell from all others ---- */
	struct Text {
		char *at;
		size_t length;
	};
	Text write();
	size_t slice(const Text &text, iovec *to);
	bool damage(iovec *to, size_t count);
	void addControl(msghdr &m, bool lent);
	void nameSomebody(const Slot &slot, msghdr &m);
	bool fill(const Slot &slot, msghdr &m, iovec *to, bool lent);
	long send(Slot &slot);
	long sendLent(Slot &slot);
	long sendSome(Slot &slot);
	long receive(Slot &slot);
	void judge(const msghdr &m, size_t room, long result, int flags);
	void judgeText(const char *at, size_t length);
	void judgeTexts(const msghdr &m, const char *at, size_t got);
	void judgeControl(const msghdr &m);

	/* ---- files.cc: what is told and set by files, and by netlink ---- */
	long readFile(Slot &);
	long writeSetting(Slot &);
	long askNetlink(Slot &);

	/* ---- tasks.cc: more than one process or thread, and namespaces ---- */
	long race(Slot &slot);
	long killed(Slot &slot);
	long forked(Slot &slot);
	long pass(Slot &slot);
	long take(Slot &slot);
	long beginAnew(Slot &);
	long child(const std::function<void()> &what, bool kill);

	const User user_;
	const Ties ties_;
	std::optional<Fault> fault_;
	Slot slots_[slots];
	Fd edges_, netlink_;
	uint16_t families_[2] = {}; /* of generic netlink */
	uint64_t serial_ = 0;
	Memory out_, in_;
	std::string lent_; /* is not written to while the kernel may have it */
	std::vector<std::string> settings_;
};

/* Becomes the user, and root of his own if he is; and brings loopback up where that is his. */
void become(const User &user);
void loopbackUp();
/* Files of RDS' settings as one sees them. */
std::vector<std::string> settingsOfRds();

} // namespace rdstest
