/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A test from the handshake to the verdict, the same for both sides:
 *
 *   hello    both at once: who am I, which protocol
 *   setup    active: the plan, its RDS address
 *   ready    passive: its RDS address; its tasks have bound their ports
 *   start    active: go
 *   tick     both, every second: still there
 *   drain    either: stop sending requests
 *   drained  both: everything of mine is answered; what I sent, per pair of tasks
 *   result   both: my totals and whether something is missing; then the end
 *   abort    either, at any time: I found something wrong
 *
 * In place of setup a caller may say what measure.h has.
 */
#ifndef RDSTOOLS_STRESS_SESSION_H
#define RDSTOOLS_STRESS_SESSION_H

#include <sys/types.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "handshake.h"
#include "plan.h"
#include "report.h"
#include "shared.h"

namespace rdstools
{

/* Options that stay on one side. */
struct LocalOptions {
	Address server; /* specified: active side */
	Address receive;
	std::uint16_t port = 4000;
	std::uint64_t duration_ns = 0; /* 0: until interrupted; the active side's counts */
	bool json = false;
	bool summary_only = false;
	bool histogram = false;
	bool realtime = false;
	bool trace = false;
	/* Called all the time while the test runs; ends it by throwing. */
	std::function<void()> meanwhile;
};

class Session
{
public:
	/* After greet(). */
	Session(const LocalOptions &options, Control control);
	~Session();
	Session(const Session &) = delete;
	Session &operator=(const Session &) = delete;

	/* The handshake; after it both sides have their sockets. */
	void begin_active(Plan plan);
	/* After the active side's first message. */
	void begin_passive(const Json &setup);
	/* Runs the test, prints the report; the exit status. */
	int run();
	/* After that, as --json prints it. */
	Json result() const;

private:
	Json expect(const char *type);
	void tell(const char *type, Json body = Json::object());
	void spawn();
	[[noreturn]] void child(unsigned index);
	void loop();
	void handle(const Json &message);
	void check_children();
	void begin_drain();
	void check_drained();
	void check_received();
	void tick();
	bool everything_received() const;
	std::uint64_t progress_mark() const;
	Json sent_matrix() const;
	void take_sent_matrix(const Json &message);
	std::uint64_t count_lost() const;
	std::uint64_t count_notices() const;
	void send_result();
	void end_children();
	int verdict() const;

	LocalOptions options_;
	Control control_;
	Plan plan_;
	Ends ends_;
	bool active_ = false;
	std::vector<RdsSocket> sockets_;
	std::unique_ptr<SharedMemory> shared_;
	std::vector<pid_t> children_;
	std::unique_ptr<Reporter> reporter_;

	std::uint64_t started_ = 0;
	std::uint64_t next_tick_ = 0;
	/* Drain: when progress was last seen, and its mark. */
	std::uint64_t progress_at_ = 0;
	std::uint64_t last_mark_ = 0;
	bool drained_ = false;
	bool result_sent_ = false;
	/* One way: what the peer says it sent, [peer task][our task]. */
	std::optional<std::vector<std::uint64_t>> peer_sent_;
	bool peer_drained_ = false;
	std::optional<Json> peer_result_;
	Losses losses_;
};

} // namespace rdstools

#endif
