/* SPDX-License-Identifier: GPL-2.0 */
/* The kernel's table of peers, over generic netlink. */
#ifndef RDSCTL_PEERS_H
#define RDSCTL_PEERS_H

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "../lib/error.h"
#include "key.h"
#include "prefix.h"

struct mnl_socket;
struct nlmsghdr;

namespace rdstools
{

/* The kernel's refusal of a request, in its own words. */
class Refused : public Error
{
public:
	using Error::Error;
};

/* An entry as the kernel tells it. */
struct Peer {
	Prefix prefix;
	unsigned policy = 0, method = 0, key_bytes = 0;
	/* Of TCP-AO. */
	unsigned alg = 0, sndid = 0, rcvid = 0;
	bool replaced = false; /* a key that this one replaces is taken as well */
	unsigned old_sndid = 0, old_rcvid = 0;
};

/* A host was refused, is not called, or does not answer. */
struct PeerEvent {
	Prefix host;
	unsigned cause = 0;
};

const char *cause_name(unsigned cause);

class Peers
{
public:
	/* Throws Error where rds is not loaded, or has no table of peers. */
	Peers();
	~Peers();
	Peers(const Peers &) = delete;
	Peers &operator=(const Peers &) = delete;

	/* All throw Refused. */
	void set(const PeerWords &peer, const Key &key, bool replace);
	void del(const Prefix &prefix);
	/* The key that was replaced is not taken any more. */
	void forget(const Prefix &prefix);
	std::vector<Peer> list();
	/* Hears events from the return of this one on. */
	void subscribe();
	/* Waits for the next ones. */
	std::vector<PeerEvent> events();
	void set_default(rds_peers_policy policy);
	unsigned get_default();

private:
	/* A request about a prefix, and nothing else. */
	void ask_about(const Prefix &prefix, std::uint8_t command);
	/* A request of the family @family_, to be filled with attributes. */
	nlmsghdr *begin(void *room, std::uint16_t family, std::uint8_t command, int flags);
	/* Sends it and hears the answers up to the last. Throws Refused. */
	void talk(nlmsghdr *request, const std::function<void(const nlmsghdr *)> &answer = {});

	mnl_socket *socket_ = nullptr;
	std::uint16_t family_ = 0;
	std::uint32_t group_ = 0; /* of its events */
	std::uint32_t seq_ = 0;
};

} // namespace rdstools

#endif
