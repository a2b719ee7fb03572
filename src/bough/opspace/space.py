"""`OperationalSpace`: operational-space dynamics of branched mechanisms (Khatib 1987; Featherstone 2010)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from bough.compile.executions import BoundFunction
from bough.compile.routine import Routine
from bough.dynamics.crba import MASS_MATRIX
from bough.dynamics.engine import bind
from bough.dynamics.rnea import BIAS as JOINT_BIAS
from bough.errors import NumericalError, TaskError
from bough.model import Model
from bough.opspace.methods import METHODS, Prepared, dof_tree, prepare
from bough.opspace.planner import Plan, choose, make_plan
from bough.opspace.state import OperationalState
from bough.opspace.sweeps.bias import BIAS, DRIFT
from bough.opspace.sweeps.factored import DYNAMICS, FACTORED, JBAR, JOINT_FORCES, NULLSPACE, WEIGHTED
from bough.opspace.sweeps.inverse import (
    INVERT,
    check_damping,
    check_threshold,
    dependent_rows,
    rank,
    truncated_inverse,
)
from bough.opspace.sweeps.jacobian import JACOBIAN
from bough.opspace.tasks import Task
from bough.opspace.taskset import TaskSet

Array = npt.NDArray[Any]
Singular = Literal["refuse", "truncate", "damp"]
# Up to this many degrees of freedom a dense product of BLAS beats the sparse one.
SMALL = 100


class FullPass(NamedTuple):
    """All operational-space quantities of one configuration or a batch."""

    J: Array
    bias: Array
    inverse_inertia: Array
    inertia: Array
    jbar: Array
    nullspace: Array


class OperationalSpace:
    """Tasks on a model: `space(q, v)` gives J, beta, Lambda^-1, Lambda, Jbar, N, each when asked for.

    q is (nq,) or (batch, nq), v likewise. `method` is one of METHODS or "auto": the cheapest on this tree and task set,
    given what `also` will be wanted ("factor", "jbar", "nullspace"). Lambda^-1 always exists. Where the tasks are
    singular, Lambda, Jbar and N are refused with the rank and the names of the tasks, unless `singular` says
    "truncate" (directions below `threshold` times the largest eigenvalue are given up) or "damp"
    (`damping` is added to the diagonal of Lambda^-1).
    """

    def __init__(
        self,
        model: Model,
        tasks: Iterable[Task] | TaskSet,
        *,
        method: str = "auto",
        singular: Singular = "refuse",
        threshold: float = 1e-10,
        damping: float = 1e-6,
        also: Iterable[str] = (),
        dtype: npt.DTypeLike = np.float64,
        general: bool = False,
    ) -> None:
        self.model = model
        self.tasks = tasks if isinstance(tasks, TaskSet) else TaskSet(model, tasks)
        if method not in (*METHODS, "auto"):
            raise TaskError(f"there is no method {method!r} for Lambda^-1; expected {', '.join(METHODS)} or auto")
        if singular not in ("refuse", "truncate", "damp"):
            raise TaskError(f"singular is 'refuse', 'truncate' or 'damp', got {singular!r}")
        self.singular, self.general, self.also, self.dtype = singular, general, tuple(also), np.dtype(dtype)
        self.threshold, self.damping = check_threshold(threshold), check_damping(damping)
        self._method = method
        self._functions: dict[str, BoundFunction] = {}
        self._damping = np.array([self.damping if singular == "damp" else 0.0])
        self._largest_strain = self.threshold**-2

    def __call__(self, q: npt.ArrayLike, v: npt.ArrayLike | None = None) -> OperationalState:
        """The state at q, and v if what depends on it is wanted."""
        return OperationalState(self, np.asarray(q), None if v is None else np.asarray(v))

    def __repr__(self) -> str:
        return f"OperationalSpace({self.tasks!r}, method={self._method!r}, singular={self.singular!r})"

    # What depends on the configuration

    def inverse_inertia(self, q: Any, method: str | None = None, *, out: Array | None = None) -> Array:
        """Lambda^-1 (m, m) by the space's method or the one named."""
        if method is None or method == "auto":
            return self._inverse_inertia(q, out)
        return self.function(method).call(q, out=out)

    def inertia(self, q: Any) -> Array:
        """Lambda (m, m)."""
        return self.invert(self.inverse_inertia(q))

    def jacobian(self, q: Any) -> Array:
        """J (m, nv)."""
        return self.function("jacobian").call(q)

    def bias(self, q: Any, v: Any) -> Array:
        """beta = Jdot v - J H^-1 C (m,)."""
        if self.uses_factor:
            return self.function("bias").call(q, v)
        C = self.function("joint_bias")(q, v)
        fall = np.linalg.solve(self.mass_matrix(q), C[..., None])
        return self.drift(q, v) - (self.jacobian(q) @ fall)[..., 0]

    def drift(self, q: Any, v: Any) -> Array:
        """Jdot v (m,)."""
        return self.function("drift").call(q, v)

    def mass_matrix(self, q: Any) -> Array:
        """H (nv, nv)."""
        return self.function("mass_matrix").call(q)

    def weighted(self, q: Any) -> tuple[Array, Array, Array]:
        """J (m, nv), H^-1 J' (nv, m) and Lambda^-1 (m, m)."""
        if self.uses_factor:
            return self.function("weighted").call(q)
        J = self.jacobian(q)
        return J, np.linalg.solve(self.mass_matrix(q), np.swapaxes(J, -1, -2)), self.inverse_inertia(q)

    def full(self, q: Any, v: Any) -> FullPass:
        """Everything at once, faster than asking for one after the other."""
        if not self.multiplies_densely:
            op = self(q, v)
            return FullPass(op.J, op.bias, op.inverse_inertia, op.inertia, op.jbar, op.nullspace)
        J, X, Lam_inv, beta = self.dynamics(q, v)
        Lam = self.invert(Lam_inv)
        multiply = np.dot if J.ndim == 2 else np.matmul  # the first has less to decide
        Jbar = multiply(X, Lam)
        N = multiply(Jbar, J)
        return FullPass(J, beta, Lam_inv, Lam, Jbar, np.subtract(self.one, N, out=N))

    # Lambda

    def invert(self, Lam_inv: Array) -> Array:
        """Lambda from Lambda^-1, by the space's choice for singular tasks."""
        if self.singular == "truncate":
            return truncated_inverse(Lam_inv, self.threshold)
        try:
            Lam, strain = self._invert(Lam_inv, self._damping)
        except NumericalError:
            return self._examine(Lam_inv)
        worst = strain.item() if strain.ndim == 1 else strain.max()
        return Lam if worst < self._largest_strain else self._examine(Lam_inv)

    def rank(self, Lam_inv: Array) -> Any:
        """How many directions of the task space can be moved."""
        return rank(Lam_inv, self.threshold)

    def _examine(self, Lam_inv: Array) -> Array:
        """Lambda of matrices that a quick inversion finds doubtful; a singular one is refused."""
        damped = Lam_inv + self._damping[0] * np.eye(self.tasks.size)
        flat = damped.reshape(-1, self.tasks.size, self.tasks.size)
        ranks = rank(flat, self.threshold)
        for k in np.flatnonzero(ranks < self.tasks.size):
            names = sorted({self.tasks.task_of_row(r) for r in dependent_rows(flat[k], self.threshold)})
            where = f" at row {k} of the batch" if Lam_inv.ndim == 3 else ""
            raise TaskError(
                f"the tasks are singular{where}: rank {ranks[k]} of {self.tasks.size}, and {', '.join(names)} "
                f"cannot be moved independently; drop rows, or choose singular='truncate' or 'damp'"
            )
        return np.linalg.inv(damped)

    # The methods

    @cached_property
    def method(self) -> str:
        """The method that Lambda^-1 is computed by."""
        return choose(self.tasks, self.also, self.dtype) if self._method == "auto" else self._method

    @cached_property
    def _inverse_inertia(self) -> Callable[..., Array]:
        """Its compiled code, which also takes the place of the method: a call then skips the method's own frame."""
        function = self.function(self.method)
        self.__dict__["inverse_inertia"] = function.shortcut(self.inverse_inertia)
        return function.call

    @cached_property
    def _invert(self) -> Callable[..., tuple[Array, Array]]:
        return self.function("invert").call

    @cached_property
    def dynamics(self) -> Callable[[Any, Any], tuple[Array, Array, Array, Array]]:
        """`dynamics(q, v)`: J, H^-1 J', Lambda^-1 and beta, which costs next to nothing beside the others."""
        if self.uses_factor:
            return self.function("dynamics").call
        return lambda q, v: (*self.weighted(q), self.bias(q, v))

    def plan(self) -> Plan:
        """Exact operation counts of all methods on this tree and task set, and the planner's choice with its reason."""
        return make_plan(self.tasks, self.also, self.dtype, every=True)

    @cached_property
    def one(self) -> Array:
        """The identity (nv, nv)."""
        return np.eye(self.model.nv)

    @cached_property
    def multiplies_densely(self) -> bool:
        """Whether Jbar and N come from dense products: on small models these beat sparse ones."""
        return not self.uses_factor or (not self.general and self.model.nv <= SMALL)

    @cached_property
    def foresees_jbar(self) -> bool:
        """Whether `also` announces Jbar or N, so that what they need is best computed at once."""
        return self.multiplies_densely and not {"jbar", "nullspace"}.isdisjoint(self.also)

    @property
    def uses_factor(self) -> bool:
        """Whether H has the pattern of a tree; mimic joints break it."""
        return not self.model.couplings

    def function(self, name: str) -> BoundFunction:
        """The compiled function behind a quantity or a method, made when it is first asked for."""
        found = self._functions.get(name)
        if found is None:
            found = self._functions[name] = self._make(name)
        return found

    def _make(self, name: str) -> BoundFunction:
        if name in METHODS:
            return prepare(name, self.tasks).bind(self.tasks, self.general)
        if name in ("mass_matrix", "joint_bias"):
            return bind(
                MASS_MATRIX if name == "mass_matrix" else JOINT_BIAS.without("f_ext"), self.model, general=self.general
            )
        routine, constants = self._routines[name]
        prepared = Prepared(routine, (self.model.mechanism, *constants), self.tasks.sizes)
        return prepared.bind(self.tasks, self.general)

    @cached_property
    def _routines(self) -> dict[str, tuple[Routine, tuple[Any, ...]]]:
        tasks, tree = self.tasks, dof_tree(self.tasks)
        placed = (tasks.with_placements, tasks.pattern)
        return {
            "jacobian": (JACOBIAN, placed),
            "bias": (BIAS, (tasks.seeds,)),
            "drift": (DRIFT, (tasks.seeds,)),
            "invert": (INVERT, ()),
            "factored": (FACTORED, (*placed, tree)),
            "weighted": (WEIGHTED, (*placed, tree)),
            "dynamics": (DYNAMICS, (*placed, tree)),
            "jbar": (JBAR, (tasks.pattern, tree)),
            "nullspace": (NULLSPACE, (tasks.pattern,)),
            "joint_forces": (JOINT_FORCES, (tasks.pattern, tree)),
        }
