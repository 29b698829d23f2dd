# SPDX-License-Identifier: GPL-2.0
"""The same played on mainline's modules and on ours in one run; ours must be nowhere worse.

    KERNELS = parity.KERNELS

    @test(vms=2, modules="mainline", timeout=200)
    def takeover(t):
        '''One sentence that says what is shown.'''
        parity.compare(t, play, slack={"memory": (1, 2000)})

    def play(side):
        side.fact("pieces read", 0)
        side.less("memory", 17000, "kB")
        side.run(side.t.b, f"{side.t.prog('rds_parity')} ...")     # prints such lines

A program prints a fact a line, all else it prints is left alone:

    fact NAME = VALUE           the same with both modules
    less NAME = NUMBER UNIT     with ours at most mainline's times the slack's first number, plus
                                its second
    more NAME = NUMBER UNIT     at least mainline's divided by the first, less the second

In docs/abi.md, under "Facts that differ", a fact's full name is TEST.NAME with the name of the
test's function; a row allows a difference when its two values are what the two sides said. `*` and
`?` in its cells stand for any text and any character. A row for this test that is true of no fact
any more is a failure, too. All facts are in the test's log, the differing ones beside its result.
"""
import contextlib
import dataclasses
import re

import guest
import suite
import vm

KERNELS = ["6.1"]  # the table of docs/abi.md was made there
PAGE = guest.TOP / "docs/abi.md"
SECTION = "## Facts that differ"
LINE = re.compile(r"^(fact|less|more) (.+?) = (.*)$", re.M)
MISSING = "(not said)"


@dataclasses.dataclass
class Value:
    kind: str
    text: str

    @property
    def number(self):
        return float(self.text.split()[0])


@dataclasses.dataclass
class Row:
    fact: str
    mainline: str
    ours: str
    why: str

    def says(self, name, mainline, ours):
        return (matches(self.fact, name) and matches(self.mainline, mainline)
                and matches(self.ours, ours))


def matches(glob, text):
    wild = re.escape(glob).replace(r"\*", ".*").replace(r"\?", ".")
    return re.fullmatch(wild, text) is not None


def rows(page=PAGE):
    """The table's rows, for all tests."""
    _, _, text = page.read_text().partition(SECTION + "\n")
    found = []
    for line in re.split(r"^## ", text, flags=re.M)[0].splitlines():
        if line.startswith("|"):
            cells = [re.sub(r"^`|`$", "", cell.strip()).replace(r"\|", "|")
                     for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
            found.append(Row(*cells))
    return found[2:]  # not its head


class Side:
    """The facts of one kind of modules; a play gets them."""

    def __init__(self, t, kind, who):
        self.t, self.kind, self.who, self.facts = t, kind, who, {}

    def _say(self, kind, name, text):
        if name in self.facts:
            raise AssertionError(f"{self.who} said {name} twice")
        self.facts[name] = Value(kind, str(text).strip())

    def fact(self, name, value):
        self._say("fact", name, value)

    def less(self, name, number, unit=""):
        self._say("less", name, f"{number} {unit}")

    def more(self, name, number, unit=""):
        self._say("more", name, f"{number} {unit}")

    def read(self, output):
        """The facts among what a program printed."""
        found = LINE.findall(output)
        for kind, name, text in found:
            self._say(kind, name, text)
        return len(found)

    def run(self, machine, command, timeout=60):
        """A program in a guest that prints facts, at least one."""
        said = machine.check(command, timeout)
        if not self.read(said):
            raise AssertionError(f"'{command}' printed no fact:\n{said}")


def fresh(t, kinds):
    """Guests as after their boot, with these modules. Mainline's may hold references for ever, and
    wait for connections for minutes; it is quicker to pull the plug."""
    for machine in t.vms:
        machine.power_cycle(wait=False)
    for machine in t.vms:
        machine.ready()
    load(t, kinds)


def load(t, kinds):
    loading = [machine.spawn(machine.load_command(suite.where(t.options, kind)))
               for machine, kind in zip(t.vms, kinds)]
    for command in loading:
        command.check()


def compare(t, play, slack=None, ours=None, fatal=()):
    """Judges what `play` said of both. `ours` are the kinds of modules of the second time, if not
    all are ours; `fatal` names exceptions that are a fact and no fault of the test."""
    kinds = [suite.kind_of(t.options, kind) for kind in ours or ("ours",) * len(t.vms)]
    sides = [played(t, play, "mainline", "mainline", fatal)]
    fresh(t, kinds)
    sides.append(played(t, play, kinds[-1] if len(set(kinds)) == 1 else "mixed", "ours", fatal))
    judge(t, sides, slack or {})


def played(t, play, kind, who, fatal):
    side = Side(t, kind, who)
    alive = "yes"
    try:
        play(side)
    except fatal as error:
        alive = f"no: {str(error).splitlines()[0]}"
    except vm.GuestDead as error:
        t.note(f"{who}: {error.__class__.__name__}")
        alive = "no"
    side.fact("the host lives", alive)
    for machine in t.vms:
        if not machine.dead:
            with contextlib.suppress(vm.GuestDead):
                bad = machine.dmesg_problems()
                side.fact(f"kernel log of {machine.name}", bad[0] if bad else "clean")
    return side


def judge(t, sides, slack, page=PAGE):
    test = t.test.function.__name__
    table = [row for row in rows(page) if matches(row.fact.partition(".")[0], test)]
    unused, faults, equal = set(range(len(table))), [], 0
    names = list(dict.fromkeys(name for side in sides for name in side.facts))
    for name in names:
        values = [side.facts.get(name, Value("fact", MISSING)) for side in sides]
        used = [n for n, row in enumerate(table)
                if row.says(f"{test}.{name}", values[0].text, values[1].text)]
        unused -= set(used)
        fault, told = verdict(values, [table[n] for n in used], slack_of(name, slack))
        line = f"{values[0].kind} {name}: mainline {values[0].text}, ours {values[1].text}{told}"
        if fault:
            faults.append(line)
        if told:
            t.note(line)
        else:
            equal += 1
            line = f"{values[0].kind} {name} = {values[1].text}"
        t.a.transcript.write(line + "\n")
    t.note(f"{equal} facts are the same, {len(names) - equal} told here")
    faults += [f"docs/abi.md: no fact is like the row {table[n].fact} | {table[n].mainline} | "
               f"{table[n].ours}" for n in sorted(unused)]
    assert not faults, "\n".join([f"{len(faults)} not as mainline's or docs/abi.md", *faults])


def slack_of(name, slack):
    found = [value for glob, value in slack.items() if matches(glob, name)]
    return found[0] if found else (1, 0)


def verdict(values, allowed, slack):
    """Is it a fault, and what there is to say of it."""
    mainline, ours = values
    kind = mainline.kind if mainline.text != MISSING else ours.kind
    if kind == "fact" or MISSING in (mainline.text, ours.text):
        if mainline.text == ours.text:
            return False, ""
        return not allowed, f" ({allowed[0].why})" if allowed else " -- NOT IN docs/abi.md"
    factor, more = slack
    worse, better = ours.number, mainline.number
    if kind == "more":
        worse, better = better, worse
    if worse > better * factor + more:
        return True, " -- OURS IS WORSE"
    return False, ": mainline is worse" if better > worse * factor + more else ": alike"
