// SPDX-License-Identifier: GPL-2.0
/* rds-stress: load between two hosts, with every message checked. */
#include <iostream>
#include <random>

#include "../lib/cli.h"
#include "../lib/error.h"
#include "../lib/screen.h"
#include "../lib/text.h"
#include "ask.h"
#include "map.h"
#include "serve.h"

using namespace rdstools;

namespace
{

constexpr double matrix_seconds = 5;

struct CommandLine {
	std::string server;
	std::vector<std::string> matrix;
	std::string receive;
	std::string request = "1024";
	std::string ack = "32";
	std::string send_buffer = "0";
	std::string receive_buffer = "0";
	std::string rdma = "0";
	std::string order = "ordered";
	std::optional<double> seconds;
	bool serve = false;
	bool reset = false;
	bool cpu = false;
	Plan plan;
	LocalOptions local;
};

void declare_sides(CLI::App &app, CommandLine &line)
{
	CLI::Option *active = app.add_option("-s,--send-addr", line.server,
					     "be the active side: connect to this address")
				      ->type_name("ADDRESS");
	CLI::Option *serve =
		app.add_flag("--serve", line.serve,
			     "passive side of one test after another, and active towards third "
			     "hosts for whoever runs --matrix")
			->excludes(active);
	app.add_option("--matrix", line.matrix,
		       "measure all pairs of these hosts, where rds-stress --serve runs")
		->type_name("HOST")
		->excludes(active)
		->excludes(serve);
	CLI::Option *local =
		app.add_option("-r,--recv-addr", line.receive,
			       "local address; the passive side listens on all without it")
			->type_name("ADDRESS");

	app.add_flag("--reset", line.reset,
		     "no test: end the connection from -r to -s, or all from -r, of the type of "
		     "service -Q; it is made again for what is to be sent")
		->needs(local)
		->excludes(serve);
	app.add_option("-p,--port", line.local.port,
		       "TCP port of the control connection; the tasks' RDS ports follow it")
		->type_name("PORT")
		->check(CLI::Range(1, 65534))
		->capture_default_str();
	app.add_flag("-z,--summary", line.local.summary_only, "no line per second");
	app.add_flag("--histogram", line.local.histogram, "at the end, round trip times as bars");
	app.add_flag("--json", line.local.json, "print JSON, one object per line");
	app.add_flag("-c,--report-cpu", line.cpu, "accepted: CPU use is always reported");
	app.add_flag("-R,--rt", line.local.realtime, "run the tasks with round robin scheduling");
	app.add_flag("-V,--trace", line.local.trace, "print every message to stderr");
}

void declare_test(CLI::App &app, CommandLine &line)
{
	CLI::Validator size = checked_by([](const std::string &text) { parse_size(text); }, "");
	const char *group = "The test (active side; the passive side is told)";

	app.add_option("-T,--time", line.seconds,
		       "seconds to run; 0, the default: until interrupted; of each pair of a "
		       "matrix, 5 by default")
		->type_name("SECONDS")
		->check(CLI::Range(0.0, 1e7))
		->group(group);
	app.add_option("-t,--nr-tasks", line.plan.tasks, "tasks on each side")
		->type_name("N")
		->capture_default_str()
		->group(group);
	app.add_option("-d,--depth", line.plan.depth,
		       "requests under way from a task to each task of the other side")
		->type_name("N")
		->capture_default_str()
		->group(group);
	app.add_option("-q,--req-bytes", line.request, "bytes of a request, 32 to 1m")
		->type_name("BYTES")
		->check(size)
		->capture_default_str()
		->group(group);
	app.add_option("-a,--ack-bytes", line.ack, "bytes of an ack, 32 to 1m")
		->type_name("BYTES")
		->check(size)
		->capture_default_str()
		->group(group);
	app.add_flag("-o,--one-way", line.plan.oneway, "no acks: as many requests as RDS takes")
		->group(group);
	app.add_option("--order", line.order,
		       "ordering hints of requests: ordered, unordered, or unordered with each Nth "
		       "half-ordered (half:N) or ordered (ordered:N)")
		->type_name("HINT")
		->check(checked_by([](const std::string &text) { parse_order(text); }, ""))
		->capture_default_str()
		->group(group);
	app.add_option("--segment", line.plan.segment,
		       "requests of one system call, to one task (RDS_CMSG_SEGMENT)")
		->type_name("N")
		->capture_default_str()
		->group(group);
	app.add_option("--recv-batch", line.plan.recv_batch,
		       "messages that one system call returns at most (RDS_RECV_BATCH)")
		->type_name("N")
		->capture_default_str()
		->group(group);
	app.add_flag("-v,--verify", line.plan.verify, "fill and check the payload")->group(group);
	app.add_option("-Q,--tos", line.plan.tos, "type of service")
		->type_name("TOS")
		->group(group);
	app.add_option("--use-cong-monitor", line.plan.congestion_monitor,
		       "1: explicit congestion monitoring")
		->type_name("0|1")
		->group(group);
	app.add_option("--send-buffer", line.send_buffer, "SO_SNDBUF; 0: enough for the depth")
		->type_name("BYTES")
		->check(size)
		->group(group);
	app.add_option("--recv-buffer", line.receive_buffer, "SO_RCVBUF; 0: enough for the depth")
		->type_name("BYTES")
		->check(size)
		->group(group);
}

void declare_rdma(CLI::App &app, CommandLine &line)
{
	CLI::Validator size = checked_by([](const std::string &text) { parse_size(text); }, "");
	const char *group = "RDMA (active side; the passive side is told)";
	RdmaPlan &rdma = line.plan.rdma;

	app.add_option("-D,--rdma-bytes", line.rdma,
		       "with each ack write to, or read from, so many bytes of the requester's "
		       "memory; 0: no RDMA")
		->type_name("BYTES")
		->check(size)
		->group(group);
	app.add_option("--rdma-use-once", rdma.use_once,
		       "1: memory is registered for one operation; 0: freed by the requester")
		->type_name("0|1")
		->capture_default_str()
		->group(group);
	app.add_option("--rdma-use-fence", rdma.use_fence, "1: acks wait for their operations")
		->type_name("0|1")
		->capture_default_str()
		->group(group);
	app.add_option("--rdma-use-notify", rdma.use_notify, "1: ask how each operation ended")
		->type_name("0|1")
		->capture_default_str()
		->group(group);
	app.add_option("--rdma-alignment", rdma.alignment,
		       "where in its page the memory begins, 0 to 4095")
		->type_name("BYTES")
		->capture_default_str()
		->group(group);
}

int run_active(const LocalOptions &options, const Plan &plan)
{
	Address server = options.server;

	server.set_port(options.port);
	Control control(connect_control(server, options.receive, connect_patience));
	greet(control);
	Session session(options, std::move(control));
	session.begin_active(plan);
	return session.run();
}

/* Without -s: to whatever address. */
int run_reset(const CommandLine &line)
{
	RdsSocket().reset_connections(line.local.receive, line.local.server,
				      static_cast<std::uint8_t>(line.plan.tos));
	return 0;
}

int run_matrix(const CommandLine &line, std::vector<Host> hosts)
{
	Matrix matrix(std::move(hosts), line.plan, line.seconds.value_or(matrix_seconds));

	ask_all(matrix, line.local.receive, line.local.port);
	if (line.local.json)
		std::cout << matrix.json().dump() << '\n' << std::flush;
	else
		print_matrix(std::cout, matrix, wants_colour("auto"));
	return matrix.status();
}

/* One line whatever the output format; the passive side's reader wants JSON as well. */
int report(const CommandLine &line, const Error &error, const char *kind, int status)
{
	if (line.local.json)
		std::cout
			<< Json({{"type", "error"}, {"kind", kind}, {"text", error.what()}}).dump()
			<< '\n';
	std::cout.flush();
	std::cerr << "rds-stress: " << error.what() << '\n';
	return status;
}

int run(CommandLine &line)
{
	Plan &plan = line.plan;

	plan.request_bytes = parse_size(line.request);
	plan.ack_bytes = parse_size(line.ack);
	plan.rdma.bytes = parse_size(line.rdma);
	plan.order = parse_order(line.order);
	plan.send_buffer = parse_size(line.send_buffer);
	plan.receive_buffer = parse_size(line.receive_buffer);
	plan.run = std::random_device()();
	plan.validate();
	if (!line.receive.empty())
		line.local.receive = parse_address(line.receive);
	if (!line.server.empty())
		line.local.server = parse_address(line.server);
	if (line.reset)
		return run_reset(line);
	line.local.duration_ns = static_cast<std::uint64_t>(line.seconds.value_or(0) * 1e9);
	if (!line.matrix.empty()) {
		check_measure_seconds(line.seconds.value_or(matrix_seconds));
		std::vector<Host> hosts = parse_hosts(line.matrix);
		catch_stop_signals();
		return run_matrix(line, std::move(hosts));
	}
	/* A missing module is told before anybody waits for a peer. */
	RdsSocket();
	catch_stop_signals();
	try {
		if (line.serve)
			return serve(line.local);
		return line.server.empty() ? run_passive(line.local) : run_active(line.local, plan);
	} catch (const PeerError &error) {
		return report(line, error, "peer", exit_peer);
	} catch (const TestFailed &error) {
		return report(line, error, "failed", exit_failed);
	}
}

} // namespace

int main(int argc, char **argv)
{
	CLI::App app("Exchange RDS messages between tasks on two hosts and check every one. Start "
		     "the passive side first (without -s), then the active side (with -s). Or "
		     "--serve on some hosts, and --matrix anywhere. Exit status 0: all messages "
		     "arrived as sent; 1: some did not, or a pair was not measured; 2: usage or "
		     "environment; 3: the other side was lost.",
		     "rds-stress");
	CommandLine line;

	declare_sides(app, line);
	declare_test(app, line);
	declare_rdma(app, line);
	return run_tool(app, argc, argv, [&] { return run(line); });
}
