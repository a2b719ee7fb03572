"""`OperationalSpace`: operational-space dynamics of branched mechanisms (Khatib 1987; Featherstone 2010)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property, partial
from pathlib import Path
from types import MethodType
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
import numpy.typing as npt

from bough.arguments import explained
from bough.compile.run.arrays import real_array
from bough.compile.run.libraries import full, is_on_gpu
from bough.compile.settings import on_threads
from bough.dynamics import gradients
from bough.dynamics.dynamics import Dynamics
from bough.dynamics.engine import device_of
from bough.errors import TaskError, unknown_option
from bough.model import Model
from bough.opspace import singular as choices
from bough.opspace.arrays import checked_dtype, in_one_precision, kept_beside
from bough.opspace.functions import Functions, SpaceGradients, by_rows, damping_of, export_c, parameters_of
from bough.opspace.methods import METHODS
from bough.opspace.planner import Extra, MethodPlan, choose, make_plan
from bough.opspace.singular import Inversion, Singular
from bough.opspace.state import FullPass, OperationalState, Weighted, full_pass
from bough.opspace.status import row_by_row
from bough.opspace.tasks import Task
from bough.opspace.taskset import TaskSet
from bough.types import RealArray

MethodName: TypeAlias = Literal["auto", "pv", "pvr", "ltdl", "ltl", "efpa", "chang_khatib", "rjk", "dense"]
STATUS = ("inverse_inertia", "inertia", "jacobian", "drift", "bias", "torques")  # what `with_status` knows
SAMPLES = 15  # configurations from which the usual mobility of rows is taken


class OperationalSpace:
    """Tasks on a model: `space(q, v)` gives J, beta, Lambda^-1, Lambda, Jbar, N, each when first read.

    q is (nq,) or (batch, nq), v likewise. Lambda^-1 always exists. A direction of the task space is singular if the
    mechanism accelerates along it, under a unit force, less than `threshold` times as much as its rows do in ordinary
    configurations: these are eigenvalues of Lambda^-1 with rows scaled by `mobility`, without unit. At 1e-4 the
    mechanism appears 10,000 times as heavy as usual, and its joints move about 100 times as fast.
    `vjp`, `jvp`, `hvp` and `derivatives` differentiate the functions of `export_c`, with the damping of the space.

    Parameters
    ----------
    model : the model
    tasks : tasks, or a `TaskSet`
    method : one of METHODS, or "auto": the cheapest for this tree, these tasks and `also`
    singular : what Lambda, Jbar and N do in singular directions: "refuse" with the rank and the rows at fault,
        "truncate" (omit these directions) or "damp" (add `damping` to the diagonal of Lambda^-1)
    threshold : of singular directions
    damping : of "damp", in the units of Lambda^-1
    also : what "auto" counts beside Lambda^-1: "factor", "jbar", "nullspace"
    dtype : float64 or float32 of all results; by default float32 if all inputs are
    general : always run general code, compiled once for all models
    dynamics : the model's `Dynamics` to share, if there is one
    inputs : quantities of the model that are keywords of every call, as in `Dynamics`; by default those of `dynamics`
    device, layout : "cuda" runs `inverse_inertia`, `inertia`, `jacobian`, `drift`, `bias` and `torques` on a GPU, as in
        `Dynamics`; other methods are refused there
    """

    @explained
    def __init__(
        self,
        model: Model,
        tasks: Iterable[Task] | TaskSet,
        *,
        method: MethodName = "auto",
        singular: Singular = "refuse",
        threshold: float = 1e-4,
        damping: float = 1e-6,
        also: Iterable[Extra] = (),
        dtype: npt.DTypeLike | None = None,
        general: bool = False,
        dynamics: Dynamics | None = None,
        inputs: Sequence[str] = (),
        device: str | None = None,
        layout: str = "rows",
    ) -> None:
        self.model, self.device = model, device_of(device, layout)
        self.tasks = tasks if isinstance(tasks, TaskSet) else TaskSet(model, tasks)
        for what, other in {"tasks were made for": self.tasks, "dynamics is of": dynamics}.items():
            if other is not None and other.model is not model and other.model.hash != model.hash:
                raise TaskError(f"the {what} {other.model.name!r}, which is not {model.name!r}")
        if method not in (*METHODS, "auto"):
            raise unknown_option(f"there is no method {method!r} for Lambda^-1", method, [*METHODS, "auto"])
        self.general, self.also, self.dtype = general, tuple(also), checked_dtype(dtype)
        if singular not in get_args(Singular):
            raise unknown_option(f"there is no singular={singular!r}", singular, get_args(Singular))
        self.singular = singular
        self.threshold, self.damping = choices.check_threshold(threshold), choices.check_damping(damping)
        self.parameters = parameters_of(self.tasks, inputs, dynamics)
        self.dynamics = dynamics or Dynamics(model, inputs=self.parameters.inputs, general=general)
        self._method: MethodName = method
        how: dict[str, Any] = {"general": general, "dtype": self.dtype or np.float64}
        self.function = Functions(self.tasks, self.parameters, self.device, how).get
        self._numbers: dict[Any, Any] = {}  # on a GPU
        self._gradients = SpaceGradients(self)

    def __call__(self, q: npt.ArrayLike, v: npt.ArrayLike | None = None, **values: Any) -> OperationalState:
        """The state at q, and v for what depends on it; `values` are values of the space's inputs."""
        self.device.refuse_gpu("states are computed on the CPU: on a GPU use inverse_inertia, jacobian, torques")
        if values:
            by_rows(self.parameters, {k: x for k, x in values.items() if k != "threads"})  # refuses unknown ones
        here, moving = (self._input(q), None) if v is None else self.inputs(q, v)
        return OperationalState(self, here, moving, values)

    def __reduce__(self) -> tuple[Any, ...]:
        options: dict[str, Any] = {
            "method": self._method, "singular": self.singular, "threshold": self.threshold, "damping": self.damping,
            "also": self.also, "dtype": self.dtype, "general": self.general, "dynamics": self.dynamics,
            "device": self.device.name, "layout": self.device.layout,
        }  # fmt: skip
        return partial(OperationalSpace, self.model, self.tasks.tasks, **options), ()

    def __repr__(self) -> str:
        return f"OperationalSpace({self.tasks!r}, method={self._method!r}, singular={self.singular!r})"

    def _input(self, x: Any) -> Any:
        """`inputs` of a single array, in a third of the time: a call by method takes three microseconds in all."""
        if type(x) is not np.ndarray or x.dtype.kind != "f":
            if is_on_gpu(x):
                return x
            x = real_array("q", x)
        return np.asarray(x, self.dtype or (np.float32 if x.dtype == np.float32 else np.float64))

    def inputs(self, *arrays: Any) -> tuple[RealArray, ...]:
        """Arrays of one call in the precision that its results will have."""
        return in_one_precision(arrays, self.dtype)

    # What depends on the configuration

    def inverse_inertia(
        self,
        q: Any,
        method: MethodName | None = None,
        *,
        out: RealArray | None = None,
        threads: int | None = None,
        **values: Any,
    ) -> RealArray:
        """Lambda^-1 (m, m) by the space's method or the one named."""
        call = self._inverse_inertia if method is None or method == "auto" else self.function(method).call
        if values:
            self.parameters.declared("inverse_inertia", values, "OperationalSpace")
        if threads is None:
            return call(self._input(q), out=out, **values)
        with on_threads(threads):
            return call(self._input(q), out=out, **values)

    def inertia(self, q: Any, *, threads: int | None = None, **values: Any) -> RealArray:
        """Lambda (m, m); on a GPU, where nothing can be refused row by row, it is damped as `torques` are."""
        if self.device.is_gpu:
            Lam_inv = self.inverse_inertia(q, **values)
            amount = kept_beside(Lam_inv, self.usual_damping, self._numbers)
            found: RealArray = self.function("invert").call(Lam_inv, amount, 0 * Lam_inv[..., 0])[0]
            return found
        with on_threads(threads):
            return self.invert(self.inverse_inertia(q, **values))

    def torques(
        self, q: Any, v: Any, acceleration: Any, tau0: Any = None, *, damping: float | None = None, **values: Any
    ) -> RealArray:
        """Joint forces (nv,) under which the tasks accelerate by `acceleration` (m,), in one compiled call.

        C + J' Lambda (acceleration - Jdot v) + N' tau0: gravity and velocities are made up for, and `tau0` (nv,) acts
        in the null space of the tasks. `damping`, in the units of Lambda^-1, is added to its diagonal, so that nothing
        grows without bound near singular configurations; the tasks then fall short there. By default it is that of the
        space with singular="damp", else a millionth of what the tasks' mobility is on average. All joints are taken
        as actuated.
        """
        if not self.uses_factor:
            raise TaskError("torques needs a tree: mimic joints tie branches together")
        v = v if hasattr(v, "dtype") else np.asarray(v, float)
        arrays = self.inputs(q, v, acceleration, 0 * v if tau0 is None else tau0)
        if damping is None:
            amount = kept_beside(arrays[0], self.usual_damping, self._numbers)
        else:
            amount = full((1,), damping_of(self, "torques", damping), arrays[0])
        return self.function("torques", values).call(*arrays, amount, **values)

    @cached_property
    def usual_damping(self) -> float:
        """The damping of `torques`, unless another is given."""
        return self.damping if self.singular == "damp" else 1e-6 * float(self.mobility.mean())

    def jacobian(self, q: Any, **values: Any) -> RealArray:
        """J (m, nv)."""
        call = self.function("jacobian", values).call
        return call(self._input(q), **values) if values else call(self._input(q))

    def bias(self, q: Any, v: Any, **values: Any) -> RealArray:
        """beta = Jdot v - J H^-1 C (m,)."""
        q, v = self.inputs(q, v)
        if self.uses_factor:
            return self.function("bias", values).call(q, v, **values)
        C = self.dynamics.bias_force(q, v, **values)
        qdd = np.linalg.solve(self.mass_matrix(q, **values), -C[..., None])
        return self.drift(q, v, **values) + (self.jacobian(q, **values) @ qdd)[..., 0]

    def drift(self, q: Any, v: Any, **values: Any) -> RealArray:
        """Jdot v (m,)."""
        return self.function("drift", values).call(*self.inputs(q, v), **values)

    def mass_matrix(self, q: Any, **values: Any) -> RealArray:
        """H (nv, nv)."""
        return self.dynamics.mass_matrix(self._input(q), **values)

    def with_status(
        self, function: str, *inputs: npt.ArrayLike, threads: int | None = None, **values: Any
    ) -> tuple[RealArray, npt.NDArray[np.int64]]:
        """(result, status) of a function of the space by name: no row of a batch raises for the others.

        Functions are "inverse_inertia", "inertia", "jacobian", "drift", "bias" and "torques", with their options. The
        status, (batch,), is 0 where all is well, 2 where an input is not finite and 3 where there is no finite result,
        or the tasks are singular and refused; the result is NaN there.
        """
        if function not in STATUS:
            raise unknown_option(f"with_status: a space has no function {function!r} there", function, STATUS)
        self.device.refuse_gpu("with_status of a space is computed on the CPU: leave device='cuda' out")
        arrays = in_one_precision(inputs, self.dtype)
        options = {name: values.pop(name) for name in ("method", "damping") if name in values}
        fixed, each = by_rows(self.parameters, values)
        call = partial(getattr(self, function), **options, **fixed)
        with on_threads(threads):
            (result,), status = row_by_row(lambda *rows, **some: (call(*rows, **some),), arrays, each)
        return result, status

    def weighted(self, q: Any, v: Any = None, **values: Any) -> Weighted:
        """J, H^-1 J' and Lambda^-1, and beta if there is a velocity, from one call: cheaper than one by one."""
        if self.uses_factor and v is not None:
            return Weighted(*self.function("dynamics", values).call(*self.inputs(q, v), **values))
        q = self._input(q)
        if self.uses_factor:
            return Weighted(*self.function("weighted", values).call(q, **values))
        J = self.jacobian(q, **values)
        X = np.linalg.solve(self.mass_matrix(q, **values), np.swapaxes(J, -1, -2))
        return Weighted(J, X, self.inverse_inertia(q, **values), None if v is None else self.bias(q, v, **values))

    def full(self, q: Any, v: Any, **values: Any) -> FullPass:
        """Everything at once, faster than asking for one after the other."""
        if not self.uses_factor:
            op = self(q, v, **values)
            return FullPass(op.J, op.bias, op.inverse_inertia, op.inertia, op.jbar, op.nullspace)
        return full_pass(self, *self.inputs(q, v), **values)

    def invert(self, Lam_inv: RealArray) -> RealArray:
        """Lambda from Lambda^-1, by the space's choice for singular tasks."""
        return self._inversion(Lam_inv)

    @cached_property
    def _inversion(self) -> Inversion:
        invert = self.function("invert").call
        return Inversion(self.tasks, invert, self.mobility, self.singular, (self.threshold, self.damping))

    def rank(self, Lam_inv: RealArray) -> Any:
        """The number of directions of the task space that can be moved: a number, or (batch,)."""
        return choices.rank(Lam_inv, self.threshold, self.mobility)

    @cached_property
    def mobility(self) -> RealArray:
        """(m,) how far a unit force moves each row in ordinary configurations: the median of (Lambda^-1)_rr."""
        some = self.model.random_configuration(np.random.default_rng(0), SAMPLES)
        here = self if not self.device.is_gpu else OperationalSpace(self.model, self.tasks, method=self._method)
        usual = np.median([np.diagonal(here.inverse_inertia(q)) for q in some], axis=0)
        return np.where(usual > 0.0, usual, 1.0)

    def export_c(
        self, functions: Sequence[str], path: str | Path, *, dtype: Any = np.float64, prefix: str | None = None
    ) -> tuple[Path, Path]:
        """Write functions of the space to a C99 file at `path` and a header beside it, as `bough.export_c` does.

        They are "jacobian", "drift", "bias", "inverse_inertia", "inertia", "jbar", "nullspace", all of these in one as
        "operational_space", "mu_rho" and "torques". C code cannot refuse a singular task set: where Lambda is needed it
        takes `damping`, in the units of Lambda^-1, which may be zero. The space's `inputs` are further arguments.
        """
        return export_c(self, functions, path, dtype=dtype, prefix=prefix)

    vjp, jvp, hvp, derivatives = gradients.vjp, gradients.jvp, gradients.hvp, gradients.derivatives

    # The methods

    @cached_property
    def method(self) -> str:
        """The method that Lambda^-1 is computed by."""
        return choose(self.tasks, self.also, self.dtype or np.float64) if self._method == "auto" else self._method

    @cached_property
    def _inverse_inertia(self) -> Callable[..., RealArray]:
        """Its compiled code, which also takes the place of the method: a call then skips the method's own frame."""
        function = self.function(self.method)
        if self.dtype is None:
            method = MethodType(type(self).inverse_inertia, self)
            self.__dict__["inverse_inertia"] = self.parameters.shortcut(function, method)
        return function.call

    def plan(self) -> MethodPlan:
        """Exact operation counts of all methods on this tree and task set, and the planner's choice with its reason."""
        return make_plan(self.tasks, self.also, self.dtype or np.float64, every=True)

    @cached_property
    def foresees_jbar(self) -> bool:
        """Whether `also` announces Jbar or N, so that what they need is best computed at once."""
        return not {"jbar", "nullspace"}.isdisjoint(self.also)

    @property
    def uses_factor(self) -> bool:
        """Whether H has the pattern of a tree; mimic joints break it."""
        return not self.model.couplings
