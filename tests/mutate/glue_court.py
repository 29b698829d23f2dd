# SPDX-License-Identifier: GPL-2.0
"""The judges of mutants of the glue: cases of the VM suite, in User-Mode Linux.

First the unbroken modules play every case: how long it takes, and which mutants it reaches. Then a
mutant is asked of those that reach it: of the shortest of each file, then of the second of each,
for cases of a file are alike; one that is reached by none, before its module goes, is asked of the
first case, whose end unloads the modules, and of those that have none
left to tell. Guests are booted once and stay until something has failed in them; what fails in
guests that were used has to fail in fresh ones, too. A mutant is noticed when a case fails, when
the kernel complains, when something is left behind or lost, or when it takes several times as long
as without. PATIENCE=N: N times as long, on a machine that others use.
CASES='...': no more than these are asked, which finds fewer.
"""
import argparse
import collections
import contextlib
import dataclasses
import fnmatch
import hashlib
import json
import os
import shutil
import sys
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "tests/kernel"))
import facts  # noqa: E402
import suite  # noqa: E402
import vm  # noqa: E402

MAGIC = "rds: the mutant of the glue:"  # as long as the array of glue_host.h
SEEN = "/sys/module/rds/parameters/mutants_seen"
SEVERAL = 4  # times what the unbroken modules take, and
FEW = 30  # s: a guest that stands still
KEPT = 12  # files whose guests stay from one mutant to the next, of some 600 MB each
PATIENCE = float(os.environ.get("PATIENCE") or 1)
BUDGET = 240 * PATIENCE  # s of cases that are asked of one mutant
CASES = ["kunit.*", "sockets.errnos", "sockets.behave", "sockets.copies", "interop.first_contact",
         "interop.ours_with_ours", "congestion.ours_with_ours", "tcp.*", "load.settings",
         "load.the_family_is_listed", "load.modprobe_pulls_what_it_needs", "load.parameters",
         "load.namespaces_come_and_go", "load.transports_come_and_go", "load.load_and_unload",
         "netns.same_address_twice", "netns.settings_and_counters", "idle.collected",
         "idle.one_host_forgets", "frames.malformed", "frames.ours_calls_back",
         "faults.sockets_are_killed", "robust.random_calls", "shortage.calls_*",
         "shortage.namespaces", "shortage.workers", "shortage.modules", "shortage.adapter",
         "shortage.regions", "faults.modules_go_under_load", "order.how_much_is_held",
         "multipath.*", "ib.ours_with_ours", "ib.credits", "ib.adapter_goes",
         "ib.modules_go_under_load", "ib.types_of_service", "ib.a_mebibyte", "ib.further_addresses",
         "ib.rings_of_any_size", "ib.no_buffers", "ib_rdma.refused", "ib_rdma.data*",
         "ib_rdma.killed", "ib_rdma.freed_in_use", "ib_rdma.adapter_goes",
         "ib_rdma.by_who_was_called", "ib_regions.*", "ib.last_word_is_lost", "ib_peer.*",
         "ib_netns.among_themselves", "ib_stress.regions_are_shown", "ib_stress.nowhere_else",
         "iwarp.*", "adapters.*", "ib_idle.*", "observe.*", "detectors.broken*", "facts.*",
         "faults.resets_are_injected",
         "netns.exit_under_load", "netns.port_is*", "netns.a_listener_comes_late",
         "netns.rmmod_under_load", "batch.rules", "batch.between_two_hosts", "policy.*", "look.*",
         "peers.*", "peers_ib.*", "refuse.*", "congestion.a_change_is_no_map",
         "frames.claims_cost_nothing", "frames.bytes_cost_what_they_are", "frames.half_a*",
         "frames.answered_badly", "examples.*", "python.package", "strangers.mute",
         "strangers.own_users", "order.the_example", "contact.first_message*",
         "users.with_memory"]
CASES = os.environ.get("CASES", "").split() or CASES
# They load modules themselves, so what those of a failed attempt reached is not known.
LOADERS = ["load.*", "shortage.modules", "shortage.adapter", "*.modules_go_under_load"]
TESTS = ("rds_bugs.ko", "rds_kunit.ko")  # modules that are no part of what is tested
LONG = 90 * PATIENCE  # s: such a case is not played again


def all_but_ours(told, lines=facts.lines):
    """The facts of modules without those of the parameter that tells what was reached."""
    return lines({name: value for name, value in told.items() if "mutants_seen" not in name})


facts.lines = all_but_ours


