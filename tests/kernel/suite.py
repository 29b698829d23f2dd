# SPDX-License-Identifier: GPL-2.0
"""How the tests in cases/ are written, and how one file of them is run.

    from suite import test

    SMP = 2                     # per file: CPUs and memory (MiB) of its guests, optional
    MEM = 512
    KERNELS = ["uml"]           # only on these; otherwise on every one
    EXTRA = True                # only by name, or with --all
    IB = True                   # over InfiniBand, not TCP; or parameters of rds_rdma as a text
    ADAPTER = "siw"             # soft-iWARP, not soft-RoCE ("rxe")
    BOOT = "slub_debug=P"       # more words for the kernel's command line
    NEW_GUESTS = True           # none that other files had: it measures their memory

    @test(vms=2, modules=("ours", "mainline"), timeout=60)
    def mainline_answers(t):
        '''One sentence that says what is shown.'''
        t.a.check(f"{t.tool('rds-ping')} -c 3 10.9.0.2")

A test fails by raising (assert will do). A file has guests of its kind to itself (guests.py); before
each test the modules are loaded and after it everything its commands left running is killed, the
modules are unloaded, the kernel log must be clean and the guest's state (state.sh) as after the
boot. After a failure the guests of the next test are fresh ones. Where the kernel has kmemleak, a
last result of every file tells whether its tests left memory that nobody can reach.
"""
import contextlib
import dataclasses
import importlib.util
import os
import pathlib
import re
import sys
import time
import traceback

import gcov
import guest
import vm
from guests import KMEMLEAK, Kind, Pool, State

HERE = pathlib.Path(__file__).resolve().parent
sys.modules.setdefault("suite", sys.modules[__name__])
_found = []


@dataclasses.dataclass
class Test:
    function: object
    vms: int
    modules: tuple
    timeout: float
    only: str
    extra: bool
    kernels: list
    file: str = ""
    needs: str = ""

    @property
    def name(self):
        return f"{self.file}.{self.function.__name__}"


def test(vms=1, modules="ours", timeout=120, only=None, extra=False, kernels=None, needs=""):
    """modules: ours, mainline or none, one for all guests or a tuple. A test with only="ours"
    shows something that mainline is known not to do; `run.py --modules mainline` skips it. One with
    extra=True is as those of a file with EXTRA, one with kernels=[...] of one with KERNELS. One that
    needs a file below build/ which is not made everywhere is skipped without it."""
    def mark(function):
        kinds = (modules,) * vms if isinstance(modules, str) else tuple(modules)
        assert len(kinds) == vms and set(kinds) <= {"ours", "mainline", "none"}, function
        _found.append(Test(function, vms, kinds, timeout, only, extra, kernels, needs=needs))
        return function
    return mark


