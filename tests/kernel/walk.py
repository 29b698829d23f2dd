# SPDX-License-Identifier: GPL-2.0
"""Pages that tests play: blocks of a page, marked with a word, have commands and what they show.

A line of such a block that begins with "$ " is a command; those below it, until the next, are lines of
its output, in which … stands for anything.
"""
import re
import time

import guest

PROGRAMS = f"{guest.TOP}/build/tools"


def steps(page, mark):
    """Commands of the page's blocks with the lines that are shown of each, in their order."""
    found = []
    for block in re.findall(rf"^```{mark}\n(.*?)^```$", page.read_text(), re.M | re.S):
        for line in block.splitlines():
            if line.startswith("$ "):
                found.append((line[2:], []))
            else:
                found[-1][1].append(line)
    return found


def is_shown(lines, output):
    """Whether each of these lines is one of the output."""
    said = [line.rstrip() for line in output.splitlines()]
    return all(any(re.fullmatch(".*".join(map(re.escape, line.split("…"))), s) for s in said)
               for line in lines)


def repeat(seconds, run, command, lines):
    """The command until it succeeds and shows these lines: nobody is told how long to wait before
    it. `run` returns its exit status and output."""
    end, rc, said = time.monotonic() + seconds, 1, ""
    while time.monotonic() < end:
        rc, said = run(command)
        if not rc and is_shown(lines, said):
            return
        time.sleep(0.1)
    raise AssertionError(f"$ {command}\nhas not shown\n" + "\n".join(lines) + f"\nbut {rc} and\n{said}")


def play(t, page, mark):
    """The page's blocks of this mark. A command begins with its host, host1 or host2, which are the guests; or is
    `scp host1:FILE host2:FILE`."""
    machines = {"host1": t.a, "host2": t.b}

    def run(command):
        where, _, what = command.partition(" ")
        if where == "scp":
            (a, there), (b, here) = (word.split(":") for word in what.split())
            text = machines[a].check(f"cat {there}")
            return machines[b].run(f"umask 077; cat >{here} <<'EOF'\n{text}EOF")
        return machines[where].run(f"cd /run; PATH={PROGRAMS}:$PATH; {what}", t.seconds(80))

    told = steps(page, mark)
    assert told, mark
    for command, lines in told:
        repeat(t.seconds(60), run, command, lines)
    t.note(f"{mark}: {len(told)} commands")
