/* SPDX-License-Identifier: GPL-2.0 */
/* The kernel's table of peers, over generic netlink. */
#ifndef RDSCTL_PEERS_H
#define RDSCTL_PEERS_H

#include <cstdint>
#include <vector>

#include "genl.h"
#include "key.h"
#include "prefix.h"

namespace rdstools
{

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

	/* All throw Refused. */
	void set(const PeerWords &peer, const Key &key, bool replace);
	void del(const Prefix &prefix);
	/* The key that was replaced is not taken any more. */
	void forget(const Prefix &prefix);
	std::vector<Peer> list();
	/* Hears events from the return of this one on. */
	void subscribe();
	/* Waits for the next ones. Throws Error once rds was unloaded. */
	std::vector<PeerEvent> events();
	void set_default(rds_peers_policy policy);
	unsigned get_default();

private:
	/* A request about a prefix, and nothing else. */
	void ask_about(const Prefix &prefix, std::uint8_t command);

	Genl genl_;
};

} // namespace rdstools

#endif
