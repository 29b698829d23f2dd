// SPDX-License-Identifier: GPL-2.0
#include "line.h"

#include <algorithm>

#include "sim.h"

namespace peer
{

LineRef Line::call(Owner &o, const struct rds_addr &from, const struct rds_addr &to, uint16_t port)
{
	auto l = std::make_shared<Line>(o, to, 0);

	l->tube_ = tube::connect(from, to, 0, l.get(),
				 port ? port
				      : static_cast<uint16_t>(32768 + sim::random_below(28000)));
	return l;
}

LineRef Line::take(Owner &o, const tube::Ref &p)
{
	auto l = std::make_shared<Line>(o, p->addr[0], 1);

	l->tube_ = p;
	p->end[1].user = l.get();
	return l;
}

void Line::push()
{
	if (closed_ || end().fin_out || out_.empty())
		return;

	size_t n = tube::room(*tube_, side_, out_.size());

	if (!n)
		return;
	end().tx.put(out_.data(), n);
	out_.take(n);
	tube::wrote(tube_, side_, n);
}

void Line::put(const host::Bytes &b)
{
	out_.put(b.data(), b.size());
	put_ += b.size();
	push();
}

void Line::finish()
{
	out_.clear();
	tube::finish(tube_, side_);
}

void Line::close()
{
	if (closed_)
		return;
	closed_ = true;
	out_.clear();
	tube::close(tube_, side_);
}

host::Bytes Line::read(size_t most)
{
	size_t n = std::min(most, end().rx.size());
	host::Bytes b(end().rx.data(), end().rx.data() + n);

	end().rx.take(n);
	tube::read_some(tube_, side_);
	return b;
}

} // namespace peer
