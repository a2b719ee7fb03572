"""Task control of underactuated robots in contact (after Mistry & Righetti 2011).

With contacts J_c that do not accelerate and Hc^-1 = H^-1 - H^-1 J_c' Lambda_c J_c H^-1, joint forces S' tau_a of the
motors accelerate the mechanism by qdd = Hc^-1 S' tau_a + qdd_0, the tasks by G tau_a + beta and the motors by
W tau_a + S qdd_0, where
    G = J Hc^-1 S',  W = S Hc^-1 S',  beta = Jdot v + J qdd_0.
Of all tau_a that give a task acceleration, tau_a = W^+ G' F + (1 - W^+ G' Lambda G) tau_0 with Lambda^-1 = G W^+ G'
changes the motion that tau_0 makes the least; with all joints driven and no contact it is J' F + N' tau_0.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from bough.errors import TaskError
from bough.model import Model
from bough.opspace.singular import refuse_singular, truncated_inverse
from bough.opspace.space import OperationalSpace
from bough.types import FloatArray

# Directions of contacts and of motors that move less than this, relative to the others, are held by others already.
NEGLIGIBLE = 1e-9


class MotorSpace:
    """A task space as the motors see it at (q, v), for one configuration; names are those of the formulas above."""

    def __init__(self, space: OperationalSpace, contacts: OperationalSpace | None, q: Any, v: Any) -> None:
        driven = space.model.actuated
        op, H = space(q, v), space.mass_matrix(q)
        self.space, self.driven = space, driven
        self.Hc_inv = np.linalg.inv(H)
        held = np.zeros(space.model.nv)
        if contacts is not None:
            at = contacts(q, v)
            self.contacts, self.X_c = at, self.Hc_inv @ at.J.T
            self.Lam_c = truncated_inverse(at.inverse_inertia, NEGLIGIBLE)
            held = self.X_c @ (self.Lam_c @ -at.drift)
            self.Hc_inv = self.Hc_inv - self.X_c @ self.Lam_c @ self.X_c.T
        self.C = space.dynamics.bias_force(q, v)
        self.qdd_0 = held - self.Hc_inv @ self.C
        self.J = op.J
        self.G, W = op.J @ self.Hc_inv[:, driven], self.Hc_inv[np.ix_(driven, driven)]
        self.W_inv = truncated_inverse(W, NEGLIGIBLE)
        self.bias = op.drift + op.J @ self.qdd_0
        self.inverse_inertia = self.G @ self.W_inv @ self.G.T
        self.velocity = op.velocity

    def inertia(self) -> FloatArray:
        """Lambda, by the space's choice for singular tasks; rows are measured by how they move if all is driven."""
        space, A = self.space, self.inverse_inertia
        damped = A
        if space.singular == "truncate":
            return truncated_inverse(A, space.threshold, space.mobility)
        if space.singular == "damp":
            damped = A + space.damping * np.eye(len(A))
        else:
            refuse_singular(space.tasks, A, space.threshold, space.mobility)
        return np.asarray(np.linalg.inv(damped), float)

    def carried(self, load: FloatArray | float) -> FloatArray:
        """The task acceleration (m,) that makes up for forces -load on the tasks."""
        return self.J @ (self.Hc_inv @ (self.J.T @ np.broadcast_to(load, len(self.J))))

    def posture(self, pull: FloatArray) -> FloatArray:
        """tau_0 of the motors that accelerates their joints by pull (nv,), as far as contacts let them."""
        return self.W_inv @ (pull - self.qdd_0)[self.driven]

    def joint_forces(self, F: FloatArray, Lam: FloatArray, tau_0: FloatArray) -> FloatArray:
        """tau (nv,), zero where there is no motor."""
        tau = np.zeros(self.space.model.nv)
        tau[self.driven] = tau_0 + self.W_inv @ (self.G.T @ (F - Lam @ (self.G @ tau_0)))
        return tau

    def contact_force(self, tau: FloatArray) -> FloatArray:
        """The forces of the contacts under tau, in the rows of their space."""
        return self.Lam_c @ -(self.contacts.drift + self.X_c.T @ (tau - self.C))


def undriven(model: Model) -> list[str]:
    """Names of joints with a degree of freedom that has no motor."""
    return [joint.name for joint in model.joints if not model.actuated[joint.v].all()]


def check_contacts(space: OperationalSpace, contacts: OperationalSpace | None) -> None:
    if contacts is not None and contacts.model.hash != space.model.hash:
        raise TaskError(f"the contacts are of {contacts.model.name!r}, the tasks of {space.model.name!r}")
    if not space.model.actuated.any():
        raise TaskError(f"no joint of {space.model.name!r} has a motor: there is nothing to command")
