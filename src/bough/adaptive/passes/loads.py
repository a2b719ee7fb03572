"""Applied forces: gathered by body, turned from the world's frame into the body's when needed."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from bough.compile.kernel import kernel
from bough.spatial import add6, cross, get3, join, put6, rotate_back
from bough.types import BoolArray, FloatArray, IntArray, Rotation, Rows

NOTHING = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)


class Loads(NamedTuple):
    """Forces on primitive bodies, those of a body side by side; first the ones that keep their direction in the world,
    which turn with respect to the body as it moves, then the ones that turn along with it."""

    body: Rows  # (loaded,) increasing
    first: Rows  # (loaded + 1,) where the forces of each begin
    along: Rows  # (loaded,) where those begin that turn along
    force: Rows  # (k, 3) in the world's axes or the body's
    moment: Rows  # (k, 3) likewise
    point: Rows  # (k, 3) in the body's frame
    slot: Rows  # (primitives,) place of a body among the loaded ones, -1 = none


class Applied(NamedTuple):
    """Forces as applied, in the world's axes or the body's, at points of the body's frame."""

    body: IntArray  # (k,)
    world: BoolArray  # (k,)
    force: FloatArray  # (k, 3)
    moment: FloatArray  # (k, 3)
    point: FloatArray  # (k, 3)


def no_force(bodies: Any, world: bool = True) -> Applied:
    """Forces of zero on these bodies, in the world's axes or theirs: they are listed all the same."""
    k = len(bodies)
    return Applied(np.array(bodies, np.int64), np.full(k, world), *np.zeros((3, k, 3)))


def gather(applied: Applied, slot: Any) -> tuple[Loads, IntArray]:
    """Sort forces by body, and the place of each in that order; `slot` is overwritten."""
    key = 2 * applied.body + ~applied.world
    order = np.argsort(key, kind="stable")
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    body = np.unique(applied.body)
    slot[:] = -1
    slot[body] = np.arange(len(body))
    first = np.searchsorted(key[order], np.append(2 * body, np.iinfo(np.int64).max))
    along = np.searchsorted(key[order], 2 * body + 1)
    columns = [np.ascontiguousarray(a[order]) for a in (applied.force, applied.moment, applied.point)]
    return Loads._make([body, first, along, *columns, slot]), place


def no_forces(primitives: int) -> Loads:
    """Loads that leave the forces on all primitives as they are."""
    return gather(no_force([]), np.full(primitives, -1, np.int32))[0]


@kernel
def load_body(force: Rows, loads: Loads, k: int, R: Rotation) -> None:
    """Write the sum of the forces on loaded body k, whose frame is turned by R, in its own frame."""
    f = NOTHING
    for j in range(loads.first[k], loads.first[k + 1]):
        l, n = get3(loads.force, j), get3(loads.moment, j)
        if j < loads.along[k]:
            l, n = rotate_back(R, l), rotate_back(R, n)
        c = cross(get3(loads.point, j), l)
        f = add6(f, join((n[0] + c[0], n[1] + c[1], n[2] + c[2]), l))
    put6(force, loads.body[k], f)
