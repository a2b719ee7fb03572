"""Simulation: fixed-step integrators on the configuration manifold, rollouts of one or many states, recordings.

Munthe-Kaas 1999 for Runge-Kutta on Lie groups; Hairer, Lubich & Wanner 2006 for the midpoint rule.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from bough.dynamics.dynamics import Dynamics
from bough.errors import MissingExtraError, ModelError, NonFiniteError, NumericalError, ShapeError
from bough.joints import BALL, FREE, PLANAR
from bough.model import Model

Array = npt.NDArray[np.float64]
Acceleration: TypeAlias = Callable[[Array, Array], Array]
Torque: TypeAlias = Callable[[float, Array, Array], npt.ArrayLike]
Motion: TypeAlias = Callable[[Array, Array, Array], Array]
Step: TypeAlias = Callable[[Model, Acceleration, Array, Array, float], tuple[Array, Array]]

# Fixed-point iterations of the midpoint rule: each gains about a factor of 1 / (rate dt)
MIDPOINT_ITERATIONS, MIDPOINT_TOLERANCE = 30, 1e-14


def semi_implicit_euler(model: Model, acceleration: Acceleration, q: Array, v: Array, dt: float) -> tuple[Array, Array]:
    """First order; the position moves with the new velocity, which keeps oscillations from growing."""
    v = v + dt * acceleration(q, v)
    return model.integrate(q, dt * v), v


def runge_kutta_4(model: Model, acceleration: Acceleration, q: Array, v: Array, dt: float) -> tuple[Array, Array]:
    """Fourth order on vector spaces and rotations alike: steps are taken in the tangent space at q (Munthe-Kaas)."""
    steps: list[Array] = []
    rates: list[Array] = []
    u, x = np.zeros_like(v), v
    for share in (0.5, 0.5, 1.0, None):
        steps.append(_tangent_rate(model, u, x))
        rates.append(acceleration(model.integrate(q, u), x))
        if share is not None:
            u, x = share * dt * steps[-1], v + share * dt * rates[-1]
    weights = (1 / 6, 1 / 3, 1 / 3, 1 / 6)
    move = sum(w * s for w, s in zip(weights, steps, strict=True))
    gain = sum(w * r for w, r in zip(weights, rates, strict=True))
    return model.integrate(q, dt * move), v + dt * gain


def lie_midpoint(model: Model, acceleration: Acceleration, q: Array, v: Array, dt: float) -> tuple[Array, Array]:
    """Second order and symmetric in time, so that energy does not drift; implicit, by fixed-point iteration."""
    middle = v
    for _ in range(MIDPOINT_ITERATIONS):
        last = middle
        middle = v + 0.5 * dt * acceleration(model.integrate(q, 0.5 * dt * middle), middle)
        if np.abs(middle - last).max(initial=0.0) <= MIDPOINT_TOLERANCE * (1.0 + np.abs(middle).max(initial=0.0)):
            break
    return model.integrate(q, dt * middle), 2.0 * middle - v


INTEGRATORS: dict[str, Step] = {
    "semi_implicit_euler": semi_implicit_euler,
    "rk4": runge_kutta_4,
    "lie_midpoint": lie_midpoint,
}


def _tangent_rate(model: Model, u: Array, v: Array) -> Array:
    """The rate of the tangent vector u when q exp(u) moves with the body velocity v: v + [u, v]/2 + [u, [u, v]]/12."""
    first = _bracket(model, u, v)
    return v + 0.5 * first + _bracket(model, u, first) / 12.0


def _bracket(model: Model, x: Array, y: Array) -> Array:
    """The Lie bracket of tangent vectors, zero for joints that move on vector spaces."""
    m, out = model.mechanism, np.zeros_like(x)
    for i in np.flatnonzero(m.kind >= PLANAR):
        v = m.v_index[m.dof[i] : m.dof[i + 1]]
        a, b = x[..., v], y[..., v]
        if m.kind[i] == BALL:
            out[..., v] = np.cross(a, b)
        elif m.kind[i] == FREE:
            linear = np.cross(a[..., 3:], b[..., :3]) - np.cross(b[..., 3:], a[..., :3])
            out[..., v] = np.concatenate([linear, np.cross(a[..., 3:], b[..., 3:])], axis=-1)
        else:
            out[..., v[0]] = b[..., 2] * a[..., 1] - a[..., 2] * b[..., 1]
            out[..., v[1]] = a[..., 2] * b[..., 0] - b[..., 2] * a[..., 0]
    return out


@dataclass(frozen=True, eq=False)
class Recording:
    """A motion: time (T,), q (T, nq), v (T, nv), tau (T, nv); with many states (T, batch, ...)."""

    model: Model
    time: Array
    q: Array
    v: Array
    tau: Array
    extra: dict[str, Array] = field(default_factory=dict)

    def energy(self) -> Array:
        """Kinetic and potential energy (T,) in joules."""
        dynamics = Dynamics(self.model, general=True)
        flat = self.q.reshape(-1, self.q.shape[-1]), self.v.reshape(-1, self.v.shape[-1])
        total = dynamics.kinetic_energy(*flat) + dynamics.potential_energy(flat[0])
        return np.asarray(total).reshape(self.q.shape[:-1])

    def momentum(self) -> Array:
        """[linear, angular] momentum (T, 6) about the world's origin."""
        dynamics = Dynamics(self.model, general=True)
        flat = self.q.reshape(-1, self.q.shape[-1]), self.v.reshape(-1, self.v.shape[-1])
        return dynamics.momentum(*flat).reshape(*self.q.shape[:-1], 6)

    def drift(self) -> dict[str, float]:
        """Largest change of energy (J) and of momentum (N s, N m s) since the start."""
        energy, momentum = self.energy(), self.momentum()
        return {
            "energy": float(np.abs(energy - energy[0]).max()),
            "momentum": float(np.abs(momentum - momentum[0]).max()),
        }

    def save(self, path: str | Path) -> Path:
        """Write an .npz or a .parquet file (one row for each time and state)."""
        path = Path(path)
        if path.suffix == ".npz":
            arrays: dict[str, Any] = {"time": self.time, "q": self.q, "v": self.v, "tau": self.tau, **self.extra}
            np.savez_compressed(path, model=np.array([self.model.name, self.model.hash]), **arrays)
        elif path.suffix == ".parquet":
            _write_parquet(self, path)
        else:
            raise ShapeError(f"a recording is saved as .npz or .parquet, got {path.name!r}")
        return path

    @classmethod
    def load(cls, path: str | Path, model: Model) -> Recording:
        """Read an .npz file that `save` wrote; another model's recording is refused."""
        with np.load(path) as data:
            name, digest = data["model"].tolist()
            if digest != model.hash:
                raise ModelError(f"{path} is a recording of {name!r}, which is not the same model as {model.name!r}")
            own = {key: data[key] for key in ("time", "q", "v", "tau")}
            extra = {key: data[key] for key in data.files if key not in own and key != "model"}
        return cls(model, **own, extra=extra)


