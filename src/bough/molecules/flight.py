"""Free flight of a tree: generalized momenta, and a symplectic step in which no force acts.

The discrete Lagrangian L(q0, q1) = h K(q_mid, v) with q1 = q0 + h v and q_mid = q0 + h v / 2 (Marsden & West 2001; on
groups Kobilarov & Marsden 2011) has the momenta

    p0 = P - h/2 g + h^2/12 c,    p1 = P + h/2 g + h^2/12 c,

P = H(q_mid) v, and g the rate of P while no force acts. With V the velocity of the parent, S_j the axis of joint j and
h_j the momentum of the subtree that it carries, g_j = dK/dq_j = h_j . (V x S_j). A free body turns with its own frame,
so there V is its own velocity; c = (V x)'(V x)' h is of second order, and zero for other joints.
"""

from __future__ import annotations

import numpy as np

from bough.compile.executions import bind_arrays
from bough.compile.kernel import kernel
from bough.compile.routine import Routine
from bough.dynamics.coriolis import cross_force
from bough.dynamics.dynamics import Dynamics
from bough.dynamics.kinematics import body_velocities
from bough.errors import NumericalError
from bough.joints import Mechanism, along, force_to_parent, joint_motion, motion_to_body
from bough.spatial import add6, get6, get10, put6, rigid_times
from bough.types import FloatArray, Rows, Workspace

MOST_SWEEPS = 30
MIXED = 5  # earlier sweeps from which the next velocity follows, where
SLOW = 0.2  # is the ratio of one change to the one before, at least
FASTEST = 1.0  # rad, or nm, by which a joint may move in a step
ROUNDING = 1e-10  # of the largest momentum


@kernel
def momenta(m: Mechanism, q: Rows, v: Rows, P: Rows, g: Rows, c: Rows, w: Workspace) -> None:
    """P = H v, its rate g in free flight, and the term c of free bodies, (nv,) each."""
    joint_motion(m, q, w.X)
    body_velocities(m, v, w.X, w.v)
    for i in range(len(m.parent)):
        put6(w.h, i, rigid_times(get10(m.inertia, i), get6(w.v, i)))
    for i in range(len(m.parent) - 1, -1, -1):
        zero, up = m.zero[0], m.parent[i]
        y, V = get6(w.h, i), (zero, zero, zero, zero, zero, zero)
        is_free = up < 0 and m.dof[i + 1] - m.dof[i] == 6
        if is_free:
            V = get6(w.v, i)
        if up >= 0:
            V = motion_to_body(m, w.X, i, get6(w.v, up))
            put6(w.h, up, add6(get6(w.h, up), force_to_parent(m, w.X, i, y)))
        rate = cross_force(V, y)
        for k in range(m.dof[i], m.dof[i + 1]):
            j = m.v_index[k]
            P[j], g[j], c[j] = along(m, k, y), -along(m, k, rate), zero
            if is_free:
                c[j] = along(m, k, cross_force(V, rate))


MOMENTA = Routine(
    "momenta", momenta, inputs={"q": "nq", "v": "nv"}, outputs={"P": "nv", "g": "nv", "c": "nv"},
    work={"X": "bodies 12", "v": "bodies 6", "h": "bodies 6"},
)  # fmt: skip


class Flight:
    """Free flight of a model without joints of several degrees of freedom but at its roots."""

    def __init__(self, dynamics: Dynamics) -> None:
        self.model = dynamics.model
        self._momenta = bind_arrays(MOMENTA, (self.model.mechanism,), self.model.sizes, general=True).call
        self._accelerate = dynamics.forward_dynamics
        self._rest = np.zeros(self.model.nv)

    def momentum(self, q: FloatArray, v: FloatArray) -> FloatArray:
        """p = H v, (nv,)."""
        return np.asarray(self._momenta(q, v)[0])

    def velocity(self, q: FloatArray, p: FloatArray) -> FloatArray:
        """v = H^-1 p, (nv,)."""
        return np.asarray(self._accelerate(q, self._rest, p))

    def step(self, q: FloatArray, p: FloatArray, h: float) -> tuple[FloatArray, FloatArray]:
        """q and p after a time h: the velocity is that for which p0 = p, by sweeps of O(n) with Anderson's mixing."""
        v, least = self.velocity(q, p), ROUNDING * float(np.abs(p).max(initial=1e-300))
        v = v + 0.5 * h * self._accelerate(q, v, self._rest)
        tried: list[tuple[FloatArray, FloatArray]] = []  # velocities, and the changes that they called for
        for _ in range(MOST_SWEEPS):
            if not np.abs(h * v).max(initial=0.0) < FASTEST:
                break
            middle = self.model.integrate(q, 0.5 * h * v)
            P, g, c = self._momenta(middle, v)
            gap = p - P + 0.5 * h * g - h * h / 12.0 * c
            if np.abs(gap).max(initial=0.0) <= least:
                return self.model.integrate(q, h * v), P + 0.5 * h * g + h * h / 12.0 * c
            tried = [*tried[-MIXED:], (v, self.velocity(middle, gap))]
            v = _next_velocity(tried)
        raise NumericalError(
            f"a joint turns by more than {FASTEST:g} rad in {h:g} ps: dt is too long here, or atoms clash"
        )


def _next_velocity(tried: list[tuple[FloatArray, FloatArray]]) -> FloatArray:
    """The last velocity after its change; where changes shrink slowly, by the mean of those tried (Anderson 1965)."""
    v, d = tried[-1]
    if len(tried) == 1 or np.abs(d).max() < SLOW * np.abs(tried[-2][1]).max():
        return np.asarray(v + d)
    dv, dd = (np.array([tried[-1][k] - each[k] for each in tried[:-1]]).T for k in (0, 1))
    share = np.linalg.lstsq(dd, d, rcond=1e-10)[0]
    return np.asarray(v + d - (dv + dd) @ share)
