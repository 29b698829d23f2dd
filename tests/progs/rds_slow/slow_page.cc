// SPDX-License-Identifier: GPL-2.0
#include "slow_page.h"

#include "../lib/check.h"

#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <system_error>

namespace rdstest
{

namespace
{

void request(int fd, unsigned long code, void *argument, const char *name)
{
	if (ioctl(fd, code, argument) != 0)
		throw std::system_error(errno, std::generic_category(), name);
}

} // namespace

SlowPage::SlowPage() : faults_(syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK))
{
	uffdio_api api{};
	uffdio_register range{};

	if (faults_ < 0)
		throw std::system_error(errno, std::generic_category(), "userfaultfd");
	api.api = UFFD_API;
	api.features = UFFD_FEATURE_PAGEFAULT_FLAG_WP;
	request(faults_, UFFDIO_API, &api, "UFFDIO_API");
	base_ = static_cast<char *>(mmap(nullptr, pages * size, PROT_READ | PROT_WRITE,
					 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
	if (base_ == MAP_FAILED)
		throw std::system_error(errno, std::generic_category(), "mmap");
	memset(base_ + size, 0, (pages - 1) * size);
	range.range = {reinterpret_cast<uintptr_t>(base_), size};
	range.mode = UFFDIO_REGISTER_MODE_MISSING | UFFDIO_REGISTER_MODE_WP;
	request(faults_, UFFDIO_REGISTER, &range, "UFFDIO_REGISTER");
}

SlowPage::~SlowPage()
{
	munmap(base_, pages * size);
}

void SlowPage::fill(bool readOnly)
{
	std::string page = bytes_;
	uffdio_copy copy{};

	page.resize(size);
	copy.dst = reinterpret_cast<uintptr_t>(base_);
	copy.src = reinterpret_cast<uintptr_t>(page.data());
	copy.len = size;
	copy.mode = readOnly ? UFFDIO_COPY_MODE_WP : 0;
	request(faults_, UFFDIO_COPY, &copy, "UFFDIO_COPY");
}

void SlowPage::arm(Kind kind, const std::string &bytes)
{
	uffd_msg old;

	kind_ = kind;
	bytes_ = bytes;
	if (madvise(base_, size, MADV_DONTNEED) != 0)
		throw std::system_error(errno, std::generic_category(), "madvise");
	while (read(faults_, &old, sizeof(old)) > 0)
		continue;
	if (kind == Kind::readOnly)
		fill(true);
	armed_ = true;
}

bool SlowPage::isTouched(std::chrono::milliseconds patience)
{
	uffd_msg fault;

	return waitFor(faults_, POLLIN, patience) &&
	       read(faults_, &fault, sizeof(fault)) == sizeof(fault) &&
	       fault.event == UFFD_EVENT_PAGEFAULT;
}

void SlowPage::answer()
{
	uffdio_writeprotect open{};

	if (!armed_)
		return;
	armed_ = false;
	if (kind_ == Kind::absent) {
		fill(false);
		return;
	}
	open.range = {reinterpret_cast<uintptr_t>(base_), size};
	request(faults_, UFFDIO_WRITEPROTECT, &open, "UFFDIO_WRITEPROTECT");
}

} // namespace rdstest
