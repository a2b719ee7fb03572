"""Momentum of the whole mechanism, about the world's origin and about the centre of mass (Orin, Goswami & Lee 2013)."""

from __future__ import annotations

from bough.compile.kernel import kernel
from bough.compile.routine import Routine
from bough.dynamics.center_of_mass import WORK, first_moment, inverse_mass
from bough.dynamics.kinematics import body_velocities
from bough.joints import Mechanism, force_to_parent, joint_motion
from bough.spatial import add6, angular, cross, get6, get10, linear, put6, rigid_times, sub3
from bough.types import Force, Rows, Workspace


@kernel
def world_momentum(m: Mechanism, v: Rows, w: Workspace) -> Force:
    """Spatial momentum about the world's origin, angular part first; X is filled."""
    body_velocities(m, v, w.X, w.v)
    for i in range(len(m.parent)):
        put6(w.f, i, rigid_times(get10(m.inertia, i), get6(w.v, i)))
    return force_on_all(m, w)


@kernel
def force_on_all(m: Mechanism, w: Workspace) -> Force:
    """The sum of w.f on all bodies, at the world's origin; w.f becomes that on subtrees."""
    zero = m.zero[0]
    total = (zero, zero, zero, zero, zero, zero)
    for i in range(len(m.parent) - 1, -1, -1):
        f, p = force_to_parent(m, w.X, i, get6(w.f, i)), m.parent[i]
        if p >= 0:
            put6(w.f, p, add6(get6(w.f, p), f))
        else:
            total = add6(total, f)
    return total


@kernel
def momentum(m: Mechanism, q: Rows, v: Rows, h: Rows, w: Workspace) -> None:
    """h (6,) [linear, angular] about the world's origin, in the world's axes."""
    joint_motion(m, q, w.X)
    x = world_momentum(m, v, w)
    for r in range(3):
        h[r], h[3 + r] = x[3 + r], x[r]


@kernel
def centroidal_momentum(m: Mechanism, q: Rows, v: Rows, h: Rows, w: Workspace) -> None:
    """h (6,) [linear, angular] about the centre of mass, in the world's axes."""
    joint_motion(m, q, w.X)
    x = world_momentum(m, v, w)
    n = sub3(angular(x), cross(first_moment(m, inverse_mass(m), w), linear(x)))
    for r in range(3):
        h[r], h[3 + r] = x[3 + r], n[r]


MOMENTUM = Routine(
    "momentum",
    momentum,
    inputs={"q": "nq", "v": "nv"},
    outputs={"h": "6"},
    work={"X": "bodies 12", "v": "bodies 6", "f": "bodies 6"},
)
CENTROIDAL_MOMENTUM = Routine(
    "centroidal_momentum",
    centroidal_momentum,
    inputs={"q": "nq", "v": "nv"},
    outputs={"h": "6"},
    work=WORK | {"v": "bodies 6", "f": "bodies 6"},
)
