"""Simulation: integrators, contacts, rollouts and recordings of a robot in motion.

Belongs here: what advances a state in time and what keeps it. Does not belong here: accelerations (`dynamics`), laws
(`control`), linkages that settle (`adaptive`).
"""

from __future__ import annotations

from typing import Any
from warnings import warn

from bough.dynamics.laws import Effect
from bough.dynamics.stepping import Integrator
from bough.simulate.contacts import ContactPoint, Contacts, Ground, HeightField, Plane
from bough.simulate.ensemble import Ensemble
from bough.simulate.integration import lie_midpoint, runge_kutta_4, semi_implicit_euler
from bough.simulate.recording import Recording
from bough.simulate.rollout import rollout

__all__ = [
    "ContactPoint",
    "Contacts",
    "Effect",
    "Ensemble",
    "Ground",
    "HeightField",
    "Integrator",
    "Plane",
    "Recording",
    "lie_midpoint",
    "rollout",
    "runge_kutta_4",
    "semi_implicit_euler",
]


def __getattr__(name: str) -> Any:
    if name == "GroundedEnsemble":
        warn("simulate.GroundedEnsemble is now simulate.Ensemble(..., contacts=...)", DeprecationWarning, stacklevel=2)
        return Ensemble
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
