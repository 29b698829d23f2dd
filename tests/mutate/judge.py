# SPDX-License-Identifier: GPL-2.0
"""The judges of mutants: unit tests, corner tests, stories of the simulator, in this order. A fence
is nothing to these; it is asked of the tests between two atomics."""
import concurrent.futures
import os
import re
import resource
import signal
import subprocess
import tempfile
from pathlib import Path
from typing import NamedTuple

TARGETS = ["unit_core", "unit_tcp", "unit_ib", "corners_test", "sim_run", "between_test"]
UNIT = ["tests/unit/unit_core", "tests/unit/unit_tcp", "tests/unit/unit_ib"]
CORNERS = ["tests/sim/corners/corners_test"]
BETWEEN = ["tests/sim/between/between_test"]
SIM = "tests/sim/sim_run"
CPU = {"unit": 10, "corners": 10, "between": 100, "sim": 5}  # seconds
WALL = 20  # times that, on a machine that is busy
MEMORY = 4 << 30
SEEDS = 400
MANY = 500  # mutants, of which stories reach some, or they do not say so
FIRST_SEED = 1
PATIENCE = 2.5  # times what the unbroken core takes for the seeds


class Verdict(NamedTuple):
    by: str  # unit, corners, between, sim; empty: nobody
    who: str
    units: int  # unit tests that reach it
    reached: bool  # by anything at all


def limited(cpu):
    resource.setrlimit(resource.RLIMIT_CPU, (cpu, cpu + 2))
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))  # of LSan, not AS
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def execute(program, args, cpu, **env):
    """(exit status, output); a run that hangs without using the processor is killed, too."""
    cmd = ["nice", "-n", "5", str(program), *args]
    p = subprocess.Popen(cmd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                         errors="replace", env={**os.environ, **env},
                         preexec_fn=lambda: limited(cpu))
    try:
        out, _ = p.communicate(timeout=cpu * WALL)
    except subprocess.TimeoutExpired:
        p.kill()
        p.communicate()
        return -signal.SIGKILL, "hangs"
    return p.returncode, out


def cases(program):
    """The test cases of @program."""
    status, out = execute(program, ["--gtest_list_tests"], 60)
    if status:
        raise RuntimeError(f"{program} does not list its tests: {out[-500:]}")
    found, suite = [], ""
    for line in out.splitlines():
        name = line.split("#")[0].strip()
        if line.startswith(" "):
            found.append(suite + name)
        elif name.endswith("."):
            suite = name
    return found


def seen_by(program, args, cpu):
    """Ids that a run of the unbroken core reaches."""
    with tempfile.NamedTemporaryFile("r") as f:
        status, out = execute(program, args, cpu, RDS_MUTANT="0", RDS_MUTANT_SEEN=f.name)
        if status:
            raise RuntimeError(f"the unbroken core fails in {program.name} {' '.join(args)}: "
                               f"{status} {out[-1500:]}")
        return {int(x) for x in Path(f.name).read_text().split()}


class Court:
    def __init__(self, build):
        self.build = build
        self.reach = {}  # (program, case) -> ids
        jobs = [(p, c) for p in UNIT + CORNERS + BETWEEN for c in cases(build / p)]
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            found = pool.map(lambda j: seen_by(build / j[0], [f"--gtest_filter={j[1]}"], 120), jobs)
            self.reach = dict(zip(jobs, found))
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        self.seeds = ["--seed", str(FIRST_SEED), "--seeds", str(SEEDS), "--no-shrink"]
        self.sim = seen_by(build / SIM, self.seeds, 300)
        if not self.sim and len(set().union(*self.reach.values())) > MANY:
            raise RuntimeError("the stories do not say what they reach")
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        took = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        self.sim_cpu = max(CPU["sim"], int(PATIENCE * took) + 1)
        self.cases = len(jobs) + SEEDS

    def ask(self, i, fence):
        """The verdict on mutant @i."""
        units = sum(i in self.reach[p, c] for p, c in self.reach if p in UNIT)
        reached = i in self.sim or any(i in ids for ids in self.reach.values())
        stages = [("between", BETWEEN)] if fence else [("unit", UNIT), ("corners", CORNERS)]
        for by, programs in stages:
            for program in programs:
                who = self.gtest(program, i, CPU[by])
                if who:
                    return Verdict(by, who, units, reached)
        if i in self.sim and not fence:
            status, out = execute(self.build / SIM, self.seeds, self.sim_cpu, RDS_MUTANT=str(i))
            if status:
                seed = re.search(r"\bseed (\d+)", out)
                return Verdict("sim", f"seed {seed[1]}" if seed else self.died(status), units, True)
        return Verdict("", "", units, reached)

    def first_to_notice(self, i):
        """(who, seeds played, exit status, output), stories first and unit tests last; or None."""
        if i in self.sim:
            status, out = execute(self.build / SIM, self.seeds, self.sim_cpu, RDS_MUTANT=str(i))
            if status:
                seed = re.search(r"\bseed (\d+)", out)
                seeds = int(seed[1]) - FIRST_SEED + 1 if seed else SEEDS
                return "seed" if seed else "seeds together", seeds, status, out
        for by, programs in (("corners", CORNERS), ("unit", UNIT), ("between", BETWEEN)):
            for program in programs:
                status, out = self.play(program, i, CPU[by])
                if status:
                    who = self.failed(status, out)
                    return who if by == "corners" else f"{by} {who}", SEEDS, status, out
        return None

    def gtest(self, program, i, cpu):
        """The case that fails, or what became of the process; None when all is well."""
        status, out = self.play(program, i, cpu)
        return self.failed(status, out) if status else None

    def play(self, program, i, cpu):
        """(exit status, output) of the cases of @program that reach mutant @i; 0 if none does."""
        want = [c for (p, c), ids in self.reach.items() if p == program and i in ids]
        if not want:
            return 0, ""
        args = ["--gtest_fail_fast", f"--gtest_filter={':'.join(want)}"]
        return execute(self.build / program, args, cpu, RDS_MUTANT=str(i))

    def failed(self, status, out):
        """The case at which a program ended, else what became of the program."""
        said = re.findall(r"\[  FAILED  \] ([\w/.]+)", out) or \
            re.findall(r"\[ RUN      \] (\S+)", out)[-1:]
        return said[0] if said else self.died(status)

    @staticmethod
    def died(status):
        return "does not end" if -status in (signal.SIGXCPU, signal.SIGKILL) else f"status {status}"
