"""Error-bounded adaptive quasi-statics of huge linkages (Redon & Lin 2005), and their motion with velocities.

Belongs here: simulations, what a user sets on them and asks of them, error measures, closures, recordings and
checkpoints; in packages of their own the assembly trees, the algebra of a node, the passes and the engines. Does not
belong here: contacts and batches of small robots (`simulate`, `dynamics`).
"""

from __future__ import annotations

from warnings import warn

from bough.adaptive.closure import Closure
from bough.adaptive.dynamics import Dynamics
from bough.adaptive.forces import Load
from bough.adaptive.lbfgs import Result
from bough.adaptive.measures import (
    ErrorMeasure,
    absolute_joint,
    absolute_linkage,
    body_acceleration,
    displacement,
    energy,
    joint_motion,
    relative_joint,
    relative_linkage,
    rms_acceleration,
)
from bough.adaptive.potentials import Potential, barrier, dihedral, harmonic
from bough.adaptive.quasistatics import QuasiStatics
from bough.adaptive.restraints import Restraints
from bough.adaptive.sensitivity import Sensitivity
from bough.adaptive.stats import Forecast, MotionStats, Recorder, Stats
from bough.adaptive.tree.shapes import near

__all__ = [
    "Closure",
    "Dynamics",
    "ErrorMeasure",
    "Forecast",
    "Load",
    "MotionStats",
    "Potential",
    "QuasiStatics",
    "Recorder",
    "Restraints",
    "Result",
    "Sensitivity",
    "Stats",
    "absolute_joint",
    "absolute_linkage",
    "barrier",
    "body_acceleration",
    "dihedral",
    "displacement",
    "energy",
    "harmonic",
    "joint_motion",
    "near",
    "relative_joint",
    "relative_linkage",
    "rms_acceleration",
]


def __getattr__(name: str) -> type[Result]:
    if name == "Settled":
        warn("bough.adaptive.Settled is called Result now", DeprecationWarning, stacklevel=2)
        return Result
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
