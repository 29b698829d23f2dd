/* SPDX-License-Identifier: GPL-2.0 */
/*
 * ib_fixture.h: a link between a scripted core and an adapter that keeps what is posted; nothing is
 * left when it has ended.
 */
#ifndef IB_FIXTURE_H
#define IB_FIXTURE_H

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "fake_ib.h"

namespace fake_ib
{

class LinkTest : public testing::Test
{
protected:
	LinkTest()
	{
		fake_path = &path;
		path.skip_port = 0;
	}
	void TearDown() override
	{
		rds_ib_link_end(&end.link);
		EXPECT_EQ(path.live, 0) << "messages leaked";
	}
	struct rds_msg *msg(uint32_t len, uint16_t sport = 2, uint64_t ack = 0)
	{
		messages.emplace_back(message(len, sport, ack));
		return messages.back().get();
	}

	struct rds_path path;
	std::vector<std::unique_ptr<struct rds_msg>> messages;
	End end{&path};
};

} // namespace fake_ib
#endif
