/* SPDX-License-Identifier: GPL-2.0 */
/* rds-stress on the screen: a line each second, a table at the end, or both as JSON lines. */
#ifndef RDSTOOLS_STRESS_REPORT_H
#define RDSTOOLS_STRESS_REPORT_H

#include <cstdint>
#include <optional>
#include <vector>

#include "../lib/cli.h"
#include "../lib/table.h"
#include "plan.h"
#include "shared.h"

namespace rdstools
{

/* Messages that went missing on the way to us, or were never answered. */
struct Losses {
	std::uint64_t lost = 0;
	std::uint64_t unanswered = 0;
	std::uint64_t notices = 0; /* of our RDMA operations */

	bool any() const
	{
		return lost || unanswered || notices;
	}
	Json json() const;
	/* As json() has them; what is not there is 0. */
	static Losses from_json(const Json &json);
};

/* Plain copies of a task's counters. */
struct Totals {
	std::uint64_t sent = 0;
	std::uint64_t received = 0;
	std::uint64_t sent_bytes = 0;
	std::uint64_t received_bytes = 0;
	std::uint64_t send_calls = 0;
	std::uint64_t send_ns = 0;
	std::uint64_t rtts = 0;
	std::uint64_t rtt_ns = 0;
	std::uint64_t queue_full = 0;
	std::uint64_t congested = 0;
	std::uint64_t updates = 0;
	std::uint64_t late_wakeups = 0;
	std::uint64_t stale = 0;
	std::uint64_t operations = 0;
	std::uint64_t notices = 0;
	std::uint64_t rdma_in_bytes = 0;
	std::uint64_t rdma_out_bytes = 0;

	static Totals of(const TaskState &task);
	Totals &operator+=(const Totals &other);
	Totals operator-(const Totals &earlier) const;
};

/* System-wide busy share since the last call, from /proc/stat. */
class CpuMeter
{
public:
	CpuMeter();
	double percent();

private:
	std::uint64_t busy_ = 0;
	std::uint64_t total_ = 0;
};

class Reporter
{
public:
	Reporter(const Plan &plan, const Ends &ends, bool json, bool quiet, bool histogram = false);
	/* The test starts now. */
	void start(std::uint64_t now);
	/* Once a second while it runs. */
	void interval(SharedMemory &shared, std::uint64_t now);
	/* The test proper ends now: rates count up to here, the rest is draining. */
	void freeze(SharedMemory &shared, std::uint64_t now);
	/* Our figures for the peer's report. */
	Json totals_json() const;
	/* Both after the tasks have ended. */
	Json result(SharedMemory &shared, const std::optional<Json> &peer,
		    const Losses &losses) const;
	void final(SharedMemory &shared, const std::optional<Json> &peer, const Losses &losses);

private:
	void print_line(const Totals &delta, double seconds, double cpu);
	Table table(SharedMemory &shared, const std::optional<Json> &peer) const;
	void print_final_text(const Table &table, SharedMemory &shared,
			      const std::optional<Json> &peer, const Losses &losses) const;
	Totals sum() const;

	Plan plan_;
	Ends ends_;
	bool json_;
	bool quiet_;
	bool histogram_;
	Progress progress_;
	bool heading_done_ = false;
	std::uint64_t started_ = 0;
	double seconds_ = 0;
	std::uint64_t last_time_ = 0;
	Totals last_;
	std::vector<Totals> frozen_;
	CpuMeter interval_cpu_;
	CpuMeter whole_cpu_;
	double cpu_ = 0;
};

} // namespace rdstools

#endif
