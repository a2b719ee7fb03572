"""`Dynamics`: motion of huge linkages in which what hardly moves is rigid (after Redon, Galoppo & Lin 2005)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from numbers import Real
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from bough.adaptive.checkpoint import checkpoint_of, mover_options, mover_state, restore_mover
from bough.adaptive.closure import Closure, Closures, distinct
from bough.adaptive.cost import motion_cost
from bough.adaptive.forces import vector
from bough.adaptive.measures import ErrorMeasure
from bough.adaptive.mover import MotionOptions, Mover
from bough.adaptive.outputs import MotionOutputs
from bough.adaptive.restraints import Owner
from bough.adaptive.simulation import Interrupts, Simulation, exclusive
from bough.adaptive.stats import MotionStats, Recorder
from bough.arguments import explained
from bough.errors import SettingError
from bough.model import Model
from bough.types import BoolArray, FloatArray


@explained
class Dynamics(Simulation):
    """Motion of a linkage in time, with velocities.

    Methods: "full" (all joints, plain O(n) steps), "adaptive" (joints that hardly move are locked: the linkage is a
    tree of rigid clusters, as small as `error` allows, and a step costs what moves), "auto" (whichever is cheaper).
    `error` is `body_acceleration(eps)` or `rms_acceleration(eps)`, m/s^2; None or eps = 0 locks nothing. Which joints
    are active is chosen every `every` steps, by default 10 to 40, the fewer the more clusters had to be opened at the
    last choice; at most about `most` of them where it is given.

    Integrators: "semi_implicit" (first order; springs and dampers are implicit), "rk4" (fourth order), "momentum"
    (keeps the momentum of a free linkage to rounding; first order, for damped motion). `without` leaves out effects of
    the model's joints: "damping", "springs", "friction", "limits", "closures". `closures` close loops, beside those of
    the model. With `max_turn` (rad) steps are cut into equal parts in which no joint turns by more, as fast as it is
    at the last choice.
    """

    def __init__(
        self,
        model: Model,
        error: ErrorMeasure | None = None,
        method: str = "auto",
        *,
        integrator: str = "semi_implicit",
        without: Iterable[str] = (),
        every: int | None = None,
        most: int | None = None,
        max_turn: float | None = None,
        closures: Sequence[Closure] = (),
    ) -> None:
        super().__init__(model, without)
        options = MotionOptions(method, integrator, every, most, max_turn)
        self.mover = Mover(self.inputs, error, options, tuple(closures))
        self.outputs: MotionOutputs = MotionOutputs(self.mover)

    def _owner(self) -> Owner:
        return Owner(self.inputs, lambda: self.time, self.mover.poses)

    def _loops(self) -> Closures | None:
        return self.mover.closures

    def _has_moved(self) -> None:
        self.mover.state.v[:] = 0.0
        self.mover.restart()

    # What is set

    @property
    def method(self) -> str:
        """As given."""
        return self.mover.method

    @property
    def gravity(self) -> FloatArray:
        """Acceleration of free fall (3,) in m/s^2, a copy, the model's until another is assigned."""
        return self.inputs.gravity

    @gravity.setter
    def gravity(self, value: npt.ArrayLike) -> None:
        before, self.inputs.gravity = self.gravity, np.asarray(value)
        if not np.array_equal(before, self.gravity):
            self.mover.restart(jolted=False)

    @property
    def configuration(self) -> FloatArray:
        """q (nq,), a copy; assigning moves the linkage there, with the velocity as it is."""
        return self.inputs.configuration

    @configuration.setter
    def configuration(self, q: npt.ArrayLike) -> None:
        self.inputs.configuration = np.asarray(q)
        self.mover.restart()

    @property
    def velocity(self) -> FloatArray:
        """v (nv,), a copy; assigning gives the linkage another motion, of which loops leave what keeps them closed."""
        return np.array(self.mover.state.v)

    @velocity.setter
    def velocity(self, v: npt.ArrayLike) -> None:
        self.mover.state.v[:] = vector(v, self.model.nv, "velocity")
        self.mover.restart()

    @property
    def closures(self) -> tuple[Closure, ...]:
        """Loops that are held, those of the model among them; others may be assigned between steps, to add and cut.

        They must be closed where the linkage is, and leave of its velocity what keeps them so.
        """
        return () if self.mover.closures is None else self.mover.closures.closures

    @closures.setter
    def closures(self, given: Iterable[Closure]) -> None:
        self.mover.close(distinct(given))

    # What follows

    @exclusive
    def accelerations(self) -> FloatArray:
        """Joint accelerations (nv,) here and now."""
        return self.mover.solve().copy()

    @exclusive
    def velocities(self, bodies: Iterable[str | int] | None = None) -> FloatArray:
        """[linear, angular] (k, 6) of bodies or frames at their origins, in the world's axes."""
        return self.outputs.motions(bodies)

    @exclusive
    def constraint_forces(self, joints: Iterable[str | int] | None = None) -> FloatArray:
        """[force, moment] (k, 6) on the bodies that joints move, through these joints, at the bodies' origins, in the
        world's axes, as the linkage moves now; locked joints transmit what holds them. All joints without an argument.
        O(n)."""
        return self.outputs.transmitted(joints)

    @exclusive
    def refine(self, microseconds: float | None = None, budget: int | None = None) -> float:
        """Make more joints active than the error asks for, for some time or up to about a number of them, each time by
        the rule with half the eps; returns the `acceleration_error` reached. It holds until an error is assigned."""
        return self.mover.refine(microseconds, budget)

    def _expected(self, measure: ErrorMeasure) -> tuple[int, float]:
        mover, closures = self.mover, () if self.mover.closures is None else self.mover.closures.closures
        given: dict[str, Any] = {"integrator": mover.integrator, "every": mover.given, "most": mover.most}
        other = Dynamics(self.inputs.model, measure, "adaptive", closures=closures, **given)
        other.inputs.restore(*self.inputs.state())
        other.velocity = self.velocity
        other.accelerations()
        return other.active, motion_cost(other.active, other.mover.every)

    def opening(self) -> float:
        """How far the loops are open now: the largest component, m or rad; 0 without closures."""
        return self.mover.opening()

    @property
    def steps(self) -> int:
        """Steps taken."""
        return self.mover.steps

    @property
    def time(self) -> float:
        """Time gone by, s."""
        return self.mover.time

    @property
    def active(self) -> int:
        """Joints that move by themselves now; all others are locked."""
        return self.mover.active

    @property
    def moving(self) -> BoolArray:
        """(bodies,) True where the joint that moves a body is active now, in the order of `body_names`."""
        return self.mover.moving()

    @property
    def energy_lost(self) -> float:
        """Energy taken by locking joints that moved, J."""
        return self.mover.energy_lost

    @property
    def acceleration_error(self) -> float:
        """sqrt(Delta / M), m/s^2, when the active joints were chosen last: what locking changes, root mean square by
        mass over all bodies."""
        return self.mover.acceleration_error

    @property
    def error(self) -> ErrorMeasure:
        """The error measure; another may be assigned between steps."""
        return self.mover.error

    @error.setter
    def error(self, measure: ErrorMeasure) -> None:
        self.mover.error = measure

    @property
    def energy(self) -> float:
        """Kinetic energy and potential one of gravity and springs, J. O(active joints), after O(n) at first."""
        return float(self.mover.tally()[:3].sum())

    @property
    def momentum(self) -> FloatArray:
        """[linear, angular] (6,) about the world's origin, in its axes. O(active joints), like `energy`."""
        return self.mover.tally()[3:]

    @property
    def stats(self) -> MotionStats:
        """Costs and quality; see `MotionStats`. O(active joints), like `energy`."""
        mover, found = self.mover, self.mover.tally()
        return MotionStats(
            mover.last, mover.steps, mover.time, mover.active, mover.acceleration_error, mover.energy_lost,
            float(found[:3].sum()), float(found[0]), found[3:], mover.nbytes, mover.cuts,
        )  # fmt: skip

    # Stepping

    def step(self, dt: float) -> None:
        """One step of dt seconds."""
        self.run(1, dt)

    def run(
        self,
        n: int,
        dt: float,
        progress: bool = False,
        record: Recorder | None = None,
        *,
        load: Callable[[Dynamics], None] | None = None,
    ) -> None:
        """n steps of dt seconds; `record` takes a sample every few of them.

        `load` is called with this simulation before every step, to set forces and torques; with "rk4" at each of the
        four stages of a step, at their places and times: forces that follow the motion are of fourth order, too. When a
        step diverges, all is as it was after the step before, and the step and the joint are named.
        """
        if not (isinstance(dt, Real) and math.isfinite(dt) and dt > 0.0):
            raise SettingError(f"a step must be a positive, finite time dt in s, got {dt!r}")

        def take(most: int, interrupts: Interrupts) -> int:
            if load is None:
                return self.mover.take(most, float(dt))
            interrupts.call(lambda: load(self))
            return self.mover.take(1, float(dt), keep=True, load=lambda: interrupts.call(lambda: load(self)))

        try:
            self._run("dynamics", n, progress, record, take)
        finally:
            self._release()

    # Checkpoints

    def _parts(self) -> tuple[dict[str, Any], dict[str, Any]]:
        arrays, known = mover_state(self.mover)
        return arrays, {"motion": known}

    @classmethod
    def resume(cls, model: Model, path: str | Path) -> Dynamics:
        """Go on from a checkpoint of the same model; a damaged one, or one of another model, is refused."""
        arrays, facts = checkpoint_of(model, path, "motion")
        given, options = mover_options(facts["motion"])
        sim = cls(model, *given, without=facts["without"], **options)
        sim.closures = tuple(Closure(*c) for c in facts["motion"].get("closures", []))
        sim._restore_inputs(arrays, facts)
        restore_mover(sim.mover, arrays, facts["motion"])
        return sim
