/* SPDX-License-Identifier: GPL-2.0 */
/*
 * mainline.h: a host that follows the rules of mainline's RDS over TCP, written from what is known
 * of its behaviour (docs/wire.md) and sharing nothing with our core but the bytes.
 *
 * Both versions: the smaller address calls, the larger knocks by a connect that it gives up, and
 * only when it has something to send; a message counts as delivered when TCP has acknowledged its
 * last byte; the rest goes out again with the retransmit flag; what came in part is forgotten with
 * its connection; a number below the expected one is dropped only with that flag; numbers survive
 * connections, not restarts; a congestion map goes out when a connection comes up and when it has
 * changed.
 *
 * 6.x forgets whatever it has not read when a connection ends, and resets a caller while it
 * believes that it is connected.  7.x reads to the end before it closes, keeps such a caller until
 * there is a place for it, says its generation and that its source port names the path, and takes
 * the numbers of a peer that says another generation for new.
 *
 * An old release of ours has the same roles; it says hello first, keeps what it sent until h_ack
 * says that the peer's RDS has it, acknowledges by number, and gives a connection up for a newer
 * one.
 */
#ifndef RDS_TESTS_MAINLINE_H
#define RDS_TESTS_MAINLINE_H

#include <deque>

#include "aged.h"
#include "honest.h"
#include "line.h"
#include "sim.h"
#include "net/rds/wire.h"

namespace peer
{

/* @n in network order at @at. */
void put_be(host::Bytes &b, size_t at, unsigned int bytes, uint64_t n);
uint64_t get_be(const unsigned char *p, unsigned int bytes);
/* A header and what follows it. */
host::Bytes frame(uint64_t seq, uint16_t sport, uint16_t dport, uint8_t flags,
		  const host::Bytes &data, const host::Bytes &ext = {});

class Mainline final : public Honest, private Owner, private tube::Listener
{
public:
	Mainline(const struct rds_addr &addr, Version v);
	~Mainline() override;

	bool may_send(const struct rds_endpoint &to) override;
	void send(const struct rds_endpoint &to, uint16_t sport, const host::Bytes &data) override;
	bool is_lost(const struct rds_addr &a) override;
	void ping(const struct rds_addr &a) override
	{
		dial(remote(a));
	}
	void congest(uint16_t port, bool on) override;
	void drop_all() override;
	bool idle() const override;
	bool answered() const override;
	std::string show() const override;

private:
	enum class State { kDown, kCalling, kUp, kDraining };
	static constexpr unsigned int kPaths = 8;
	struct Message {
		host::Bytes bytes;
		uint64_t start = 0, end = 0; /* in the stream; end 0: not put yet */
	};
	struct Remote {
		struct rds_addr addr;
		bool caller; /* we are */
		State state = State::kDown;
		LineRef line = nullptr;
		tube::Ref stash = nullptr; /* 7.x: accepted, and no place for it yet */
		std::deque<Message> queue = {};
		host::Bytes in = {};  /* of the message under way */
		host::Bytes map = {}; /* of the remote's ports */
		uint64_t next_tx = aged::first_number(), next_rx = 0;
		uint64_t read_at = 0; /* reading is put off until then */
		unsigned int backoff_ms = 0;
		unsigned int npaths = 0; /* as told; 0: not yet */
		uint32_t generation = 0; /* as told; 0: not yet */
		bool map_due = false, redial = false;
		bool asked = false; /* on this connection, and not answered yet */
		/* Of an old one of ours: the peer's hello came, an ack is due. */
		bool met = false, ack_due = false;
		uint32_t own_generation = 0;
	};

	void opened(Line &l) override;
	void came(Line &l) override;
	void acked(Line &l, uint64_t bytes) override;
	void room(Line &l) override;
	void incoming(const tube::Ref &p) override;

	Remote &remote(const struct rds_addr &a);
	Remote *by_line(const Line &l);
	template <typename F>
	void later(uint64_t ns, Remote &r, F fn);
	void dial(Remote &r);
	void dial_later(Remote &r);
	void adopt(Remote &r, const tube::Ref &p);
	void come_up(Remote &r);
	void go_down(Remote &r);
	void close_line(Remote &r);
	void unstash(Remote &r);
	void enqueue(Remote &r, host::Bytes b);
	void probe(Remote &r, uint16_t sport, uint16_t dport);
	void pump(Remote &r);
	void read(Remote &r);
	void take(Remote &r, const host::Bytes &m);
	bool heard(Remote &r, const host::Bytes &m);
	void acknowledge(Remote &r, bool now);
	uint64_t ack(const Remote &r) const;
	void take_probe(Remote &r, const unsigned char *ext, size_t n);

	std::vector<std::unique_ptr<Remote>> remotes_;
	std::vector<LineRef> lines_; /* all that there ever were: callbacks may be inside */
	std::shared_ptr<char> life_ = std::make_shared<char>();
	host::Bytes map_; /* of our ports */
	const uint32_t generation_;
};

template <typename F>
void Mainline::later(uint64_t ns, Remote &r, F fn)
{
	sim::after(ns, "peer", [life = std::weak_ptr<char>(life_), fn, r = &r] {
		if (life.lock())
			fn(*r);
	});
}

} // namespace peer
#endif
