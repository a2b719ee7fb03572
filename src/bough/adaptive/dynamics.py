"""`Dynamics`: motion of huge linkages in which hardly moving joints are locked (after Redon, Galoppo & Lin 2005)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from numbers import Real

import numpy as np
import numpy.typing as npt

from bough.adaptive.closure import Closure, with_those_of
from bough.adaptive.forces import vector
from bough.adaptive.measures import ErrorMeasure
from bough.adaptive.simulation import Simulation, exclusive
from bough.adaptive.solver import MotionSolver
from bough.adaptive.stats import MotionStats, Recorder
from bough.adaptive.stepper import MotionStepper
from bough.arguments import explained
from bough.dynamics.prescribed import Path
from bough.errors import SettingError
from bough.model import Model
from bough.types import BoolArray, FloatArray


@explained
class Dynamics(Simulation):
    """Motion of a linkage in time, with velocities.

    Methods: "full" (all joints, O(n) steps), "adaptive" (joints that hardly move are locked: the linkage is a
    tree of rigid clusters, as small as `error` allows, and a step costs what moves), "auto" (whichever is cheaper).
    `error` is `body_acceleration(eps)` or `rms_acceleration(eps)`, m/s^2; None or eps = 0 locks nothing. Which joints
    are active is chosen every `every` steps, by default 10 to 40, the fewer the more clusters were activated at the
    last choice; at most about `most` of them where it is given.

    Integrators: "semi_implicit" (first order; springs and dampers are implicit), "rk4" (fourth order), "momentum"
    (keeps the momentum of a free linkage to rounding; first order, for damped motion). `without` leaves out effects of
    the model's joints: "damping", "springs", "friction", "limits", "closures". `closures` close loops, beside those of
    the model. With `max_turn` (rad) steps are cut into equal parts in which no joint turns by more, as fast as it is
    at the last choice.

    `motion` prescribes joints by name, a floating base alike: functions of time that give a position, or (position,
    velocity), in the layout of q and v, as in `simulate.rollout`. They are always active, and accelerate evenly in a
    step; "rk4" refuses them.
    """

    _title = "dynamics"

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
        motion: Mapping[str, Path] | None = None,
    ) -> None:
        super().__init__(model, without)
        self.solver: MotionSolver = MotionSolver(self.inputs, error, method, integrator, every, most, motion)
        self.stepper: MotionStepper = MotionStepper(self.solver, max_turn)
        self.solver.close(with_those_of(self.inputs.model, closures))

    @property
    def velocity(self) -> FloatArray:
        """v (nv,), a copy; assigning gives the linkage another motion, of which loops leave what keeps them closed."""
        return np.array(self.solver.motion.v)

    @velocity.setter
    def velocity(self, v: npt.ArrayLike) -> None:
        self.solver.motion.v[:] = vector(v, self.model.nv, "velocity")
        self.stepper.restart()

    @property
    def motion(self) -> dict[str, Path]:
        """Functions of time that joints follow; others may be assigned between steps, None or {} to set them free."""
        return {} if self.solver.paths is None else dict(self.solver.paths.paths)

    @motion.setter
    def motion(self, paths: Mapping[str, Path] | None) -> None:
        self.solver.prescribe(paths)
        self.stepper.restart()

    @exclusive
    def velocities(self, bodies: Iterable[str | int] | None = None) -> FloatArray:
        """[linear, angular] (k, 6) of bodies or frames at their origins, in the world's axes."""
        frames, ks = self.inputs.model.frames, self._frames(bodies)
        return self._in_world(ks, self.solver.velocities(np.maximum(frames.body[ks], 0)), frames.p[ks])

    @exclusive
    def refine(self, microseconds: float | None = None, budget: int | None = None) -> float:
        """Make more joints active than the error asks for, for some time or up to about a number of them, each time by
        the rule with half the eps; returns the `acceleration_error` reached. It holds until an error is assigned."""
        region = self.solver.region
        if self.solver.is_exact or not region.ready(region.h, keep=False):
            return 0.0
        return region.refine(microseconds, budget)

    @property
    def active(self) -> int:
        """Joints that move by themselves now; all others are locked."""
        return self.solver.active

    @property
    def moving(self) -> BoolArray:
        """(bodies,) True where the joint that moves a body is active now, in the order of `body_names`."""
        return self.solver.moving()

    @property
    def energy_lost(self) -> float:
        """Energy taken by locking joints that moved, J."""
        return self.solver.region.energy_lost

    @property
    def acceleration_error(self) -> float:
        """sqrt(Delta / M), m/s^2, when the active joints were chosen last: what locking changes, root mean square by
        mass over all bodies."""
        return self.solver.region.acceleration_error

    @property
    def energy(self) -> float:
        """Kinetic energy and potential one of gravity and springs, J. O(active joints), after O(n) at first."""
        return float(self.solver.tally()[:3].sum())

    @property
    def momentum(self) -> FloatArray:
        """[linear, angular] (6,) about the world's origin, in its axes. O(active joints), like `energy`."""
        return self.solver.tally()[3:]

    @property
    def stats(self) -> MotionStats:
        """Costs and quality; see `MotionStats`. O(active joints), like `energy`."""
        solver, stepper, found = self.solver, self.stepper, self.solver.tally()
        return MotionStats(
            solver.cost.method, stepper.steps, stepper.time, solver.active, self.acceleration_error, self.energy_lost,
            float(found[:3].sum()), float(found[0]), found[3:], solver.nbytes, stepper.cuts,
        )  # fmt: skip

    # Stepping

    def step(self, dt: float) -> None:
        """One step of dt seconds."""
        self._move(1, dt, False, None, None)

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
        self._move(n, dt, progress, record, load)

    def _move(
        self, n: int, dt: float, progress: bool, record: Recorder | None, load: Callable[[Dynamics], None] | None
    ) -> None:
        if not ((type(dt) is float or isinstance(dt, Real)) and math.isfinite(dt) and dt > 0.0):
            raise SettingError(f"a step must be a positive, finite time dt in s, got {dt!r}")
        self._run(n, float(dt), float(dt), progress, record, load)
