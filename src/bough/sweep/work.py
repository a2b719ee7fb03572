"""The work on rows: a function of the table, a rollout, or a function of your own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol, cast

import numpy as np

from bough.compile.run.arrays import is_count
from bough.dynamics import Dynamics
from bough.dynamics.functions import check_options, function
from bough.errors import ModelError, OptionError, UnknownNameError, short
from bough.model import Model

if TYPE_CHECKING:
    from bough.simulate import Recording

Columns = dict[str, Any]  # arrays by name


class SweepWork(Protocol):
    """The work of a sweep on its rows."""

    def needs(self, model: Model) -> tuple[str, ...]:
        """Arrays that each row must have."""

    def bound(self, model: Model, parameters: tuple[str, ...]) -> Callable[[Columns], Columns]:
        """From rows (n, ...) by name to columns (n, ...) by name; made once by each worker."""

    def describe(self) -> dict[str, Any]:
        """Its identity, as JSON."""


@dataclass(frozen=True)
class Evaluate:
    """A function of `Dynamics` by name, with its options; `status` is 0 where the result is good, see `with_status`.

    A function with several results has a column for each, by their names: dqdd_dq, dqdd_dv and dqdd_dtau.
    """

    function: str
    options: Mapping[str, Any] = field(default_factory=dict)

    def needs(self, model: Model) -> tuple[str, ...]:
        """The arguments of the function."""
        row = function(self.function)
        check_options(row, self.options)
        row.method(model, self.options.get("method"))
        if self.options.get("frame") is not None:
            model.frame(self.options["frame"])
        return row.arguments

    def bound(self, model: Model, parameters: tuple[str, ...]) -> Callable[[Columns], Columns]:
        """Compiled for the model, one thread for each worker."""
        dynamics, names = Dynamics(model, inputs=parameters, check=True if parameters else None), self.needs(model)
        results = function(self.function).method(model, self.options.get("method")).routine.outputs
        named = (self.function,) if len(results) == 1 else tuple(results)  # such as dqdd_dq, dqdd_dv, dqdd_dtau

        def evaluate(rows: Columns) -> Columns:
            given = {name: rows[name] for name in parameters}
            inputs = [rows[name] for name in names]
            result, status = dynamics.with_status(self.function, *inputs, **given, **self.options)
            columns = (result,) if len(named) == 1 else result
            return {**dict(zip(named, columns, strict=True)), "status": status}

        return evaluate

    def describe(self) -> dict[str, Any]:
        """Its name and options."""
        return {"function": self.function, "options": dict(self.options)}


@dataclass(frozen=True)
class Roll:
    """The motion from q and v for `duration`; the end, or every `every`-th step as arrays (samples, ...) in each row.

    A state that cannot go on has its time in `failed_at` (infinite for the others), and stays where it was.
    """

    duration: float = 1.0
    dt: float = 1e-3
    every: int | None = None
    integrator: str = "semi_implicit_euler"

    def needs(self, model: Model) -> tuple[str, ...]:
        """A state."""
        if not 0.0 < self.dt <= self.duration < np.inf or not (self.every is None or is_count(self.every)):
            raise OptionError(f"expected 0 < dt <= duration and a whole number every >= 1, got {self}")
        return ("q", "v")

    def bound(self, model: Model, parameters: tuple[str, ...]) -> Callable[[Columns], Columns]:
        """All rows at once, or with parameters each on a model of its own."""
        unserved = [name for name in parameters if name not in ("inertia", "gravity")]
        if unserved:
            raise OptionError(f"a rollout takes inertia and gravity by row, not {unserved[0]!r}")
        if parameters:
            return lambda rows: _finite(model, rows, lambda good: _each(self, model, good, parameters))
        dynamics = Dynamics(model)
        return lambda rows: _finite(model, rows, lambda good: self.columns(model, good, dynamics))

    def columns(self, model: Model, rows: Columns, dynamics: Dynamics) -> Columns:
        """The motion of these rows."""
        from bough.opspace import close_loops
        from bough.simulate import rollout

        q = rows["q"]
        if model.closures:
            q = np.array([close_loops(model, x).q for x in q])
        motion = rollout(
            model, q, rows["v"], duration=self.duration, dt=self.dt, integrator=cast(Any, self.integrator),
            every=self.every or 10**9, failures="record", dynamics=dynamics,
        )  # fmt: skip
        return self._kept(motion)

    def _kept(self, motion: Recording) -> Columns:
        failed = {"failed_at": np.asarray(motion.failed_at)}
        if self.every is None:
            return {"q_end": motion.q[-1], "v_end": motion.v[-1], **failed}
        rows = motion.q.shape[1]
        time = np.broadcast_to(motion.time, (rows, len(motion.time)))
        return {"time": time, "q_path": motion.q.swapaxes(0, 1), "v_path": motion.v.swapaxes(0, 1), **failed}

    def describe(self) -> dict[str, Any]:
        """Its numbers."""
        return {"rollout": asdict(self)}


def _finite(model: Model, rows: Columns, move: Callable[[Columns], Columns]) -> Columns:
    """Rows with numbers that are not finite fail at once, and the others do not notice."""
    good = np.ones(len(rows["q"]), bool)
    for array in rows.values():
        good &= np.isfinite(array).all(axis=tuple(range(1, array.ndim)))
    if good.all():
        return move(rows)
    known = {"q": model.neutral, "v": np.zeros(model.nv), "inertia": model.inertias, "gravity": model.gravity}
    found, moved = {}, {name: array[good] if good.any() else known[name][None] for name, array in rows.items()}
    for name, column in move(moved).items():
        found[name] = np.full((len(good), *column.shape[1:]), 0.0 if name == "failed_at" else np.nan)
        found[name][good] = column[: good.sum()]
    return found


def _each(work: Roll, model: Model, rows: Columns, parameters: tuple[str, ...]) -> Columns:
    """Rows one by one, each with its own inertias or gravity, by the code that serves every model."""
    found = []
    for k in range(len(rows["q"])):
        own = model
        if "inertia" in parameters:
            own = own.with_inertias(rows["inertia"][k])
        if "gravity" in parameters:
            own = own.with_gravity(rows["gravity"][k])
        one = {name: rows[name][k : k + 1] for name in ("q", "v")}
        found.append(work.columns(own, one, Dynamics(own, general=True)))
    return {name: np.concatenate([columns[name] for columns in found]) for name in found[0]}


@dataclass(frozen=True)
class YourOwn:
    """`module:function` that takes (model, rows) and gives columns: arrays (n, ...) by name. Workers import it."""

    name: str
    arrays: tuple[str, ...] = ("q", "v")

    def needs(self, model: Model) -> tuple[str, ...]:
        """Its declared inputs."""
        self._found()
        return self.arrays

    def _found(self) -> Callable[[Model, Columns], Columns]:
        module, _, name = self.name.partition(":")
        if not (module and name) or module.startswith("."):
            raise OptionError(f"{short(self.name)!r}: expected module:function")
        try:
            found = getattr(import_module(module), name)
        except Exception as error:  # whatever the module raises
            raise UnknownNameError(f"{short(self.name)!r} cannot be imported: {error}") from None
        if not callable(found):
            raise OptionError(f"{short(self.name)!r} is no function, but {type(found).__name__}")
        return cast(Callable[[Model, Columns], Columns], found)

    def bound(self, model: Model, parameters: tuple[str, ...]) -> Callable[[Columns], Columns]:
        """The function, on copies of the rows, with its result checked."""
        own = self._found()

        def evaluate(rows: Columns) -> Columns:
            count = len(next(iter(rows.values())))
            found: Any = own(model, {name: array.copy() for name, array in rows.items()})
            if not isinstance(found, Mapping) or not found:
                raise ModelError(f"{self.name} must give arrays by name, got {short(repr(found))}")
            return {str(name): self._column(str(name), column, count) for name, column in found.items()}

        return evaluate

    def _column(self, name: str, given: Any, count: int) -> Any:
        try:
            column = np.asarray(given)
        except ValueError:
            raise ModelError(f"{self.name}: rows of {short(name)!r} differ in shape; all must be alike") from None
        if column.ndim == 0 or len(column) != count:
            raise ModelError(
                f"{self.name} must give arrays with {count} rows, as many as it is given; {short(name)!r} has shape "
                f"{column.shape}"
            )
        if not column.size:
            raise ModelError(f"{self.name}: rows of {short(name)!r} are empty, shape {column.shape}")
        if column.dtype.kind not in "biufUS":
            raise ModelError(f"{self.name}: {short(name)!r} must be numbers or text, got dtype {column.dtype}")
        return column

    def describe(self) -> dict[str, Any]:
        """Its name; the file behind it is the user's to keep."""
        return {"own": self.name, "arrays": list(self.arrays)}
