// SPDX-License-Identifier: GPL-2.0
#include "pages.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <new>

struct rds_pages {
	struct Piece {
		std::shared_ptr<host::Region::Bytes> in;
		uint32_t off, bytes;
	};
	std::vector<Piece> pieces;
	uint32_t bytes = 0;
	bool write = false;
};

namespace
{

constexpr int kNotPermitted = -1, kNoMemory = -12, kFault = -14;

struct Space {
	std::mutex lock;
	std::map<uint64_t, std::weak_ptr<host::Region::Bytes>> regions; /* by their end */
	uint64_t next = 1ull << 32;
	uint64_t pinned = 0, limit = ~0ull;
};

Space &space()
{
	static auto *s = new Space;
	return *s;
}

[[noreturn]] void broken(const char *what)
{
	fprintf(stderr, "pages: %s\n", what);
	abort();
}

/* Locked. */
int add_piece(struct rds_pages &p, const struct rds_iov &v)
{
	auto it = space().regions.upper_bound(v.addr);
	auto in = it == space().regions.end() ? nullptr : it->second.lock();

	if (!v.bytes)
		broken("pins nothing");
	if (!in || v.addr < in->addr || v.bytes > in->v.size() ||
	    v.addr - in->addr > in->v.size() - v.bytes || (p.write && !in->writable))
		return kFault;
	auto off = static_cast<uint32_t>(v.addr - in->addr), n = static_cast<uint32_t>(v.bytes);

	p.bytes += n;
	p.pieces.push_back({std::move(in), off, n});
	return 0;
}

int add_all(struct rds_pages &p, const struct rds_iov *v, unsigned int n)
{
	Space &s = space();
	std::lock_guard g(s.lock);

	if (!s.limit)
		return kNotPermitted;
	for (unsigned int i = 0; i < n; i++)
		if (int err = add_piece(p, v[i]))
			return err;
	if (p.bytes > s.limit - s.pinned)
		return kNoMemory;
	s.pinned += p.bytes;
	return 0;
}

/* The bytes [@off, @off + @n) of @p, piece by piece. */
template <typename F>
void each_part(const struct rds_pages *p, uint32_t off, uint32_t n, F fn)
{
	if (off > p->bytes || n > p->bytes - off)
		broken("access behind what is pinned");
	for (const auto &piece : p->pieces) {
		uint32_t skip = std::min(off, piece.bytes);
		uint32_t part = std::min(n, piece.bytes - skip);

		off -= skip;
		n -= part;
		if (part)
			fn(piece.in->v.data() + piece.off + skip, part);
	}
}

} // namespace

namespace host
{

Region::Region(size_t bytes, bool writable, uint32_t at) : bytes_(std::make_shared<Bytes>())
{
	Space &s = space();
	std::lock_guard g(s.lock);

	bytes_->addr = s.next + at % kPageBytes;
	bytes_->writable = writable;
	bytes_->v.resize(bytes);
	/* A page between any two is nobody's. */
	s.next += (bytes / kPageBytes + 3) * kPageBytes;
	s.regions[bytes_->addr + bytes] = bytes_;
}

Region::~Region()
{
	std::lock_guard g(space().lock);

	space().regions.erase(addr() + size());
}

uint64_t Region::addr() const
{
	return bytes_->addr;
}

unsigned char *Region::data()
{
	return bytes_->v.data();
}

size_t Region::size() const
{
	return bytes_->v.size();
}

void set_lock_limit(uint64_t bytes)
{
	std::lock_guard g(space().lock);

	space().limit = bytes;
}

uint64_t pinned_bytes()
{
	std::lock_guard g(space().lock);

	return space().pinned;
}

uint32_t pages_bytes(const struct rds_pages *p)
{
	return p->bytes;
}

std::vector<uint32_t> page_lengths(const struct rds_pages *p)
{
	std::vector<uint32_t> out;

	for (const auto &piece : p->pieces) {
		uint64_t at = piece.in->addr + piece.off, end = at + piece.bytes;

		while (at < end) {
			uint64_t next = std::min(end, (at / kPageBytes + 1) * kPageBytes);

			out.push_back(static_cast<uint32_t>(next - at));
			at = next;
		}
	}
	return out;
}

void read_pages(const struct rds_pages *p, uint32_t off, uint32_t n, unsigned char *to)
{
	each_part(p, off, n, [&to](const unsigned char *from, uint32_t part) {
		memcpy(to, from, part);
		to += part;
	});
}

void write_pages(struct rds_pages *p, uint32_t off, uint32_t n, const unsigned char *from)
{
	if (!p->write)
		broken("writes to what was pinned to be read");
	each_part(p, off, n, [&from](unsigned char *to, uint32_t part) {
		memcpy(to, from, part);
		from += part;
	});
}

} // namespace host

extern "C" {

int rds_pages_pin(const struct rds_iov *v, unsigned int n, int write, struct rds_pages **pages)
{
	void *mem = rds_alloc(sizeof(struct rds_pages), RDS_MAY_SLEEP);

	if (!mem)
		return kNoMemory;

	auto *p = new (mem) rds_pages;

	p->write = write;

	int err = add_all(*p, v, n);

	if (err) {
		p->~rds_pages();
		rds_free(mem);
		return err;
	}
	*pages = p;
	return 0;
}

void rds_pages_unpin(struct rds_pages *p)
{
	{
		std::lock_guard g(space().lock);

		space().pinned -= p->bytes;
	}
	p->~rds_pages();
	rds_free(p);
}

} // extern "C"
