# SPDX-License-Identifier: GPL-2.0
"""Which files of the suite run at a time: as many guests as were asked for, and more while the
processors of this host stand idle. Guests that talk to each other often wait, so a number that
keeps two processors busy with some files leaves them idle with others; and where other programs
use the machine, it is to stay at the number. What runs with a low priority gives way and is no such
program: `make test` has work of that kind beside the guests.
"""
import threading
import time

WATCHED = 3  # s: a guest that has just been let in is booting by then, and is seen
ENOUGH = 0.2  # of the processors' time


class Idle:
    """The part of this host's processor time in which nothing ran, or what has a low priority, over
    the last WATCHED seconds and more since anybody was let in."""

    def __init__(self):
        self.restart()

    def restart(self):
        self.began, self.then = self.clock(), self.read()

    clock = staticmethod(time.monotonic)

    @staticmethod
    def read():
        """(idle, all) in ticks"""
        with open("/proc/stat") as stat:
            ticks = list(map(int, stat.readline().split()[1:9]))
        nice, idle, waiting = ticks[1], ticks[3], ticks[4]
        return nice + idle + waiting, sum(ticks)

    def enough(self):
        """Asked again before WATCHED seconds have gone it says no."""
        if self.clock() - self.began < WATCHED:
            return False
        idle, whole = (now - then for now, then in zip(self.read(), self.then))
        self.restart()
        return idle > ENOUGH * whole


class Places:
    """Places of guests. Nobody waits for a place that is free while others need more of them."""

    def __init__(self, usual, most):
        """@usual: guests at a time in any case; @most: while processors are idle."""
        self.usual, self.most, self.taken = usual, max(usual, most), 0
        self.idle, self.cond = Idle(), threading.Condition()

    def fits(self, count):
        if not self.taken or self.taken + count <= self.usual:
            return True
        return self.taken + count <= self.most and self.idle.enough()

    def first_that_fits(self, counts):
        """Waits until the places of one of @counts are free, and takes them. Returns its index, of
        several the first's."""
        with self.cond:
            while True:
                at = self.first(counts)
                if at is not None:
                    self.taken += counts[at]
                    self.idle.restart()
                    return at
                self.cond.wait(1)

    def first(self, counts):
        return next((at for at, count in enumerate(counts) if self.fits(count)), None)

    def give(self, count):
        with self.cond:
            self.taken -= count
            self.cond.notify_all()
