/* SPDX-License-Identifier: GPL-2.0 */
/*
 * paired_liar.h: a host at the other end of queue pairs that does what it likes.
 *
 * It asks for connections with wrong versions, too many credits or none, numbers that nobody sent,
 * several at once; refuses, accepts, or says nothing; and sends frames that are good otherwise but
 * for their length, checksum, number, ack, credits, flags, ports or extension headers; maps of the
 * wrong size; frames of messages that do not belong together; the same frame again; hello of one
 * life and another.  It posts few buffers, or none, and goes at any moment.
 */
#ifndef RDS_TESTS_PAIRED_LIAR_H
#define RDS_TESTS_PAIRED_LIAR_H

#include "channel.h"
#include "mainline.h"
#include "trouble.h"

namespace peer
{

class PairedLiar final : public Trouble, private ChannelOwner, private fabric::Listener
{
public:
	/* Lies to @victims, about @ports too. */
	PairedLiar(const struct rds_addr &addr, std::vector<struct rds_addr> victims,
		   std::vector<uint16_t> ports);
	~PairedLiar() override;
	void stop() override;

	/* It lies about its priority: so many connections with each victim. */
	static constexpr unsigned int kTos = 3;

	const struct rds_addr addr;

private:
	enum class Mood { kBabble, kSilent, kDeaf, kAbrupt, kCount };
	struct Talk {
		ChannelRef line;
		Mood mood;
		uint64_t seq;
		host::Bytes heard; /* a frame that it was sent: to be sent back */
		bool open;
	};

	void opened(Channel &c) override;
	void came(Channel &c) override;
	void incoming(const fabric::Ref &p) override;

	void wake_later();
	void wake();
	void call();
	void begin(const ChannelRef &c, bool open);
	void act(Talk &t);
	fabric::Data odd_offer(const struct rds_addr &to) const;
	host::Bytes header(Talk &t, size_t len) const;
	host::Bytes wrong_header(Talk &t) const;
	void lie(Talk &t);
	void message(Talk &t);
	void put(Talk &t, host::Bytes f);

	std::vector<Talk> talks_;
	std::vector<ChannelRef> lines_;
	host::Bytes last_;
};

} // namespace peer
#endif
