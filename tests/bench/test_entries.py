"""First calls of all that is public: no name of a door is left out but those that only hold data."""

from __future__ import annotations

from importlib import import_module

import numpy as np
import pytest

import bough
from bough.bench.entries import ENTRIES, NEEDS
from bough.dynamics.functions import FUNCTIONS

DOORS = (
    "adaptive",
    "control",
    "convert",
    "dynamics",
    "identification",
    "io",
    "opspace",
    "simulate",
    "sparsity",
    "sweep",
)
# What holds data, says what is meant, or is arithmetic on a few numbers: nothing is compiled for it
PLAIN = {
    "adaptive": {"Closure", "ErrorMeasure", "Load", "MotionStats", "Potential", "Recorder", "Restraints", "Settled",
                 "Stats", "absolute_joint", "absolute_linkage", "barrier", "dihedral", "displacement", "energy",
                 "handles", "harmonic", "joint_motion", "near", "relative_linkage", "rms_acceleration"},
    "control": {"AugmentedObject", "Command", "Contact", "CubicPath", "Gains", "LimitMonitor", "LimitReport",
                "PosePath", "Reference", "RigidObject", "WholeBodyCommand", "grasp_matrix", "internal_forces",
                "share_wrench"},
    "convert": {"PinocchioMap", "from_drake", "from_mujoco", "to_pinocchio"},  # q in another order
    "dynamics": {"FUNCTIONS", "regressor_pairs"},
    "identification": {"BaseParameters", "Identification", "write_urdf"},
    "io": {"Description", "Finding", "LoadOptions", "describe"},
    "opspace": {"METHODS", "Aim", "AimSet", "ClosedLoops", "Constrained", "ConstrainedInverse", "Innovations", "Loops",
                "MethodPlan", "Mobility", "OperationalState", "Prioritised", "Seed", "Task", "TaskSet",
                "UnitInnovations", "center_of_mass", "closure_tasks", "in_group", "joint", "momentum", "orientation",
                "position", "posture", "relative", "rows"},
    "simulate": {"ContactPoint", "Effect", "Ground", "HeightField", "Integrator", "JointEffects", "Plane", "Recording",
                 "lie_midpoint", "runge_kutta_4", "semi_implicit_euler"},
    "sparsity": {"Factor", "bordered_order", "density", "envelope", "factorize", "pack", "panel_size", "to_dense",
                 "to_scipy"},
    "sweep": {"Executor", "GivenRows", "Outcome", "Processes", "RayCluster", "Roll", "Slurm", "Summary", "SweepWork",
              "YourOwn", "read"},
}  # fmt: skip
TEXT = " ".join((*ENTRIES, *(part for pair in ENTRIES.values() for part in pair)))


@pytest.mark.parametrize("door", DOORS)
def test_every_public_name_has_a_first_call(door):
    public = set(import_module(f"bough.{door}").__all__)
    assert PLAIN[door] <= public
    assert [name for name in sorted(public - PLAIN[door]) if name not in TEXT] == []


def test_every_method_and_bridge_has_one():
    methods = {name for name in vars(bough.Dynamics) if not name.startswith("_")} - set(FUNCTIONS)
    assert [name for name in sorted(methods) if f"Dynamics.{name}" not in ENTRIES] == []
    assert all(
        any(entry.startswith(bridge) for entry in ENTRIES) for bridge in ("casadi", "torch", "jax", "sympy", "env")
    )
    assert all(any(entry.startswith(begin) for entry in ENTRIES) for begin in NEEDS)


@pytest.mark.parametrize(
    "entry", ["close_loops", "opspace.mobility", "opspace.SparseRows", "opspace.Hierarchy", "count"]
)
def test_calls(entry):
    robot = bough.zoo.arm(6)
    scope = dict(np=np, bough=bough, robot=robot, q=robot.neutral + 0.3, v=np.ones(6), frames=robot.frame_names[-2:])
    before, code = ENTRIES[entry]
    exec(before, scope)
    eval(code, scope)


@pytest.mark.parametrize("entry", ENTRIES)
def test_calls_can_be_read(entry):
    for text, kind in zip(ENTRIES[entry], ("exec", "eval"), strict=True):
        compile(text, entry, kind)
