"""Generalized forces J' F of wrenches at frames and points, in one sweep (Featherstone 2008, section 5.3)."""

from __future__ import annotations

from typing import Any

import numpy as np

from bough.compile.kernel import kernel
from bough.compile.routine import Routine
from bough.compile.run.arrays import real_array
from bough.dynamics.external import Points, points_at
from bough.errors import OptionError, ShapeError
from bough.joints import Mechanism, along, joint_motion, orient_body, origin_in_parent
from bough.model import Model
from bough.spatial import add3, add6, angular, cross, get3, get6, get9, join, linear, put6, rotate, rotate_back
from bough.types import Rows, Workspace


@kernel
def generalized_forces(m: Mechanism, points: Points, q: Rows, F: Rows, tau: Rows, w: Workspace) -> None:
    """tau (nv,) = J' F of wrenches F (count, 6), [force, moment] in the world's axes, or of forces F (count, 3).

    Forces and moments are summed from the leaves to the roots in the world's axes, moments about the bodies' origins:
        f_i = sum of forces on i + sum over children of f_j
        n_i = sum of moments on i about its origin + sum over children of n_j + (o_j - o_i) x f_j
    """
    joint_motion(m, q, w.X)
    for k in range(len(tau)):
        tau[k] = m.zero[0]
    for i in range(len(m.parent)):
        orient_body(m, i, w.X, w.E)
        own_wrenches(m, points, F, i, w)
    for i in range(len(m.parent) - 1, -1, -1):
        y, R = get6(w.sum, i), get9(w.E, i)
        own = join(rotate_back(R, angular(y)), rotate_back(R, linear(y)))
        for k in range(m.dof[i], m.dof[i + 1]):
            tau[m.v_index[k]] = tau[m.v_index[k]] + m.ratio[k] * along(m, k, own)
        p = m.parent[i]
        if p >= 0:
            lever = cross(rotate(get9(w.E, p), origin_in_parent(m, w.X, i)), linear(y))
            put6(w.sum, p, add6(get6(w.sum, p), join(add3(angular(y), lever), linear(y))))


@kernel
def own_wrenches(m: Mechanism, points: Points, F: Rows, i: int, w: Workspace) -> None:
    """w.sum[i], moment first: the wrenches on body i about its origin."""
    R, zero = get9(w.E, i), m.zero[0]
    y = (zero, zero, zero, zero, zero, zero)
    for j in range(points.first[i], points.first[i + 1]):
        k = points.order[j]
        force = get3(F, k)
        moment = cross(rotate(R, get3(points.p, k)), force)
        if F.shape[1] == 6:
            moment = add3(linear(get6(F, k)), moment)
        y = add6(y, join(moment, force))
    put6(w.sum, i, y)


def generalized_forces_at(model: Model, places: Any, columns: int) -> tuple[Routine, Points]:
    """The routine for wrenches (6 columns) or forces (3) at frames or points (frame, (x, y, z)), and these places."""
    if isinstance(places, str) or not places:
        raise OptionError(f"generalized_forces takes a list of frames or of points (frame, (x, y, z)), got {places!r}")
    names, offsets = [], []
    for place in places:
        name, p = (place, (0.0, 0.0, 0.0)) if isinstance(place, str) else place
        names.append(name)
        offsets.append(real_array(f"generalized_forces: the point of {name!r}", p, "(3,)"))
        if offsets[-1].shape != (3,):
            raise ShapeError(f"generalized_forces: the point of {name!r} must have shape (3,), got {offsets[-1].shape}")
    return generalized_forces_of(len(names), columns), points_at(model, names, np.array(offsets, float))


def generalized_forces_of(count: int, columns: int) -> Routine:
    """The routine for so many wrenches (6 columns) or forces (3)."""
    return Routine(
        "generalized_forces",
        generalized_forces,
        inputs={"q": "nq", "F": f"{count} {columns}"},
        outputs={"tau": "nv"},
        work={"X": "bodies 12", "E": "bodies 9", "sum": "bodies 6"},
    )
