"""Prescribed motion: joints, or a floating base, that follow functions of time; `laws` locks them to it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import numpy as np

from bough.errors import NonFiniteError, ShapeError, short
from bough.model import Model
from bough.types import FloatArray

Path: TypeAlias = Callable[[float], Any]  # a position, or (position, velocity), at a time


def numbers(what: str, given: Any, shape: tuple[int, ...], when: str = "", strict: bool = False) -> FloatArray:
    """A new array of this shape from a caller's numbers; finite ones if `strict`."""
    try:
        if np.iscomplexobj(given):
            raise TypeError
        found = np.asarray(given, float)
    except (TypeError, ValueError):
        raise ShapeError(f"{what} {short(repr(given))}{when}, expected an array of shape {shape}") from None
    if given is None:
        raise ShapeError(f"{what} None{when}, expected an array of shape {shape}")
    if strict and not np.isfinite(found).all():
        raise NonFiniteError(f"{what} a value that is not finite{when}: {short(repr(given))}")
    try:
        return np.array(np.broadcast_to(found, shape))
    except ValueError:
        raise ShapeError(f"{what} shape {found.shape}{when}, expected {shape}") from None


class PrescribedMotion:
    """The input `lead` of a step: joints by name that follow functions of time."""

    def __init__(self, model: Model, paths: Mapping[str, Path]) -> None:
        self.model, self.paths = model, paths
        for name, path in paths.items():
            model.joint(name)  # an unknown one is refused by name
            if not callable(path):
                raise ShapeError(f"motion[{name!r}] is a function of time, got {type(path).__name__}")
        self.coordinates = [k for name in paths for k in range(model.nq)[model.joint(name).q]]
        self.dofs = [v for name in paths for v in range(model.nv)[model.joint(name).v]]

    def __call__(self, t: float, dt: float, q: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Velocities (..., nv) at t + dt, and q with prescribed joints where they are then.

        Where only positions are known, the velocity is the one that leads there in dt.
        """
        goal, velocity = q.copy(), {}
        for name, path in self.paths.items():
            joint, found = self.model.joint(name), path(t + dt)
            who, when = f"motion[{name!r}] returned", f" at t = {t + dt:g} s"
            if isinstance(found, tuple):
                if len(found) not in (2, 3):
                    raise ShapeError(f"{who} {len(found)} things{when}, expected a position, and maybe a velocity")
                velocity[name] = numbers(who, found[1], (joint.v.stop - joint.v.start,), when, True)
                found = found[0]
            goal[..., joint.q] = numbers(who, found, (joint.q.stop - joint.q.start,), when, True)
        lead = self.model.difference(q, goal) / dt
        for name, rate in velocity.items():
            lead[..., self.model.joint(name).v] = rate
        return lead, goal
