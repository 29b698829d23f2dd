# SPDX-License-Identifier: GPL-2.0
# PF_RDS: modules by Kbuild, user space by CMake, tests by both.  `make help` lists the targets.
#
#	KERNEL=6.1|6.12|7.2|7.3	which of Debian's kernels (default: the running one if its headers are
#			installed, else the newest installed; tests, demo and bench boot 6.1);
#			uml, x86 or kcsan: a debug kernel (scripts/debug-kernel.sh)
#	KDIR=DIR	a kernel build directory of your own
#	DESTDIR=DIR	where `make install` puts things, in place of /; PREFIX=DIR, default /usr/local
#	AUTOLOAD=1	with `make install`: socket(2) loads rds.ko
#	JOBS=N V=1 W=1	compilers at a time; show commands; more warnings
SHELL := /bin/bash
.SHELLFLAGS := -o pipefail -c
JOBS ?= $(shell nproc)
PREFIX ?= /usr/local

logs := build/logs
KDIR ?= $(shell scripts/kernel-env.sh --headers $(KERNEL))
kver = $(shell sed -n 's/^.define UTS_RELEASE "\(.*\)"/\1/p' $(KDIR)/include/generated/utsrelease.h 2>/dev/null)
moddir = build/modules-$(kver)
has_ib = $(shell grep -qsx CONFIG_INFINIBAND_ADDR_TRANS=y $(KDIR)/include/config/auto.conf && echo y)
modules = net/rds.ko transports/loop/rds_loop.ko transports/tcp/rds_tcp.ko \
	$(if $(has_ib),transports/ib/rds_rdma.ko) \
	$(if $(debug),tests/kunit/rds_kunit.ko tests/kunit/rds_bugs.ko $(if $(has_ib),tests/strict/rds_strict.ko))
tools := rds-ping rds-info rds-stress rdsctl
# For another kernel than the usual one they are made in a copy: its objects would overwrite the
# others'.  With debug kernels come modules that test ours.
debug := $(filter uml x86 kcsan,$(KERNEL))
copied := $(filter-out 6.1,$(KERNEL))
src_dir := $(if $(copied),build/src-$(copied),.)
debug_flags := $(if $(filter uml,$(debug)),ARCH=um) $(if $(debug),UBSAN_SANITIZE=y RDS_MORE='tests/kunit/ tests/strict/') \
	$(if $(GCOV),GCOV_PROFILE=y)
# Headers that want a newer compiler than this machine's lie in a root that has it.
root := $(if $(filter-out 6.1 6.12 uml x86 kcsan,$(KERNEL)),$(filter /%,$(firstword $(subst /usr/src/, ,$(KDIR)))))
# No BTF: pahole of this age cannot read C++, and nothing of ours needs it.
kbuild = $(if $(root),scripts/build-root.sh $(root) make,$(MAKE)) --no-print-directory \
	-C $(KDIR:$(root)%=%) M=$(abspath $(src_dir)) $(debug_flags) CONFIG_DEBUG_INFO_BTF_MODULES=
# Two builds in one tree would overwrite each other's objects.
locked := mkdir -p $(logs) && flock build/.lock
# Tests need one certain kernel, a build for use takes what the machine has.
again = $(MAKE) --no-print-directory KERNEL=$(test_kernel)
test_kernel := $(or $(KERNEL),6.1)

.PHONY: all modules modules-now user tests deps check flaky test test-user test-gtest test-vm test-uml test-adapters test-debug \
	test-kcsan test-wireshark test-report test-rust test-metrics test-all test-kernels matrix fuzz fuzz-users coverage coverage-glue demo lab picture bench resets ordering scale soak mutation mutants mutants-glue tidy install \
	uninstall packages packages-test clean help need-headers need-cmake

all: modules user ## modules and tools (default)

help: ## this
	@sed -n 's/^\([a-z-]*\):.*## /  make \1\t/p' $(firstword $(MAKEFILE_LIST)) | expand -t 20

