/* SPDX-License-Identifier: GPL-2.0 */
/*
 * fake_transport.h: a transport whose other end is the test.
 *
 * It records what the core asks of it, and answers what the test has told it to.  Registered as
 * TCP's type, and it serves the addresses that the namespace calls local.
 */
#ifndef RDS_TESTS_FAKE_TRANSPORT_H
#define RDS_TESTS_FAKE_TRANSPORT_H

#include <functional>
#include <string>
#include <vector>

#include "host.h"
#include "net/rds/wire.h"

namespace fake
{

/* A region of memory. */
struct Region {
	struct rds_pages *pages;
	uint32_t key;
	bool write;
	std::vector<std::string> calls; /* sync, device */
};

/* One path as the transport sees it. */
struct Wire {
	struct rds_path *path = nullptr;
	std::vector<std::string> calls; /* connect adopt shutdown close recv_retry */
	host::Bytes sent;		/* since the last connect or adopt */
	size_t room = SIZE_MAX;		/* bytes that xmit still accepts */
	int connect_result = 0;
	int adopt_result = 0;
	enum rds_drop_reason unanswered = RDS_DROP_CONNECT;
	long xmit_error = 0; /* returned by xmit when not 0 */
	long no_room = -11;  /* what it says instead of "no byte" */
	bool initiates = true;
	bool midway = false;
	uint32_t wants = 0;
	struct rds_link_facts facts = {};
	bool ended = false;
	unsigned int takeovers_refused = 0; /* that it was told of */
	unsigned int xmits = 0;
	unsigned int last_batch = 0;
	bool last_more = false;
	unsigned int ends = 0; /* xmits that were not told of more behind them */
	bool last_acks = false;
	std::function<void()> on_xmit;	   /* called once, in the midst of the next xmit */
	std::function<void()> on_adopt;	   /* the same, of the next adopt */
	std::function<void()> on_shutdown; /* ... and of the next shutdown */
	std::vector<struct rds_msg *> ops; /* with operations that were begun and are not done */
	bool inside = false;		   /* xmit is running: closing now is a bug of the core */

	/* "connect close ..." of all calls so far. */
	std::string history() const;
	/* The oldest operation ends. */
	void op_done(int status);
};

/* Forgets everything; ops() and module() stay the same objects. */
void reset();
const struct rds_transport *ops();
struct rds_module &module();
/* Sockets of @net that have chosen it. */
int users(host::Net &net);
/* Before the first path is made. */
void set_caps(unsigned int caps);
void set_max_paths(unsigned int n);
/* Calls end after that without an answer. */
inline constexpr unsigned int kCallMs = 5000;
inline constexpr uint64_t kCallNs = kCallMs * 1'000'000ull;
void set_call_ms(unsigned int ms);
/* Without: an orderly end cannot be told from a failure. */
void set_midway(bool has);
/* RDS_CAP_RDMA's calls, whatever set_caps() says. */
void set_rdma(bool has);
struct Regions {
	std::vector<Region *> live; /* oldest first */
	int mr_get_result = 0;
	unsigned int atomics = RDS_ATOMICS_PLAIN;
	unsigned int freed = 0, freed_now = 0, flushed = 0;
	std::vector<std::string> calls; /* of the one that was freed last */
	uint32_t next_key = 0x100;
	uint32_t at = 0x10; /* where a region begins for peers */
};
Regions &regions();
/* New paths are born with what this has. */
Wire &defaults();

/* All that were allocated and not freed, oldest first. */
std::vector<Wire *> &wires();
/* The only one. */
Wire &wire();
/* Handles discarded by the core. */
std::vector<void *> &discarded();

/* A whole message as a peer would send it, handed in through rds_recv_begin() and _incoming().
 * Returns what the last of them said. */
int arrive(struct rds_path *path, uint64_t seq, uint16_t sport, uint16_t dport,
	   const host::Bytes &data, uint8_t flags = 0);
int arrive(struct rds_path *path, rds::wire::Header h, const host::Bytes &data = {});

/* Splits @sent into messages. */
struct Frame {
	uint64_t seq;
	uint16_t sport, dport;
	uint8_t flags;
	uint64_t ack;
	rds::wire::Header header;
	host::Bytes data;
};
std::vector<Frame> frames(const host::Bytes &sent);

} // namespace fake
#endif
