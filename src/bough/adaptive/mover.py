"""The motion of a linkage for the present inputs: which engine takes the next steps, and where bodies are and go."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from bough.adaptive.engines import PlainEngine
from bough.adaptive.inputs import Inputs
from bough.adaptive.measures import ErrorMeasure
from bough.adaptive.motion import INTEGRATORS, MotionEngine, make_effort, make_moving
from bough.errors import ModelError, NumericalError
from bough.model import Model
from bough.types import FloatArray, IntArray

METHODS = ("auto", "adaptive", "full")
EFFECTS = ("damping", "springs", "friction", "limits", "closures")


class Mover:
    """Moves a linkage; options as in `Dynamics`."""

    def __init__(
        self, inputs: Inputs, error: ErrorMeasure | None, method: str, integrator: str, without: Iterable[str]
    ) -> None:
        if method not in METHODS:
            raise ValueError(f"there is no method {method!r}; known: {', '.join(METHODS)}")
        if integrator not in INTEGRATORS:
            raise ValueError(f"there is no integrator {integrator!r}; known: {', '.join(INTEGRATORS)}")
        off = (without,) if isinstance(without, str) else tuple(without)
        unknown = [name for name in off if name not in EFFECTS]
        if unknown:
            raise ValueError(f"joints have no effect {unknown[0]!r}; known: {', '.join(EFFECTS)}")
        model, shared = inputs.model, inputs.shared
        if model.couplings:
            name = model.couplings[0].follower
            raise ModelError(f"joint {name!r} mimics another: adaptive dynamics has no coupled joints")
        refuse(model, off)
        self.inputs, self.method, self.error, self.without = inputs, method, error, off
        self.integrator = integrator
        self.state = make_moving(model, shared.q, shared.qdd)
        self.full = MotionEngine(inputs.mechanism, make_effort(model, inputs.mechanism, shared.tau, off), self.state)
        self.plain = PlainEngine(inputs.mechanism, shared)
        self.steps, self.time = 0, 0.0
        self.last = "full"  # how the last step was taken

    def take(self, most: int, h: float) -> int:
        """Take at least one step and at most so many; returns how many."""
        left = self.full.march(self.inputs.forces.loads(), self.integrator, h, most)
        self._count(most - left, h)
        if left:
            raise self._diverged(self.full, h)
        return most

    def _count(self, done: int, h: float) -> None:
        self.steps, self.time = self.steps + done, self.time + done * h

    def _diverged(self, engine: MotionEngine, h: float) -> NumericalError:
        name = self.inputs.model.dof_names[engine.stuck]
        return NumericalError(
            f"the motion diverges in step {self.steps + 1}, at t = {self.time:.6g} s, first at {name!r}: take steps "
            f"smaller than {h:g} s, or another integrator; the state is that before the step"
        )

    def solve(self, h: float = 0.0) -> FloatArray:
        """Joint accelerations (nv,) here and now; not a copy."""
        self.full.solve(self.inputs.forces.loads(), h)
        return self.state.qdd

    def tally(self) -> FloatArray:
        """See `MotionEngine.tally`. O(n)."""
        return self.full.tally()

    def poses(self, bodies: IntArray) -> FloatArray:
        """(k, 12) R and p of laid frames of primitives in the world."""
        return self.plain.poses(bodies)

    def velocities(self, bodies: IntArray) -> FloatArray:
        """(k, 6) velocities of primitives in their laid frames, angular first. O(n)."""
        self.full.kinetic_energy()
        return np.asarray(self.full.work.a[bodies])


def refuse(model: Model, without: tuple[str, ...]) -> None:
    """Say what a motion does not have yet, unless it is left out."""
    limited = np.isfinite(model.limits.lower).any() or np.isfinite(model.limits.upper).any()
    for name, present in (
        ("friction", model.friction.any()),
        ("limits", limited),
        ("closures", len(model.closures)),
    ):
        if present and name not in without:
            raise ModelError(
                f"{model.name!r} has {name}, which adaptive dynamics leaves out only if told so: without=({name!r},)"
            )
