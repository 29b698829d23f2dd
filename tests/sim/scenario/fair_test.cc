// SPDX-License-Identifier: GPL-2.0
/* Nobody is starved by others: not by those of the same host, nor by who waits for a full port. */
#include <gtest/gtest.h>

#include "check_fair.h"
#include "stage.h"
#include "story.h"
#include "traffic.h"

namespace story
{
namespace
{

constexpr unsigned int kSlots = 3;
constexpr uint64_t kMs = 1000 * 1000;

class Fairness : public ::testing::TestWithParam<uint64_t>
{
protected:
	void SetUp() override
	{
		story::Setup &s = plan_.setup;

		s.seed = GetParam();
		s.slots = kSlots;
		s.verbs = s.seed % 4 == 0;
		s.preempt_per_1000 = s.seed % 2 ? 30 : 0;
		s.addrs = {host::addr4(1), host::addr4(2)};
		s.net.paths = 1u << s.seed % 4;
		s.net.send_window = s.net.recv_window = 3000;
		plan_.there.assign(2, true);
		begin(s);
		stage_ = std::make_unique<Stage>(plan_);
		stage_->watch.on_received = [this](uint32_t flow, uint32_t number) {
			fair_.received(flow, number + 1 == count_);
		};
		for (unsigned int slot = 0; slot < 2 * kSlots; slot++) {
			Habits h;

			h.sndbuf = h.rcvbuf = 8 * 1000;
			h.event_loop = slot % 2;
			h.edge = slot % 3 == 0;
			stage_->nodes[slot / kSlots]->core()->open(slot % kSlots, h);
		}
	}
	/* From every socket to every one of the other host. */
	void talk()
	{
		sim::Rng rng(GetParam());

		for (unsigned int from = 0; from < 2 * kSlots; from++)
			for (unsigned int to = 0; to < 2 * kSlots; to++)
				if (from / kSlots != to / kSlots)
					stage_->flow(from, to, count_, rng);
	}
	Result end()
	{
		Result r = finish(std::move(stage_));

		EXPECT_EQ(r.complaint, "");
		return r;
	}

	const uint32_t count_ = 200;
	const unsigned int flows_ = 2 * kSlots * kSlots;
	Plan plan_;
	check::Fair fair_;
	std::unique_ptr<Stage> stage_;
};

INSTANTIATE_TEST_SUITE_P(Seeds, Fairness, ::testing::Range<uint64_t>(1, 17));

TEST_P(Fairness, AllHaveMuchToSay)
{
	talk();
	end();
	EXPECT_LT(fair_.worst(), 40u * flows_) << "flow " << fair_.who();
}

/* Whoever waits for a reader that stands still gets on once it reads again; nobody else waits. */
TEST_P(Fairness, OneReaderStandsStill)
{
	App *a = stage_->nodes[1]->core()->app(0);

	a->set_stuck(true);
	talk();
	sim::run_for(2000 * kMs);
	/* What goes to others is through: 5 of 6 readers. */
	EXPECT_EQ(stage_->watch.order.received_count(), (flows_ - kSlots) * count_);
	a->set_stuck(false);
	end();
}

} // namespace
} // namespace story
