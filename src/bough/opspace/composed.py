"""The motion of held rows by functions of a space, for models whose tree mimic joints break and for general code."""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from bough.compile.executions import CompiledFunction, bind_arrays
from bough.opspace.parameters import by_rows
from bough.opspace.products import apply
from bough.opspace.space import OperationalSpace
from bough.opspace.sweeps.held import ROW_FORCES, Proximal
from bough.types import RealArray


class Constrained(NamedTuple):
    """The motion of a constrained mechanism; in a batch with a leading axis."""

    qdd: RealArray  # (nv,)
    force: RealArray  # (m,) constraint forces, in the rows of the tasks
    residual: RealArray  # () norm of the constraint accelerations that were not met


class Impact(NamedTuple):
    """The velocity jump of an impact; in a batch with a leading axis."""

    v: RealArray  # (nv,) afterwards
    impulse: RealArray  # (m,) N s or N m s, in the rows of the tasks
    residual: RealArray  # () norm of the velocities that were not met


class Composed:
    """Forward dynamics and impacts with the rows of a space held; options as in `ConstrainedDynamics`."""

    def __init__(
        self,
        space: OperationalSpace,
        settings: Proximal,
        stabilise: float | None,
        proximal: dict[np.dtype[Any], RealArray],
    ) -> None:
        self.space, self.settings, self.stabilise, self.proximal = space, settings, stabilise, proximal

    def free_acceleration(self, q: RealArray, v: RealArray, tau: RealArray, **given: Any) -> RealArray:
        """The rows' acceleration without constraint forces, (m,)."""
        space = self.space
        qdd = space.dynamics.forward_dynamics(q, v, tau, **given)
        return space.drift(q, v, **given) + apply(space.jacobian(q, **given), qdd)

    def motion(self, q: RealArray, v: RealArray, tau: RealArray, target: RealArray, **given: Any) -> Constrained:
        """Accelerations, with those of the rows as in `target` (m,)."""
        by_rows(self.space.parameters, given)  # refuses unknown ones
        A, J = self.space.inverse_inertia(q, **given), self.space.jacobian(q, **given)
        gap = target - self.free_acceleration(q, v, tau, **given)
        if self.stabilise is not None:
            gap = gap - (2.0 / self.stabilise) * apply(J, v)
        f, residual = self._solve.call(A, gap.astype(A.dtype), self.proximal[A.dtype])
        push = apply(np.swapaxes(J, -1, -2), f)
        qdd = self.space.dynamics.forward_dynamics(q, v, tau + push, **given)
        return Constrained(qdd, f, residual[..., 0])

    def impact(self, q: RealArray, v: RealArray, restitution: RealArray, **given: Any) -> Impact:
        """Velocities after the rows are caught."""
        known = self.space.weighted(q, **given)
        A = known.inverse_inertia
        f, residual = self._solve.call(A, -(1 + restitution) * apply(known.J, v), self.proximal[A.dtype])
        return Impact(v + apply(known.weighted, f), f, residual[..., 0])

    @cached_property
    def _solve(self) -> CompiledFunction:
        constants = (self.space.model.mechanism, self.settings)
        return bind_arrays(ROW_FORCES, constants, self.space.tasks.sizes, general=self.space.general)
