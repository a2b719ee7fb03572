"""Centre of mass, its velocity and its Jacobian, from first moments of subtrees (Orin, Goswami & Lee 2013)."""

from __future__ import annotations

from bough.compile.kernel import kernel
from bough.compile.routine import Routine
from bough.dynamics.kinematics import place_body
from bough.joints import Mechanism, freedom, joint_motion, joint_velocity, origin_in_parent, turn_to_parent
from bough.spatial import add3, angular, cross, fill, get3, get9, linear, put3, rotate, scale3
from bough.types import Rows, Scalar, Vector, Workspace


@kernel
def inverse_mass(m: Mechanism) -> Scalar:
    total = m.zero[0]
    for i in range(len(m.parent)):
        total = total + m.inertia[i, 9]
    return m.one[0] / total


@kernel
def first_moment(m: Mechanism, scale: Scalar, w: Workspace) -> Vector:
    """Sum of m c over all bodies in the world's frame, times `scale`.

    Leaves in w.h and w.mass the first moment of each body's subtree in its own frame, and its mass, scaled alike.
    """
    zero = m.zero[0]
    for i in range(len(m.parent)):
        put3(w.h, i, scale3(scale, (m.inertia[i, 6], m.inertia[i, 7], m.inertia[i, 8])))
        w.mass[i] = scale * m.inertia[i, 9]
    total = (zero, zero, zero)
    for i in range(len(m.parent) - 1, -1, -1):
        h = add3(turn_to_parent(m, w.X, i, get3(w.h, i)), scale3(w.mass[i], origin_in_parent(m, w.X, i)))
        p = m.parent[i]
        if p >= 0:
            put3(w.h, p, add3(get3(w.h, p), h))
            w.mass[p] = w.mass[p] + w.mass[i]
        else:
            total = add3(total, h)
    return total


@kernel
def center_of_mass(m: Mechanism, q: Rows, c: Rows, w: Workspace) -> None:
    """c (3,) in the world's frame."""
    joint_motion(m, q, w.X)
    x = first_moment(m, inverse_mass(m), w)
    for r in range(3):
        c[r] = x[r]


@kernel
def center_of_mass_velocity(m: Mechanism, q: Rows, v: Rows, cdot: Rows, w: Workspace) -> None:
    """Velocity of the centre of mass (3,) in the world's axes, by one inward sweep."""
    zero = m.zero[0]
    joint_motion(m, q, w.X)
    first_moment(m, inverse_mass(m), w)
    for i in range(len(m.parent)):
        put3(w.rate, i, (zero, zero, zero))
    x = (zero, zero, zero)
    for i in range(len(m.parent) - 1, -1, -1):
        # the subtree's first moment changes within body i, and moves with joint i
        vJ = joint_velocity(m, i, v)
        rate = add3(get3(w.rate, i), add3(cross(angular(vJ), get3(w.h, i)), scale3(w.mass[i], linear(vJ))))
        rate = turn_to_parent(m, w.X, i, rate)
        p = m.parent[i]
        if p >= 0:
            put3(w.rate, p, add3(get3(w.rate, p), rate))
        else:
            x = add3(x, rate)
    for r in range(3):
        cdot[r] = x[r]


@kernel
def center_of_mass_jacobian(m: Mechanism, q: Rows, J: Rows, w: Workspace) -> None:
    """J (3, nv) with the velocity of the centre of mass = J v, in the world's axes."""
    fill(J, m.zero[0])
    joint_motion(m, q, w.X)
    first_moment(m, inverse_mass(m), w)
    for i in range(len(m.parent)):
        place_body(m, i, w)
        for k in range(m.dof[i], m.dof[i + 1]):
            S = freedom(m, k, m.ratio[k])
            x = add3(cross(angular(S), get3(w.h, i)), scale3(w.mass[i], linear(S)))
            x = rotate(get9(w.P, i), x)
            for r in range(3):
                J[r, m.v_index[k]] = J[r, m.v_index[k]] + x[r]


WORK = {"X": "bodies 12", "h": "bodies 3", "mass": "bodies"}
CENTER_OF_MASS = Routine("center_of_mass", center_of_mass, inputs={"q": "nq"}, outputs={"c": "3"}, work=WORK)
CENTER_OF_MASS_VELOCITY = Routine(
    "center_of_mass_velocity",
    center_of_mass_velocity,
    inputs={"q": "nq", "v": "nv"},
    outputs={"cdot": "3"},
    work=WORK | {"rate": "bodies 3"},
)
CENTER_OF_MASS_JACOBIAN = Routine(
    "center_of_mass_jacobian",
    center_of_mass_jacobian,
    inputs={"q": "nq"},
    outputs={"J": "3 nv"},
    work=WORK | {"P": "bodies 12"},
)
