"""Rollouts: the motion of one state or many through time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from bough.dynamics.dynamics import Dynamics
from bough.errors import NonFiniteError, NumericalError, ShapeError
from bough.model import Model
from bough.simulate.integrators import INTEGRATORS
from bough.simulate.recording import Recording

Array = npt.NDArray[np.float64]
Torque: TypeAlias = Callable[[float, Array, Array], npt.ArrayLike]
Motion: TypeAlias = Callable[[Array, Array, Array], Array]


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
