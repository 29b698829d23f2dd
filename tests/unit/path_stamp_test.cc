// SPDX-License-Identifier: GPL-2.0
/* Headers of a batch that begins in the midst of a message; and what tracing is told. */
#include "ack_fixture.h"

namespace
{

using fake::wire;

class PathStamp : public AckTest
{
protected:
	/* Up and met; of one message the header and a few bytes are away. */
	void begin_one()
	{
		send();
		bring_up();
		hello();
		wire().room = rds::wire::kHeaderBytes + 10;
		send();
		sim::run_ready();
		ASSERT_EQ(wire().room, 0u);
	}
	void go_on()
	{
		wire().room = SIZE_MAX;
		rds_path_writable(wire().path);
		sim::run_ready();
	}
};

/* The first that begins behind it says what came meanwhile, and so do the others. */
TEST_F(PathStamp, WhoFollowsAMessageUnderWaySaysWhatWeHave)
{
	begin_one();
	send(3);
	ASSERT_EQ(arrive(1), 0);

	go_on();

	auto all = sent();

	ASSERT_GE(all.size(), 5u);
	for (size_t behind = 1; behind <= 4; behind++)
		EXPECT_EQ(all[all.size() - behind].ack, behind <= 3) << behind;
}

/* A batch without a header of its own takes no ack with it: what was asked for is still owed. */
TEST_F(PathStamp, TheRestOfAMessageAnswersNobody)
{
	begin_one();
	ASSERT_EQ(arrive(1, rds::wire::kAckRequired), 0);
	go_on();
	EXPECT_EQ(net->stat(RDS_S_send_ack_only), 1u);
	EXPECT_EQ(sent().back().ack, 1u);
}

struct News {
	unsigned int port;
	enum rds_cong_news what;
	int ours = 1;
	bool operator==(const News &) const = default;
};
std::vector<News> news;

void note(int ours, const struct rds_addr *, unsigned int port, enum rds_cong_news what)
{
	news.push_back({port, what, ours});
}

/* A port that fills up is told as full, and then as clear. */
TEST_F(PathStamp, TracingHearsOfAPortWhatBecameOfIt)
{
	begin_one();
	s->sock().rcvbuf = 1000;
	news.clear();
	host::on_cong = note;
	for (uint64_t seq : {1u, 2u})
		ASSERT_EQ(fake::arrive(wire().path, seq, 5000, 4000, pattern(600)), 0);
	for (int i = 0; i < 2; i++) {
		sim::run_ready();
		ASSERT_TRUE(s->recv());
	}
	EXPECT_EQ(news, (std::vector<News>{{4000, RDS_CONG_FULL}, {4000, RDS_CONG_CLEAR}}));
}

struct Dropped {
	unsigned int why;
	uint64_t seq;
	uint32_t len;
	uint16_t sport, dport;
	bool operator==(const Dropped &) const = default;
};
std::vector<Dropped> dropped;

void note(const struct rds_path *, unsigned int why, uint64_t seq, uint32_t len, uint16_t sport,
	  uint16_t dport)
{
	dropped.push_back({why, seq, len, sport, dport});
}

TEST_F(PathStamp, TracingHearsOfWhatIsThrownAway)
{
	begin_one();
	dropped.clear();
	host::on_drop = note;
	ASSERT_EQ(arrive(1), 0);
	(void)arrive(1, rds::wire::kRetransmitted);
	(void)fake::arrive(wire().path, 2, 5000, 4999, pattern(10));
	sim::run_ready();
	EXPECT_EQ(dropped, (std::vector<Dropped>{{RDS_S_recv_drop_old_seq, 1, 10, 5000, 4000},
						 {RDS_S_recv_drop_no_sock, 2, 10, 5000, 4999}}));
}

/* Only what was full can be forgotten. */
TEST_F(PathStamp, TracingHearsOfNoPortsThatWereClear)
{
	host::Bytes map(rds::kCongMapBytes);

	begin_one();
	news.clear();
	host::on_cong = note;
	rds_path_drop(wire().path, RDS_DROP_ERROR);
	sim::run_ready();
	EXPECT_EQ(news, (std::vector<News>{}));
	wire().room = SIZE_MAX;
	sim::run_for(1000 * kMs);
	bring_up();
	hello();
	map[to.port / 8] = static_cast<unsigned char>(1 << to.port % 8);
	ASSERT_EQ(fake::arrive(wire().path, 0, 0, 0, map, rds::wire::kCongBitmap), 0);
	rds_path_drop(wire().path, RDS_DROP_ERROR);
	sim::run_ready();
	EXPECT_EQ(news, (std::vector<News>{{0, RDS_CONG_MAP, 0}, {0, RDS_CONG_FORGOTTEN, 0}}));
}

/* Of a peer of ours it is told which ports have changed. */
TEST_F(PathStamp, TracingHearsOfAPeersPorts)
{
	rds::wire::MapChanges c;

	begin_one();
	ASSERT_TRUE(c.add(5000, true));
	news.clear();
	host::on_cong = note;
	{
		rds::RcuReader rcu;
		rds::CongMap &map = *wire().path->conn.fcong;

		ASSERT_TRUE(rds::CongTable::heard(*net->core(), map, c).ok());
		c = {};
		ASSERT_TRUE(c.add(5000, false));
		ASSERT_TRUE(rds::CongTable::heard(*net->core(), map, c).ok());
	}
	EXPECT_EQ(news, (std::vector<News>{{5000, RDS_CONG_FULL, 0}, {5000, RDS_CONG_CLEAR, 0}}));
}

} // namespace
