"""Simulation of many states of one model together, on the CPU or on a GPU."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np

from bough.arguments import explained
from bough.compile.executions import CPU, GPU, CompiledFunction
from bough.compile.run.libraries import asarray, chosen, full, is_on_gpu, library_of, on_host
from bough.compile.settings import check_threads, on_threads
from bough.dynamics.dynamics import Dynamics
from bough.dynamics.laws import Effect, check_effects
from bough.dynamics.parameters import Parameters, check_inputs
from bough.dynamics.prescribed import numbers
from bough.dynamics.stepping import Integrator, integrator_named
from bough.errors import ModelError, OptionError, ShapeError, unknown_option
from bough.model import Model
from bough.simulate.constrained_stepper import FAILURES, ConstrainedStepper, check_closed, has_rows
from bough.simulate.contact_step import CHANGE, SLIPS
from bough.simulate.contacts import Contacts, ContactSpace, HeightField, Plane
from bough.simulate.drives import Wrenches, by_rows, joint_gains, servo_gains
from bough.simulate.integration import step_function
from bough.simulate.step_kernels import SWEEPS
from bough.types import FloatArray

Array: TypeAlias = Any  # of numpy, PyTorch or CuPy
Rows: TypeAlias = Any  # numbers of rows, a mask or a slice


@explained
class Ensemble:
    """States q (batch, nq) and v (batch, nv) of one model, stepped together by dt.

    Tensors of PyTorch and CuPy on a GPU are stepped there, by one kernel on the caller's stream. Nothing is copied or
    waited for, so `step(count)` may be recorded in a CUDA graph if count is even. numpy arrays are stepped on the CPU,
    over `threads`. Steps are those of `bough.dynamics.stepping`, with damping, springs, dry friction and stops of
    joints; `without` names effects to ignore. `servo` = (kp, kd) drives revolute and prismatic joints to `target`,
    implicitly and within their effort. Gains are numbers, or arrays (nv,) or (batch, nv).

    `contacts` are points that may touch the ground; `force`, `touching` and `residual` report on them. They need
    semi-implicit Euler. On a GPU there are no loops and mimic joints, grounds are planes and height fields, and a step
    makes `contacts.sweeps` sweeps, by default 6. The same number gives the same states on the CPU, up to rounding.

    These may differ from row to row, and `assign` changes them:

    - `friction` (batch,) of contacts;
    - `planes` (batch, 4) or (batch, grounds, 4), a unit normal and the height along it, instead of those of `contacts`;
    - gains of servos;
    - quantities of the model that `inputs` names: `inertia`, `armature`, `gravity`, `placement` (see `Dynamics`).

    A row whose state is not finite is NaN from then on and `failed`; `reset` starts rows anew.

    >>> runs = Ensemble(robot, q, v, dt=1e-3, servo=(kp, kd))
    >>> runs.step(100, target=q_reference)
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
        planes: Array | None = None,
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
        if not 0.0 < dt < np.inf:
            raise ShapeError(f"dt must be positive, and finite, got {dt}")
        self.dt, self.time = dt, 0.0
        self._drives = self._driven(servo)
        self._given = self._parameters(inputs, parameters)
        self._bad = self._full((len(self.q),), 0, "uint8")
        self._launches: list[Callable[[], None]] = []
        self._stepper: ConstrainedStepper | None = None
        self._first: CompiledFunction | None = None  # on a GPU, before steps in which stops push
        rule, off = integrator_named(integrator), check_effects(without)
        self.dynamics = self._dynamics(dynamics)
        self._report: Array = None  # of the last step, on a GPU
        self._wrenches: Wrenches | None = None
        self._applied: Array = None  # joint forces with those of wrenches
        self._planes: tuple[Array, ...] = ()  # axes and heights, where they differ from row to row
        if has_rows(model, contacts, off):
            self._space = ContactSpace(self.dynamics, contacts)
            if planes is not None:
                self._planes = self._space.planes_of(planes, self.q)
            stepper = self._with_contacts(dynamics, off, rule, servo is not None)
            self.friction = self._frictions(friction)
            if self._kind != "numpy":
                self._function, self._first = self._on_gpu(stepper)
            else:
                self._stepper = stepper
        else:
            if friction is not None or planes is not None:
                raise ShapeError("friction and planes are those of contacts: give contacts=")
            how: dict[str, Any] = {"servo": servo is not None, "device": CPU if self._kind == "numpy" else GPU}
            how["general"] = dynamics is not None and dynamics.general
            self._function = step_function(model, rule, off, quantities=self._quantities, **how)

    def __repr__(self) -> str:
        return f"Ensemble({self.model.name!r}, {len(self.q)} rows, {self._kind}, t = {self.time:g} s)"

    @property
    def q(self) -> Array:
        """Present configurations (batch, nq). Later steps reuse the array: copy what you keep."""
        return self._state[0][0]

    @property
    def v(self) -> Array:
        """Present velocities (batch, nv)."""
        return self._state[0][1]

    @property
    def failed(self) -> Array:
        """(batch,): true in rows whose state has not been finite since their last reset."""
        return self._bad != 0

    @property
    def force(self) -> Array | None:
        """Mean forces on the points in the last step (batch, contacts, 3), in newtons, world axes."""
        if self._report is None:
            return self._stepper.force if self._stepper and self.contacts else None
        axes = self._planes[0].reshape(len(self.q), -1, 3, 3) if self._planes else self._axes
        return (self._impulses[..., None] * axes).sum(-2) / self.dt

    @property
    def touching(self) -> Array | None:
        """(batch, contacts): true where a point pressed on its ground in the last step."""
        if self._report is None:
            return self._stepper.contact_impulses[..., 0] > 0.0 if self._stepper and self.contacts else None
        return self._impulses[..., 0] > 0.0

    @property
    def _impulses(self) -> Array:
        """Of contacts, on a GPU: (batch, contacts, 3), along their normals and tangents."""
        return self._state[0][2][:, self._contact_rows].reshape(len(self.q), -1, 3)

    @property
    def residual(self) -> Array:
        """(batch,): largest change of a velocity by the last sweep, or violation of a stop, in the last step."""
        if self._report is not None:
            return self._report[:, CHANGE]
        return self._stepper.residual if self._stepper else np.zeros(len(self.q))

    def imu(self, frame: str) -> tuple[Array, Array]:
        """Accelerometer and gyroscope (batch, 3) of an inertial measurement unit at a frame, in its axes.

        The accelerometer has the mean acceleration of the last step less gravity, in m/s^2; rows that were just reset
        are at rest. The gyroscope has the angular velocity at its end, in rad/s.
        """
        given = self._given_of("placement")
        (q, v, *_), (q0, v0, *_) = self._state
        T = by_rows(self.dynamics, "placement", q, frame=frame, **given)
        change = self._velocity(q, v, frame, **given) - self._velocity(q0, v0, frame, **given)
        pull = self._given_of("gravity").get("gravity")
        pull = self._like(self.model.gravity) if pull is None else pull
        axes = T[:, :3, :3]
        spin = self._velocity(q, v, frame, reference="local", **given)[:, 3:]
        return (axes * (change[:, :3] / self.dt - pull)[:, :, None]).sum(1), spin

    def _velocity(self, q: Array, v: Array, frame: str, **how: Any) -> Array:
        return by_rows(self.dynamics, "velocity", q, v, frame=frame, **how)

    def joint_reactions(self) -> Array:
        """The mean wrench of each joint on its body in the last step (batch, joints, 6), to first order in dt.

        [force, moment] at the body's origin, in its axes, beside contacts and `forces`: see `Dynamics.joint_forces`.
        """
        (_, v, *_), (q, before, *_) = self._state
        wrenches: dict[str, Array] = {}
        pairs = [] if self.contacts is None else [*self._space.wrenches(q, self.force, self._normals)]
        if self._wrenches is not None:
            pairs += [(name, self._wrenches.F[:, k]) for k, name in enumerate(self._wrenches.names)]
        for name, wrench in pairs:
            wrenches[name] = wrench + wrenches.get(name, 0.0)
        given = self._given_of(*self._quantities.inputs)
        states = q, before, (v - before) / self.dt
        return by_rows(self.dynamics, "joint_forces", *states, forces=wrenches or None, **given)

    @property
    def _normals(self) -> Array:
        """Of the grounds in the last step, (contacts, 3) or (batch, contacts, 3)."""
        if self._planes:
            return self._planes[0][..., :3]
        return self._axes[:, 0] if self._stepper is None else self._stepper.axes[..., 0, :]

    def step(
        self,
        count: int = 1,
        *,
        tau: Array | None = None,
        target: Array | None = None,
        forces: Mapping[str, Array] | Callable[..., Mapping[str, Array]] | None = None,
    ) -> None:
        """Make `count` steps under joint forces `tau` and servo targets `target`, both (nv,) or (batch, nv).

        `forces` are external wrenches [force, moment] on frames by name, (6,) or (batch, 6), in world axes at their
        origins. All may be functions of (t, q, v), called before every step; arrays of numpy are read-only there.
        Omitted ones keep their last values, at first no forces and the initial configuration.
        """
        if count < 0:
            raise ShapeError(f"count must not be negative, got {count}")
        drives = {"tau": tau, "target": target, "forces": forces}
        for name, value in drives.items():
            if not callable(value):
                self._set(name, value)
        with on_threads(self.threads):
            for _ in range(count):
                for name, value in drives.items():
                    if callable(value):
                        found = value(self.time, _read_only(self.q), _read_only(self.v))
                        when = f" at t = {self.time:g} s"
                        if found is None:
                            raise ShapeError(f"{name} returned None{when}")
                        if name != "forces" and self._kind == "numpy":
                            checked = numbers(f"{name} returned", found, self.v.shape, when)
                            shape: tuple[int, ...] = np.asarray(found).shape
                            if shape not in (self.v.shape[1:], self.v.shape):
                                raise ShapeError(f"{name} returned shape {shape}{when}, expected {self.v.shape}")
                            found = checked
                        self._set(name, found)
                if self._stepper is None:
                    self._advance()
                    self._state.reverse()
                else:
                    self._advance_on_ground(self._stepper)
                self.time += self.dt

    def reset(self, rows: Rows, q: Array | None = None, v: Array | None = None) -> None:
        """Reset rows (numbers, a mask or a slice) to the initial state, or to q and v.

        With a mask on the GPU nothing is copied to the host.
        """
        try:
            for k, given in enumerate((q, v)):
                values = self._start[k] if given is None else self._like(given)
                for state in self._state:
                    self._write(rows, state[k], values, given is None)
        except (IndexError, ValueError, RuntimeError) as error:  # numpy and CuPy raise the first two, PyTorch all
            raise ShapeError(f"reset: rows, q and v do not fit together: {error}") from None
        for array in (self._bad, *self._state[0][2:]):
            self._write(rows, array, 0 * array, True)
        if self._stepper is not None:
            self._stepper.forget(rows)

    def _write(self, rows: Rows, array: Array, values: Array, of_all: bool = False) -> None:
        """array[rows] = values, or values[rows] if they are those of all rows; by a mask, nothing is copied."""
        is_mask = str(getattr(rows, "dtype", "")).rpartition(".")[2] == "bool" and rows.shape == (len(array),)
        if is_mask and (of_all or values.ndim < array.ndim or values.shape == array.shape):
            array[...] = chosen(rows, values, array)
        else:
            array[rows] = values[rows] if of_all else values

    def assign(self, rows: Rows, **parameters: Array) -> None:
        """Change parameters of some rows (numbers, a mask or a slice): `friction`, `planes`, `kp`, `kd`, and `inputs`.

        Arrays on the host are checked; those on a GPU are not, and nothing is copied to the host.
        """
        for name, value in parameters.items():
            array, examined = self._assigned(name), self._examined(name, value)
            given = self._space.planes_of(value, self.q) if name == "planes" else (self._like(examined),)
            if name == "friction" and given[0].ndim == 1 and array[0].ndim == 2:
                given = (given[0][:, None] + 0 * array[0][:1],)
            try:
                for own, new in zip(array, given, strict=True):
                    self._write(rows, own, new)
            except (IndexError, ValueError, RuntimeError) as error:
                raise ShapeError(f"assign: rows and {name} do not fit together: {error}") from None

    def _examined(self, name: str, value: Array) -> Array:
        """Values of what may differ from row to row, unless they are on a GPU refused where no robot has them."""
        if is_on_gpu(value) or name == "planes":
            return value
        x = np.asarray(value, float)
        if name in ("kp", "kd"):
            return joint_gains(self.model, name, x, len(x) if x.ndim == 2 else None)
        own = self._quantities.own[name].shape if name in self._quantities.inputs else x.shape[1:]
        if x.shape[x.ndim - len(own) :] != own:
            raise ShapeError(f"{name} must have shape {own}, or one for each row, got {x.shape}")
        good = np.isfinite(x) & (x >= (0.0 if name == "friction" else -np.inf))
        bad = np.flatnonzero(~good.reshape(-1, int(np.prod(own))).all(axis=1))
        if len(bad):
            what = "friction is a coefficient from zero" if name == "friction" else f"{name} must be finite"
            raise ShapeError(f"{what}, got {x.reshape(-1, *own)[bad[0]]} in row {bad[0]}")
        if name != "friction":
            self._quantities.examine(name, x, check=True)
        return x

    def _assigned(self, name: str) -> tuple[Array, ...]:
        """Arrays (batch, ...) of what may differ from row to row."""
        known = [*self._quantities.inputs, *(x for x in ("kp", "kd") if x in self._drives)]
        known += (["friction"] if self.contacts else []) + (["planes"] if self._planes else [])
        if name not in known:
            raise _no_input(name, known)
        if name in ("friction", "planes"):
            return (self.friction,) if name == "friction" else self._planes
        holder: Any
        key: Any
        shape: tuple[int, ...]
        if name in self._drives:
            holder, key, shape = self._drives, name, (self.model.nv,)
        else:
            holder, key, shape = self._given, self._quantities.inputs.index(name), self._quantities.own[name].shape
        if holder[key].ndim == len(shape):  # the same for all rows so far
            holder[key] = self._full((len(self.q), *shape), 0.0) + holder[key]
            self._launches = []
        return (holder[key],)

    # Steps

    def _advance(self) -> None:
        if self._report is not None and not self._space.is_flat:
            for own, new in zip(self._planes, self._space.planes_at(self.q), strict=True):
                own[...] = new
        tau = self._pushed_forces()
        if not self._launches:
            report = () if self._report is None else (self._report,)
            for (q, v, *start), results in (self._state, self._state[::-1]):
                _, *servo, dt = self._drives.values()
                touching = () if self._report is None else (self.friction, *start)
                inputs = (q, v, tau, *servo, *touching, dt, *self._planes, *self._given)
                how: dict[str, Any] = {"out": (*results, *report), "bad": self._bad, "threads": self.threads}
                if self._first is not None:
                    how["first"] = self._first
                self._launches.append(self._function.launcher(*inputs, **how))
        self._launches[0]()
        self._launches.reverse()

    def _pushed_forces(self) -> Array:
        """Joint forces with those of external wrenches, in an array that stays."""
        tau = self._drives["tau"]
        if self._wrenches is None:
            return tau
        if self._applied is None:
            self._applied, self._launches = tau + 0, []
        self._applied[...] = tau + self._wrenches(self.q, **self._given_of("placement"))
        return self._applied

    def _advance_on_ground(self, stepper: ConstrainedStepper) -> None:
        _, *servo, _ = self._drives.values()
        tau = self._pushed_forces()
        rows = tuple(
            np.ascontiguousarray(np.broadcast_to(x, (len(self.q), *self._quantities.own[name].shape)))
            for name, x in zip(self._quantities.inputs, self._given, strict=True)
        )

        def moved(some: Any) -> tuple[FloatArray, FloatArray]:
            drawn = tuple(x[some] if x.ndim == 2 else x for x in servo)
            more: Any = {"given": tuple(x[some] for x in rows), "planes": tuple(x[some] for x in self._planes)}
            own = self.q[some], self.v[some], tau[some]
            return stepper.advance(*own, self.dt, self.friction[some], servo=drawn, **more)

        try:
            after = moved(slice(None))
        except FAILURES:  # steps that are composed of several functions, in which a row fails: each by itself
            after = np.full_like(self.q, np.nan), np.full_like(self.v, np.nan)
            for r in range(len(self.q)):
                stepper.forget()
                with suppress(*FAILURES):
                    after[0][r : r + 1], after[1][r : r + 1] = moved(slice(r, r + 1))
            stepper.forget()
        self._state = [after, self._state[0]]
        if not all(np.isfinite(x.sum()) for x in after):
            self._bad |= (~np.isfinite(np.concatenate(after, axis=1)).all(axis=1)).astype(np.uint8)

    def _set(self, name: str, value: Array | None) -> None:
        if value is None:
            return
        if name == "forces":
            self._wrenches = Wrenches(self.dynamics, value, self.q)
            return
        if name not in self._drives:
            raise ShapeError(f"{name} is for servos: give servo=(kp, kd) to the ensemble")
        given, held = self._like(value), self._drives[name]
        if tuple(given.shape) not in ((self.model.nv,), tuple(held.shape)):
            raise ShapeError(f"{name} must have shape ({self.model.nv},) or {tuple(held.shape)}, got {given.shape}")
        held[...] = given

    # What does not change

    def _dynamics(self, given: Dynamics | None) -> Dynamics:
        """Functions of the model where the states are, beside those of a step."""
        if self._kind == "numpy" and given is not None and not self._quantities.inputs:
            return given
        return Dynamics(self.model, inputs=self._quantities.inputs, device=None if self._kind == "numpy" else "cuda")

    def _given_of(self, *names: str) -> dict[str, Array]:
        """Those of these quantities that are inputs."""
        own = zip(self._quantities.inputs, self._given, strict=True)
        return {name: value for name, value in own if name in names}

    def _with_contacts(
        self, dynamics: Dynamics | None, off: tuple[str, ...], rule: Integrator, servo: bool
    ) -> ConstrainedStepper:
        if self._kind == "numpy" and self.q.dtype != np.float64:
            raise ModelError("on the CPU contacts, loops and mimic joints are for float64 arrays")
        how: dict[str, Any] = {"strict": False, "parameters": self._quantities, "servo": servo, "integrator": rule}
        how["planes"] = bool(self._planes)
        if self._planes and len(self._planes[0]) != len(self.q):
            raise ShapeError(f"planes has {len(self._planes[0])} rows and q has {len(self.q)}")
        contacts = self.contacts
        if contacts is not None and self._kind != "numpy":
            contacts = replace(contacts, sweeps=contacts.sweeps or SWEEPS)
        found = ConstrainedStepper(dynamics or Dynamics(self.model), contacts, off, **how)
        own = all(isinstance(ground, Plane | HeightField) for ground in found.space.grounds)
        if self._kind != "numpy" and not (found.is_fixed and own):
            raise ModelError(
                f"{self.model.name!r} has loops, mimic joints or a ground that is no Plane and no HeightField: "
                f"on the CPU only"
            )
        if found.loops:
            check_closed(found.loops, self.q)
        if self._quantities and (found.loops or self.model.couplings):
            raise ModelError(
                f"{self.model.name!r} takes no {', '.join(self._quantities.inputs)} from row to row: "
                f"they are for robots without loops and mimic joints"
            )
        if "placement" in self._quantities.inputs and not found.space.is_flat:
            raise ModelError(f"{self.model.name!r} takes placements from row to row on planes only")
        return found

    def _on_gpu(self, stepper: ConstrainedStepper) -> tuple[CompiledFunction, CompiledFunction | None]:
        """All of a step there: states have the impulses of the last step as well, and all points a friction."""
        rows = len(self.q)
        self._state = [(*state, self._full((rows, stepper.kernels.seen), 0.0)) for state in self._state]
        self._report = self._full((rows, SLIPS + 1), 0.0)
        self._axes = self._like(stepper.space.axes)  # (contacts, 3, 3)
        self._contact_rows = stepper.kernels.of_contacts
        if not self._space.is_flat:
            self._planes = self._space.planes_at(self.q)
        self.friction = self._like(np.repeat(self.friction[:, None], stepper.count, axis=1))
        return stepper.on_gpu(str(self.q.dtype).rpartition(".")[2])

    def _frictions(self, given: Array | None) -> FloatArray:
        own = self.contacts.friction if self.contacts else 0.0
        found, batch = self._examined("friction", on_host(own if given is None else given)), len(self.q)
        if found.shape not in ((), (batch,)):
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
            found["kp"], found["kd"] = (self._like(x) for x in servo_gains(self.model, servo, rows))
        found["dt"] = self._full((1,), self.dt)
        return found

    def _parameters(self, inputs: Sequence[str], given: dict[str, Array]) -> list[Array]:
        quantities = self._quantities = Parameters(self.model, check_inputs(self.model, inputs))
        unknown = [name for name in given if name not in quantities.inputs]
        if unknown:
            raise _no_input(unknown[0], quantities.inputs)
        for name, value in given.items():
            own, got = quantities.own[name].shape, np.shape(self._examined(name, on_host(value)))
            if got not in (own, (len(self.q), *own)):
                raise ShapeError(f"{name} must have shape {own} or {(len(self.q), *own)}, got {got}")
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


def _read_only(x: Array) -> Array:
    """A view that cannot be written to; the array itself on a GPU."""
    if not isinstance(x, np.ndarray):
        return x
    view = x.view()
    view.setflags(write=False)
    return view


def _kind(x: Array) -> str:
    """The library of an array; one on the host is numpy's."""
    if getattr(x, "requires_grad", False):
        raise ShapeError("an ensemble gives no gradients: detach its states, or use bough.torch")
    library = library_of(x)
    if library not in ("numpy", "torch", "cupy"):
        raise ShapeError(f"on a GPU an ensemble takes arrays of PyTorch or CuPy, got {type(x).__name__}")
    return library
