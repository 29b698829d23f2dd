/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A peer of a host with RDS over InfiniBand, made of rdma_cm and verbs in user space: it says what
 * a test wants, right or wrong, and shows what came.  One thread; every wait is for a condition,
 * within a time that is given up only when something is broken.
 */
#pragma once

#include "host.h"
#include "offer.h"
#include "queue_pair.h"

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace rdstest
{

constexpr uint16_t kPortV4 = 18634;
constexpr uint16_t kPortV6 = 16385;

class Peer
{
public:
	/* RDMA reads and atomics at a time: of the other side that we answer, and of ours. */
	struct Reads {
		uint8_t answered = 1, asked = 1;
	};

	/* The connection as the host wants it, seen from here. */
	struct Terms {
		Reads reads;
		unsigned retries = 0, rnrRetries = 0; /* rnrRetries: while we have no buffer */
		bool flowControl = false;
	};

	/* A host's answer to our call. */
	struct Answer {
		bool accepted = false;
		std::string data;
		Terms terms;
		int status = 0; /* why not, as rdma_cm has it */
	};

	Peer(const Address &own, const Address &host);
	~Peer();
	Peer(const Peer &) = delete;
	Peer &operator=(const Peer &) = delete;

	/* The usual offer, or this one, from us to the host. */
	std::string offer(const Offer &o = {}) const
	{
		return o.encode(own_, host_);
	}

	/* ---- to call, and to be called ---- */

	Answer call(const std::string &data, const Rings &rings = {});

	/* From now on the host may call. */
	void listen();

	/* No more; who is calling is refused. */
	void beDeaf();

	/* The private data of its call; nothing: it does not call. */
	std::optional<std::string> called(Patience patience = kSoon);

	/* The rest of that call. */
	Terms terms() const
	{
		return requests_.front().terms;
	}
	bool accept(const std::string &data, const Rings &rings = {});
	void reject(const std::string &data);

	/* Ends it as one does; or the queue pair goes, and the host is not told. */
	void hangUp();
	void vanish();

	/* ---- a connection ---- */

	/* Sends as much as there is room for, and the rest when there is; false: it has ended. */
	bool send(const std::string &bytes);
	bool send(const std::vector<std::string> &frames);

	/* Until the host's adapter has acknowledged everything. */
	bool settle(Patience patience = kSoon);

	/* The next frame, or the next one that is wanted; nothing: none came, or it has ended. */
	std::optional<Frame> receive(Patience patience = kSoon);
	std::optional<Frame> receive(const std::function<bool(const Frame &)> &wanted,
				     Patience patience = kSoon);

	/* Until the host has ended the connection. */
	bool ended(Patience patience = kSoon);

	/* Has it already?  Looks, and does not wait. */
	bool open();

	QueuePair &queue()
	{
		return *queue_;
	}

	/* The numbers in our calls and answers. */
	Reads reads;

	/* Frames that came, and those among them without a right checksum. */
	unsigned frames = 0, broken = 0;

private:
	struct Request {
		rdma_cm_id *id;
		std::string data;
		Terms terms;
	};
	struct Event {
		rdma_cm_event_type type;
		int status;
		std::string data;
		Terms terms;
	};

	bool resolve(Patience patience);
	bool step(const std::function<bool()> &done, Patience patience);
	void takeEvents();
	std::optional<Event> event(Patience patience);
	void drop();

	Address own_, host_;
	bool v6_;
	rdma_event_channel *channel_ = nullptr;
	rdma_cm_id *listener_ = nullptr, *id_ = nullptr;
	std::unique_ptr<QueuePair> queue_;
	std::deque<Event> events_;
	std::deque<Request> requests_;
	bool ended_ = true;
};

} // namespace rdstest
