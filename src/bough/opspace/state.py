"""`OperationalState`: operational-space quantities of one configuration or a batch, each computed when asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from bough.errors import TaskError

if TYPE_CHECKING:
    from bough.opspace.space import OperationalSpace

Array = npt.NDArray[Any]


class OperationalState:
    """Results for q (nq,) and v (nv,), or a batch of them; shapes below gain a leading axis in a batch.

    Rows are those of `space.tasks`, columns in the order of v. What is asked for once is kept.
    """

    __slots__ = ("_kept", "q", "space", "v")

    def __init__(self, space: OperationalSpace, q: Array, v: Array | None) -> None:
        self.space, self.q, self.v = space, q, v
        self._kept: dict[str, Any] = {}

    def __repr__(self) -> str:
        batch = f", batch of {len(self.q)}" if np.ndim(self.q) == 2 else ""
        return f"OperationalState({self.space.tasks.size} rows on {self.space.model.name!r}{batch})"

    @property
    def J(self) -> Array:
        """The task Jacobian (m, nv)."""
        if self._is_whole:
            return self._weighted[0]
        return self._keep("J", lambda: self.space.jacobian(self.q))

    @property
    def bias(self) -> Array:
        """beta (m,): the task acceleration without task and joint forces, Jdot v - J H^-1 C."""
        if self._is_whole and self.v is not None:
            return self._weighted[3]
        return self._keep("bias", lambda: self.space.bias(self.q, self._velocity()))

    @property
    def drift(self) -> Array:
        """Jdot v (m,): the task acceleration while no joint accelerates."""
        return self._keep("drift", lambda: self.space.drift(self.q, self._velocity()))

    @property
    def velocity(self) -> Array:
        """The task velocity J v (m,)."""
        return (self.J @ self._velocity()[..., None])[..., 0]

    @property
    def inverse_inertia(self) -> Array:
        """Lambda^-1 = J H^-1 J' (m, m); exists for every task set."""
        if self._is_whole:
            return self._weighted[2]
        if "factored" in self._kept:
            return self._factored[3]
        return self._keep("inverse_inertia", lambda: self.space.inverse_inertia(self.q))

    @property
    def inertia(self) -> Array:
        """Lambda (m, m), by the space's choice where the tasks are singular."""
        return self._keep("inertia", lambda: self.space.invert(self.inverse_inertia))

    @property
    def rank(self) -> Any:
        """How many directions of the task space can be moved: a number, or (batch,)."""
        return self.space.rank(self.inverse_inertia)

    @property
    def jbar(self) -> Array:
        """The dynamically consistent inverse H^-1 J' Lambda (nv, m)."""
        return self._keep("jbar", self._jbar)

    @property
    def nullspace(self) -> Array:
        """N = 1 - Jbar J (nv, nv)."""
        return self._keep("nullspace", self._nullspace)

    @property
    def mu_rho(self) -> Array:
        """mu + rho = -Lambda beta (m,): centrifugal, Coriolis and gravity terms in task space."""
        return -(self.inertia @ self.bias[..., None])[..., 0]

    @property
    def packed_J(self) -> Array:
        """J on its structural nonzeros, row after row: `space.tasks.pattern` says where each entry belongs."""
        return self._factored[0]

    def times(self, x: npt.ArrayLike) -> Array:
        """J x (m,) for x (nv,)."""
        return (self.J @ np.asarray(x)[..., None])[..., 0]

    def transpose_times(self, F: npt.ArrayLike) -> Array:
        """J' F (nv,): the joint forces that exert the task force F (m,)."""
        return (np.swapaxes(self.J, -1, -2) @ np.asarray(F)[..., None])[..., 0]

    def task_force(self, tau: npt.ArrayLike) -> Array:
        """Jbar' tau (m,): the task force that joint forces tau (nv,) amount to."""
        return (np.swapaxes(self.jbar, -1, -2) @ np.asarray(tau)[..., None])[..., 0]

    def joint_forces(self, F: npt.ArrayLike, tau0: npt.ArrayLike | None = None) -> Array:
        """tau = J' F + N' tau0 (nv,), without forming N."""
        if tau0 is None:
            return self.transpose_times(F)
        if not self.space.uses_factor:
            return self.transpose_times(F) + (np.swapaxes(self.nullspace, -1, -2) @ np.asarray(tau0)[..., None])[..., 0]
        J, L = self._factored[:2]
        return self.space.function("joint_forces")(J, L, self.inertia, F, tau0)

    # How

    def _keep(self, name: str, make: Any) -> Any:
        kept = self._kept
        if name not in kept:
            kept[name] = make()
        return kept[name]

    def _velocity(self) -> Array:
        if self.v is None:
            raise TaskError("this state has no velocity: call the space with (q, v)")
        return self.v

    @property
    def _factored(self) -> tuple[Array, ...]:
        return self._keep("factored", lambda: self.space.function("factored")(self.q))

    @property
    def _is_whole(self) -> bool:
        """Whether J, H^-1 J', Lambda^-1 and beta come from one call: one of them has, or Jbar is known to follow."""
        return "weighted" in self._kept or self.space.foresees_jbar

    @property
    def _weighted(self) -> tuple[Array, ...]:
        """J, H^-1 J' and Lambda^-1, and beta if there is a velocity."""
        return self._keep("weighted", self._whole)

    def _whole(self) -> tuple[Array, ...]:
        return self.space.weighted(self.q) if self.v is None else self.space.dynamics(self.q, self.v)

    def _jbar(self) -> Array:
        if self.space.multiplies_densely:
            return self._weighted[1] @ self.inertia
        _, L, YD, _ = self._factored
        return self.space.function("jbar")(L, YD, self.inertia)

    def _nullspace(self) -> Array:
        jbar = self.jbar
        if self.space.multiplies_densely:
            return self.space.one - jbar @ self._weighted[0]
        return self.space.function("nullspace")(self._factored[0], jbar)
