"""Applied forces: gathered by body, turned from the world's frame into the body's when needed."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from bough.compile.kernel import kernel
from bough.spatial import add6, cross, get3, get6, join, put6, rotate_back


class Loads(NamedTuple):
    """Forces on primitive bodies. Those given in the world's frame turn with respect to the body as it moves."""

    body: Any  # (loaded,) increasing
    first: Any  # (loaded + 1,) where the world forces of each begin
    own: Any  # (loaded, 6) sum of the forces given in the body's frame
    force: Any  # (k, 3) in the world's frame
    moment: Any  # (k, 3) in the world's frame
    point: Any  # (k, 3) in the body's frame
    slot: Any  # (primitives,) place of a body among the loaded ones, -1 = none


class Applied(NamedTuple):
    """One force as applied, in the world's axes or the body's, at a point of the body's frame."""

    body: int
    force: Any  # (3,)
    moment: Any  # (3,)
    point: Any  # (3,)
    world: bool


def gather(applied: list[Applied], slot: Any) -> Loads:
    """Sort forces by body; `slot` is overwritten."""
    slot[:] = -1
    bodies = sorted({a.body for a in applied})
    slot[bodies] = np.arange(len(bodies))
    own = np.zeros((len(bodies), 6))
    for a in applied:
        if not a.world:
            own[slot[a.body]] += np.concatenate([a.moment + np.cross(a.point, a.force), a.force])
    world = sorted((a for a in applied if a.world), key=lambda a: a.body)
    first = np.searchsorted([a.body for a in world], [*bodies, np.inf]).astype(np.int64)
    rows = [
        np.array([x for x in column], float).reshape(-1, 3)
        for column in ([a.force for a in world], [a.moment for a in world], [a.point for a in world])
    ]
    return Loads(np.array(bodies, np.int64), first, own, rows[0], rows[1], rows[2], slot)


def no_forces(primitives: int) -> Loads:
    """Loads that leave the forces on all primitives as they are."""
    return gather([], np.full(primitives, -1, np.int32))


@kernel
def load_body(force: Any, loads: Any, k: int, R: Any) -> None:
    """Write the sum of the forces on loaded body k, whose frame is turned by R, in its own frame."""
    f = get6(loads.own, k)
    for j in range(loads.first[k], loads.first[k + 1]):
        l, n = rotate_back(R, get3(loads.force, j)), rotate_back(R, get3(loads.moment, j))
        c = cross(get3(loads.point, j), l)
        f = add6(f, join((n[0] + c[0], n[1] + c[1], n[2] + c[2]), l))
    put6(force, loads.body[k], f)
