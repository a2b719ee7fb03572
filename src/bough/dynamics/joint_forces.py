"""Reaction wrenches at joints, from the recursive Newton-Euler algorithm (Luh, Walker & Paul 1980)."""

from __future__ import annotations

from bough.compile.kernel import kernel
from bough.compile.routine import Routine
from bough.dynamics.parameters import BodyLayout
from bough.dynamics.rnea import RNEA, rnea
from bough.joints import Mechanism
from bough.spatial import angular, cross, get3, get6, get9, linear, rotate_back, sub3
from bough.types import Rows, Workspace


@kernel
def joint_forces(m: Mechanism, s: BodyLayout, q: Rows, v: Rows, qdd: Rows, F: Rows, w: Workspace) -> None:
    """F (joints, 6): what each joint exerts on its body, [force, moment] at the body's origin, in its axes.

    After `rnea`, w.f holds f_i = what body i needs, and all bodies beyond it.
    """
    rnea(m, q, v, qdd, w.tau, w)
    for j in range(len(s.body)):
        f, R = get6(w.f, s.body[j]), get9(s.R, j)
        force = rotate_back(R, linear(f))
        moment = rotate_back(R, sub3(angular(f), cross(get3(s.p, j), linear(f))))
        for c in range(3):
            F[j, c], F[j, 3 + c] = force[c], moment[c]


JOINT_FORCES = Routine(
    "joint_forces",
    joint_forces,
    inputs={"q": "nq", "v": "nv", "qdd": "nv"},
    outputs={"F": "joints 6"},
    work={**RNEA.work, "tau": "nv"},
)
