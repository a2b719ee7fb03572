"""Write the robot of this example as C: its functions, its tasks, and a step of its motion."""

import sys
from pathlib import Path

import bough

folder = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
robot = bough.zoo.arm(6)
bough.export_c(
    robot,
    [
        "runge_kutta_step",
        ("kinematics", {"frames": ["hand"], "jacobians": ["hand"], "velocities": True}),
    ],
    folder / "robot.c",
    prefix="robot",
    inputs=("inertia",),
)
space = bough.OperationalSpace(robot, [bough.position("hand")])
space.export_c(["torques"], folder / "task.c", prefix="task")
inertias = ", ".join(repr(x) for x in robot.inertias.ravel().tolist())
(folder / "robot_inertias.h").write_text(f"static const double inertias[] = {{{inertias}}};\n")
