/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A request that rds-stress --serve takes in place of a setup: be the active side of a test with
 * a third host, and say what came out.
 *
 *   measure   who asks: the plan, the third host, for how long
 *   tick      both, every second from the test's beginning: still there
 *   measured  the served side: exit status, reason, the test's result; then the end
 *
 * Or it says bye: it wanted to know whether this side serves.
 *
 * The third host is called at the port of the served side's own --port: a caller cannot choose it.
 */
#ifndef RDSTOOLS_STRESS_MEASURE_H
#define RDSTOOLS_STRESS_MEASURE_H

#include <cstdint>
#include <functional>
#include <string>

#include "handshake.h"
#include "plan.h"

namespace rdstools
{

/* So long a test of somebody else's may take. */
inline constexpr double least_measure_seconds = 0.1, most_measure_seconds = 3600;
/* Throws Error. */
void check_measure_seconds(double seconds);

struct MeasureRequest {
	Plan plan;
	Address to;
	std::uint64_t duration_ns = 0;

	Json json() const;
	/* Takes nothing on trust: validates. Throws Error. */
	static MeasureRequest from_json(const Json &json);
};

struct Measured {
	int status = 0; /* as rds-stress' exit status */
	std::string reason;
	Json result = nullptr; /* what --json prints, if the test came to its end */

	Json json() const;
	/* Throws PeerError where it makes no sense. */
	static Measured from_json(const Json &json);
};

/* A host that does not take requests is told apart before it is asked. Throws PeerError. */
void must_serve(const Greeting &greeting);

/*
 * After a request: until the answer is here. @say is called now and then. PeerError when the
 * served side is gone or silent, when it takes much longer than @duration_ns, or at a signal.
 */
Measured await_measured(Control &control, std::uint64_t duration_ns,
			const std::function<void()> &say);

/* The one who asked is gone, so nobody wants to know. */
class AskerGone : public Error
{
public:
	using Error::Error;
};

/* The served side's ear for the one who asked, while it measures. Throws AskerGone. */
class Asker
{
public:
	explicit Asker(Control &control) : control_(control)
	{
	}
	void look();
	void answer(const Measured &measured);

private:
	Control &control_;
	std::uint64_t next_tick_ = 0;
};

} // namespace rdstools

#endif
