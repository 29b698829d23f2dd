# SPDX-License-Identifier: GPL-2.0
# The C++ core as object libraries for the user-space platforms.  The sources are the kernel's,
# unchanged; the flags are those of the kernel's build (cxx.kbuild) as far as user space has them.
file(GLOB rds_core_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/net/rds/*.cc
	${CMAKE_SOURCE_DIR}/net/rds/*/*.cc)
# The pure parts of transports.
file(GLOB rds_loop_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/transports/loop/*.cc)
file(GLOB rds_tcp_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/transports/tcp/*.cc)
file(GLOB rds_ib_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/transports/ib/*.cc)

set(RDS_CORE_FLAGS -std=gnu++20 -ffreestanding -fno-exceptions -fno-rtti -fno-strict-aliasing
	-fno-strict-overflow -fno-delete-null-pointer-checks -Werror -Wnon-virtual-dtor
	-Woverloaded-virtual -Wsuggest-override -Wmissing-declarations)
# -O1 -g1: the tests are built more often than they run.
# No vptr: the core has no virtual functions, and each call in Google Test would be looked at.
set(RDS_SIM_SANITIZE -O1 -g1 -fsanitize=address,undefined -fno-sanitize=vptr
	-fno-sanitize-recover=all -fno-omit-frame-pointer)
set(RDS_SIM_FAST -O2 -g1)
if(RDS_COVERAGE)
	set(RDS_SIM_SANITIZE -O1 -g1 -fprofile-instr-generate -fcoverage-mapping)
elseif(RDS_FUZZ)
	list(APPEND RDS_SIM_SANITIZE -fsanitize=fuzzer-no-link)
elseif(RDS_MUTANTS)
	set(RDS_SIM_SANITIZE -O1 -g0 -w -fsanitize=leak)
	add_library(mutant_host OBJECT ${CMAKE_SOURCE_DIR}/tests/mutate/host.cc)
	link_libraries(mutant_host)
endif()
# Between any two atomics another task may run, and stores are seen late (tests/sim/between).
set(RDS_SIM_BETWEEN ${RDS_SIM_SANITIZE} -DRDS_SIM_HOOKED
	-include ${CMAKE_SOURCE_DIR}/tests/sim/between/hooks.h)
# For a program that is started once for each of its tests, and has no source of the product's but by
# its libraries.  A quarter of that was relocating it; more was reading its data for leaks, most of
# which described the test files' own constants to ASan.
function(rds_started_often target)
	target_link_options(${target} PRIVATE -no-pie)
	if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
		target_compile_options(${target} PRIVATE --param=asan-globals=0)
	endif()
endfunction()
# Tests that compute and never wait nor look at the real time: `make test` plays them with a low
# priority while its guests run, so their limits are for one that gets little of the processors.
function(rds_patient)
	set_tests_properties(${ARGN} PROPERTIES LABELS patient TIMEOUT 4500)
endfunction()
set(RDS_THREAD_SANITIZE -O1 -g1 -fsanitize=thread -fno-omit-frame-pointer)

# Objects of kernel C++, with more flags.
function(rds_pure_objects target sources)
	add_library(${target} OBJECT ${sources})
	target_include_directories(${target} PRIVATE ${CMAKE_SOURCE_DIR}
		${CMAKE_SOURCE_DIR}/tests/sim/include ${CMAKE_SOURCE_DIR}/net/rds
		${CMAKE_SOURCE_DIR}/include/uapi)
	target_compile_options(${target} PRIVATE ${RDS_CORE_FLAGS} ${ARGN})
endfunction()
# core_<name>: the core and the pure transport parts that need no more than the seam.
function(rds_core_objects name)
	rds_pure_objects(core_${name} "${rds_core_sources};${rds_loop_sources};${rds_tcp_sources}" ${ARGN})
endfunction()

rds_core_objects(sim ${RDS_SIM_SANITIZE})
# The other parts: whoever links these has an adapter for them (rds_ib_hw_*()).
rds_pure_objects(ib_sim "${rds_ib_sources}" ${RDS_SIM_SANITIZE})
