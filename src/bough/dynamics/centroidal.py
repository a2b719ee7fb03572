"""The centroidal momentum matrix and its drift (Orin, Goswami & Lee 2013)."""

from __future__ import annotations

from bough.compile.kernel import kernel
from bough.compile.routine import Routine
from bough.dynamics.center_of_mass import WORK, first_moment, inverse_mass
from bough.dynamics.coriolis import cross_force
from bough.dynamics.kinematics import body_drifts, place_body
from bough.dynamics.momentum import force_on_all
from bough.joints import Mechanism, joint_motion, rigid_freedom, rigid_to_parent
from bough.spatial import (
    add3,
    add6,
    angular,
    cross,
    fill,
    get6,
    get9,
    get10,
    get_tail,
    linear,
    put6,
    put10,
    rigid_add,
    rigid_times,
    rotate,
    sub3,
)
from bough.types import Force, Rows, Vector, Workspace


@kernel
def centroidal_momentum_matrix(m: Mechanism, q: Rows, A: Rows, w: Workspace) -> None:
    """A (6, nv): A v is the momentum [linear, angular about the centre of mass], in the world's axes.

    Column k is the momentum of the subtree of body i, as one rigid body, moving along DoF k.
    """
    joint_motion(m, q, w.X)
    com = first_moment(m, inverse_mass(m), w)
    for i in range(len(m.parent)):
        place_body(m, i, w)
        put10(w.I, i, get10(m.inertia, i))
    for i in range(len(m.parent) - 1, -1, -1):
        p = m.parent[i]
        if p >= 0:
            put10(w.I, p, rigid_add(get10(w.I, p), rigid_to_parent(m, w.X, i, get10(w.I, i))))
    fill(A, m.zero[0])
    for i in range(len(m.parent)):
        for k in range(m.dof[i], m.dof[i + 1]):
            f, n = about(com, i, rigid_freedom(m, k, get10(w.I, i)), w)
            c = m.v_index[k]
            for r in range(3):
                A[r, c] = A[r, c] + m.ratio[k] * f[r]
                A[3 + r, c] = A[3 + r, c] + m.ratio[k] * n[r]


@kernel
def about(com: Vector, i: int, x: Force, w: Workspace) -> tuple[Vector, Vector]:
    """A force in the frame of body i, as [linear, angular about `com`] in the world's axes."""
    R = get9(w.P, i)
    f = rotate(R, linear(x))
    return f, add3(rotate(R, angular(x)), cross(sub3(get_tail(w.P, i), com), f))


@kernel
def centroidal_momentum_drift(m: Mechanism, q: Rows, v: Rows, hdot: Rows, w: Workspace) -> None:
    """hdot (6,) = Adot v: the rate of the centroidal momentum while v is constant."""
    joint_motion(m, q, w.X)
    com = first_moment(m, inverse_mass(m), w)
    body_drifts(m, v, w)
    for i in range(len(m.parent)):
        I, V = get10(m.inertia, i), get6(w.v, i)
        put6(w.f, i, add6(rigid_times(I, get6(w.a, i)), cross_force(V, rigid_times(I, V))))
    total = force_on_all(m, w)
    n = sub3(angular(total), cross(com, linear(total)))
    for r in range(3):
        hdot[r], hdot[3 + r] = total[3 + r], n[r]


CENTROIDAL_MOMENTUM_MATRIX = Routine(
    "centroidal_momentum_matrix",
    centroidal_momentum_matrix,
    inputs={"q": "nq"},
    outputs={"A": "6 nv"},
    work=WORK | {"P": "bodies 12", "I": "bodies 10"},
)
CENTROIDAL_MOMENTUM_DRIFT = Routine(
    "centroidal_momentum_drift",
    centroidal_momentum_drift,
    inputs={"q": "nq", "v": "nv"},
    outputs={"hdot": "6"},
    work=WORK | {"v": "bodies 6", "a": "bodies 6", "f": "bodies 6"},
)
