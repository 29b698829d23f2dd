/* SPDX-License-Identifier: GPL-2.0 */
/*
 * bytes.h: bytes in order: put in at the end, taken out at the beginning, in one piece.
 */
#ifndef RDS_TESTS_BYTES_H
#define RDS_TESTS_BYTES_H

#include <cstdint>
#include <cstring>
#include <vector>

namespace tube
{

class ByteQueue final
{
public:
	bool empty() const
	{
		return head_ == bytes_.size();
	}
	size_t size() const
	{
		return bytes_.size() - head_;
	}
	const unsigned char *data() const
	{
		return bytes_.data() + head_;
	}
	/* Room for @n more bytes, to be filled in at once. */
	unsigned char *grow(size_t n)
	{
		digest_ = 0;
		if (head_ && bytes_.size() + n > bytes_.capacity()) {
			bytes_.erase(bytes_.begin(), bytes_.begin() + static_cast<long>(head_));
			head_ = 0;
		}
		bytes_.resize(bytes_.size() + n);
		return bytes_.data() + bytes_.size() - n;
	}
	void put(const unsigned char *p, size_t n)
	{
		if (n)
			memcpy(grow(n), p, n);
	}
	void take(size_t n)
	{
		digest_ = 0;
		head_ += n;
		if (!empty())
			return;
		bytes_.clear();
		head_ = 0;
	}
	void clear()
	{
		take(size());
	}
	/* Of its length and bytes. It is kept until they change, for the model asks after each
	 * step. */
	uint64_t digest() const
	{
		if (!digest_)
			digest_ = fresh_digest();
		return digest_;
	}

private:
	uint64_t fresh_digest() const;

	std::vector<unsigned char> bytes_;
	size_t head_ = 0;
	mutable uint64_t digest_ = 0; /* 0: not known */
};

} // namespace tube
#endif
