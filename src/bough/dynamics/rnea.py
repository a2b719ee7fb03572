"""Recursive Newton-Euler algorithm (Luh, Walker & Paul 1980), in the form of Balafoutis, Patel & Misra 1988.

Each body carries its angular velocity, its angular acceleration and the acceleration of its origin; linear velocities
are never needed (see `newton_euler`).
"""

from __future__ import annotations

from bough.compile.kernel import kernel
from bough.compile.routine import Routine
from bough.dynamics.newton_euler import body_force, point_acceleration, subtract_wrenches
from bough.joints import (
    Mechanism,
    along,
    by_freedom,
    fetch_joint,
    force_to_parent,
    joint_rate,
    move_joint,
    origin_in_parent,
    turn_to_body,
)
from bough.spatial import add3, add6, angular, cross, get3, get6, get10, linear, put3, put6
from bough.types import Rows, Workspace


@kernel
def rnea(m: Mechanism, q: Rows, v: Rows, qdd: Rows, tau: Rows, w: Workspace) -> None:
    """tau = H qdd + C."""
    by_freedom(m, v, w.rate)
    by_freedom(m, qdd, w.effort)
    for i in range(len(m.parent)):
        fetch_joint(m, q, i)
        move_joint(m, q, i, w.X)
        accelerate(m, i, w)
        load(m, i, w)
    gather(m, tau, w)


@kernel
def newton_euler(m: Mechanism, v: Rows, qdd: Rows, tau: Rows, w: Workspace) -> None:
    """The same with the joint motions already in w.X."""
    by_freedom(m, v, w.rate)
    by_freedom(m, qdd, w.effort)
    for i in range(len(m.parent)):
        accelerate(m, i, w)
        load(m, i, w)
    gather(m, tau, w)


@kernel
def load(m: Mechanism, i: int, w: Workspace) -> None:
    """The force that body i alone needs, less the external ones."""
    put6(w.f, i, body_force(get10(m.inertia, i), get3(w.w, i), get3(w.alpha, i), get3(w.a, i)))
    subtract_wrenches(m, i, w.X, w.f)


@kernel
def gather(m: Mechanism, tau: Rows, w: Workspace) -> None:
    """Sum the forces from the tips to the roots, and take from each joint what it feels.

    w.effort holds the joint accelerations before, and the joint forces after.
    """
    for i in range(len(m.parent) - 1, -1, -1):
        f = get6(w.f, i)
        for k in range(m.dof[i], m.dof[i + 1]):
            w.effort[k] = along(m, k, f) + m.armature[k] * w.effort[k]
        p = m.parent[i]
        if p >= 0:
            put6(w.f, p, add6(get6(w.f, p), force_to_parent(m, w.X, i, f)))
    for k in range(len(tau)):
        tau[k] = m.zero[0]
    for k in range(len(m.v_index)):
        tau[m.v_index[k]] = tau[m.v_index[k]] + m.ratio[k] * w.effort[k]


@kernel
def accelerate(m: Mechanism, i: int, w: Workspace) -> None:
    """Angular velocity, angular acceleration and origin acceleration of body i, from its parent's."""
    p = m.parent[i]
    vJ, aJ = joint_rate(m, i, w.rate), joint_rate(m, i, w.effort)
    zero, g = m.zero[0], m.gravity
    w0 = (zero, zero, zero)
    alpha = w0
    a = (-g[0], -g[1], -g[2])
    if p >= 0:
        w0 = turn_to_body(m, w.X, i, get3(w.w, p))
        alpha = turn_to_body(m, w.X, i, get3(w.alpha, p))
        a = add3(get3(w.a, p), point_acceleration(get3(w.w, p), get3(w.alpha, p), origin_in_parent(m, w.X, i)))
    wi = add3(w0, angular(vJ))
    alpha = add3(add3(alpha, angular(aJ)), cross(w0, angular(vJ)))
    # a joint that slides adds its own acceleration and the Coriolis term (w_parent + w) x l
    a = add3(turn_to_body(m, w.X, i, a), add3(linear(aJ), cross(add3(w0, wi), linear(vJ))))
    put3(w.w, i, wi)
    put3(w.alpha, i, alpha)
    put3(w.a, i, a)


WORK = {
    "X": "bodies 12",
    "rate": "dofs",
    "effort": "dofs",
    "w": "bodies 3",
    "alpha": "bodies 3",
    "a": "bodies 3",
    "f": "bodies 6",
}
RNEA = Routine("inverse_dynamics", rnea, inputs={"q": "nq", "v": "nv", "qdd": "nv"}, outputs={"tau": "nv"}, work=WORK)
BIAS = RNEA.without("qdd", name="bias_force")
GRAVITY = RNEA.without("v", "qdd", name="gravity")