class Ear:
    """Hears from a FileRun in place of run.Report."""

    def __init__(self):
        self.errors = []

    def line(self, *_):
        pass

    def skip(self, *_):
        self.errors = ["skipped"]

    def result(self, one, _seconds, errors, _notes, _log, _used=0):
        self.errors = errors


class Watched(suite.FileRun):
    """Notes which programs are played, and asks before the modules go which mutants were reached."""

    seen, programs = frozenset(), frozenset()

    def play(self, one, ctx):
        built, self.programs = ctx.built, set()

        def noted(path):
            self.programs.add(str(built(path).relative_to(ROOT)))
            return built(path)
        ctx.built = noted
        super().play(one, ctx)

    def clean_up(self, ctx, one, clean):
        with contextlib.suppress(Exception):  # a dead guest is told by the result
            self.seen = set().union(*map(reached, ctx.vms))
        return super().clean_up(ctx, one, clean)


def reached(machine):
    status, out = machine.run(f"cat {SEEN}")
    if status:
        return set()
    return {8 * at + bit for at, byte in enumerate(bytes.fromhex(out.strip()))
            for bit in range(8) if byte >> bit & 1}


def choose(module, mutant):
    data = bytearray(module.read_bytes())
    at = data.index(MAGIC.encode()) + len(MAGIC)
    data[at:at + 4] = mutant.to_bytes(4, "little")
    module.write_bytes(data)


def written(case, files):
    """The hash of a case's function as it stands in its file, and of @files, which it plays."""
    file, name = case.split(".")
    text = (suite.HERE / f"cases/{file}.py").read_text()
    at = text.index(f"def {name}(")
    stamp = hashlib.sha256(text[at:].split("\n\n\n")[0].encode())
    for played in sorted(files):
        stamp.update((ROOT / played).read_bytes() if (ROOT / played).exists() else b"")
    return stamp.hexdigest()[:12]


class Bench:
    """The guests of one worker: a case after the other, each with the modules of some mutant."""

    def __init__(self, modules, room):
        self.modules, self.room = modules, room
        shutil.rmtree(room, ignore_errors=True)
        self.options = argparse.Namespace(kernels=["uml"], modules=None, modules_dir=None,
                                          stop=False, live=[], logs=room / "logs")
        self.files, self.tests = {}, {}
        self.ends = {}
        for path in sorted((suite.HERE / "cases").glob("*.py")):
            module, tests = suite.load_file(path)
            for one in tests:
                if any(fnmatch.fnmatch(one.name, c) for c in CASES) and \
                        "mainline" not in one.modules and \
                        "uml" in (one.kernels or getattr(module, "KERNELS", ["uml"])):
                    self.tests[one.name] = one
            self.files[path.stem] = module, tests
        self.running = {}

    def file_run(self, file):
        """The guests of this file, last in the row of those that run."""
        if file in self.running:
            self.running[file] = self.running.pop(file)
        else:
            module, tests = self.files[file]
            self.ends[file] = contextlib.ExitStack()
            self.running[file] = self.ends[file].enter_context(
                Watched(self.options, module, tests, Ear()).guests())
        return self.running[file]

    def close(self, most=0):
        """All guests end but those of so many files that were used last."""
        for file in list(self.running)[:len(self.running) - most]:
            del self.running[file]
            self.ends.pop(file).close()

    def play(self, case, mutant, seconds):
        """(complaints, the mutants that it reached)"""
        one = self.tests[case]
        run = self.file_run(one.file)
        self.options.modules_dir = self.room / f"modules-{mutant}"
        if not self.options.modules_dir.exists():
            shutil.copytree(self.modules, self.options.modules_dir)
            choose(self.options.modules_dir / "rds.ko", mutant)
        slow = suite.patience(run.vms[0])
        run.report.errors, run.seen = [], set()
        run.run_one(dataclasses.replace(one, timeout=seconds / slow) if seconds else one)
        return run.report.errors, run.seen

    def used(self, case):
        """Have other modules been in the guests of this case?"""
        return self.file_run(self.tests[case].file).fresh

    def lost(self, files):
        """Something is lost in the guests of these: memory that nobody can reach, or the guest."""
        runs = [self.running[f] for f in files if self.running[f].fresh]
        machines = [m for r in runs for m in r.vms]
        for machine in machines:
            machine.deadline = None
        try:
            found = any(suite.leaks(*machines))
        except vm.GuestDead:
            found = True
        if found:
            for run in runs:
                run.fresh = False
        return found

    def forget(self, mutant):
        """Of the guests those are kept that fit into memory beside another bench's."""
        self.close(KEPT)
        shutil.rmtree(self.room / f"modules-{mutant}", ignore_errors=True)


