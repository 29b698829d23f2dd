// SPDX-License-Identifier: GPL-2.0
#include "wire.h"

namespace rds::wire
{

int ext_payload_bytes(uint8_t type)
{
	switch (static_cast<Ext>(type)) {
	case Ext::kNone:
		return 0;
	case Ext::kVersion:
	case Ext::kRdma:
	case Ext::kGenNum:
	case Ext::kCapBits:
		return 4;
	case Ext::kRdmaDest:
	case Ext::kRdmaBytes:
	case Ext::kCsum:
		return 8;
	case Ext::kNpaths:
		return 2;
	case Ext::kSportIdx:
		return 1;
	case Ext::kLimit:
		return -1;
	}
	return type < static_cast<uint8_t>(Ext::kLimit) ? 0 : -1;
}

bool ExtReader::next(ExtView &out)
{
	if (!left_ || *p_ == static_cast<uint8_t>(Ext::kNone))
		return false;

	int n = ext_payload_bytes(*p_);

	if (n < 0 || static_cast<unsigned int>(n) + 1 > left_) {
		bad_ = true;
		left_ = 0;
		return false;
	}
	out.type = static_cast<Ext>(*p_);
	out.data = p_ + 1;
	p_ += n + 1;
	left_ -= static_cast<unsigned int>(n) + 1;
	return true;
}

bool ExtWriter::npaths(uint16_t n)
{
	constexpr unsigned int kBytes = 3;

	if (left_ < kBytes)
		return false;
	*p_ = static_cast<uint8_t>(Ext::kNpaths);
	put16(p_ + 1, n);
	p_ += kBytes;
	left_ -= kBytes;
	return true;
}

} // namespace rds::wire
