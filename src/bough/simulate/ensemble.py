"""Many motions side by side: states that stay where they are, on the CPU or on a GPU, through thousands of steps."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np

from bough.arguments import explained
from bough.compile.executions import CPU, GPU, CompiledFunction
from bough.compile.run.libraries import asarray, full, library_of, on_host
from bough.compile.settings import check_threads, on_threads
from bough.dynamics.dynamics import Dynamics
from bough.dynamics.laws import Effect, check_effects
from bough.dynamics.parameters import Parameters, check_inputs
from bough.dynamics.stepping import Integrator, integrator_named
from bough.errors import ModelError, OptionError, ShapeError, unknown_option
from bough.model import Model
from bough.simulate.closures import HeldMotion, check_closed
from bough.simulate.contacts import Contacts
from bough.simulate.rows import SWEEPS
from bough.simulate.step import CHANGE, SLIPS
from bough.simulate.stepping import FAILURES, RowStepper, has_rows
from bough.simulate.steps import servo_gains, step_function
from bough.types import FloatArray

Array: TypeAlias = Any  # of numpy, PyTorch or CuPy
Rows: TypeAlias = Any  # numbers of rows, a mask or a slice


@explained
class Ensemble:
    """States q (batch, nq) and v (batch, nv) of one model, stepped together by dt.

    Arrays of PyTorch and CuPy on a GPU stay there: all of a step is one kernel on the caller's stream, and nothing is
    copied or waited for, so that `step(count)` may be recorded in a CUDA graph if count is even. numpy arrays are
    stepped on the CPU, over `threads`. Steps are those of `bough.dynamics.stepping`: joints have damping, springs, dry
    friction and stops, less what `without` names. With `servo` = (kp, kd), numbers for all revolute and prismatic
    joints or arrays (nv,) or (batch, nv), each of them is drawn to its `target`, implicitly, with no more than its
    effort.

    With `contacts` the robots touch the ground: `force` and `residual` are as `rollout` records them, and `friction`
    (batch,) may differ from row to row. Contacts are stepped by semi-implicit Euler. On a GPU
    grounds are planes, there are no loops and mimic joints, and a step makes `contacts.sweeps` sweeps, 6 where that is
    None. The same number gives the same states on the CPU, up to rounding. `friction` is then (batch, points).

    `inputs` names quantities of the model that may differ from row to row, given by name: `inertia`, `armature`,
    `gravity`, `placement` (see `Dynamics`), for all rows or one for each.

    A row that has no finite state any more is NaN from then on and `failed`; `reset` starts rows anew.

    >>> runs = Ensemble(robot, q, v, dt=1e-3, servo=(kp, kd))
    >>> runs.step(100, target=q_wanted)
    >>> runs.reset(runs.failed)
    """

    def __init__(
        self,
        model: Model,
        q: Array,
        v: Array,
        *,
        dt: float,
        integrator: Integrator = "semi_implicit_euler",
        servo: tuple[Array, Array] | None = None,
        contacts: Contacts | None = None,
        friction: Array | None = None,
        without: Collection[Effect] = (),
        inputs: Sequence[str] = (),
        dynamics: Dynamics | None = None,
        threads: int | None = None,
        **parameters: Array,
    ) -> None:
        self.model, self.threads, self.contacts = model, None if threads is None else check_threads(threads), contacts
        self._kind = _kind(q)
        if threads is not None and self._kind != "numpy":
            raise ShapeError("threads= is for motions on the CPU")
        self._state: list[tuple[Array, ...]] = [(self._copy(q, model.nq, "q"), self._copy(v, model.nv, "v"))]
        if len(self.q) != len(self.v):
            raise ShapeError(f"q has {len(self.q)} rows and v has {len(self.v)}")
        self._start = self._state[0][0] + 0, self._state[0][1] + 0
        self._state.append((self.q + 0, self.v + 0))
        if not dt > 0.0:
            raise ShapeError(f"dt must be positive, got {dt}")
        self.dt, self.time = dt, 0.0
        self._drives = self._driven(servo)
        self._given = self._parameters(inputs, parameters)
        self._bad = self._full((len(self.q),), 0, "uint8")
        self._launches: list[Callable[[], None]] = []
        self._stepper: RowStepper | None = None
        self._held: HeldMotion | None = None
        rule, off = integrator_named(integrator), check_effects(without)
        # on a GPU: axes of contacts (contacts, 3, 3), where their impulses are, and the report of the last step
        self._axes: Array = None
        self._report: Array = None
        self._contact_rows = slice(0)
        if has_rows(model, contacts, off):
            stepper = self._with_contacts(dynamics or Dynamics(model), off, rule, servo is not None)
            self.friction = self._frictions(friction)
            if self._kind != "numpy":
                self._function = self._on_gpu(stepper)
            else:
                self._stepper = stepper
                if rule != "semi_implicit_euler":
                    self._held = HeldMotion(stepper, rule, off, servo is not None)
        else:
            if friction is not None:
                raise ShapeError("friction is that of contacts: give contacts=")
            how: dict[str, Any] = {"servo": servo is not None, "device": CPU if self._kind == "numpy" else GPU}
            self._function = step_function(model, rule, off, quantities=self._quantities, **how)

    def __repr__(self) -> str:
        return f"Ensemble({self.model.name!r}, {len(self.q)} rows, {self._kind}, t = {self.time:g} s)"

    @property
    def q(self) -> Array:
        """(batch, nq), as it is now; steps write to another array, so copy what you keep."""
        return self._state[0][0]

    @property
    def v(self) -> Array:
        """(batch, nv)."""
        return self._state[0][1]

    @property
    def failed(self) -> Array:
        """(batch,): true in rows that have lost their state since they were last reset."""
        return self._bad != 0

    @property
    def force(self) -> Array | None:
        """Mean forces on the points in the last step (batch, contacts, 3), in newtons, world axes."""
        if self._axes is not None:
            push = self._state[0][2][:, self._contact_rows].reshape(len(self.q), len(self._axes), 3)
            return (push[..., None] * self._axes).sum(-2) / self.dt
        return self._stepper.force if self._stepper and self.contacts else None

    @property
    def residual(self) -> Array:
        """(batch,) how far the last sweep of the last step still moved a velocity, or one contradicts a stop."""
        if self._report is not None:
            return self._report[:, CHANGE]
        return self._stepper.residual if self._stepper else np.zeros(len(self.q))

    def step(self, count: int = 1, *, tau: Array | None = None, target: Array | None = None) -> None:
        """`count` steps under joint forces `tau` and servos that draw to `target`, both (nv,) or (batch, nv).

        Both may be functions of (t, q, v), called before every step. What is omitted stays as it was, at first zero
        forces and the configuration at the start.
        """
        if count < 0:
            raise ShapeError(f"count must not be negative, got {count}")
        drives = {"tau": tau, "target": target}
        for name, value in drives.items():
            if not callable(value):
                self._set(name, value)
        with on_threads(self.threads):
            for _ in range(count):
                for name, value in drives.items():
                    if callable(value):
                        self._set(name, value(self.time, self.q, self.v))
                if self._stepper is None:
                    self._advance()
                    self._state.reverse()
                else:
                    self._advance_on_ground(self._stepper)
                self.time += self.dt

    def reset(self, rows: Rows, q: Array | None = None, v: Array | None = None) -> None:
        """Put rows (numbers, a mask or a slice) back to the start, or to q and v."""
        try:
            self.q[rows] = self._start[0][rows] if q is None else self._like(q)
            self.v[rows] = self._start[1][rows] if v is None else self._like(v)
        except (IndexError, ValueError, RuntimeError) as error:  # numpy and CuPy raise the first two, PyTorch all
            raise ShapeError(f"reset: rows, q and v do not fit together: {error}") from None
        self._bad[rows] = 0
        for impulses in self._state[0][2:]:
            impulses[rows] = 0
        if self._stepper is not None:
            self._stepper.forget(rows)

    def assign(self, rows: Rows, **parameters: Array) -> None:
        """Change quantities that are `inputs` in some rows (numbers, a mask or a slice), as for new robots at reset."""
        for name, value in parameters.items():
            if name not in self._quantities.inputs:
                raise _no_input(name, self._quantities.inputs)
            at, own, host = self._quantities.inputs.index(name), self._quantities.own[name], on_host(value)
            if host.shape[host.ndim - own.ndim :] != own.shape or not np.isfinite(host).all():
                raise ShapeError(f"{name} must be finite and have shape {own.shape}, or one for each row: {host.shape}")
            self._quantities.examine(name, host, check=True)
            if self._given[at].ndim == own.ndim:  # the same for all rows so far
                self._given[at] = self._full((len(self.q), *own.shape), 0.0) + self._given[at]
                self._launches = []
            try:
                self._given[at][rows] = self._like(value)
            except (IndexError, ValueError, RuntimeError) as error:
                raise ShapeError(f"assign: rows and {name} do not fit together: {error}") from None

    # Steps

    def _advance(self) -> None:
        if not self._launches:
            report = () if self._report is None else (self._report,)
            for (q, v, *start), results in (self._state, self._state[::-1]):
                *drives, dt = self._drives.values()
                touching = () if self._report is None else (self.friction, *start)
                inputs, results = (q, v, *drives, *touching, dt, *self._given), (*results, *report)
                how: dict[str, Any] = {"out": results, "bad": self._bad, "threads": self.threads}
                self._launches.append(self._function.launcher(*inputs, **how))
        self._launches[0]()
        self._launches.reverse()

    def _advance_on_ground(self, stepper: RowStepper) -> None:
        tau, *servo, _ = self._drives.values()
        rows = tuple(
            np.ascontiguousarray(np.broadcast_to(x, (len(self.q), *self._quantities.own[name].shape)))
            for name, x in zip(self._quantities.inputs, self._given, strict=True)
        )

        def moved(some: Any) -> tuple[FloatArray, FloatArray]:
            drawn = tuple(x[some] if x.ndim == 2 else x for x in servo)
            if self._held:
                return self._held.advance(self.q[some], self.v[some], tau[some], self.dt, servo=drawn)
            given = tuple(x[some] for x in rows)
            return stepper.advance(self.q[some], self.v[some], tau[some], self.dt, self.friction[some], given, drawn)

        try:
            self._state[0] = moved(slice(None))
        except FAILURES:  # steps that are composed of several functions, in which a row fails: each by itself
            q, v = (np.full_like(x, np.nan) for x in self._state[0])
            for r in range(len(q)):
                stepper.forget()
                with suppress(*FAILURES):
                    q[r : r + 1], v[r : r + 1] = moved(slice(r, r + 1))
            self._state[0] = q, v
            stepper.forget()
        if not all(np.isfinite(x.sum()) for x in self._state[0]):
            state = np.concatenate(self._state[0], axis=1)
            self._bad |= (~np.isfinite(state).all(axis=1)).astype(np.uint8)

    def _set(self, name: str, value: Array | None) -> None:
        if value is None:
            return
        if name not in self._drives:
            raise ShapeError(f"{name} is for servos: give servo=(kp, kd) to the ensemble")
        given, held = self._like(value), self._drives[name]
        if tuple(given.shape) not in ((self.model.nv,), tuple(held.shape)):
            raise ShapeError(f"{name} must have shape ({self.model.nv},) or {tuple(held.shape)}, got {given.shape}")
        held[...] = given

    # What does not change

    def _with_contacts(self, dynamics: Dynamics, off: tuple[str, ...], rule: str, servo: bool) -> RowStepper:
        if self._kind == "numpy" and self.q.dtype != np.float64:
            raise ModelError("on the CPU contacts, loops and mimic joints are for float64 arrays")
        if self.contacts is not None and rule != "semi_implicit_euler":
            raise ShapeError(f"contacts are held by the integrator 'semi_implicit_euler', got {rule!r}")
        how: dict[str, Any] = {"strict": False, "parameters": self._quantities, "servo": servo}
        contacts = self.contacts
        if contacts is not None and self._kind != "numpy":
            contacts = replace(contacts, sweeps=contacts.sweeps or SWEEPS)
        found = RowStepper(dynamics, contacts, off, **how)
        if self._kind != "numpy" and not found.is_fixed:
            raise ModelError(
                f"{self.model.name!r} has loops, mimic joints or a ground that is no plane: on the CPU only"
            )
        if found.loops:
            check_closed(found.loops, self.q)
        if self._quantities and (found.loops or self.model.couplings or not found.space.is_flat):
            raise ModelError(
                f"{self.model.name!r} takes no {', '.join(self._quantities.inputs)} from row to row with these "
                f"contacts: they are for planes, without loops and mimic joints"
            )
        return found

    def _on_gpu(self, stepper: RowStepper) -> CompiledFunction:
        """All of a step there: states have the impulses of the last step as well, and all points a friction."""
        rows = len(self.q)
        self._state = [(*state, self._full((rows, stepper.few.seen), 0.0)) for state in self._state]
        self._report = self._full((rows, SLIPS + 1), 0.0)
        self._axes = self._like(stepper.space.axes)
        self._contact_rows = slice(len(stepper.few.joints), stepper.few.width)
        self.friction = self._like(np.repeat(self.friction[:, None], stepper.count, axis=1))
        return stepper.on_gpu(str(self.q.dtype).rpartition(".")[2])

    def _frictions(self, given: Array | None) -> FloatArray:
        own = self.contacts.friction if self.contacts else 0.0
        found, batch = on_host(own if given is None else given), len(self.q)
        if found.shape not in ((), (batch,)) or not (np.isfinite(found) & (found >= 0.0)).all():
            raise ShapeError(f"friction is a coefficient from zero, or one for each of {batch} rows, got {given!r}")
        return np.array(np.broadcast_to(found, (batch,)))

    def _driven(self, servo: tuple[Array, Array] | None) -> dict[str, Array]:
        """The inputs of a step after q and v, in order."""
        rows, nv = len(self.q), self.model.nv
        found = {"tau": self._full((rows, nv), 0.0)}
        if servo is not None:
            found["target"] = self._full((rows, nv), 0.0)
            q, v = (x.tolist() for x in self.model.scalar_joints)
            found["target"][:, v] = self.q[:, q]
            for name, value in zip(("kp", "kd"), servo, strict=True):
                found[name] = self._like(servo_gains(self.model, name, on_host(value), rows))
        found["dt"] = self._full((1,), self.dt)
        return found

    def _parameters(self, inputs: Sequence[str], given: dict[str, Array]) -> list[Array]:
        quantities = self._quantities = Parameters(self.model, check_inputs(self.model, inputs))
        unknown = [name for name in given if name not in quantities.inputs]
        if unknown:
            raise _no_input(unknown[0], quantities.inputs)
        for name, value in given.items():
            quantities.examine(name, on_host(value))
        return [self._like(given.get(name, own)) for name, own in quantities.own.items()]

    # Arrays in kind

    def _copy(self, x: Array, columns: int, name: str) -> Array:
        found = asarray(x, x) + 0
        if found.ndim != 2 or found.shape[1] != columns:
            raise ShapeError(f"{name} must have shape (batch, {columns}), got {tuple(found.shape)}")
        return found

    def _like(self, x: Array) -> Array:
        """x where the states are, in their precision."""
        return asarray(x, self._state[0][0])

    def _full(self, shape: tuple[int, ...], value: float, dtype: str | None = None) -> Array:
        return full(shape, value, self.q, dtype)


def _no_input(name: str, known: Sequence[str]) -> OptionError:
    return unknown_option(f"{name!r} is not among the inputs of this ensemble", name, known)


def _kind(x: Array) -> str:
    """The library of an array; one on the host is numpy's."""
    if getattr(x, "requires_grad", False):
        raise ShapeError("an ensemble gives no gradients: detach its states, or use bough.torch")
    library = library_of(x)
    if library not in ("numpy", "torch", "cupy"):
        raise ShapeError(f"on a GPU an ensemble takes arrays of PyTorch or CuPy, got {type(x).__name__}")
    return library
