/* SPDX-License-Identifier: GPL-2.0 */
/*
 * All ordered pairs of some hosts, measured one after another. The host that measures is the
 * first of its pair and sends the requests; the other one answers. Calls to the hosts are made
 * through MatrixCalls, so everything here runs without any.
 */
#ifndef RDSTOOLS_STRESS_MATRIX_H
#define RDSTOOLS_STRESS_MATRIX_H

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "measure.h"

namespace rdstools
{

inline constexpr std::size_t most_hosts = 64;
inline constexpr unsigned matrix_json_version = 1;

struct Host {
	std::string name; /* as the user has it */
	Address address;
	/* Why this host is asked nothing more, and no other is asked about it. */
	std::string gone;
};

/* Throws Error: too few, too many, one twice. */
std::vector<Host> parse_hosts(const std::vector<std::string> &names);

/* This host does not answer the one who asks; others may be well. */
class HostGone : public PeerError
{
public:
	using PeerError::PeerError;
};

struct MatrixCalls {
	/* Does it serve? Throws HostGone, or Error. */
	std::function<void(const Host &)> check;
	/* Throws the same; an Error is this pair's alone. */
	std::function<Measured(const Host &from, const Host &to, std::size_t number)> measure;
	std::function<bool()> stopped;
};

struct Pair {
	enum class State { open, measured, failed };

	std::size_t from = 0, to = 0;
	State state = State::open;
	bool asked = false; /* the first of the two */
	std::string reason; /* of the failure */
	Json result = nullptr;
	/* Requests that arrived, in 10^6 bytes a second; of round trips, microseconds. */
	std::optional<double> mbytes, p99_usec;
};

class Matrix
{
public:
	Matrix(std::vector<Host> hosts, const Plan &plan, double seconds);
	/* Until all pairs are measured or have failed, or a signal came. */
	void run(const MatrixCalls &calls);

	const std::vector<Host> &hosts() const
	{
		return hosts_;
	}
	/* Row by row, without the diagonal. */
	const std::vector<Pair> &pairs() const
	{
		return pairs_;
	}
	const Plan &plan() const
	{
		return plan_;
	}
	double seconds() const
	{
		return seconds_;
	}
	/* from and to differ. */
	const Pair &pair(std::size_t from, std::size_t to) const;
	std::size_t count(Pair::State state) const;
	/* exit_ok: every pair was measured, and nothing was missing. */
	int status() const;
	Json json() const;

private:
	void measure(Pair &pair, const MatrixCalls &calls, std::size_t number);
	void take(Pair &pair, Measured measured) const;

	std::vector<Host> hosts_;
	Plan plan_;
	double seconds_;
	std::vector<Pair> pairs_;
};

} // namespace rdstools

#endif
