/* SPDX-License-Identifier: GPL-2.0 */
/*
 * liar.h: a host at the other end of a byte stream that does what it likes.
 *
 * It calls, refuses, says nothing, never reads, resets in the middle of a byte stream, and writes:
 * headers with wrong lengths, numbers, flags, extension headers, congestion maps, ports; messages
 * cut short; messages again, also such as it was sent itself; and good ones in between.
 */
#ifndef RDS_TESTS_LIAR_H
#define RDS_TESTS_LIAR_H

#include "mainline.h"
#include "trouble.h"

namespace peer
{

class Liar final : public Trouble, private Owner, private tube::Listener
{
public:
	/* Lies to @victims, about @ports too. */
	Liar(const struct rds_addr &addr, std::vector<struct rds_addr> victims,
	     std::vector<uint16_t> ports);
	~Liar() override;
	void stop() override;

	const struct rds_addr addr;

private:
	enum class Mood { kBabble, kSilent, kDeaf, kAbrupt, kCount };
	struct Talk {
		LineRef line;
		Mood mood;
		uint64_t seq;
		host::Bytes heard; /* of what it was sent: to be sent back */
	};

	void opened(Line &l) override;
	void came(Line &l) override;
	void acked(Line &, uint64_t) override
	{
	}
	void incoming(const tube::Ref &p) override;

	void wake_later();
	void wake();
	void begin(const LineRef &l);
	void act(Talk &t);
	host::Bytes lie(Talk &t);
	host::Bytes wrong_header(Talk &t);
	host::Bytes good(Talk &t, size_t n);

	std::vector<Talk> talks_;
	std::vector<LineRef> lines_;
	host::Bytes last_;
};

} // namespace peer
#endif
