# SPDX-License-Identifier: GPL-2.0
"""Others get on beside a user who does his worst. What it costs them is said by
`tests/bench/run.py --neighbour`."""
from netns_pair import IN_X, X, pair, unpair
from suite import test
from traffic import helper


@test(only="ours", timeout=600)
def inside_one_call(t):
    """Others get on inside of a cancel, a close, a table of messages, with 100,000 queued."""
    pair(t)
    t.note(t.a.check(f"exec {IN_X} {helper('rds_neighbour.py')} {X}", timeout=500).replace("\n", "; "))
    unpair(t)
