// SPDX-License-Identifier: GPL-2.0
#include "session.h"

#include <poll.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <iostream>

#include "../lib/cli.h"
#include "../lib/text.h"
#include "worker.h"

namespace rdstools
{

namespace
{

constexpr std::uint64_t second = 1000000000;
/* Ticks come every second; a peer that was suspended for a moment is forgiven. */
constexpr std::uint64_t silence_limit = 15 * second;
/* While draining: without any progress for this long the rest is given up as lost. */
constexpr std::uint64_t drain_patience = 10 * second;
constexpr int nap_ms = 50;

/* For the peer: its scope ids are not ours. */
std::string bare(Address address)
{
	address.set_scope(0);
	return address.host();
}

void become_realtime()
{
	sched_param param = {};

	param.sched_priority = 1;
	if (sched_setscheduler(0, SCHED_RR, &param) != 0)
		throw Error(
			format("cannot use the round robin scheduler: %s", std::strerror(errno)));
}

} // namespace

Session::Session(const LocalOptions &options, Control control)
	: options_(options), control_(std::move(control))
{
}

Session::~Session()
{
	for (pid_t pid : children_) {
		kill(pid, SIGKILL);
		waitpid(pid, nullptr, 0);
	}
}

void Session::tell(const char *type, Json body)
{
	rdstools::tell(control_, type, std::move(body));
}

Json Session::expect(const char *type)
{
	return rdstools::expect(control_, type);
}

void Session::begin_active(Plan plan)
{
	active_ = true;
	plan_ = plan;
	ends_.local =
		options_.receive.specified() ? options_.receive : local_address(control_.fd());
	try {
		check_rdma(plan_, ends_.local);
	} catch (const Error &error) {
		tell("abort", complaint(error.what(), exit_usage));
		throw;
	}
	tell("setup", {{"plan", plan_.json()}, {"address", bare(ends_.local)}});
	Json ready = expect("ready");
	ends_.peer = numeric_address(word_of(ready, "address"));
	ends_.peer.set_scope(ends_.local.scope());
	ends_.peer.set_port(static_cast<std::uint16_t>(options_.port + 1));
	/* Both sides on one address share its ports: ours then follow the passive side's. */
	unsigned base = options_.port + 1u;
	if (ends_.local.same_host(ends_.peer))
		base += plan_.tasks;
	try {
		if (base + plan_.tasks > 65536)
			throw Error("the control port leaves no room for the tasks' ports");
		ends_.local.set_port(static_cast<std::uint16_t>(base));
		sockets_ = open_sockets(plan_, ends_.local);
		spawn();
	} catch (const Error &error) {
		tell("abort", complaint(error.what(), exit_usage));
		throw;
	}
	tell("start", {{"port", base}});
}

void Session::begin_passive(const Json &setup)
{
	try {
		plan_ = Plan::from_json(setup.value("plan", Json::object()));
		ends_.local = options_.receive.specified() ? options_.receive
							   : local_address(control_.fd());
		ends_.local.set_port(static_cast<std::uint16_t>(options_.port + 1));
		ends_.peer = numeric_address(word_of(setup, "address"));
		ends_.peer.set_scope(ends_.local.scope());
		if (ends_.peer.family() != ends_.local.family())
			throw Error("one side uses IPv4 and the other IPv6");
		sockets_ = open_sockets(plan_, ends_.local);
	} catch (const Error &error) {
		tell("abort", complaint(error.what(), exit_usage));
		throw;
	}
	tell("ready", {{"address", bare(ends_.local)}});
	unsigned base = number_of(expect("start"), "port", 65535).value_or(0);
	if (base == 0 || base + plan_.tasks > 65536)
		throw PeerError("the other side's ports make no sense");
	ends_.peer.set_port(static_cast<std::uint16_t>(base));
	spawn();
}

void Session::spawn()
{
	/* Mainline's loopback queues without end; ours is known by a file mainline lacks. */
	if (plan_.oneway && sockets_.front().transport() == 3 &&
	    access("/proc/sys/net/rds/pf_rds", F_OK) != 0)
		std::cerr << "rds-stress: warning: this kernel's loopback has no flow control, "
			     "one-way mode may use up the memory\n";
	shared_ = std::make_unique<SharedMemory>(plan_.tasks);
	std::cout.flush();
	for (unsigned index = 0; index < plan_.tasks; index++) {
		pid_t parent = getpid();
		pid_t pid = fork();
		if (pid < 0)
			throw Error(
				format("cannot start task %u: %s", index, std::strerror(errno)));
		if (pid == 0) {
			/* No orphans: not even when the parent died before this line. */
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			if (getppid() != parent)
				_exit(exit_failed);
			child(index);
		}
		children_.push_back(pid);
	}
	sockets_.clear();
}

void Session::child(unsigned index)
{
	TaskState &state = shared_->task(index);

	ignore_stop_signals();
	try {
		RdsSocket socket = std::move(sockets_[index]);
		sockets_.clear();
		children_.clear();
		/* A copy here would hide from the peer that our parent died. */
		::close(control_.fd());
		if (options_.realtime)
			become_realtime();
		Worker(plan_, ends_, index, socket, *shared_, active_ || !plan_.one_sided,
		       options_.trace)
			.run();
	} catch (const Error &error) {
		std::strncpy(state.error, error.what(), sizeof(state.error) - 1);
		_exit(error.code() == EOPNOTSUPP ? exit_usage : exit_failed);
	} catch (const std::exception &error) {
		std::strncpy(state.error, error.what(), sizeof(state.error) - 1);
		_exit(exit_failed);
	}
	_exit(exit_ok);
}

void Session::check_children()
{
	for (unsigned i = 0; i < children_.size(); i++) {
		int status = 0;
		if (waitpid(children_[i], &status, WNOHANG) != children_[i])
			continue;
		children_.erase(children_.begin() + i);
		std::string text = shared_->task(i).error;
		if (text.empty())
			text = WIFSIGNALED(status) ? format("task %u was killed by signal %d", i,
							    WTERMSIG(status))
						   : format("task %u ended early", i);
		bool usage = WIFEXITED(status) && WEXITSTATUS(status) == exit_usage;
		try {
			tell("abort", complaint(text, usage ? exit_usage : exit_failed));
		} catch (const PeerError &) {
			/* Our own finding says more than the peer's silence. */
		}
		if (usage)
			throw Error(text);
		throw TestFailed(text);
	}
}

void Session::handle(const Json &message)
{
	const std::string type = word_of(message, "type");

	if (type == "abort") {
		const std::string text = "the other side reports: " + word_of(message, "text");
		if (number_of(message, "status", exit_peer) == exit_usage)
			throw Error(text);
		throw TestFailed(text);
	}
	if (type == "drain") {
		if (shared_->phase() == Phase::run)
			begin_drain();
	} else if (type == "drained") {
		if (plan_.oneway)
			take_sent_matrix(message);
		peer_drained_ = true;
		progress_at_ = now_ns();
	} else if (type == "result") {
		peer_result_ = message;
	} else if (type != "tick") {
		throw PeerError(format("the other side sent an unknown '%.32s'", type.c_str()));
	}
}

void Session::begin_drain()
{
	shared_->phase().store(Phase::drain, std::memory_order_release);
	reporter_->freeze(*shared_, now_ns());
	progress_at_ = now_ns();
	tell("drain");
}

std::uint64_t Session::progress_mark() const
{
	std::uint64_t mark = 0;

	for (unsigned i = 0; i < plan_.tasks; i++)
		mark += shared_->task(i).received + shared_->task(i).sent +
			shared_->task(i).notices;
	return mark;
}

/* When everything is answered no operation begins any more. */
std::uint64_t Session::count_notices() const
{
	std::uint64_t missing = 0;

	for (unsigned i = 0; i < plan_.tasks; i++) {
		std::uint64_t came = shared_->task(i).notices;
		missing += shared_->task(i).notices_due - came;
	}
	return missing;
}

/* Our requests are answered, or nothing moves any more. */
void Session::check_drained()
{
	std::uint64_t now = now_ns();
	std::uint64_t outstanding = 0;
	bool all_draining = true;

	if (std::uint64_t mark = progress_mark(); mark != last_mark_) {
		last_mark_ = mark;
		progress_at_ = now;
	}
	for (unsigned i = 0; i < plan_.tasks; i++)
		all_draining = all_draining && shared_->task(i).draining;
	std::atomic_thread_fence(std::memory_order_acquire);
	for (unsigned i = 0; i < plan_.tasks; i++)
		outstanding += shared_->task(i).outstanding;
	if (!all_draining || (outstanding && now - progress_at_ < drain_patience))
		return;
	losses_.unanswered = outstanding;
	drained_ = true;
	progress_at_ = now;
	tell("drained", plan_.oneway ? Json{{"sent", sent_matrix()}} : Json::object());
}

Json Session::sent_matrix() const
{
	Json matrix = Json::array();

	for (unsigned task = 0; task < plan_.tasks; task++)
		for (unsigned peer = 0; peer < plan_.tasks; peer++)
			matrix.push_back(
				static_cast<std::uint64_t>(shared_->pair(task, peer).sent));
	return matrix;
}

void Session::take_sent_matrix(const Json &message)
{
	peer_sent_ = message.at("sent").get<std::vector<std::uint64_t>>();
	if (peer_sent_->size() != std::size_t{plan_.tasks} * plan_.tasks)
		throw PeerError("the other side's counts make no sense");
}

std::uint64_t Session::count_lost() const
{
	std::uint64_t lost = 0;

	if (!peer_sent_)
		return 0;
	for (unsigned task = 0; task < plan_.tasks; task++)
		for (unsigned peer = 0; peer < plan_.tasks; peer++) {
			std::uint64_t sent = (*peer_sent_)[std::size_t{peer} * plan_.tasks + task];
			std::uint64_t received = shared_->pair(task, peer).received;
			lost += sent > received ? sent - received : 0;
		}
	return lost;
}

/* Both sides are drained; one way, messages may still be on their way to us, and so may notices. */
void Session::check_received()
{
	std::uint64_t lost = count_lost();
	std::uint64_t notices = count_notices();

	if (std::uint64_t mark = progress_mark(); mark != last_mark_) {
		last_mark_ = mark;
		progress_at_ = now_ns();
	}
	if ((lost || notices) && now_ns() - progress_at_ < drain_patience)
		return;
	losses_.lost = lost;
	losses_.notices = notices;
	Json result = reporter_->totals_json();
	result.update(losses_.json());
	tell("result", result);
	result_sent_ = true;
}

void Session::tick()
{
	std::uint64_t now = now_ns();

	if (now < next_tick_)
		return;
	next_tick_ = std::max(next_tick_ + second, now);
	tell("tick");
	if (shared_->phase() == Phase::run)
		reporter_->interval(*shared_, now);
}

void Session::loop()
{
	while (!result_sent_ || !peer_result_) {
		pollfd pfd = {control_.fd(), POLLIN, 0};
		::poll(&pfd, 1, nap_ms);
		/* A peer that has all it wants closes: read no further than its result. */
		while (!peer_result_) {
			auto message = control_.try_receive();
			if (!message)
				break;
			handle(*message);
		}
		check_children();
		if (options_.meanwhile)
			options_.meanwhile();
		if (control_.silence() > silence_limit && !peer_result_)
			throw PeerError("the other side has vanished: nothing heard for 15 s");
		/* Before the drain, so that a test of N seconds prints N lines. */
		if (!peer_result_)
			tick();
		bool over = active_ && options_.duration_ns &&
			    now_ns() - started_ >= options_.duration_ns;
		/* Output that nobody reads any more is of no use: run_tool() says so. */
		if (shared_->phase() == Phase::run && (over || stopped() || !std::cout))
			begin_drain();
		if (shared_->phase() == Phase::drain && !drained_)
			check_drained();
		if (drained_ && peer_drained_ && !result_sent_)
			check_received();
	}
}

void Session::end_children()
{
	std::uint64_t deadline = now_ns() + 5 * second;

	shared_->phase().store(Phase::stop, std::memory_order_release);
	while (!children_.empty()) {
		if (waitpid(children_.back(), nullptr, WNOHANG) == children_.back()) {
			children_.pop_back();
			continue;
		}
		/* Stuck in the kernel: that is a finding. */
		if (now_ns() > deadline)
			throw TestFailed(format("task %zu does not end", children_.size() - 1));
		usleep(1000);
	}
}

int Session::verdict() const
{
	bool missing = losses_.any() || Losses::from_json(*peer_result_).any();

	return missing ? exit_failed : exit_ok;
}

int Session::run()
{
	reporter_ = std::make_unique<Reporter>(plan_, ends_, options_.json, options_.summary_only,
					       options_.histogram);
	started_ = now_ns();
	next_tick_ = started_ + second;
	reporter_->start(started_);
	shared_->phase().store(Phase::run, std::memory_order_release);
	try {
		loop();
		end_children();
		reporter_->final(*shared_, peer_result_, losses_);
		return verdict();
	} catch (const Json::exception &) {
		throw PeerError("the other side sends nonsense");
	}
}

Json Session::result() const
{
	return reporter_->result(*shared_, peer_result_, losses_);
}

} // namespace rdstools