def load_file(path):
    """The tests of one file in the order they stand there, and the file's module."""
    _found.clear()
    spec = importlib.util.spec_from_file_location(f"cases.{path.stem}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    tests = list(_found)
    for t in tests:
        t.file = path.stem
    return module, tests


class Context:
    """The argument of a test function."""

    def __init__(self, options, the_test, vms):
        self.options, self.test, self.vms = options, the_test, vms
        self.a, self.b = vms[0], vms[-1]
        self.modules_dir = pathlib.Path(options.modules_dir or self.a.kernel.modules_dir)
        self.notes = []

    def note(self, text):
        """A finding worth a line beside the result (figures, what mainline did)."""
        self.notes.append(text)

    def rounds(self, usual):
        """How often to repeat what is a matter of luck: more where more is seen."""
        return int(os.environ.get("ROUNDS") or (30 if self.a.kernel.name == "uml" else usual))

    def seconds(self, usual):
        """A limit of time that a program in the guest is given."""
        return usual * self.a.kernel.pace

    def flavour(self, index=0):
        return kind_of(self.options, self.test.modules[index])

    def built(self, path):
        path = guest.TOP / "build" / path
        if not path.exists():
            raise guest.SetupError(f"{path} is not built, run: make")
        return path

    def tool(self, name):
        return self.built(f"tools/{name}")

    def prog(self, name):
        return self.built(f"tests/progs/{name}")

    def example(self, name):
        return self.built(f"examples/{name}")


def kind_of(options, kind):
    return options.modules if kind == "ours" and options.modules else kind


def where(options, kind):
    """The same with the directory of our modules, if it is not the usual one."""
    return f"ours:{options.modules_dir}" if kind == "ours" and options.modules_dir else kind


# The kernel's own, seen when a slab's directory in /sys finds no memory.
NOT_OURS = re.compile(r"\bsysfs_slab_add\b")


def leaks(*machines):
    """The finds of kmemleak in each guest that has it. It leaves out what is younger than 5 s, and
    marks on the first look."""
    watched = [m for m in machines if m.run(f"[ -e {KMEMLEAK} ]")[0] == 0]
    scans = [m.spawn(f"echo scan >{KMEMLEAK} && sleep 6 && echo scan >{KMEMLEAK} &&"
                     f" cat {KMEMLEAK}") for m in watched]
    found = [re.split(r"^(?=unreferenced object)", scan.check(120), flags=re.M) for scan in scans]
    return ["".join(one for one in reports if not NOT_OURS.search(one)) for reports in found]


class FileRun:
    """Runs tests of one file, in guests that a pool lends it."""

    def __init__(self, options, module, tests, report, pool=None):
        self.options, self.tests, self.report = options, tests, report
        self.logdir = options.logs / tests[0].file
        self.kind, self.set = Kind.of(module, tests), None
        self.wants_new = getattr(module, "NEW_GUESTS", False)
        self.pool = pool or Pool(options.kernels)

    @contextlib.contextmanager
    def guests(self):
        """While it lasts, run_one() can be called; the first one boots them."""
        with self.pool.lend(self.kind, self.logdir, self.wants_new) as self.set:
            self.options.live.extend(self.vms)
            yield self

    @property
    def vms(self):
        return self.set.vms

    @property
    def fresh(self):
        return self.set.fresh

    @fresh.setter
    def fresh(self, value):
        self.set.fresh = value

    def run(self):
        with self.guests():
            for one in self.tests:
                if self.options.stop:
                    return
                if one.only and kind_of(self.options, "ours") != one.only:
                    self.report.skip(one, f"shows what only {one.only} does")
                    continue
                self.run_one(one)
            if self.fresh and self.vms[0].kernel.debug:
                self.look_for_leaks()
            if self.fresh and os.environ.get("GCOV"):
                for machine in self.vms:
                    gcov.save(machine, f"{one.file}-{machine.name}")

    def look_for_leaks(self):
        """In guests whose tests have passed; others are not worth it."""
        def nothing_is_lost():
            pass
        one = Test(nothing_is_lost, self.kind.count, (), 0, None, False, None, self.tests[0].file)
        began, log = time.monotonic(), self.logdir / "kmemleak.log"
        for machine in self.vms:
            machine.deadline = None
        try:
            found = leaks(*self.vms)
        except vm.VMError as error:
            found = [describe(error)]
        if found and not self.options.stop:
            log.write_text("".join(found))
            found = list(filter(None, found))
            self.report.result(one, time.monotonic() - began, found, [], log)
            self.fresh = not found

    def boot(self):
        began = time.monotonic()
        self.set.boot()
        self.report.line(f"boot  {self.tests[0].file}: {self.kind.count} guest"
                         f"{'s' * (self.kind.count > 1)}", time.monotonic() - began)

    def run_one(self, one):
        log = self.logdir / f"{one.function.__name__}.log"
        self.logdir.mkdir(parents=True, exist_ok=True)
        began, ctx, errors = time.monotonic(), None, []
        used = self.set.used()
        with open(log, "w", buffering=1) as transcript:
            try:
                if not self.fresh:
                    self.boot()
                began = time.monotonic()
                ctx = Context(self.options, one, self.vms[:one.vms])
                for machine in ctx.vms:
                    machine.transcript = transcript
                self.play(one, ctx)
            except (Exception, SystemExit) as error:  # whatever it was, the suite goes on
                errors.append(describe(error))
                transcript.write(f"\n{traceback.format_exc()}")
            errors += self.clean_up(ctx, one, clean=not errors) if ctx else []
            for machine in self.vms:
                machine.transcript = None
        self.fresh = not errors
        if self.options.stop:
            return  # interrupted: that the guests were switched off is no finding
        self.report.result(one, time.monotonic() - began, errors, ctx.notes if ctx else [], log,
                           self.set.used() - used)

    def play(self, one, ctx):
        loading = []
        for machine, kind in zip(ctx.vms, one.modules):
            machine.deadline = time.monotonic() + one.timeout * patience(machine)
            machine.dmesg_mark()
            kind = where(self.options, kind_of(self.options, kind))
            loading.append(machine.spawn(machine.load_command(kind)))
        for command in loading:
            command.check()
        one.function(ctx)

    def clean_up(self, ctx, one, clean):
        """Leaves the guests as they were; returns complaints. After a failed test only the
        kernel log is of interest: the guests are thrown away."""
        errors = []
        for machine in ctx.vms:
            # The test may have used up its time; cleaning has its own.
            machine.deadline = time.monotonic() + 150 * machine.kernel.pace  # unload() has 100
            try:
                if machine.dead and not clean:
                    continue  # the failure has told it
                machine.kill_all()
                if clean:
                    machine.unload()
                    strays = State.strays(machine, self.set.before[machine])
                    if strays:
                        errors.append(f"{machine.name}: left behind: {', '.join(strays)}")
                bad = machine.dmesg_problems()
                if bad:
                    errors.append(f"{machine.name}: the kernel complained "
                                  f"({machine.klog_path}):\n"
                                  + "\n".join([*machine.first_problem(), "of all:", *bad[:10]]))
            except (vm.VMError, OSError) as error:
                errors.append(f"after {one.name}: {describe(error)}")
        return errors


def patience(machine):
    """Debug kernels are slow, and do more rounds."""
    return max(machine.kernel.pace, int(os.environ.get("ROUNDS") or 0) / 10)


def describe(error):
    """A failure in words, with the line of the test where it happened."""
    text = str(error) or type(error).__name__
    if not isinstance(error, (vm.VMError, guest.SetupError, AssertionError)):
        text = f"{type(error).__name__}: {text}"
    where = [f for f in traceback.extract_tb(error.__traceback__) if "/cases/" in f.filename]
    if where:
        frame = where[-1]
        text = f"{pathlib.Path(frame.filename).name}:{frame.lineno}: {text}"
        if isinstance(error, AssertionError):
            text += f"   [{frame.line}]"
    return text
