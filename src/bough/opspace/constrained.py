"""Forward dynamics under constraints: contacts, grasps and loops on the spanning tree (Featherstone 2008, chapter 8).

The constraints are tasks whose acceleration is prescribed: A f = a* - beta with A = Lambda^-1. Redundant rows are
legal: the proximal form (Carpentier, Budhiraja & Mansard 2021) converges to the least force that fits.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from bough.compile.executions import BoundFunction
from bough.dynamics.dynamics import Dynamics
from bough.errors import TaskError
from bough.opspace.methods import Prepared
from bough.opspace.space import OperationalSpace
from bough.opspace.sweeps.bias import TASK_ACCELERATION

Array = npt.NDArray[Any]


class Constrained(NamedTuple):
    """The motion of a constrained mechanism; in a batch with a leading axis."""

    qdd: Array  # (nv,)
    force: Array  # (m,) constraint forces, in the rows of the tasks
    residual: Array  # () largest constraint acceleration that was not met


class ConstrainedDynamics:
    """Forward dynamics of a model whose motion along the rows of `space` is prescribed.

    `proximal` is relative to the largest entry of Lambda^-1; more `iterations` make redundant rows meet more exactly.
    """

    def __init__(self, space: OperationalSpace, *, proximal: float = 1e-7, iterations: int = 4) -> None:
        if not 0.0 < proximal < 1.0 or iterations < 1:
            raise TaskError(f"proximal is between 0 and 1 and iterations at least 1, got {proximal} and {iterations}")
        self.space, self.proximal, self.iterations = space, proximal, iterations
        self.dynamics = Dynamics(space.model, general=space.general)

    def __call__(self, q: Any, v: Any, tau: Any, acceleration: npt.ArrayLike = 0.0) -> Constrained:
        """qdd (nv,) under joint forces tau (nv,), with the rows' acceleration prescribed: zero, or (m,)."""
        A = self.space.inverse_inertia(q)
        gap = np.asarray(acceleration, float) - self.free_acceleration(q, v, tau)
        mu = self.proximal * np.abs(A).max(axis=(-2, -1))[..., None]
        inverse = np.linalg.inv(A + mu[..., None] * np.eye(A.shape[-1]))
        f = np.zeros_like(gap)
        for _ in range(self.iterations):
            f = (inverse @ (gap + mu * f)[..., None])[..., 0]
        J = self.space.jacobian(q)
        push = (np.swapaxes(J, -1, -2) @ f[..., None])[..., 0]
        residual = np.abs(gap - (A @ f[..., None])[..., 0]).max(axis=-1)
        return Constrained(self.dynamics.forward_dynamics(q, v, tau + push), f, residual)

    def free_acceleration(self, q: Any, v: Any, tau: Any) -> Array:
        """The rows' acceleration without constraint forces, (m,)."""
        if self.space.uses_factor:
            return self._acceleration.call(q, v, tau)
        qdd = self.dynamics.forward_dynamics(q, v, tau)
        return self.space.drift(q, v) + (self.space.jacobian(q) @ qdd[..., None])[..., 0]

    @cached_property
    def _acceleration(self) -> BoundFunction:
        space = self.space
        constants = (space.model.mechanism, space.tasks.seeds)
        prepared = Prepared(TASK_ACCELERATION.without("f_ext"), constants, space.tasks.sizes)
        return prepared.bind(space.tasks, space.general)
