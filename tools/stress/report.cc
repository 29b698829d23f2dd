// SPDX-License-Identifier: GPL-2.0
#include "report.h"

#include <fstream>
#include <iostream>
#include <string>

#include "../lib/text.h"

namespace rdstools
{

namespace
{

constexpr double percents[] = {50, 90, 99, 99.9, 99.99};

double ratio(double value, double by)
{
	return by > 0 ? value / by : 0;
}

double usec(std::uint64_t ns)
{
	return static_cast<double>(ns) / 1000;
}

double rate(std::uint64_t count, double seconds)
{
	return ratio(static_cast<double>(count), seconds);
}

Totals sum_of(SharedMemory &shared)
{
	Totals all;

	for (unsigned i = 0; i < shared.tasks(); i++)
		all += Totals::of(shared.task(i));
	return all;
}

Histogram round_trips(SharedMemory &shared)
{
	Histogram all;

	for (unsigned i = 0; i < shared.tasks(); i++)
		all.merge(shared.task(i).rtt);
	return all;
}

/* The columns up to the round trip times; the peer reports these too. */
void append_rates(std::vector<Cell> &row, const Totals &t, double seconds)
{
	row.emplace_back(rate(t.sent, seconds));
	row.emplace_back(rate(t.received, seconds));
	row.emplace_back(rate(t.sent_bytes + t.received_bytes, seconds) / 1e6);
	row.emplace_back(ratio(usec(t.send_ns), static_cast<double>(t.send_calls)));
}

void append_rtt(std::vector<Cell> &row, const Histogram &rtt)
{
	if (!rtt.count()) {
		row.resize(row.size() + 2 + std::size(percents));
		return;
	}
	row.emplace_back(rtt.mean() / 1000);
	for (double percent : percents)
		row.emplace_back(usec(rtt.percentile(percent)));
	row.emplace_back(usec(rtt.max()));
}

std::string rdma_text(const Plan &plan, const Totals &all, const Losses &losses)
{
	return format("RDMA: %llu operations of %llu bytes, %llu notifications, %.1f MB in, "
		      "%.1f MB out; lost notifications %llu\n",
		      static_cast<unsigned long long>(all.operations),
		      static_cast<unsigned long long>(plan.rdma.bytes),
		      static_cast<unsigned long long>(all.notices),
		      static_cast<double>(all.rdma_in_bytes) / 1e6,
		      static_cast<double>(all.rdma_out_bytes) / 1e6,
		      static_cast<unsigned long long>(losses.notices));
}

} // namespace

Json Losses::json() const
{
	return {{"lost", lost}, {"unanswered", unanswered}, {"lost_notifications", notices}};
}

Losses Losses::from_json(const Json &json)
{
	return {json.value("lost", std::uint64_t{0}), json.value("unanswered", std::uint64_t{0}),
		json.value("lost_notifications", std::uint64_t{0})};
}

Totals Totals::of(const TaskState &task)
{
	Totals t;

	t.sent = task.sent;
	t.received = task.received;
	t.sent_bytes = task.sent_bytes;
	t.received_bytes = task.received_bytes;
	t.send_calls = task.send_calls;
	t.send_ns = task.send_ns;
	t.rtts = task.rtts;
	t.rtt_ns = task.rtt_ns;
	t.queue_full = task.queue_full;
	t.congested = task.congested;
	t.updates = task.updates;
	t.late_wakeups = task.late_wakeups;
	t.stale = task.stale;
	t.operations = task.operations;
	t.notices = task.notices;
	t.rdma_in_bytes = task.rdma_in_bytes;
	t.rdma_out_bytes = task.rdma_out_bytes;
	return t;
}

Totals &Totals::operator+=(const Totals &other)
{
	sent += other.sent;
	received += other.received;
	sent_bytes += other.sent_bytes;
	received_bytes += other.received_bytes;
	send_calls += other.send_calls;
	send_ns += other.send_ns;
	rtts += other.rtts;
	rtt_ns += other.rtt_ns;
	queue_full += other.queue_full;
	congested += other.congested;
	updates += other.updates;
	late_wakeups += other.late_wakeups;
	stale += other.stale;
	operations += other.operations;
	notices += other.notices;
	rdma_in_bytes += other.rdma_in_bytes;
	rdma_out_bytes += other.rdma_out_bytes;
	return *this;
}

Totals Totals::operator-(const Totals &earlier) const
{
	Totals delta = *this;

	delta.sent -= earlier.sent;
	delta.received -= earlier.received;
	delta.sent_bytes -= earlier.sent_bytes;
	delta.received_bytes -= earlier.received_bytes;
	delta.send_calls -= earlier.send_calls;
	delta.send_ns -= earlier.send_ns;
	delta.rtts -= earlier.rtts;
	delta.rtt_ns -= earlier.rtt_ns;
	delta.queue_full -= earlier.queue_full;
	delta.congested -= earlier.congested;
	delta.updates -= earlier.updates;
	delta.late_wakeups -= earlier.late_wakeups;
	delta.stale -= earlier.stale;
	delta.operations -= earlier.operations;
	delta.notices -= earlier.notices;
	delta.rdma_in_bytes -= earlier.rdma_in_bytes;
	delta.rdma_out_bytes -= earlier.rdma_out_bytes;
	return delta;
}

CpuMeter::CpuMeter()
{
	percent();
}

double CpuMeter::percent()
{
	std::ifstream stat("/proc/stat");
	std::string label;
	std::uint64_t value = 0;
	std::uint64_t busy = 0;
	std::uint64_t total = 0;

	stat >> label;
	/* user nice system idle iowait irq softirq steal; guest time is part of user. */
	for (int field = 0; field < 8 && stat >> value; field++) {
		total += value;
		if (field != 3 && field != 4)
			busy += value;
	}
	double share = total > total_ ? ratio(static_cast<double>(busy - busy_),
					      static_cast<double>(total - total_))
				      : 0;
	busy_ = busy;
	total_ = total;
	return 100 * share;
}

Reporter::Reporter(const Plan &plan, const Ends &ends, bool json, bool quiet, bool histogram)
	: plan_(plan), ends_(ends), json_(json), quiet_(quiet), histogram_(histogram),
	  progress_(quiet)
{
}

void Reporter::start(std::uint64_t now)
{
	started_ = last_time_ = now;
	interval_cpu_.percent();
	whole_cpu_.percent();
}

void Reporter::interval(SharedMemory &shared, std::uint64_t now)
{
	Totals all = sum_of(shared);
	double seconds = static_cast<double>(now - last_time_) / 1e9;

	if (!quiet_)
		print_line(all - last_, seconds, interval_cpu_.percent());
	progress_.say([&] {
		return format("%.0f s, %.0f messages/s sent, %.0f received",
			      static_cast<double>(now - started_) / 1e9,
			      rate((all - last_).sent, seconds),
			      rate((all - last_).received, seconds));
	});
	last_ = all;
	last_time_ = now;
}

void Reporter::print_line(const Totals &delta, double seconds, double cpu)
{
	double tx = rate(delta.sent, seconds);
	double rx = rate(delta.received, seconds);
	double kbytes = rate(delta.sent_bytes + delta.received_bytes, seconds) / 1024;
	double in = rate(delta.rdma_in_bytes, seconds) / 1024;
	double out = rate(delta.rdma_out_bytes, seconds) / 1024;
	double tx_us = ratio(usec(delta.send_ns), static_cast<double>(delta.send_calls));
	/* No ack in this interval, or one way: there is no time to tell. */
	Cell rtt;

	if (delta.rtts)
		rtt = ratio(usec(delta.rtt_ns), static_cast<double>(delta.rtts));
	if (json_) {
		Json line = {{"type", "interval"},
			     {"seconds", seconds},
			     {"tx_rate", tx},
			     {"rx_rate", rx},
			     {"kbytes_rate", kbytes},
			     {"rdma_in_kbytes_rate", in},
			     {"rdma_out_kbytes_rate", out},
			     {"tx_usec", tx_us},
			     {"rtt_usec", nullptr},
			     {"cpu_percent", cpu},
			     {"congested", delta.congested}};
		if (delta.rtts)
			line["rtt_usec"] = std::get<double>(rtt);
		std::cout << line.dump() << '\n' << std::flush;
		return;
	}
	/* mbi and mbo are what RDMA brought in and took out; the names are known to scripts. */
	if (!heading_done_)
		std::cout << "tsks   tx/s   rx/s  tx+rx K/s    mbi K/s    mbo K/s tx us/c   rtt us "
			     "cpu %\n";
	heading_done_ = true;
	std::cout << format("%4u %6.0f %6.0f %10.2f %10.2f %10.2f %7.2f %8s %5.2f\n", plan_.tasks,
			    tx, rx, kbytes, in, out, tx_us, cell_text(rtt, 2).c_str(), cpu)
		  << std::flush;
}

void Reporter::freeze(SharedMemory &shared, std::uint64_t now)
{
	seconds_ = static_cast<double>(now - started_) / 1e9;
	cpu_ = whole_cpu_.percent();
	frozen_.clear();
	for (unsigned i = 0; i < shared.tasks(); i++)
		frozen_.push_back(Totals::of(shared.task(i)));
}

Totals Reporter::sum() const
{
	Totals all;

	for (const Totals &task : frozen_)
		all += task;
	return all;
}

Json Reporter::totals_json() const
{
	Totals all = sum();

	return {{"seconds", seconds_},
		{"sent", all.sent},
		{"received", all.received},
		{"sent_bytes", all.sent_bytes},
		{"received_bytes", all.received_bytes},
		{"send_calls", all.send_calls},
		{"send_ns", all.send_ns},
		{"operations", all.operations},
		{"rdma_in_bytes", all.rdma_in_bytes},
		{"rdma_out_bytes", all.rdma_out_bytes},
		{"cpu_percent", cpu_}};
}

Table Reporter::table(SharedMemory &shared, const std::optional<Json> &peer) const
{
	Table table;
	const Histogram all = round_trips(shared);

	table.columns = {{"task", "task", 5},
			 {"tx/s", "tx_rate", 9, 0},
			 {"rx/s", "rx_rate", 9, 0},
			 {"MB/s", "mbytes_rate", 9, 2},
			 {"tx us/c", "tx_usec", 8, 2},
			 {"rtt us", "rtt_usec", 9},
			 {"p50", "rtt_p50_usec", 9},
			 {"p90", "rtt_p90_usec", 9},
			 {"p99", "rtt_p99_usec", 9},
			 {"p99.9", "rtt_p999_usec", 9},
			 {"p99.99", "rtt_p9999_usec", 9},
			 {"max", "rtt_max_usec", 9},
			 {"cpu %", "cpu_percent", 6}};
	auto add_row = [&](std::string name, const Totals &totals, double seconds) -> auto &
	{
		std::vector<Cell> &row = table.rows.emplace_back();
		row.emplace_back(std::move(name));
		append_rates(row, totals, seconds);
		return row;
	};
	for (unsigned i = 0; i < shared.tasks(); i++) {
		auto &row = add_row(std::to_string(i), frozen_[i], seconds_);
		append_rtt(row, shared.task(i).rtt);
		row.emplace_back();
	}
	auto &total = add_row("total", sum(), seconds_);
	append_rtt(total, all);
	total.emplace_back(cpu_);
	if (peer) {
		Totals t;
		t.sent = peer->value("sent", std::uint64_t{0});
		t.received = peer->value("received", std::uint64_t{0});
		t.sent_bytes = peer->value("sent_bytes", std::uint64_t{0});
		t.received_bytes = peer->value("received_bytes", std::uint64_t{0});
		t.send_calls = peer->value("send_calls", std::uint64_t{0});
		t.send_ns = peer->value("send_ns", std::uint64_t{0});
		auto &row = add_row("peer", t, peer->value("seconds", 0.0));
		append_rtt(row, Histogram());
		row.emplace_back(peer->value("cpu_percent", 0.0));
	}
	/* As if each place of the depth had gone on at the pace of the median. */
	auto &corrected = table.rows.emplace_back();
	corrected.emplace_back(std::string("corrected"));
	corrected.resize(5);
	append_rtt(corrected, all.corrected(all.percentile(50)));
	corrected.emplace_back();
	return table;
}

Json Reporter::result(SharedMemory &shared, const std::optional<Json> &peer,
		      const Losses &losses) const
{
	Totals all = sum_of(shared);
	Json rows = table(shared, peer).json();
	Json result = {{"type", "result"},
		       {"local", ends_.local.host()},
		       {"peer", ends_.peer.host()},
		       {"plan", plan_.json()},
		       {"seconds", seconds_}};

	result["tasks"] = Json::array();
	for (unsigned i = 0; i < shared.tasks(); i++)
		result["tasks"].push_back(rows[i]);
	result["total"] = rows[shared.tasks()];
	result["total_corrected"] = rows.back();
	result["rtt_histogram"] = Json::array();
	for (const Histogram::Band &step : round_trips(shared).steps())
		result["rtt_histogram"].push_back(
			{{"to_usec", usec(step.up_to)}, {"count", step.count}});
	result["peer_total"] = peer ? rows[shared.tasks() + 1] : Json(nullptr);
	/* Everything including the drain, so that both sides' counts can be compared. */
	result["counts"] = {{"sent", all.sent},
			    {"received", all.received},
			    {"sent_bytes", all.sent_bytes},
			    {"received_bytes", all.received_bytes},
			    {"queue_full", all.queue_full},
			    {"congested", all.congested},
			    {"congestion_updates", all.updates},
			    {"late_wakeups", all.late_wakeups},
			    {"stale", all.stale},
			    {"operations", all.operations},
			    {"notifications", all.notices},
			    {"rdma_in_bytes", all.rdma_in_bytes},
			    {"rdma_out_bytes", all.rdma_out_bytes}};
	result.update(losses.json());
	/* The verdict is about both sides. */
	result["peer_losses"] = peer ? Losses::from_json(*peer).json() : Json(nullptr);
	return result;
}

void Reporter::print_final_text(const Table &table, SharedMemory &shared,
				const std::optional<Json> &peer, const Losses &losses) const
{
	Totals all = sum_of(shared);

	std::cout << format("\n%s <-> %s, %.1f s, %u task%s, depth %u, requests %llu bytes, ",
			    ends_.local.host().c_str(), ends_.peer.host().c_str(), seconds_,
			    plan_.tasks, plan_.tasks == 1 ? "" : "s", plan_.depth,
			    static_cast<unsigned long long>(plan_.request_bytes));
	if (plan_.oneway)
		std::cout << "one way\n";
	else
		std::cout << format("acks %llu bytes\n",
				    static_cast<unsigned long long>(plan_.ack_bytes));
	table.print(std::cout);
	if (histogram_)
		print_bands(std::cout, round_trips(shared));
	std::cout << format("queue full %llu, congested %llu, congestion updates %llu, "
			    "late wakeups %llu, foreign messages %llu\n",
			    static_cast<unsigned long long>(all.queue_full),
			    static_cast<unsigned long long>(all.congested),
			    static_cast<unsigned long long>(all.updates),
			    static_cast<unsigned long long>(all.late_wakeups),
			    static_cast<unsigned long long>(all.stale));
	if (plan_.rdma.bytes)
		std::cout << rdma_text(plan_, all, losses);
	std::cout << format("verified: %llu messages, %s; lost %llu, unanswered %llu\n",
			    static_cast<unsigned long long>(all.received),
			    plan_.verify
				    ? plan_.rdma.bytes
					      ? "addresses, ports, sequence, length, payload, RDMA"
					      : "addresses, ports, sequence, length, payload"
				    : "addresses, ports, sequence, length",
			    static_cast<unsigned long long>(losses.lost),
			    static_cast<unsigned long long>(losses.unanswered));
	if (Losses theirs = peer ? Losses::from_json(*peer) : Losses(); theirs.any())
		std::cout << format("the other side: lost %llu, unanswered %llu, lost "
				    "notifications %llu\n",
				    static_cast<unsigned long long>(theirs.lost),
				    static_cast<unsigned long long>(theirs.unanswered),
				    static_cast<unsigned long long>(theirs.notices));
	std::cout << std::flush;
}

void Reporter::final(SharedMemory &shared, const std::optional<Json> &peer, const Losses &losses)
{
	if (json_)
		std::cout << result(shared, peer, losses).dump() << '\n' << std::flush;
	else
		print_final_text(table(shared, peer), shared, peer, losses);
}

} // namespace rdstools
