// SPDX-License-Identifier: GPL-2.0
#include "check_rdma.h"

#include <algorithm>

namespace check
{
namespace
{

/* So that a program that mixes tokens up with anything else is found out. */
constexpr uint64_t kTokens = 0x7000000000ull;

} // namespace

void Rdma::complain(uint64_t token, const char *what)
{
	if (complaint_.empty())
		complaint_ = "rdma: operation " + std::to_string(token - kTokens) + " " + what;
}

Rdma::State *Rdma::find(uint64_t token)
{
	if (token < kTokens || token - kTokens >= ops_.size()) {
		complain(token, "is nobody's");
		return nullptr;
	}
	return &ops_[token - kTokens];
}

uint64_t Rdma::sends(Op op)
{
	ops_.push_back(State{std::move(op)});
	return kTokens + ops_.size() - 1;
}

void Rdma::refused(uint64_t token)
{
	State *s = find(token);

	s->out = false;
	refused_++;
	if (s->told || s->delivered)
		complain(token, "was refused and done");
}

/* Nobody writes there again: once is enough. */
void Rdma::look(State &s, uint64_t token, const char *what)
{
	if (s.there_was)
		return;
	s.there_was = true;
	if (s.op.there && !s.op.there())
		complain(token, what);
	s.op.there = nullptr;
}

void Rdma::told(uint32_t owner, uint64_t token, int status)
{
	State *s = find(token);

	if (!s)
		return;
	if (!s->out || s->told)
		complain(token, s->told ? "is told of twice" : "was refused, and is told of");
	if (s->op.owner != owner)
		complain(token, "is told of to another socket");
	if (status < kSuccess || status >= kStatuses) {
		complain(token, "ended in no way that there is");
		return;
	}
	if (!s->op.always && (status == kSuccess || !s->op.failures))
		complain(token, "is told of though nobody asked");
	s->told = true;
	s->status = status;
	counts_[status]++;
	if (status == kSuccess)
		look(*s, token, "is said to be done, and its data is not there");
	if (s->delivered && (status == kRemoteError || status == kCanceled))
		complain(token, "failed, and its message had arrived");
}

void Rdma::delivered(uint64_t token)
{
	State *s = find(token);

	if (!s)
		return;
	/* A host that begins anew does not know what it had received. */
	if (!s->out || (s->delivered && !s->excused) || s->op.alone)
		complain(token, "has a message that should not be");
	s->delivered = true;
	if (s->op.first)
		look(*s, token, "was overtaken by its message");
	if (s->told && (s->status == kRemoteError || s->status == kCanceled))
		complain(token, "failed, and its message arrived");
}

template <typename F>
void Rdma::excuse(F matches)
{
	for (State &s : ops_)
		s.excused = s.excused || matches(s.op);
}

void Rdma::excuse_from(uint32_t from)
{
	excuse([from](const Op &o) { return o.from == from; });
}

void Rdma::excuse_to(uint32_t to)
{
	excuse([to](const Op &o) { return o.to == to; });
}

void Rdma::excuse_pair(uint32_t from, uint32_t to)
{
	excuse([from, to](const Op &o) { return o.from == from && o.to == to; });
}

void Rdma::closed(uint32_t owner)
{
	for (State &s : ops_)
		s.closed = s.closed || s.op.owner == owner;
}

bool Rdma::complete() const
{
	return std::all_of(ops_.begin(), ops_.end(), [](const State &s) {
		return !s.out || s.told || s.closed || !s.op.always;
	});
}

void Rdma::rest()
{
	for (size_t i = 0; i < ops_.size(); i++) {
		const State &s = ops_[i];

		if (!s.out || s.closed)
			continue;
		if (s.op.always && !s.told)
			complain(kTokens + i, "was never told of");
		if (s.told && s.status == kSuccess && !s.delivered && !s.op.alone && !s.excused)
			complain(kTokens + i, "was done, and its message did not arrive");
		/* Told or not, it would have been of a failure. */
		if (!s.told && s.op.failures && !s.delivered && !s.op.alone && !s.excused)
			complain(kTokens + i, "did not fail, and its message did not arrive");
	}
}

} // namespace check