def _write_parquet(recording: Recording, path: Path) -> None:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise MissingExtraError("pyarrow is needed for Parquet files: install bough[tables]") from None
    version = import_module("bough").__version__
    states = recording.q[0].size // recording.q.shape[-1]
    columns: dict[str, Any] = {"time": np.repeat(recording.time, states)}
    columns["state"] = np.tile(np.arange(states), len(recording.time))
    for name in ("q", "v", "tau"):
        flat = getattr(recording, name).reshape(len(recording.time) * states, -1)
        columns |= {f"{name}{k}": flat[:, k] for k in range(flat.shape[1])}
    for name, array in recording.extra.items():
        flat = array.reshape(len(recording.time), -1)
        columns |= {f"{name}{k}": np.repeat(flat[:, k], states) for k in range(flat.shape[1])}
    meta = {"model": recording.model.name, "model_hash": recording.model.hash, "bough": version}
    table = pyarrow.table(columns).replace_schema_metadata(meta | {"dtype": str(recording.q.dtype)})
    pyarrow.parquet.write_table(table, path)


def rollout(
    model: Model,
    q: npt.ArrayLike,
    v: npt.ArrayLike,
    *,
    duration: float,
    dt: float,
    torque: Torque | None = None,
    motion: Motion | None = None,
    integrator: str = "semi_implicit_euler",
    every: int = 1,
    progress: bool = False,
) -> Recording:
    """The motion from q (nq,) and v (nv,), or from many states (batch, ...), for `duration` seconds in steps of dt.

    `torque(t, q, v)` is asked once a step and held, zero if there is none; `motion(q, v, tau)` gives the acceleration,
    forward dynamics if there is none. Every `every`-th step is recorded, start and end too.
    """
    if integrator not in INTEGRATORS:
        raise ShapeError(f"there is no integrator {integrator!r}; expected {', '.join(INTEGRATORS)}")
    if not (dt > 0.0 and duration >= dt and every >= 1):
        raise ShapeError(f"expected 0 < dt <= duration and every >= 1, got dt={dt}, duration={duration}, every={every}")
    step, steps = INTEGRATORS[integrator], round(duration / dt)
    q, v = np.array(q, float), np.array(v, float)
    accelerate = motion or Dynamics(model).forward_dynamics
    rest, taken = np.zeros_like(v), []
    with _progress(progress, steps) as advance:
        for k in range(steps):
            tau = rest if torque is None else np.asarray(torque(k * dt, q, v), float)
            if k % every == 0:
                taken.append((k * dt, q, v, tau))
            try:
                q, v = step(model, lambda x, y, held=tau: accelerate(x, y, held), q, v, dt)  # type: ignore[misc]
            except NonFiniteError:
                message = f"the motion became infinite at t = {(k + 1) * dt:g} s: take a smaller step"
                raise NumericalError(message) from None
            advance()
    taken.append((steps * dt, q, v, taken[-1][3]))
    time, q, v, tau = (np.array(column) for column in zip(*taken, strict=True))
    return Recording(model, time, q, v, tau)


@contextmanager
def _progress(wanted: bool, steps: int) -> Iterator[Callable[[], None]]:
    if not wanted:
        yield lambda: None
        return
    from rich.progress import Progress

    with Progress() as bar:
        task = bar.add_task("simulating", total=steps)
        yield lambda: bar.advance(task)
