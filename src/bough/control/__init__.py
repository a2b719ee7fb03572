"""Control in task space: laws that turn errors of tasks into joint forces.

Belongs here: references, gains, limits and controllers on top of `opspace`. Does not belong here: the tasks themselves
(`opspace`), and moving a robot through time (`simulate`).
"""

from __future__ import annotations

from bough.control.contacts import Contact, ContactDetector
from bough.control.grasp import (
    AugmentedObject,
    RigidObject,
    augmented_object,
    grasp_matrix,
    internal_forces,
    rigid_object,
    share_wrench,
)
from bough.control.limits import LimitMonitor, LimitReport
from bough.control.paths import CubicPath, PosePath
from bough.control.references import Gains, Reference
from bough.control.task_controller import Command, Stabiliser, TaskController
from bough.control.whole_body import WholeBody, WholeBodyCommand

__all__ = [
    "AugmentedObject",
    "Command",
    "Contact",
    "ContactDetector",
    "CubicPath",
    "Gains",
    "LimitMonitor",
    "LimitReport",
    "PosePath",
    "Reference",
    "RigidObject",
    "Stabiliser",
    "TaskController",
    "WholeBody",
    "WholeBodyCommand",
    "augmented_object",
    "grasp_matrix",
    "internal_forces",
    "rigid_object",
    "share_wrench",
]
