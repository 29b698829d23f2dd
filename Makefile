# SPDX-License-Identifier: GPL-2.0
# PF_RDS: modules by Kbuild, user space by CMake, tests by both.  `make help` lists the targets.
#
#	KERNEL=6.1 (default) or 6.12	which of Debian's kernels to build for and to test on
#	KDIR=DIR			a kernel build directory of your own, e.g. /lib/modules/$(uname -r)/build
#	DESTDIR=DIR			where `make install` puts things, in place of /
SHELL := /bin/bash
.SHELLFLAGS := -o pipefail -c
KERNEL ?= 6.1
export KERNEL

top := $(CURDIR)
logs := build/logs
# What the machine has decides; without headers only targets that need none work.
KDIR ?= $(shell scripts/kernel-env.sh --get KDIR 2>/dev/null || \
	ls -d /lib/modules/$$(uname -r)/build 2>/dev/null)
kver = $(shell cat $(KDIR)/include/config/kernel.release 2>/dev/null)
modules := net/rds.ko transports/loop/rds_loop.ko transports/tcp/rds_tcp.ko
moddir = build/modules-$(kver)
# No vmlinux lies beside Debian's headers, and BTF of C++ is nothing that pahole knows.
kbuild = $(MAKE) -C $(KDIR) M=$(top) CONFIG_DEBUG_INFO_BTF_MODULES= $(kbuild-quiet)
kbuild-quiet := $(if $(V),V=$(V),--no-print-directory)
jobs := $(shell nproc)

.PHONY: all modules user tests deps test test-user test-vm demo bench tidy install uninstall clean help \
	need-headers

all: modules user ## modules and tools (default)

need-headers:
	@[ -f "$(KDIR)/Module.symvers" ] || { \
	echo "make: no headers of kernel $(KERNEL): apt-get install linux-headers-amd64, or make deps" >&2; exit 1; }

modules: need-headers ## rds.ko, rds_loop.ko, rds_tcp.ko, into build/modules-<kernel>/
	$(kbuild) -j$(jobs) modules $(if $(W),W=$(W))
	@mkdir -p $(moddir)
	@for m in $(modules); do cmp -s $$m $(moddir)/$${m##*/} || cp $$m $(moddir)/; done

build/CMakeCache.txt: CMakeLists.txt
	@command -v cmake >/dev/null || { echo "make: no cmake: apt-get install cmake, or make deps" >&2; exit 1; }
	@mkdir -p build
	cmake -S . -B build $(CMAKE_FLAGS) > build/cmake.log || { cat build/cmake.log; exit 1; }

user: build/CMakeCache.txt ## rds-ping, rds-info, rds-stress, into build/tools/
	@$(MAKE) --no-print-directory -C build -j$(jobs) rds-ping rds-info rds-stress

tests: build/CMakeCache.txt ## what the tests consist of, without running them
	@$(MAKE) --no-print-directory -C build -j$(jobs)

deps: ## installs what is missing (apt; asks for root only then)
	@scripts/deps.sh --kernel $(KERNEL)

test: deps ## everything; last line: N passed, N failed, N skipped
	@mkdir -p $(logs)
	@rm -f $(logs)/test-user.log $(logs)/test-vm.log
	@$(MAKE) --no-print-directory modules tests 2>&1 | tee $(logs)/build.log
	@! grep -E 'warning:|WARNING:' $(logs)/build.log || { echo "make: warnings in the build" >&2; exit 1; }
	@$(MAKE) --no-print-directory test-user; $(MAKE) --no-print-directory test-vm; \
	scripts/summary.py $(logs)/test-user.log $(logs)/test-vm.log

test-user: ## unit, contract, simulator, threads, seam, ABI, docs (ctest)
	@mkdir -p $(logs)
	@cd build && ctest -j$(jobs) --output-on-failure 2>&1 | tee logs/test-user.log

test-vm: ## the VM suite on KERNEL
	@mkdir -p $(logs)
	@tests/kernel/run.py 2>&1 | tee $(logs)/test-vm.log

demo: deps ## two virtual hosts talk RDS, and you see it
	@$(MAKE) --no-print-directory modules user
	@tests/kernel/demo.py

bench: modules ## instructions per message beside mainline's, into docs/performance.md
	@tests/bench/run.py $(BENCH_FLAGS)

tidy: ## formatting, function and file length, licence lines
	@scripts/tidy.sh

install: all ## modules, modprobe configuration, tools, man pages (DESTDIR)
	@scripts/install.sh install "$(DESTDIR)" "$(KDIR)" "$(kver)"

uninstall: ## takes away what install put there
	@scripts/install.sh uninstall "$(DESTDIR)" "$(KDIR)" "$(kver)"

clean: ## everything built
	@[ ! -d "$(KDIR)" ] || $(kbuild) clean
	rm -rf build

help: ## this
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' Makefile | expand -t 16
