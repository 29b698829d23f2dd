/* SPDX-License-Identifier: GPL-2.0 */
/*
 * rds_users: users of one host, each a process, make system calls by turns. In a turn some of them
 * make one deed each, at the same time; a deed follows from the seed, the turn and the user, and
 * from what the user has open. So the same seed plays the same, and a prefix of its turns is a
 * smaller story.
 */
#pragma once

#include "../lib/address.h"
#include "../lib/socket.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace rdstest
{

struct UserOptions {
	uint64_t seed = 1, seeds = 1;
	uint32_t turns = 2000;
	uint32_t bound = 200;		/* turns that a message of the witness may take */
	uint32_t limit = 30;		/* s that a deed may take */
	std::string here, there, netns; /* the witness */
	bool noFaults = false;
};

/* A user, and what is his. */
struct User {
	uint32_t id;
	uid_t uid;
	enum Place {
		Host,	  /* the host's namespaces */
		OwnUsers, /* root of a user namespace, in the host's network */
		Cable,	  /* root of a container with a cable to the host */
		Alone /* root of a container that is without one, and begins anew now and then */
	} place;
	bool container() const
	{
		return place == Cable || place == Alone;
	}
};

/* An order of the director, and the answer of a user. */
struct Order {
	uint64_t seed; /* of the deed */
	uint32_t turn;
};
struct Answer {
	uint32_t turn;
	int32_t result;	 /* of the deed: 0 or more, or -errno */
	uint32_t failed; /* an allocation, or a copy, failed on purpose */
	char deed[28];
	char wrong[196]; /* why the kernel must not do that; empty: it did well */
};

/* Addresses that all know. */
extern const char *const kOfHost[2], *const kOfCable[2];
/* Of an address at one end of the cable the one at the other. */
std::optional<Address> otherEnd(const Address &address);
constexpr size_t kLockedPages = 16; /* that a user may lend: RLIMIT_MEMLOCK */

/* By what a process is tied to the others. */
struct Ties {
	int control;	   /* for orders and answers */
	const int *basket; /* a pair of sockets, for those that are passed on */
	char *doing;	   /* what a user does, for who waits for him */
	bool faults;
};
constexpr size_t kDoing = sizeof(Answer::deed);

/* The process of a user: does what he is told over `control` until that ends. */
[[noreturn]] void runUser(const User &user, const Ties &ties);

/* One seed; says what was done. Throws Failed with what went wrong, and at which turn. */
class Story
{
public:
	Story(const UserOptions &options, uint64_t seed) : options_(options), seed_(seed)
	{
	}
	void play();

	/* Deeds by name: how often, and how often they succeeded. */
	struct Tally {
		uint64_t made = 0, succeeded = 0, failed = 0;
	};
	std::map<std::string, Tally> deeds;
	uint32_t slowest = 0; /* turns that a message of the witness took */
	uint64_t witnessed = 0;

private:
	const UserOptions &options_;
	uint64_t seed_;
};

/* When all users have gone: every port can be had, every page be lent. Throws Failed. */
void nothingIsKept(const std::vector<User> &users, const UserOptions &options);

} // namespace rdstest
