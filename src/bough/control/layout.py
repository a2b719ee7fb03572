"""Layout of a whole-body program for a set of contacts: places of forces, cones, and names of rows."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from bough.control.cones import ConeSet, cone_set
from bough.control.contacts import Contact, Loop
from bough.control.limits import AccelerationBounds
from bough.control.program import Constraints
from bough.opspace import TaskSet
from bough.types import FloatArray

WITHIN = 1.0 - 1e-9  # of the torque limits: rounding does not carry torques beyond them
ROUNDING = 1e-11  # relative
PRESSED = 1e-7  # N or N m, by which forces may leave their cones


class Layout:
    """The parts of a program that do not change with the state; variables are qdd, then the forces of each contact."""

    def __init__(
        self, tasks: TaskSet, contacts: tuple[Contact | Loop, ...], bounds: AccelerationBounds, exact: bool = False
    ) -> None:
        model, slices = tasks.model, tasks.slices
        self.contacts, self.names = contacts, tuple(contact.name for contact in contacts)
        self.frames = tuple(contact.frame for contact in contacts)
        self.rows = np.concatenate([np.zeros(0, np.int64), *(np.r_[slices[name]] for name in self.names)]).astype(int)
        ends = np.cumsum([0, *(contact.rows for contact in contacts)])
        self.parts = [slice(a, b) for a, b in pairwise(ends.tolist())]
        self.most = np.full(len(self.rows), np.inf)
        self.cone = np.zeros((sum(len(contact.cone) for contact in contacts), model.nv + len(self.rows)))
        names: list[str] = []
        first = 0
        for contact, part in zip(contacts, self.parts, strict=True):
            if np.isfinite(contact.most):
                self.most[part.start + 2] = contact.most
            stop = first + len(contact.cone)
            self.cone[first:stop, model.nv + part.start : model.nv + part.stop] = contact.cone
            names.extend(contact.cone_names)
            first = stop
        self.cones: ConeSet | None = cone_set(contacts) if exact else None
        self.pyramids: tuple[FloatArray, tuple[str, ...]] | None = (self.cone, tuple(names)) if exact else None
        if exact:
            self.cone, names = self.cone[:0], []
        joint, nv = bounds.names, model.nv
        self.nv, self.loose, self.limited = nv, bounds.loose, bounds.limited
        self.effort = WITHIN * model.limits.effort[self.limited]
        self._zero, self._low = np.zeros(len(self.cone)), np.full(nv + len(self.rows), -np.inf)
        self._high = np.concatenate([np.full(nv, np.inf), self.most])
        self._A = np.zeros((len(self.loose) + len(self.rows), nv + len(self.rows)))
        self._costs: dict[float, FloatArray] = {}
        touching = [isinstance(contact, Contact) for contact in contacts for _ in range(contact.rows)]
        self.touching = len(self.loose) + np.flatnonzero(touching)  # rows of A that contacts have, not loops
        self._loops = np.flatnonzero(np.logical_not(touching)).astype(int)
        loose = [joint[k] for k in self.loose]
        held = [f"contact of {contact.frame!r}" for contact in contacts for _ in range(contact.rows)]
        self.equal_names = (*(f"no motor drives {name!r}" for name in loose), *held)
        self.torque_names = tuple(f"torque limit of {joint[k]!r}" for k in bounds.limited)
        self.below_names = tuple(names)
        self.variable_names = (
            *(f"velocity or position limit of {name!r}" for name in joint),
            *(f"largest force of {contact.frame!r}" for contact in contacts for _ in range(contact.rows)),
        )

    def constraints(
        self, D: FloatArray, C: FloatArray, Jc: FloatArray, need: FloatArray, bounds: tuple[FloatArray, FloatArray]
    ) -> Constraints:
        """Motors, contacts, cones and bounds of qdd at one state: tau = D x + C, J_c qdd = need; no torque limits."""
        A, loose = self._A.copy(), len(self.loose)
        A[:loose], A[loose:, : self.nv] = D[self.loose], Jc
        lower, upper = self._low.copy(), self._high.copy()
        lower[: self.nv], upper[: self.nv] = bounds
        b = np.concatenate([-C[self.loose], need])
        names = self.equal_names, self.below_names, self.variable_names
        return Constraints(A, b, self.cone, self._zero - np.inf, self._zero, lower, upper, names)

    def violation(self, x: FloatArray, s: Constraints) -> float:
        """The largest violation of a constraint at x."""
        below = s.G @ x
        gaps = (np.abs(s.A @ x - s.b), below - s.high, s.low - below, x - s.upper, s.lower - x)
        return max(0.0, *(float(gap.max(initial=0.0)) for gap in gaps))

    def within(self, tau: FloatArray) -> bool:
        """Whether tau is within the torque limits. It mostly is, so they are checked after the solution."""
        return bool((np.abs(tau[self.limited]) <= self.effort).all())

    def clipped(self, tau: FloatArray) -> FloatArray:
        """tau without what rounding and the tolerance of a solver carry beyond the limits."""
        tau[self.limited] = np.clip(tau[self.limited], -self.effort, self.effort)
        return tau

    def pressed(self, x: FloatArray) -> FloatArray:
        """x with forces projected into their cones, which they leave by the tolerance of the solver.

        With friction the normal force is raised; without, tangential forces are set to zero.
        """
        if not ((self.cone @ x) > PRESSED).any():
            return x
        x = x.copy()
        for contact, part in zip(self.contacts, self.parts, strict=True):
            cone, f = contact.cone, x[self.nv + part.start : self.nv + part.stop]
            outside = (cone @ f).clip(0.0) if len(cone) else np.zeros(0)
            if not outside.any():
                continue
            normal = -cone[:, 2]
            f[2] += (outside / np.where(normal > 0.0, normal, np.inf)).max()
            if (outside[normal <= 0.0] > 0.0).any():  # without friction
                f[:2], f[5:] = 0.0, 0.0
        return x

    def moved(self, x: FloatArray, tau: FloatArray, s: Constraints, D: FloatArray, C: FloatArray) -> FloatArray:
        """x with the accelerations and loop forces that tau and its contact forces give: D x + C = tau to rounding."""
        gap, loops = tau - (D @ x + C), len(self.loose) + self._loops
        if np.abs(gap).max(initial=0.0) <= ROUNDING * (1.0 + np.abs(tau).max(initial=0.0)):
            return x
        free = np.concatenate([np.arange(self.nv), self.nv + self._loops])
        rows = np.concatenate([D[:, free], s.A[np.ix_(loops, free)]])
        right = np.concatenate([gap, s.b[loops] - s.A[loops] @ x])
        x = x.copy()
        x[free] += np.linalg.lstsq(rows, right)[0] if len(loops) else np.linalg.solve(rows, right)
        return x

    def with_torques(self, s: Constraints, D: FloatArray, C: FloatArray) -> Constraints:
        """The same constraints with torque limits, if they are not there yet."""
        if set(self.torque_names) <= set(s.names[1]):
            return s
        load = C[self.limited]
        return s.with_rows(D[self.limited], -self.effort - load, self.effort - load, self.torque_names)

    def with_all(self, s: Constraints, D: FloatArray, C: FloatArray) -> Constraints:
        """The same constraints with torque limits, and with pyramids for the cones that they are without."""
        s = self.with_torques(s, D, C)
        if self.pyramids is None:
            return s
        G, names = self.pyramids
        zero = np.zeros(len(G))
        return s.with_rows(G, zero - np.inf, zero, names)

    def cost(self, joints: float, forces: float) -> FloatArray:
        """A fresh P with these numbers on its diagonal."""
        if joints not in self._costs:
            n = len(self._low)
            self._costs[joints] = np.diag(np.where(np.arange(n) < self.nv, joints, forces))
        return self._costs[joints].copy()

    def shared(self, f: FloatArray) -> dict[str, FloatArray]:
        """The forces of each contact, by frame."""
        return {contact.frame: f[part] for contact, part in zip(self.contacts, self.parts, strict=True)}

    def kept(self, s: Constraints, J: FloatArray, qdd: FloatArray, band: float) -> Constraints:
        """The same constraints, and rows J keep the acceleration that qdd gives them, up to `band`."""
        rows = np.concatenate([J, np.zeros((len(J), len(s.lower) - len(qdd)))], axis=1)
        reached = J @ qdd
        return s.with_rows(rows, reached - band, reached + band, ("a task of higher priority",) * len(J))
