"""What a simulation reports about itself."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from bough.types import FloatArray


@dataclass(frozen=True)
class Cost:
    """What the last steps, or the present solution, took: per step."""

    method: str  # "adaptive", "dca" or "aba"
    joints: float = math.nan  # joint accelerations computed
    full: float = 0.0  # nodes redone in full
    linear: float = 0.0  # nodes redone for their forces only
    seconds: float = math.nan


@dataclass(frozen=True)
class Stats:
    """What the last steps and the present solution cost, and how good they are."""

    method: str  # "adaptive", "dca" or "aba": how the last step was taken
    steps: int
    time: float  # sum of dt, s; what converges is the pseudo-time
    joints: float  # joint accelerations computed: of the present solution, or per step of the last call
    full_nodes: float  # nodes redone in full, per step of the last call
    linear_nodes: float  # nodes redone for forces only, per step of the last call
    bound: float  # error bound of the present solution, or of the last step, in the terms of the measure
    acceleration: float  # norm of all joint accelerations, weighted; NaN where it is not known
    certificate: float  # sum over steps of the joint motion that culling left out at most
    noise_floor: float  # smallest eps with a meaning; NaN before it is measured
    seconds: float  # per step of the last call
    memory: int  # bytes held
    pseudo_time: float = 0.0  # sum of h = dt^2 / 2, s^2
    cuts: int = 0  # parts beyond the first of all steps that were cut because a joint would turn too far
    opening: float = 0.0  # how far the loops are open now, m or rad
    active: int = 0  # joints that move in the present solution, or in the last step
    power: float = math.nan  # qdd' M qdd = tau' qdd of it, the rate of descent; NaN where joints left out are not rigid
    complexity: float = math.nan  # of the motion: joints computed / all joints (Redon & Lin 2005, section 6.4)

    @property
    def sample(self) -> dict[str, Any]:
        """What a recording keeps of it."""
        return {name: getattr(self, name) for name in ("steps", "time", "joints", "bound", "seconds")}


@dataclass(frozen=True)
class MotionStats:
    """What the last steps of a motion cost, and how good they are."""

    method: str  # "adaptive" or "full": how the last step was taken
    steps: int
    time: float  # s
    active: int  # joints that move by themselves
    acceleration_error: float  # sqrt(Delta / M) when the region was chosen, m/s^2: rms by mass of what locking changes
    energy_lost: float  # J, taken by locking joints that moved
    energy: float  # J, kinetic and potential
    kinetic_energy: float  # J
    momentum: FloatArray  # (6,) [linear, angular] about the world's origin
    memory: int  # bytes held
    cuts: int = 0  # parts beyond the first of all steps that were cut, because a joint would turn too far

    @property
    def sample(self) -> dict[str, Any]:
        """What a recording keeps of it."""
        names = ("steps", "time", "active", "acceleration_error", "energy_lost", "energy", "momentum")
        return {name: getattr(self, name) for name in names}
