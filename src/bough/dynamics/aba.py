"""Articulated-body algorithm (Featherstone 1983; McMillan & Orin 1995): forward dynamics in O(n).

Accelerations are those of the bodies' origins (see `newton_euler`), so that linear velocities are never needed. The
degrees of freedom of a joint are eliminated one at a time, without the inverse of a matrix.
"""

from __future__ import annotations

from bough.compile.kernel import kernel
from bough.compile.routine import Routine
from bough.dynamics.articulated import split_freedom
from bough.dynamics.newton_euler import centripetal, gyroscopic_force, squares, subtract_wrenches
from bough.joints import (
    Mechanism,
    along,
    articulated_to_parent,
    by_freedom,
    fetch_freedom,
    fetch_joint,
    force_to_parent,
    freedom,
    joint_rate,
    motion_to_body,
    move_joint,
    origin_in_parent,
    turn_to_body,
)
from bough.spatial import (
    add3,
    add6,
    angular,
    articulated,
    articulated_add,
    articulated_times,
    cross,
    dot6,
    get3,
    get6,
    get10,
    get21,
    join,
    linear,
    put3,
    put6,
    put21,
    scale6,
    sub6,
)
from bough.types import Rows, Workspace


@kernel
def aba(m: Mechanism, q: Rows, v: Rows, tau: Rows, qdd: Rows, w: Workspace) -> None:
    """qdd such that H qdd + C = tau."""
    by_freedom(m, v, w.rate)
    by_freedom(m, tau, w.u)
    for i in range(len(m.parent)):
        fetch_joint(m, q, i)
        move_joint(m, q, i, w.X)
        start_body(m, i, w)
    for i in range(len(m.parent) - 1, -1, -1):
        eliminate(m, i, w)
    for i in range(len(m.parent)):
        accelerate(m, i, qdd, w)


@kernel
def start_bodies(m: Mechanism, v: Rows, w: Workspace) -> None:
    """`start_body` of all bodies, with the joint motions in w.X."""
    by_freedom(m, v, w.rate)
    for i in range(len(m.parent)):
        start_body(m, i, w)


@kernel
def start_body(m: Mechanism, i: int, w: Workspace) -> None:
    """Angular velocity, velocity-dependent accelerations b, c and bias force pA of body i.

    b is the centripetal acceleration of the body's origin in the parent's frame, c that of the joint's own motion.
    """
    zero, p = m.zero[0], m.parent[i]
    vJ = joint_rate(m, i, w.rate)
    w0 = (zero, zero, zero)
    if p >= 0:
        w0 = turn_to_body(m, w.X, i, get3(w.w, p))
        put3(w.b, i, centripetal(get6(w.ww, p), origin_in_parent(m, w.X, i)))
    wi = add3(w0, angular(vJ))
    ww = squares(wi)
    I = get10(m.inertia, i)
    put3(w.w, i, wi)
    put6(w.ww, i, ww)
    put6(w.c, i, join(cross(w0, angular(vJ)), cross(add3(w0, wi), linear(vJ))))
    put6(w.pA, i, gyroscopic_force(I, ww))
    subtract_wrenches(m, i, w.X, w.pA)
    put21(w.IA, i, articulated(I, zero))


@kernel
def eliminate(m: Mechanism, i: int, w: Workspace) -> None:
    """Eliminate the DoF of body i from its inertia, one by one, and add the rest to the parent.

    w.u holds their joint forces before, and u / D after.
    """
    IA, pA = get21(w.IA, i), get6(w.pA, i)
    for k in range(m.dof[i + 1] - 1, m.dof[i] - 1, -1):
        D, W, IA = split_freedom(m, k, IA)
        u = w.u[k] - along(m, k, pA)
        V = sub6(W, freedom(m, k, m.one[0]))
        put6(w.V, k, V)
        w.u[k] = u / D
        pA = add6(add6(pA, scale6(u, V)), freedom(m, k, u))
    p = m.parent[i]
    if p >= 0:
        pa = force_to_parent(m, w.X, i, add6(pA, articulated_times(IA, get6(w.c, i))))
        Ia = articulated_to_parent(m, w.X, i, IA)
        zero = m.zero[0]
        pa = add6(pa, articulated_times(Ia, join((zero, zero, zero), get3(w.b, i))))
        put21(w.IA, p, articulated_add(get21(w.IA, p), Ia))
        put6(w.pA, p, add6(get6(w.pA, p), pa))


@kernel
def accelerate(m: Mechanism, i: int, qdd: Rows, w: Workspace) -> None:
    p = m.parent[i]
    if p >= 0:
        a = get6(w.a, p)
        a = motion_to_body(m, w.X, i, join(angular(a), add3(linear(a), get3(w.b, i))))
    else:
        g, zero = m.gravity, m.zero[0]
        a = join((zero, zero, zero), turn_to_body(m, w.X, i, (-g[0], -g[1], -g[2])))
    a = add6(a, get6(w.c, i))
    fetch_freedom(m, qdd, m.dof[i])
    for k in range(m.dof[i], m.dof[i + 1]):
        x = w.u[k] - dot6(get6(w.V, k), a) - along(m, k, a)
        qdd[m.v_index[k]] = x
        a = add6(a, freedom(m, k, x))
    put6(w.a, i, a)


ABA = Routine(
    "forward_dynamics",
    aba,
    inputs={"q": "nq", "v": "nv", "tau": "nv"},
    outputs={"qdd": "nv"},
    work={
        "X": "bodies 12",
        "rate": "dofs",
        "w": "bodies 3",
        "ww": "bodies 6",
        "b": "bodies 3",
        "c": "bodies 6",
        "pA": "bodies 6",
        "IA": "bodies 21",
        "V": "dofs 6",
        "u": "dofs",
        "a": "bodies 6",
    },
)
