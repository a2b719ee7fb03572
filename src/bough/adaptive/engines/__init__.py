"""Engines that solve a linkage here and now: over the assembly tree, plainly in O(n), on the contracted
tree of what was opened, and the switch between them.

Belongs here: arrays and compiled passes behind one object each. Does not belong here: what a user sets or asks for.
"""

from __future__ import annotations

from bough.adaptive.engines.hybrid import HybridEngine
from bough.adaptive.engines.loop_rows import Closing, LoopRows, loop_work, make_loops, no_loops, place_loops
from bough.adaptive.engines.looped import loop_jacobian, looped_accelerations, looped_inward, solve_loops
from bough.adaptive.engines.newton import (
    newton_factor,
    newton_forces,
    newton_motion,
    newton_place,
    newton_solve,
    newton_sum,
    newton_work,
)
from bough.adaptive.engines.noise import Noise, measure_noise
from bough.adaptive.engines.plain import PlainEngine, make_work, mark_needs, orient, plain_move, world_poses
from bough.adaptive.engines.restrained import (
    AGE,
    CALMED,
    CODE,
    CUTS,
    FADED,
    FAR_TURN,
    FINE,
    GROWN,
    NO_NUMBER,
    OUTGROWN,
    PARTS,
    STEPS,
    Ties,
    tie,
)
from bough.adaptive.engines.shares import energies
from bough.adaptive.engines.switch import CHUNK, Switch, cost
from bough.adaptive.engines.tree import NO_LIMIT, TreeEngine

__all__ = [
    "AGE",
    "CALMED",
    "CHUNK",
    "CODE",
    "CUTS",
    "FADED",
    "FAR_TURN",
    "FINE",
    "GROWN",
    "NO_LIMIT",
    "NO_NUMBER",
    "OUTGROWN",
    "PARTS",
    "STEPS",
    "Closing",
    "HybridEngine",
    "LoopRows",
    "Noise",
    "PlainEngine",
    "Switch",
    "Ties",
    "TreeEngine",
    "cost",
    "energies",
    "loop_jacobian",
    "loop_work",
    "looped_accelerations",
    "looped_inward",
    "make_loops",
    "make_work",
    "mark_needs",
    "measure_noise",
    "newton_factor",
    "newton_forces",
    "newton_motion",
    "newton_place",
    "newton_solve",
    "newton_sum",
    "newton_work",
    "no_loops",
    "orient",
    "place_loops",
    "plain_move",
    "solve_loops",
    "tie",
    "world_poses",
]
