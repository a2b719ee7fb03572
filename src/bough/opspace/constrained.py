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
from bough.errors import TaskError
from bough.opspace.methods import Prepared
from bough.opspace.products import apply
from bough.opspace.space import OperationalSpace
from bough.opspace.sweeps.bias import TASK_ACCELERATION

Array = npt.NDArray[Any]
LEAST_PROXIMAL = {4: 1e-5, 8: 0.0}  # by the bytes of a number


class Constrained(NamedTuple):
    """The motion of a constrained mechanism; in a batch with a leading axis."""

    qdd: Array  # (nv,)
    force: Array  # (m,) constraint forces, in the rows of the tasks
    residual: Array  # () largest constraint acceleration that was not met


class ConstrainedDynamics:
    """Forward dynamics of a model whose motion along the rows of `space` is prescribed.

    `proximal` is relative to the largest entry of Lambda^-1; more `iterations` make redundant rows meet more exactly.
    float32 works as in the space, with `proximal` at least 1e-5, below which its rounding errors would count.
    """

    def __init__(self, space: OperationalSpace, *, proximal: float = 1e-7, iterations: int = 4) -> None:
        if not 0.0 < proximal < 1.0 or iterations < 1:
            raise TaskError(f"proximal is between 0 and 1 and iterations at least 1, got {proximal} and {iterations}")
        self.space, self.dynamics, self.proximal, self.iterations = space, space.dynamics, proximal, iterations

    def __call__(self, q: Any, v: Any, tau: Any, acceleration: npt.ArrayLike = 0.0) -> Constrained:
        """qdd (nv,) under joint forces tau (nv,), with the rows' acceleration prescribed: zero, or (m,)."""
        q, v, tau = self.space.inputs(q, v, tau)
        A = self.space.inverse_inertia(q)
        gap = np.asarray(acceleration, A.dtype) - self.free_acceleration(q, v, tau)
        proximal = max(self.proximal, LEAST_PROXIMAL[A.dtype.itemsize])
        mu = (proximal * np.abs(A).max(axis=(-2, -1))[..., None]).astype(A.dtype)
        inverse = np.linalg.inv(A + mu[..., None] * np.eye(A.shape[-1], dtype=A.dtype))
        f = np.zeros_like(gap)
        for _ in range(self.iterations):
            # the same as (A + mu) f' = gap + mu f, but what rounding spoilt is made good by the next iteration
            f = f + apply(inverse, gap - apply(A, f))
        push = apply(np.swapaxes(self.space.jacobian(q), -1, -2), f)
        residual = np.abs(gap - apply(A, f)).max(axis=-1)
        return Constrained(self.dynamics.forward_dynamics(q, v, tau + push), f, residual)

    def free_acceleration(self, q: Any, v: Any, tau: Any) -> Array:
        """The rows' acceleration without constraint forces, (m,)."""
        q, v, tau = self.space.inputs(q, v, tau)
        if self.space.uses_factor:
            return self._acceleration.call(q, v, tau)
        qdd = self.dynamics.forward_dynamics(q, v, tau)
        return self.space.drift(q, v) + apply(self.space.jacobian(q), qdd)

    @cached_property
    def _acceleration(self) -> BoundFunction:
        space = self.space
        constants = (space.model.mechanism, space.tasks.seeds)
        prepared = Prepared(TASK_ACCELERATION.without("f_ext"), constants, space.tasks.sizes)
        return prepared.bind(space.tasks, space.general, space.dtype or np.float64)
