/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The facts that rds_parity tells: what is tried, and where. The program runs unchanged on
 * mainline's modules and on ours and judges nothing; whoever runs it on both compares the lines.
 *
 * An item makes its own sockets and tells one fact or several. It runs in a process of its own
 * that is killed when it takes too long, so an item may hang and the next one still begins
 * afresh. Its facts must not depend on luck: no times, no ports, no inode numbers. A wait
 * that found its end is told as what ended it, one that did not as "never".
 */
#pragma once

#include "../lib/address.h"
#include "../lib/check.h"
#include "../lib/result.h"
#include "../lib/socket.h"

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace rdstest
{

/* Where nothing is to come, this long is waited for it; where something is, no longer either. */
constexpr std::chrono::milliseconds soon{1500};

/* Two addresses between which is sent. */
struct Place {
	std::string name; /* "loop", "own", "tcp", and the same with 6 */
	Address near;	  /* the sender's */
	Address far;	  /* the receiver's */
	Address silent;	  /* same family; takes nothing and refuses nothing */
	int netns = -1;	  /* of `far`, when it is not this one */
	int home = -1;	  /* this one */
};

/* The program's arguments; places that need one it was not given are not there. */
struct Env {
	std::vector<Place> places;
	bool nobody = false; /* the item's calls are those of user nobody */

	/* Of that name, or the loopback's. */
	const Place &place(const std::string &name) const;
};

/* The output of an item. */
class Out
{
public:
	explicit Out(std::string item) : item_(std::move(item))
	{
	}
	/* fact ITEM = VALUE, or ITEM/NAME = VALUE */
	void say(const std::string &value);
	void operator()(const std::string &name, const std::string &value);
	void operator()(const std::string &name, long result)
	{
		(*this)(name, describe(result));
	}

private:
	std::string item_;
};

class Facts
{
public:
	using Call = std::function<std::string()>;
	using Many = std::function<void(Out &)>;
	using At = std::function<void(const Place &, Out &)>;

	struct Item {
		std::string name;
		Many run;
	};

	explicit Facts(const Env &env) : env_(env)
	{
	}
	const Env &env() const
	{
		return env_;
	}
	/* One fact; or several. */
	void one(const std::string &name, const Call &call);
	void one(const std::string &name, const std::function<long()> &call);
	void many(const std::string &name, const Many &run);
	/* The same at each place of these names ("tcp" or "loop own tcp"), as NAME@PLACE. */
	void at(const std::string &places, const std::string &name, const At &run);

	const std::vector<Item> &items() const
	{
		return items_;
	}

private:
	const Env &env_;
	std::vector<Item> items_;
};

/* The sections; each is a file of its own. */
void addPoll(Facts &facts);	  /* poll, select, ppoll: events by state, what wakes */
void addEpoll(Facts &facts);	  /* level, edge, one-shot, exclusive, nested */
void addWaiters(Facts &facts);	  /* how many of several are woken */
void addQueue(Facts &facts);	  /* a full send queue and its room */
void addCongestion(Facts &facts); /* a full receiver, with and without a monitor */
void addSignals(Facts &facts);	  /* SA_RESTART, time limits, SIGIO */
void addTimeouts(Facts &facts);	  /* SO_RCVTIMEO, SO_SNDTIMEO, O_NONBLOCK */
void addSharing(Facts &facts);	  /* dup, fork, SCM_RIGHTS, close */
void addFlags(Facts &facts);	  /* each bit of the flags of send and recv */
void addCalls(Facts &facts);	  /* all other calls on a descriptor */
void addOptions(Facts &facts);	  /* options of all levels, by number */
void addIoctls(Facts &facts);	  /* ioctl, fcntl, fstat, socket(2) */
void addInfo(Facts &facts);	  /* RDS_INFO_*, field by field */
void addFiles(Facts &facts);	  /* /proc, sysctls, modules */

} // namespace rdstest
