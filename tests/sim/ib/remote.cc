// SPDX-License-Identifier: GPL-2.0
#include "remote.h"

#include <cstring>
#include <map>

#include "pages.h"
#include "sim.h"

namespace fabric
{

class Exposed final
{
public:
	Exposed(network::HostId h, struct rds_pages *pages, bool write, uint32_t at)
		: host(h), at(at), write(write), pages_(pages)
	{
	}
	/* Nobody looks at the memory after this. */
	void close()
	{
		for (Answer *a : std::vector<Answer *>(waiting_))
			a->bytes();
		pages_ = nullptr;
	}
	bool covers(uint64_t addr, uint32_t len) const
	{
		uint64_t bytes = host::pages_bytes(pages_);

		return addr >= at && addr - at <= bytes && len <= bytes - (addr - at);
	}
	void get(uint32_t off, uint32_t len, unsigned char *to) const
	{
		host::read_pages(pages_, off, len, to);
	}
	void put(uint32_t off, const std::vector<unsigned char> &data)
	{
		host::write_pages(pages_, off, static_cast<uint32_t>(data.size()), data.data());
	}
	void wait(Answer *a)
	{
		waiting_.push_back(a);
	}
	void leave(const Answer *a)
	{
		std::erase(waiting_, a);
	}

	const network::HostId host;
	const uint32_t at;
	const bool write;

private:
	struct rds_pages *pages_;
	std::vector<Answer *> waiting_;
};

namespace
{

struct State {
	std::map<uint32_t, std::shared_ptr<Exposed>> by_key;
	uint32_t keys = 0;
};

State &state()
{
	static auto *s = new State;
	return *s;
}

/* A mask's bits end the fields that are added each by itself. */
uint64_t add_fields(uint64_t a, uint64_t b, uint64_t mask)
{
	uint64_t sum = 0;
	unsigned int carry = 0;

	for (unsigned int i = 0; i < 64; i++) {
		unsigned int s = (a >> i & 1) + (b >> i & 1) + carry;

		sum |= static_cast<uint64_t>(s & 1) << i;
		carry = mask >> i & 1 ? 0 : s >> 1;
	}
	return sum;
}

uint64_t result(const struct rds_op &op, uint64_t old)
{
	if (op.kind == RDS_OP_FADD)
		return op.masked ? add_fields(old, op.compare_add, op.compare_add_mask)
				 : old + op.compare_add;
	if (!op.masked)
		return old == op.compare_add ? op.swap : old;
	return (old ^ op.compare_add) & op.compare_add_mask
		       ? old
		       : (old & ~op.swap_mask) | (op.swap & op.swap_mask);
}

/* The old value, as it lay in memory. */
std::vector<unsigned char> swap(Exposed &in, uint32_t off, const struct rds_op &op)
{
	std::vector<unsigned char> old(sizeof(uint64_t)), now(sizeof(uint64_t));
	uint64_t v;

	in.get(off, sizeof(v), old.data());
	memcpy(&v, old.data(), sizeof(v));
	v = result(op, v);
	memcpy(now.data(), &v, sizeof(v));
	in.put(off, now);
	return old;
}

/* The memory that @r may reach at @h, or nullptr. */
std::shared_ptr<Exposed> find(network::HostId h, const Request &r)
{
	auto it = state().by_key.find(r.op->rkey);
	uint64_t addr = r.op->raddr + r.off;
	bool atomic = r.op->kind == RDS_OP_FADD || r.op->kind == RDS_OP_CSWP;

	if (it == state().by_key.end() || it->second->host != h ||
	    !it->second->covers(addr, r.len) || (r.op->kind != RDS_OP_READ && !it->second->write) ||
	    (atomic && addr % 8))
		return nullptr;
	return it->second;
}

} // namespace

const std::vector<unsigned char> &Answer::bytes()
{
	if (from_) {
		bytes_.resize(len_);
		from_->get(off_, len_, bytes_.data());
		from_->leave(this);
		from_ = nullptr;
	}
	return bytes_;
}

Answer::~Answer()
{
	if (from_)
		from_->leave(this);
}

void reset_remote()
{
	state() = State();
}

uint32_t expose(network::HostId h, struct rds_pages *pages, bool write, uint32_t at)
{
	uint32_t key = ++state().keys << 8;

	state().by_key[key] = std::make_shared<Exposed>(h, pages, write, at);
	return key;
}

void conceal(uint32_t key)
{
	auto it = state().by_key.find(key);

	if (it == state().by_key.end())
		return;
	it->second->close();
	state().by_key.erase(it);
}

void conceal_all(network::HostId h)
{
	for (auto it = state().by_key.begin(); it != state().by_key.end();) {
		auto at = it++;

		if (at->second->host == h)
			conceal(at->first);
	}
}

bool execute(network::HostId h, const Request &r, const std::vector<unsigned char> &data,
	     Answer *answer)
{
	auto in = find(h, r);

	if (!in)
		return false;

	auto off = static_cast<uint32_t>(r.op->raddr + r.off - in->at);

	switch (r.op->kind) {
	case RDS_OP_WRITE:
		in->put(off, data);
		break;
	case RDS_OP_READ:
		answer->off_ = off;
		answer->len_ = r.len;
		in->wait(answer);
		answer->from_ = std::move(in);
		break;
	default:
		answer->bytes_ = swap(*in, off, *r.op);
	}
	return true;
}

} // namespace fabric