class Court:
    def __init__(self, modules, room):
        self.modules, self.room = modules, room
        files = [m for m in sorted(modules.glob("*.ko")) if m.name not in TESTS]
        stamp = hashlib.sha256(b"".join(m.read_bytes() for m in files))
        self.known = room / f"reach-{stamp.hexdigest()[:12]}.json"
        self.verdicts = room / f"said-{stamp.hexdigest()[:12]}.json"
        self.said = json.loads(self.verdicts.read_text()) if self.verdicts.exists() else {}
        self.plays, self.took, self.reach, self.writing = {}, {}, {}, threading.Lock()

    def bench(self, number):
        return Bench(self.modules, self.room / f"bench{number}")

    def learn(self, pool, benches):
        """Plays the unbroken modules. A case that was played with these modules is known: its
        line is the hash of it, the time, the mutants that it reached, and the files it plays."""
        known = json.loads(self.known.read_text()) if self.known.exists() else {}
        tests = benches[0].tests
        self.plays = {c: known[c] for c in tests
                      if c in known and known[c][1] and known[c][0] == written(c, known[c][3])}
        files = sorted({one.file for case, one in tests.items() if case not in self.plays})
        jobs = [(benches[n % len(benches)], file) for n, file in enumerate(files)]
        list(pool.map(lambda b: [self.learn_file(b, f) for own, f in jobs if own is b], benches))
        for case, (_, took, seen, _) in self.plays.items():
            if took is not None and took < LONG:
                self.took[case], self.reach[case] = took, set(seen)

    def learn_file(self, bench, file):
        for case, one in bench.tests.items():
            if one.file != file or case in self.plays:
                continue
            began = time.monotonic()
            errors, seen = bench.play(case, 0, 0)
            files = sorted(bench.file_run(file).programs)
            if file == "kunit":
                files.append(str((self.modules / "rds_kunit.ko").relative_to(ROOT)))
            took = time.monotonic() - began
            print(f"{case}: {took:.0f} s, {len(seen)} mutants" +
                  (f", not asked: {errors[0].splitlines()[0]}" if errors else ""), flush=True)
            with self.writing:  # all is not lost when it is interrupted
                self.plays[case] = (written(case, files), None if errors else took, sorted(seen),
                                    files)
                self.known.write_text(json.dumps(self.plays))
        bench.close(KEPT)

    @staticmethod
    def in_turns(cases):
        """The first of each file, the second of each, and so on."""
        turn = collections.Counter()

        def nth(case):
            file = case.split(".")[0]
            turn[file] += 1
            return turn[file]
        return [case for _, case in sorted(((nth(c), c) for c in cases), key=lambda at: at[0])]

    def asked(self, mutant):
        """The cases that are to notice it."""
        by_time = sorted(self.took, key=self.took.get)
        cases, left = [], BUDGET
        for case in self.in_turns([case for case in by_time if mutant in self.reach[case]]):
            if self.took[case] <= left:
                cases.append(case)
                left -= self.took[case]
        return cases or [*by_time[:1], *(case for case in by_time if not self.reach[case] or any(
            fnmatch.fnmatch(case, loader) for loader in LOADERS))]

    def verdict(self, bench, mutant):
        """As ask(). What was said of a mutant of these modules is known: that nobody notices it,
        as long as its cases are the same."""
        cases = [[case, self.plays[case][0]] for case in self.asked(mutant)]
        who, asked, then = self.said.get(str(mutant), ("", 0, None))
        if who or then == cases:
            return who, asked
        who, asked = self.ask(bench, mutant)
        with self.writing:  # all is not lost when it is interrupted
            self.said[str(mutant)] = who, asked, cases
            self.verdicts.write_text(json.dumps(self.said))
        return who, asked

    def ask(self, bench, mutant):
        """(the first that notices it or nothing, how many were asked)"""
        cases = self.asked(mutant)
        try:
            for at, case in enumerate(cases, 1):
                used = bench.used(case)
                errors, _ = bench.play(case, mutant, SEVERAL * self.took[case] + FEW)
                if errors and used:  # it may be what another mutant left in the guests
                    errors, _ = bench.play(case, mutant, SEVERAL * self.took[case] + FEW)
                if errors:
                    return case, at
            lost = bench.lost({bench.tests[c].file for c in cases})
            return "kmemleak" if lost else "", len(cases)
        finally:
            bench.forget(mutant)
