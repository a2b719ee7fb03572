"""Clusters opened on several threads, where the rule looks at each by itself: none may leave out more than so much.

Those that wait are dealt out, and each share goes on in a front of its own. Shares do not depend on the number of
threads, so that neither do the bits. A rule for the sum over all clusters has no shares: each would need the others.
One that is relative to the largest acceleration takes the largest known when shares are dealt: they may open more.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bough.adaptive import passes
from bough.adaptive.compiled import compiled
from bough.adaptive.node import State
from bough.adaptive.passes import Front, grown, make_front, open_above, take_over
from bough.types import IntArray

if TYPE_CHECKING:
    from bough.adaptive.engines.tree import Stop, TreeEngine

FEW = 1024  # clusters that are opened in one row, largest first, before any are dealt out
SHARES = 16


def open_shares(tree: TreeEngine, stop: Stop) -> None:
    """Open all clusters that the rule asks for, from those that wait."""
    fr, limits = tree.front, stop[1]
    limit = limits[0] + limits[1] * fr.value[passes.ROOT] + limits[2] * fr.value[passes.LARGEST]
    order = np.argsort(-fr.key[: int(fr.count[passes.WAITING])], kind="stable")  # falling keys are a heap
    fronts = [_share(fr, order[k::SHARES]) for k in range(min(SHARES, len(order)))]
    count = tree.crew.gather()

    def run(who: int, state: State) -> None:
        for k in range(who, len(fronts), count):
            fronts[k] = _opened(tree, state, fronts[k], float(limit))

    tree.crew.each(run, count)
    fr.count[passes.WAITING] = fr.count[passes.SLOTS] = fr.count[passes.SPARE] = 0
    for share in fronts:
        while max((tree.front.count + share.count)[[passes.WAITING, passes.DONE]]) + 4 > len(tree.front.key):
            tree.grow()
        compiled(take_over)(tree.front, share)
    tree.front.value[passes.SUM] = tree.do(passes.LEFT)


def _share(whole: Front, group: IntArray) -> Front:
    """A front in which some of the clusters wait that do in another one."""
    n = len(group)
    fr = make_front(0, 0, 4 * n + 1024, whole.forced)
    fr.key[:n], fr.node[:n], fr.slot[:n] = whole.key[group], whole.node[group], np.arange(n)
    fr.force[:n] = whole.force[whole.slot[group]]
    fr.count[passes.WAITING] = fr.count[passes.SLOTS] = n
    fr.count[passes.BY_ENERGY] = whole.count[passes.BY_ENERGY]
    return fr


def _opened(tree: TreeEngine, state: State, fr: Front, least: float) -> Front:
    """The same front, once all clusters with a key above `least` are open."""
    while compiled(open_above)(tree.mechanism, tree.plan, state, fr, tree.clock, least) == passes.FULL:
        fr = grown(fr)
    return fr
