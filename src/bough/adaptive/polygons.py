"""Points that joints or loops keep together are corners of polygons, whose sides are rigid bodies: none of these is
longer than another way round.

A joint that only turns keeps a point of its body in a place of its parent, a loop without slides one of each of its
bodies. One loop is a polygon; several with bodies in common make others, such as three bars of 1, 1 and 3 m that are
pinned end to end.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from heapq import heappop, heappush
from itertools import combinations
from typing import NamedTuple

import numpy as np

from bough.adaptive.engines import LoopRows
from bough.adaptive.fit import MISSED, ROUNDED
from bough.errors import ModelError
from bough.joints import Mechanism
from bough.types import BoolArray, FloatArray

MANY = 30  # points of one body of which each is a side with every other; of more, only those that one loop joins


class Side(NamedTuple):
    """Two points of one body. Numbers of points are those of the joints, then those of the loops."""

    ends: tuple[int, int]
    length: float

    def other(self, point: int) -> int:
        return self.ends[0] if point == self.ends[1] else self.ends[1]


def refuse_beyond_reach(m: Mechanism, lp: LoopRows, origin: FloatArray, turns: BoolArray, names: Sequence[str]) -> None:
    """Loops that close nowhere, as a side is longer than another way between its ends; `turns` are joints that keep
    the origin of their body where it is in the parent."""
    at: dict[int, list[Side]] = defaultdict(list)
    for side in _sides(m, lp, origin, turns):
        for end in side.ends:
            at[end].append(side)
    least = {point: sorted(x.length for x in sides)[:2] for point, sides in at.items()}
    for side in {id(x): x for sides in at.values() for x in sides}.values():
        enough = side.length - max(MISSED * min(1.0, side.length), 2.0 * ROUNDED * side.length)
        # another way has a first side and a last one: beside this one, the shortest that there are
        if all(any(x < enough for x in least[end]) for end in side.ends):
            length, way = _way_round(at, side, enough)
            loops = [names[k - len(m.parent)] for k in (*side.ends, *way) if k >= len(m.parent)]
            if length < enough and loops:
                first, *others = dict.fromkeys(loops)
                along = f" together with {', '.join(others)}" * bool(others)
                raise ModelError(
                    f"closure {first} cannot be closed{along}: however the joints turn, its frames are "
                    f"{side.length - length:.2g} m apart"
                )


def _sides(m: Mechanism, lp: LoopRows, origin: FloatArray, turns: BoolArray) -> list[Side]:
    body, loop = np.repeat(np.arange(len(m.parent)), np.diff(lp.first)), lp.loop[lp.row]
    order = np.lexsort((body, loop))
    way = np.split(body[order], np.searchsorted(loop[order], np.arange(1, len(lp.meet))))
    axes = np.zeros((len(lp.meet), 6), bool)
    axes[lp.loop, lp.axis] = True
    held = np.flatnonzero(axes[:, 3:].all(axis=1)).tolist()
    ways = {c: np.unique(way[c]) for c in held}
    points: dict[int, dict[int, FloatArray]] = defaultdict(dict)  # of each body, in its frame
    for i in {i for way in ways.values() for i in way[turns[way]].tolist()}:
        points[int(m.parent[i])][i], points[i][i] = origin[i, 9:], np.zeros(3)
    for c in held:
        for k, i in enumerate(lp.body[c].tolist()):
            points[i][len(m.parent) + c] = lp.frame[2 * c + k, 9:]
    found = [_side(of, a, b) for of in points.values() if len(of) <= MANY for a, b in combinations(of, 2)]
    for i, of in points.items():
        for c in held if len(of) > MANY else ():
            on = {i, len(m.parent) + c, *ways[c][m.parent[ways[c]] == i].tolist()} & {*of}
            found += [_side(of, a, b) for a, b in combinations(sorted(on), 2)]
    return found


def _side(of: dict[int, FloatArray], a: int, b: int) -> Side:
    return Side((a, b), float(np.linalg.norm(of[a] - of[b])))


def _way_round(at: dict[int, list[Side]], side: Side, enough: float) -> tuple[float, list[int]]:
    """The shortest way between the ends of a side which is not that side, if it is shorter than `enough`, and its
    points."""
    begin, end = side.ends
    heap, before = [(0.0, begin, begin)], dict[int, int]()
    while heap:
        length, point, last = heappop(heap)
        if point in before:
            continue
        before[point] = last
        if point == end:
            way = [end]
            while way[-1] != begin:
                way.append(before[way[-1]])
            return length, way
        for other in at[point]:
            if other is not side and length + other.length < enough:
                heappush(heap, (length + other.length, other.other(point), point))
    return np.inf, []
