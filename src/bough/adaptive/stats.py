"""What a simulation reports about itself."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Stats:
    """What the last steps and the present solution cost, and how good they are."""

    method: str  # "adaptive", "dca" or "aba": how the last step was taken
    steps: int
    time: float  # simulated, s
    joints: float  # joint accelerations computed: of the present solution, or per step of the last call
    full_nodes: float  # nodes redone in full, per step of the last call
    linear_nodes: float  # nodes redone for forces only, per step of the last call
    bound: float  # error bound of the present solution, or of the last step, in the terms of the measure
    acceleration: float  # norm of all joint accelerations, weighted; NaN where it is not known
    certificate: float  # sum over steps of the joint motion that culling left out at most
    noise_floor: float  # smallest eps with a meaning; NaN before it is measured
    seconds: float  # per step of the last call
    memory: int  # bytes held
