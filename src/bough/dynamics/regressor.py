"""The regressor of inverse dynamics: tau = Y pi, linear in the inertias pi (Atkeson, An & Hollerbach 1986).

The force that accelerates body j is A_j pi_j, with A_j (6, 10) made of its accelerations in its own frame; its share in
DoF k on its path is S_k' A_j. Columns are in the user's order: m, m c (3), xx xy yy xz yz zz, body by body.
"""

from __future__ import annotations

import numpy as np

from bough.compile.kernel import kernel
from bough.compile.routine import Routine
from bough.dynamics.kinematics import to_parent
from bough.dynamics.newton_euler import acceleration_tensor, point_acceleration, squares
from bough.dynamics.parameters import BodyLayout
from bough.dynamics.rnea import accelerate
from bough.joints import Mechanism, by_freedom, freedom, move_joint
from bough.model import Model
from bough.model.parameters import body_frames
from bough.spatial import add3, angular, cross, dot3, fill, get3, get9, linear, motion_out, rotate_back
from bough.types import IntArray, Motion, Rows, Vector, Workspace


@kernel
def regressor(m: Mechanism, s: BodyLayout, q: Rows, v: Rows, qdd: Rows, Y: Rows, w: Workspace) -> None:
    """Y (nv, 10 bodies) with tau = Y pi + armature qdd; zero where a DoF does not move a body."""
    packed_regressor(m, s, q, v, qdd, w.packed, w)
    fill(Y, m.zero[0])
    e = 0
    for j in range(len(s.body)):
        i = s.body[j]
        while i >= 0:
            for k in range(m.dof[i], m.dof[i + 1]):
                for c in range(10):
                    Y[m.v_index[k], 10 * j + c] = w.packed[e, c]
                e = e + 1
            i = m.parent[i]


@kernel
def packed_regressor(m: Mechanism, s: BodyLayout, q: Rows, v: Rows, qdd: Rows, Y: Rows, w: Workspace) -> None:
    """Only the rows of Y (pairs, 10) that are not zero: body by body, the DoF from it to its root."""
    by_freedom(m, v, w.rate)
    by_freedom(m, qdd, w.effort)
    for i in range(len(m.parent)):
        move_joint(m, q, i, w.X)
        accelerate(m, i, w)
    e = 0
    for j in range(len(s.body)):
        body_rows(m, s, j, e, Y, w)
        i = s.body[j]
        while i >= 0:
            e = e + m.dof[i + 1] - m.dof[i]
            i = m.parent[i]


@kernel
def body_rows(m: Mechanism, s: BodyLayout, j: int, e: int, Y: Rows, w: Workspace) -> None:
    """The rows of body j, from e on, for all DoF on its path."""
    b, R, p = s.body[j], get9(s.R, j), get3(s.p, j)
    u, alpha = get3(w.w, b), get3(w.alpha, b)
    a = rotate_back(R, add3(get3(w.a, b), point_acceleration(u, alpha, p)))
    u, alpha = rotate_back(R, u), rotate_back(R, alpha)
    i = b
    while i >= 0:
        for k in range(m.dof[i], m.dof[i + 1]):
            S = motion_out(R, p, freedom(m, k, m.ratio[k]))
            regressor_row(S, u, alpha, a, Y[e])
            e = e + 1
        R, p = to_parent(m, i, R, p, w)
        i = m.parent[i]


@kernel
def regressor_row(S: Motion, u: Vector, alpha: Vector, a: Vector, y: Rows) -> None:
    """y = S' A with u the angular velocity, alpha the angular and a the linear acceleration of the body's frame."""
    n, f, uu = angular(S), linear(S), squares(u)
    O = acceleration_tensor(uu, alpha)
    x = cross(a, n)  # S . (h x a, Omega h) = h . (a x n + Omega' f)
    y[0] = dot3(f, a)
    y[1] = x[0] + dot3(f, (O[0], O[3], O[6]))
    y[2] = x[1] + dot3(f, (O[1], O[4], O[7]))
    y[3] = x[2] + dot3(f, (O[2], O[5], O[8]))
    # J alpha + u x J u for each element of J
    y[4] = dot3(n, (alpha[0], uu[4], -uu[3]))
    y[5] = dot3(n, (alpha[1] - uu[4], alpha[0] + uu[5], uu[0] - uu[1]))
    y[6] = dot3(n, (-uu[5], alpha[1], uu[3]))
    y[7] = dot3(n, (alpha[2] + uu[3], uu[2] - uu[0], alpha[0] - uu[5]))
    y[8] = dot3(n, (uu[1] - uu[2], alpha[2] - uu[3], alpha[1] + uu[4]))
    y[9] = dot3(n, (uu[5], -uu[4], alpha[2]))


def regressor_pairs(model: Model) -> tuple[IntArray, IntArray]:
    """(dofs, bodies) of the rows of the packed regressor: Y[dofs, bodies] = packed, Y (nv, bodies, 10)."""
    m = model.mechanism
    freedoms, bodies = [], []
    for j, body in enumerate(body_frames(model)[0].tolist()):
        i = body
        while i >= 0:
            own = m.v_index[m.dof[i] : m.dof[i + 1]].tolist()
            freedoms += own
            bodies += [j] * len(own)
            i = int(m.parent[i])
    return np.array(freedoms, np.int64), np.array(bodies, np.int64)


WORK = {"X": "bodies 12", "rate": "dofs", "effort": "dofs", "w": "bodies 3", "alpha": "bodies 3", "a": "bodies 3"}
REGRESSOR = Routine(
    "regressor",
    regressor,
    inputs={"q": "nq", "v": "nv", "qdd": "nv"},
    outputs={"Y": "nv inertias"},
    work=WORK | {"packed": "pairs 10"},
)
PACKED_REGRESSOR = Routine(
    "packed_regressor",
    packed_regressor,
    inputs={"q": "nq", "v": "nv", "qdd": "nv"},
    outputs={"Y": "pairs 10"},
    work=WORK,
)
