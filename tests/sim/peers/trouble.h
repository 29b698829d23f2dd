/* SPDX-License-Identifier: GPL-2.0 */
/*
 * trouble.h: a host that keeps no promise: what it says is nobody's loss.
 */
#ifndef RDS_TESTS_TROUBLE_H
#define RDS_TESTS_TROUBLE_H

#include <functional>
#include <memory>
#include <vector>

#include "host.h"

namespace peer
{

class Trouble
{
public:
	/* For @victims, about @ports too. */
	Trouble(std::vector<struct rds_addr> victims, std::vector<uint16_t> ports);
	virtual ~Trouble() = default;
	Trouble(const Trouble &) = delete;
	Trouble &operator=(const Trouble &) = delete;

	/* Nothing that it began goes on; it refuses who calls. */
	virtual void stop() = 0;

protected:
	/* Within @ns, unless it has stopped by then. */
	void soon(uint64_t ns, const char *what, std::function<void()> fn);
	/* All that was to come soon does not. */
	void no_more();
	bool stopped() const
	{
		return !life_;
	}
	const struct rds_addr &victim() const;
	/* One of somebody's, mostly. */
	uint16_t port() const;
	uint16_t good_port() const;

private:
	const std::vector<struct rds_addr> victims_;
	const std::vector<uint16_t> ports_;
	std::shared_ptr<char> life_ = std::make_shared<char>();
};

host::Bytes noise(size_t n);
/* One that a check may have forgotten, or near @near. */
uint64_t odd_number(uint64_t near);

} // namespace peer
#endif
