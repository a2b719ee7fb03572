"""`OperationalState`: operational-space quantities of one configuration or a batch, computed when first read.

J, H^-1 J' and Lambda^-1 come from one compiled call; Jbar, N and joint forces follow by dense products.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from bough.compile.run.arrays import real_array
from bough.compile.settings import on_threads
from bough.errors import ShapeError, TaskError
from bough.types import RealArray

if TYPE_CHECKING:
    from bough.opspace.space import OperationalSpace


class FullPass(NamedTuple):
    """All operational-space quantities of one configuration or a batch."""

    J: RealArray
    bias: RealArray
    inverse_inertia: RealArray
    inertia: RealArray
    jbar: RealArray
    nullspace: RealArray


class Weighted(NamedTuple):
    """J (m, nv), H^-1 J' (nv, m), Lambda^-1 (m, m), and beta (m,) where a velocity is known."""

    J: RealArray
    weighted: RealArray
    inverse_inertia: RealArray
    bias: RealArray | None = None


class OperationalState:
    """Results for q (nq,) and v (nv,), or a batch of them; shapes below gain a leading axis in a batch.

    Rows are those of `space.tasks`, columns in the order of v. What was computed once is kept.
    """

    __slots__ = ("_kept", "q", "space", "v", "values")

    def __init__(
        self, space: OperationalSpace, q: RealArray, v: RealArray | None = None, values: dict[str, Any] | None = None
    ) -> None:
        self.space, self.q, self.v, self.values = space, q, v, values or {}
        self._kept: dict[str, Any] = {}

    def __repr__(self) -> str:
        batch = f", batch of {len(self.q)}" if np.ndim(self.q) == 2 else ""
        return f"OperationalState({self.space.tasks.size} rows on {self.space.model.name!r}{batch})"

    @property
    def J(self) -> RealArray:
        """The task Jacobian (m, nv)."""
        if self._is_whole:
            return self.weighted.J
        return self._keep("J", lambda: self.space.jacobian(self.q, **self.values))

    @property
    def bias(self) -> RealArray:
        """beta (m,): the task acceleration without task and joint forces, Jdot v - J H^-1 C."""
        if self._is_whole and self.weighted.bias is not None:
            return self.weighted.bias
        return self._keep("bias", lambda: self.space.bias(self.q, self._velocity(), **self.values))

    @property
    def drift(self) -> RealArray:
        """Jdot v (m,): the task acceleration while no joint accelerates."""
        return self._keep("drift", lambda: self.space.drift(self.q, self._velocity(), **self.values))

    @property
    def velocity(self) -> RealArray:
        """The task velocity J v (m,)."""
        return apply(self.J, self._velocity())

    @property
    def inverse_inertia(self) -> RealArray:
        """Lambda^-1 = J H^-1 J' (m, m); exists for every task set."""
        if self._is_whole:
            return self.weighted.inverse_inertia
        return self._keep("inverse_inertia", lambda: self.space.inverse_inertia(self.q, **self.values))

    @property
    def inertia(self) -> RealArray:
        """Lambda (m, m), by the space's choice where the tasks are singular."""
        return self._keep("inertia", lambda: self.space.invert(self.inverse_inertia))

    @property
    def rank(self) -> Any:
        """The number of directions of the task space that can be moved: a number, or (batch,)."""
        return self.space.rank(self.inverse_inertia)

    @property
    def jbar(self) -> RealArray:
        """The dynamically consistent inverse H^-1 J' Lambda (nv, m)."""
        return self._keep("jbar", lambda: self.weighted.weighted @ self.inertia)

    @property
    def nullspace(self) -> RealArray:
        """N = 1 - Jbar J (nv, nv)."""
        n, dtype = self.space.model.nv, self.q.dtype
        return self._keep("nullspace", lambda: identity(n, dtype) - self.jbar @ self.weighted.J)

    @property
    def mu_rho(self) -> RealArray:
        """mu + rho = -Lambda beta (m,): centrifugal, Coriolis and gravity terms in task space."""
        return -apply(self.inertia, self.bias)

    def transpose_times(self, F: npt.ArrayLike) -> RealArray:
        """J' F (nv,): the joint forces that exert the task force F (m,)."""
        return apply(np.swapaxes(self.J, -1, -2), self._like(F))

    def joint_forces(self, F: npt.ArrayLike, tau0: npt.ArrayLike | None = None) -> RealArray:
        """tau = J' F + N' tau0 = tau0 + J' (F - Lambda J H^-1 tau0) (nv,), without forming N."""
        if tau0 is None:
            return self.transpose_times(F)
        J, X, rest = self.weighted.J, self.weighted.weighted, self._like(tau0)
        moved = apply(np.swapaxes(X, -1, -2), rest)
        return rest + apply(np.swapaxes(J, -1, -2), self._like(F) - apply(self.inertia, moved))

    # What several quantities follow from

    @property
    def weighted(self) -> Weighted:
        """J, H^-1 J' and Lambda^-1, and beta if there is a velocity, from one call."""
        return self._keep("weighted", lambda: self.space.weighted(self.q, self.v, **self.values))

    def _keep(self, name: str, make: Callable[[], Any]) -> Any:
        kept = self._kept
        if name not in kept and "threads" in self.values:
            with on_threads(self.values["threads"]):
                kept[name] = make()
        elif name not in kept:
            kept[name] = make()
        return kept[name]

    def _like(self, x: npt.ArrayLike) -> RealArray:
        return np.asarray(real_array("a force or velocity", x), self.q.dtype)

    def _velocity(self) -> RealArray:
        if self.v is None:
            raise TaskError("this state has no velocity: call the space with (q, v)")
        return self.v

    @property
    def _is_whole(self) -> bool:
        """Whether J, H^-1 J', Lambda^-1 and beta come from one call: one of them has, or Jbar is known to follow."""
        return "weighted" in self._kept or self.space.foresees_jbar


def full_pass(space: OperationalSpace, q: RealArray, v: RealArray, **values: Any) -> FullPass:
    """All quantities by dense products, in this precision."""
    J, X, Lam_inv, beta = space.function("dynamics", values).call(q, v, **values)
    Lam = space.invert(Lam_inv)
    multiply = np.dot if J.ndim == 2 else np.matmul  # the first has less to decide
    Jbar = multiply(X, Lam)
    N = multiply(Jbar, J)
    return FullPass(J, beta, Lam_inv, Lam, Jbar, np.subtract(identity(space.model.nv, N.dtype), N, out=N))


@cache
def identity(n: int, dtype: np.dtype[Any]) -> RealArray:
    """(n, n), not to be changed."""
    return np.eye(n, dtype=dtype)


def apply(A: RealArray, x: RealArray) -> RealArray:
    """A x for a matrix and a vector, or for batches of both."""
    if x.shape[-1:] != A.shape[-1:]:
        raise ShapeError(f"expected a vector of {A.shape[-1]} numbers, or rows of them, got shape {x.shape}")
    return (A @ x[..., None])[..., 0]
