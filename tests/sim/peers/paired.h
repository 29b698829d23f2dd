/* SPDX-License-Identifier: GPL-2.0 */
/*
 * paired.h: an honest host over queue pairs: mainline's, or an old release of ours.
 *
 * Written from what is known of mainline (docs/wire.md, "Over queue pairs"), and sharing nothing
 * with our core or our link but the bytes.  Either end may call; who is up and is called drops what
 * it has and refuses, who is calling refuses.  Mainline's of both versions proposes 3.1, an old one
 * of ours 4.1, and 3.1 after a refusal for that.  A message counts as delivered when h_ack of
 * anything says so; what was not goes out again with the retransmit flag; it acknowledges with
 * whatever it sends, and by an empty frame, one at a time, only when it is asked.  It knows no
 * generation.  A connection for each TOS; a congestion map for each address.
 *
 * Mainline's posts its buffers when it hears that it is connected: frames find none before that. It
 * looks at all that came when a frame asks for it.  A worker ends a connection, waits for the rings
 * to drain, refuses calls until then, and calls again, with messages queued or without.
 */
#ifndef RDS_TESTS_PAIRED_H
#define RDS_TESTS_PAIRED_H

#include <deque>
#include <map>

#include "aged.h"
#include "channel.h"
#include "honest.h"
#include "sim.h"

namespace peer
{

class Paired final : public Honest, private ChannelOwner, private fabric::Listener
{
public:
	/* @counts: it offers credits. */
	Paired(const struct rds_addr &addr, Version v, bool counts);
	~Paired() override;

	bool may_send(const struct rds_endpoint &to) override;
	void send(const struct rds_endpoint &to, uint16_t sport, const host::Bytes &data) override;
	bool is_lost(const struct rds_addr &a) override;
	void ping(const struct rds_addr &a) override
	{
		dial(remote(a, 0));
	}
	void congest(uint16_t port, bool on) override;
	void drop_all() override;
	bool idle() const override;
	/* Nobody is asked: there are no probes. */
	bool answered() const override
	{
		return true;
	}
	std::string show() const override;

private:
	enum class State { kDown, kCalling, kAnswering, kUp, kDisconnecting };
	struct Message {
		uint64_t seq;
		host::Bytes bytes;
		bool posted = false; /* some of it, on this connection */
	};
	struct Remote {
		struct rds_addr addr;
		unsigned int tos;
		const uint32_t generation; /* of our numbers, as an old one of ours has it */
		State state = State::kDown;
		ChannelRef line = nullptr;
		std::deque<Message> queue = {};
		std::deque<host::Bytes> out = {}; /* frames that have not been posted */
		host::Bytes in = {};		  /* of the message under way */
		uint64_t next_tx = aged::first_number(), next_rx = 0;
		uint64_t last_rx = 0; /* on this connection; 0: nothing */
		uint64_t read_at = 0; /* reading is put off until then */
		uint32_t heard_generation = 0;
		uint32_t credits = 0, owed = 0; /* if both count */
		unsigned int backoff_ms = 0, quiet = 0, attempts = 0;
		bool flow = false, met = false, map_due = false, redial = false, starving = false;
		bool ack_due = false, ack_armed = false, old_version = false;
	};

	void opened(Channel &c) override;
	void came(Channel &c) override;
	void incoming(const fabric::Ref &p) override;

	Remote &remote(const struct rds_addr &a, unsigned int tos);
	Remote *by_line(const Channel &c);
	template <typename F>
	void later(uint64_t ns, Remote &r, F fn);
	template <typename F>
	void with_line(Remote &r, F fn);
	host::Bytes &map_of(const struct rds_addr &a);
	uint32_t first_buffers() const;
	Said offer(const Remote &r, unsigned int major) const;
	void dial(Remote &r);
	void dial_later(Remote &r);
	bool gives_way(Remote &r);
	void adopt(Remote &r, const fabric::Ref &p, const Said &said);
	void learn(Remote &r, const Said &said);
	void connected(Remote &r);
	void come_up(Remote &r);
	void go_down(Remote &r);
	void came_down(Remote &r);
	void drop_acked(Remote &r, uint64_t ack);
	void enqueue(Remote &r, host::Bytes b);
	void pump(Remote &r);
	void put_parts(Remote &r, const host::Bytes &message);
	void flush(Remote &r);
	void starve(Remote &r);
	void own_frame(Remote &r);
	void acknowledge(Remote &r, bool now);
	void look(Remote &r);
	bool read(Remote &r, const host::Bytes &frame);
	void meet(Remote &r, const host::Bytes &frame);
	void take(Remote &r, const host::Bytes &m);

	bool is_mainline() const
	{
		return version != Version::kOld;
	}

	const bool counts_;
	std::vector<std::unique_ptr<Remote>> remotes_;
	std::vector<ChannelRef> lines_; /* all that there ever were: callbacks may be inside */
	std::shared_ptr<char> life_ = std::make_shared<char>();
	std::map<std::pair<uint64_t, uint64_t>, host::Bytes> maps_; /* of remotes' ports */
	host::Bytes map_;					    /* of our ports */
};

template <typename F>
void Paired::later(uint64_t ns, Remote &r, F fn)
{
	sim::after(ns, "peer", [life = std::weak_ptr<char>(life_), fn, r = &r] {
		if (life.lock())
			fn(*r);
	});
}

/* Locked, unless it has ended by then. */
template <typename F>
void Paired::with_line(Remote &r, F fn)
{
	ChannelRef line = r.line;

	if (!line)
		return;

	fabric::Locked l(line->qp());

	if (r.line == line)
		fn();
}

} // namespace peer
#endif
