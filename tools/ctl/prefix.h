/* SPDX-License-Identifier: GPL-2.0 */
/* A peer as the command line has it: a prefix, a rule, and where the key is. */
#ifndef RDSCTL_PREFIX_H
#define RDSCTL_PREFIX_H

#include <string>
#include <vector>

#include <linux/rds_peers.h>

#include "../lib/address.h"

namespace rdstools
{

/* Hosts whose addresses begin alike; link-local ones on one interface, or on any (scope 0). */
struct Prefix {
	Address addr;
	unsigned len = 0;

	/* "10.8.0.0/16"; a single host without a length. */
	std::string text() const;
};

/* ADDR or ADDR/LEN, no names. Throws Error: not an address, too long, or bits beyond the prefix. */
Prefix parse_prefix(const std::string &text);

struct PeerWords {
	Prefix prefix;
	rds_peers_policy policy = RDS_PEERS_ACCEPT;
	rds_peers_method method = RDS_PEERS_NONE;
	std::string key_file; /* empty: none */
	/* Of TCP-AO. */
	rds_peers_alg alg = RDS_PEERS_HMAC_SHA256;
	unsigned sndid = 1, rcvid = 1;
};

/* ADDR[/LEN] [dev IF] [accept|refuse] [key-file FILE] [algo tcp-md5|tcp-ao] [sndid N] [rcvid N]
 * [alg NAME]; with @rule false only the first two. Throws Error. */
PeerWords parse_peer(const std::vector<std::string> &words, bool rule);

rds_peers_policy parse_policy(const std::string &word);
const char *policy_name(unsigned policy);
const char *method_name(unsigned method);
const char *alg_name(unsigned alg);

} // namespace rdstools

#endif
