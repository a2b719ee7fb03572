"""Tasks: what an operational space controls (Khatib 1987; Featherstone 2010, section 4).

A task is an object that knows the seeds of its rows on the bodies of a model, where it is, and how far that is from a
target. It is described without a model. A new type of task is one file: a subclass of `Task`, whose rows are built from
seeds (`Seed`; see `task.py` for their kinds), here or in your own code; nothing else has to know of it.

Belongs here: one file a type of task. Does not belong here: what is done with rows (`sweeps`, `methods`), and rows of
several tasks together (`taskset`).
"""

from __future__ import annotations

from bough.opspace.tasks.distance import DistanceTask, distance
from bough.opspace.tasks.frame import FrameTask, orientation, pose, position, rows
from bough.opspace.tasks.joint import JointTask, PostureTask, joint, posture
from bough.opspace.tasks.momentum import CenterOfMassTask, MomentumTask, center_of_mass, momentum
from bough.opspace.tasks.relative import RelativeTask, relative
from bough.opspace.tasks.task import Aim, Seed, Task

__all__ = [
    "Aim",
    "CenterOfMassTask",
    "DistanceTask",
    "FrameTask",
    "JointTask",
    "MomentumTask",
    "PostureTask",
    "RelativeTask",
    "Seed",
    "Task",
    "center_of_mass",
    "distance",
    "joint",
    "momentum",
    "orientation",
    "pose",
    "position",
    "posture",
    "relative",
    "rows",
]