need-headers:
	@[ -f "$(KDIR)/Module.symvers" ] || { echo "no headers of kernel $(test_kernel):" \
	"install the package linux-headers-amd64, or run make deps" >&2; exit 1; }

need-cmake:
	@command -v cmake >/dev/null || { echo "no cmake: install the package cmake," \
	"or run make deps" >&2; exit 1; }

modules: need-headers ## rds.ko, rds_loop.ko, rds_tcp.ko, rds_rdma.ko, into build/modules-<kernel>/
	+@$(locked) $(MAKE) --no-print-directory modules-now

modules-now:
	@[ -z "$(copied)" ] || scripts/copy-sources.sh $(src_dir)
	+@$(kbuild) -j$(JOBS) modules $(if $(V),V=$(V)) $(if $(W),W=$(W))
	@mkdir -p $(moddir)
	@for ko in $(addprefix $(src_dir)/,$(modules)); do \
		[ $(moddir)/$${ko##*/} -nt $$ko ] || \
		objcopy --strip-debug $$ko $(moddir)/$${ko##*/} || exit; done

# $(call configure,FLAGS)
configure = $(locked) cmake -S . -B build $1 >$(logs)/cmake.log 2>&1 || { cat $(logs)/cmake.log >&2; exit 1; }

# A user of RDS alone needs no Google Test.
build/CMakeCache.txt: CMakeLists.txt | need-cmake
	@$(call configure,-DRDS_TESTS=OFF)

user: build/CMakeCache.txt ## rds-ping, rds-info, rds-stress, rdsctl, into build/tools/
	@$(locked) $(MAKE) --no-print-directory -C build -j$(JOBS) $(tools)

tests: need-cmake ## what the tests consist of, without running them
	@$(call configure,-DRDS_TESTS=ON)
	@$(locked) $(MAKE) --no-print-directory -C build -j$(JOBS)

deps: ## installs what is missing (apt; asks for root only then)
	@scripts/deps.sh --kernel $(test_kernel)

test_logs := $(addprefix $(logs)/test-,gtest.log user.log patient.log vm.log uml.log)

test: deps ## what every change must pass; last line: N passed, N failed, N skipped
	@mkdir -p $(logs)
	@rm -f $(logs)/test-*.log
	@$(again) modules tests 2>&1 | tee $(logs)/build.log
	@! grep -E 'warning:|WARNING:' $(logs)/build.log || { \
	echo "warnings in the build, see $(logs)/build.log" >&2; exit 1; }
	@$(again) test-gtest; $(again) ONLY='-LE $(if $(ALL),patient,"patient|alone")' test-user; \
	(exec nice -n 19 $(again) PART=patient ONLY='-L patient $(if $(ALL),,-LE same)' test-user >/dev/null 2>&1) & \
	export TURN="$(if $(ALL),,$(or $(TURN),commit))"; \
	$(again) GUESTS=3 test-uml 2>&1 | sed -u 's/^/uml: /' & $(again) test-vm; wait; \
	cat $(logs)/test-patient.log; \
	tests/docs/threats.py $(test_logs) | tee $(logs)/test-threats.log; \
	scripts/summary.py $(test_logs) $(logs)/test-threats.log

# No fuzzer looks for new inputs here, no play is explored, no guest boots that is not User-Mode Linux:
# `make test` does all of that.
check_targets := unit_core unit_tcp unit_ib contract_test scenario_test corners_test sim_run sim_fast \
	adversary_run_fast \
	pthread_tsan fuzzers rds_flows rds_on_udp between_test explore_fast

check: need-cmake ## the part of test that finds most, before every commit; CHECKS='unit ...', SEED=N
	@$(call configure,-DRDS_TESTS=ON)
	@$(locked) $(MAKE) --no-print-directory -C build -j$(JOBS) $(check_targets) >$(logs)/check-build.log 2>&1 || { \
	tail -n 30 $(logs)/check-build.log >&2; exit 1; }
	@scripts/check.py $(CHECKS)

flaky: ## tests N=20 times beside changing loads: CASES='faults.* ...' of the VM suite, or CTEST=REGEX
	@$(if $(CTEST),,KERNEL=$(test_kernel)) scripts/flaky.py --times $(or $(N),20) $(if $(CTEST),--ctest '$(CTEST)') \
	$(foreach case,$(CASES),'$(case)')

test-gtest: ## unit, contract, scenarios: a process for each suite of them (ctest: for each test)
	@mkdir -p $(logs)
	@scripts/gtests.py -j $(JOBS) $(addprefix unit=build/tests/unit/unit_,core tcp ib) \
	contract=build/tests/contract/contract_test sim=build/tests/sim/corners/corners_test \
	sim=build/tests/sim/scenario_test tools=build/tools/tests/tools-test \
	progs_lib=build/tests/progs/progs_lib_test 2>&1 | tee $(logs)/test-gtest.log

test-user: ## unit, contract, simulator, threads, fuzzers, seam, ABI, docs (ctest)
	@mkdir -p $(logs)
	@cd build && ctest -j$(JOBS) --output-on-failure $(ONLY) 2>&1 | tee logs/test-$(or $(PART),user).log

test-vm: ## the VM suite on KERNEL
	@mkdir -p $(logs)
	@$(if $(ALL),scripts/deps.sh --metrics)
	@KERNEL=$(test_kernel) tests/kernel/run.py $(if $(ALL),,--without '$(uml_only)') 2>&1 | tee $(logs)/test-vm.log

test-wireshark: ## what Wireshark shows of RDS (tools/wireshark/rds.lua); SUITE=trixie: that Debian's, 4.4
	@mkdir -p $(logs)
	@tests/wireshark/run.sh $(SUITE) 2>&1 | tee $(logs)/test-wireshark$(addprefix -,$(SUITE)).log

test-report: need-cmake ## rdsctl report's pages in headless Chromium; pictures: build/logs/report
	@scripts/deps.sh --report
	@$(call configure,-DRDS_TESTS=ON)
	@$(locked) $(MAKE) --no-print-directory -C build -j$(JOBS) report-pages
	@tools/tests/browser.py build/tools/tests/report-pages $(logs)/report 2>&1 | tee $(logs)/test-report.log

test-rust: deps ## the example in Rust, by Debian's rustc (270 MB), run in a guest
	@scripts/deps.sh --rust
	@$(again) modules
	@$(call configure,-DRDS_TESTS=ON)
	@$(locked) $(MAKE) --no-print-directory -C build -j$(JOBS) rust-examples
	@KERNEL=$(test_kernel) tests/kernel/run.py examples.rust 2>&1 | tee $(logs)/test-rust.log

test-metrics: need-cmake ## rdsctl metrics read by promtool, node_exporter and Prometheus; the alert rules
	@scripts/deps.sh --metrics
	@$(call configure,-DRDS_TESTS=ON)
	@$(locked) $(MAKE) --no-print-directory -C build -j$(JOBS) metrics-pages
	@tools/tests/promtool.py build/tools/tests/metrics-pages $(or $(PF_RDS_CACHE),~/.cache/pf_rds)/prometheus 2>&1 | \
	tee $(logs)/test-metrics.log

fuzz: tests ## goes on with the fuzzers until stopped: FUZZ=name, TIME=seconds for each
	@tests/fuzz/fuzz.sh go "$(FUZZ)" "$(TIME)"

fuzz-users: deps tests ## users of one host fuzz the system calls (User-Mode Linux): SEED=N SEEDS=20 TURNS=1500
	@scripts/debug-kernel.sh uml >/dev/null && $(MAKE) --no-print-directory KERNEL=uml modules && \
	SEEDS=$(or $(SEEDS),20) tests/kernel/run.py --kernel uml users.$(or $(CASE),with_memory)

# On a debug kernel, built by the way: KUnit, the detectors' own test, every allocation fails once,
# and those of the suite's cases that mean something there. ALL=1: more of them, and more rounds.
uml_cases := detectors kunit shortage.[!m]* load netns.same* netns.settings* netns.exit_under_load \
	tcp.the_smaller* tcp.rdma* tcp.settings_of_connections tcp.dead_peer tcp.full_peer* tcp.link_local tcp.strangers \
	tcp.its_tcp* tcp.zero_copy ib.last_word* ib_peer.credits \
	facts.congestion facts.options facts.tables \
	idle.collected idle.one_host_forgets interop.first_contact sockets.errnos sockets.copies batch.rules \
	faults.sockets_are_killed frames.malformed frames.claims_cost_nothing \
	frames.ours_calls_back policy.nothing_old_comes_out policy.rows_of_others \
	policy.groups_may_open refuse.stopped_reader refuse.reset_in_between robust \
	ib.adapter_goes ib.modules_go_under_load iwarp.ours_with_ours hostile users.with_memory \
	iwarp.few_buffers iwarp.has_no_regions iwarp.adapter_goes order.how_much_is_held ib_rdma.refused ib_netns.keys_are_its_own \
	adapters.operations_are_refused adapters.memory_is_copied ib_idle.memory_is_reached \
	peers.right_key peers.wrong_key peers.refused_host peers.strangers peers.events peers.namespaces \
	peers.what_is_refused peers.no_ao_here peers.keys_stay_inside \
	$(if $(ALL),shortage netns tcp faults.resets_are_injected sockets.behave order.paths_die \
	congestion.ours_with_ours interop.ours_with_ours idle.nobody_notices ib.ours_with_ours ib.credits ib.queue_pairs_break \
	iwarp.connections_break ib_netns.it_ends_under_load ib_peer facts)
# Of these, `make test` plays on the stock kernel, too, what races with a second processor.
uml_only = $(filter-out faults.% ib.% %_under_load idle.% robust shortage.% users.%,$(uml_cases))
uml_rounds := $(if $(ALL),50,10)
# With more than one CPU, preemption and sleep-in-atomic, but emulated.
x86_cases := detectors kunit shortage.calls* shortage.workers netns load tcp idle \
	congestion.ours_with_ours interop.first_contact faults.sockets_are_killed \
	faults.resets_are_injected faults.modules_go_under_load frames.malformed \
	frames.claims_cost_nothing robust ib.queue_pairs_break ib.adapter_goes \
	ib_rdma.connections_cut ib_rdma.freed_in_use ib_rdma.adapter_goes ib_rdma.killed
kcsan_cases := races
debug_run = rm -f $(logs)/test-$1.log; scripts/debug-kernel.sh $1 >/dev/null && \
	$(MAKE) --no-print-directory KERNEL=$1 modules 2>&1 | tee $(logs)/build-$1.log && \
	! grep -E 'warning:|WARNING:' $(logs)/build-$1.log && \
	tests/kernel/run.py --kernel $1 $(if $(GUESTS),--jobs $(GUESTS)) $($1_cases) 2>&1 | tee $(logs)/test-$1.log

test-uml: deps tests ## User-Mode Linux with KASAN, lockdep, kmemleak; KUnit; no memory (ROUNDS=10)
	@export ROUNDS=$(or $(ROUNDS),$(uml_rounds)); $(call debug_run,uml)

test-adapters: deps tests ## adapters of several families and their bad days, imitated over soft-RoCE (UML)
	@rm -f $(logs)/test-adapters.log; scripts/debug-kernel.sh uml >/dev/null && \
	$(MAKE) --no-print-directory KERNEL=uml modules && \
	tests/kernel/run.py --kernel uml --all adapters 2>&1 | tee $(logs)/test-adapters.log

test-debug: deps tests ## the same on x86 in QEMU: SMP, preemption, sleep in atomic
	@$(call debug_run,x86)

test-kcsan: deps tests ## data races, on a kernel with KCSAN
	@$(call debug_run,kcsan)

# The suite on each kernel; then two hosts with different ones (the first has the smaller address),
# whose tests are those of ours and mainline's on either side.
kernels := 6.1 6.12 7.2
pairs := 6.1,6.12 6.12,6.1 6.1,7.2 7.2,6.1
pair_cases := contact interop.*ours* interop.*mainline* congestion.ours* congestion.*is* \
	faults.*with_mainline* faults.sockets_are_killed faults.resets_are_injected
comma := ,
kernel_logs = $(patsubst %,$(logs)/test-kernel-%.log,$(kernels) $(pairs))

test-kernels: deps tests ## the VM suite on 6.1, 6.12 and 7.2, and hosts with different ones
	@rm -f $(kernel_logs)
	@for which in $(kernels) $(pairs); do \
		$(MAKE) --no-print-directory test-kernel-$$which; done; \
	scripts/summary.py $(kernel_logs)

test-kernel-%:
	@scripts/deps.sh --metrics
	@rm -f $(logs)/test-kernel-$*.log; \
	for kernel in $(subst $(comma), ,$*); do \
		log=$(logs)/build-$$kernel.log; scripts/deps.sh --kernel $$kernel && \
		$(MAKE) --no-print-directory KERNEL=$$kernel modules 2>&1 | tee $$log && \
		! grep -E 'warning:|WARNING:' $$log || exit; done; \
	tests/kernel/run.py --all --kernel $* $(if $(findstring $(comma),$*),$(pair_cases)) 2>&1 | \
		tee $(logs)/test-kernel-$*.log

# Built only, without a warning: every version that this Debian and the next one have headers of.
# What lies between them is docs/kernels.md's, and tests/seam/compat.py's.
matrix: deps ## the modules for every kernel that Debian has headers of
	@rm -f $(logs)/matrix-*.log; for version in $$(scripts/deps.sh --versions); do \
		$(MAKE) --no-print-directory matrix-$$version; done; \
	scripts/summary.py $(logs)/matrix-*.log

matrix-%:
	@mkdir -p $(logs); log=$(logs)/matrix-$*.log; \
	{ scripts/deps.sh --headers $* && $(MAKE) --no-print-directory KERNEL=$* modules; } >$$log 2>&1 && \
		! grep -E 'warning:|WARNING:' $$log && word=passed || word=failed; \
	[ $$word = failed ] && tail -n 5 $$log; echo "$$word  modules for $*"; \
	case $$word in passed) echo "1 passed, 0 failed, 0 skipped" ;; *) echo "0 passed, 1 failed, 0 skipped" ;; esac >>$$log

# Most of these want packages of their own (a browser, Prometheus, Rust, tshark in the roots of make packages): one
# whose packages cannot be had has no result, and counts as a failure.
other_runs := test-debug test-kcsan test-report test-metrics test-rust
other_logs := $(addprefix $(logs)/test-,x86.log kcsan.log report.log metrics.log rust.log \
	wireshark-bookworm.log wireshark-trixie.log)

test-all: ## test with its long cases, all other test-... but test-kernels and test-adapters; the last line adds them up
	@rm -f $(other_logs)
	@export ALL=1 FUZZ_SECONDS=60; for run in test $(other_runs); do $(MAKE) --no-print-directory $$run; done; \
	for suite in bookworm trixie; do $(MAKE) --no-print-directory test-wireshark SUITE=$$suite; done; \
	scripts/summary.py $(test_logs) $(other_logs)

coverage: deps ## lines and branches of the core that unit, contract, simulator and fuzz inputs run
	@JOBS=$(JOBS) scripts/coverage.sh

coverage-glue: deps ## lines of the kernel side that the tests on User-Mode Linux reach
	@rm -rf build/gcov
	@$(MAKE) --no-print-directory KERNEL=uml GCOV=1 modules
	@GCOV=1 ROUNDS=4 tests/kernel/run.py --kernel uml $(uml_cases); tests/kernel/gcov.py

demo: deps ## two virtual hosts talk RDS, and you see it
	@$(again) modules user
	@KERNEL=$(test_kernel) tests/kernel/demo.py

lab: deps ## three hosts on a virtual machine of your own, and a shell there: docs/lab.md
	@$(again) modules
	@$(call configure,-DRDS_TESTS=ON)
	@$(locked) $(MAKE) --no-print-directory -C build -j$(JOBS) $(tools) bulk congestion lend lines unread zerocopy
	@KERNEL=$(test_kernel) tests/kernel/lab.py

picture: deps ## docs/rdsctl.svg, a terminal of make lab in which a program hangs
	@$(again) modules
	@$(call configure,-DRDS_TESTS=ON)
	@$(locked) $(MAKE) --no-print-directory -C build -j$(JOBS) $(tools) congestion
	@tests/kernel/picture.py

bench: deps ## instructions per message beside mainline's, into docs/performance.md
	@$(again) modules
	@KERNEL=$(test_kernel) tests/bench/run.py $(BENCH_FLAGS)

resets: deps tests ## messages per second while connections die, beside mainline, into docs/performance.md
	@scripts/deps.sh --kernel 7.2
	@$(again) modules
	@tests/kernel/resets.py --write

ordering: deps tests ## throughput and latency with ordering hints, one path of eight bad, into docs/ordering.md
	@scripts/deps.sh --plot
	@$(again) modules
	@tests/kernel/ordering.py --write

scale: build/CMakeCache.txt ## cost with 10^2 to 10^6 peers, into docs/performance.md
	@$(locked) $(MAKE) --no-print-directory -C build -j$(JOBS) scale deeds
	@tests/sim/scale/scale.py build --check --write

soak: need-cmake ## random stories in the simulator until stopped; SEED=N begins there
	@tests/sim/run --seed $(or $(SEED),$(shell date +%s)) --soak

mutation: need-cmake ## breaks the core in many ways; the simulator must see it; into docs/testing.md
	@tests/sim/mutate/mutate.py --write

mutants: need-cmake ## breaks what changed since BASE=REV in every small way; a test must see it
	@tests/mutate/run.py $(if $(BASE),--base $(BASE)) $(if $(SAMPLE),--sample $(SAMPLE) --seed $(or $(SEED),1))

mutants-glue: deps tests ## the same of the glue, SAMPLE=40 of it, in guests (User-Mode Linux)
	@scripts/debug-kernel.sh uml >/dev/null && $(MAKE) --no-print-directory KERNEL=uml modules && \
	tests/mutate/glue.py --sample $(or $(SAMPLE),40) --seed $(or $(SEED),1)

tidy: ## columns, function and file length, licence lines
	@scripts/tidy.sh

installer = MODULES="$(addprefix $(moddir)/,$(notdir $(modules)))" KVER="$(kver)" \
	TOOLS="$(addprefix build/tools/,$(tools))" DESTDIR="$(DESTDIR)" PREFIX="$(PREFIX)" \
	AUTOLOAD="$(filter-out 0,$(AUTOLOAD))" \
	packaging/install.sh

install: need-headers ## modules, modprobe configuration (AUTOLOAD=1: used by socket(2)), tools, man pages, header
	@$(installer) install

uninstall: ## takes away what install put there
	@$(installer) uninstall

# Their times are the commit's, so whoever builds them has the same bytes.
suites := $(or $(SUITE),bookworm trixie)

packages: ## Debian packages for SUITE=bookworm|trixie (default: both), twice, into build/packages/; lintian
	@for suite in $(suites); do for what in build same lint; do \
		packaging/packages.sh $$what $$suite || exit; done; done

packages-test: packages ## installs, uses, upgrades and purges them in fresh roots
	@for suite in $(suites); do packaging/packages.sh try $$suite || exit; done

clean: ## everything built
	@[ ! -f "$(KDIR)/Module.symvers" ] || $(kbuild) clean
	rm -rf build
