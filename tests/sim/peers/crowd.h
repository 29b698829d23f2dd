/* SPDX-License-Identifier: GPL-2.0 */
/*
 * crowd.h: dozens of strangers at once: each has an address of its own, calls one of ours, says a
 * bit (nothing, a ping, a message for a port, hello, noise, a part of any) and goes, in order or
 * not, and comes back some time.  A stranger that is called back answers or does not.
 */
#ifndef RDS_TESTS_CROWD_H
#define RDS_TESTS_CROWD_H

#include "mainline.h"
#include "trouble.h"

namespace peer
{

class Crowd final : public Trouble, private Owner, private tube::Listener
{
public:
	/* The host of @first has @n addresses, of @first's family. */
	Crowd(const struct rds_addr &first, unsigned int n, std::vector<struct rds_addr> victims,
	      std::vector<uint16_t> ports);
	~Crowd() override;
	void stop() override;

private:
	void opened(Line &l) override;
	void came(Line &l) override;
	void acked(Line &, uint64_t) override
	{
	}
	void incoming(const tube::Ref &p) override;

	void come_later();
	void come();
	void leave_later(const LineRef &l);
	void speak(Line &l);
	host::Bytes words() const;

	std::vector<struct rds_addr> addrs_;
	std::vector<LineRef> lines_; /* all that have not gone */
	std::vector<LineRef> old_;   /* callbacks may be inside */
};

} // namespace peer
#endif
