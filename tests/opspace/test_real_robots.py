"""Lambda^-1 of a real robot beside MuJoCo's: mj_jac and mj_solveM on the same mechanism."""

import numpy as np
import pytest

import bough
from benchmarks.absent import robot_file
from bough.app.bench.engines.mujoco import mujoco_model
from bough.joints import FREE
from bough.opspace import METHODS

mujoco = pytest.importorskip("mujoco")

FRAMES = ("left_wrist_yaw_link", "right_wrist_yaw_link", "left_ankle_roll_link", "right_ankle_roll_link")


def mujoco_state(model, q):
    """The twin and its data at q; joints of the twin are in depth-first order, quaternions w first."""
    twin = mujoco_model(model)
    data = mujoco.MjData(twin)
    m = model.mechanism
    for i, k in enumerate(m.q_index):
        start = twin.jnt_qposadr[i]
        if m.kind[i] == FREE:
            data.qpos[start : start + 7] = q[[k, k + 1, k + 2, k + 6, k + 3, k + 4, k + 5]]
        else:
            data.qpos[start] = q[k]
    mujoco.mj_forward(twin, data)
    return twin, data


def task_rows(model, twin, data, dynamics, q, frame):
    """[linear; angular] rows of a frame's pose in the world's axes."""
    linear, angular = np.zeros((3, twin.nv)), np.zeros((3, twin.nv))
    body = int(model.frames.body[model.frame(frame)])
    mujoco.mj_jac(twin, data, linear, angular, dynamics.placement(q, frame)[:3, 3], body + 1)
    return np.concatenate([linear, angular])


@pytest.fixture(scope="module")
def robot():
    return bough.load(robot_file("g1_29dof_rev_1_0.urdf"), floating_base=True)


@pytest.mark.parametrize("method", METHODS)
def test_every_method_agrees_with_mujoco(robot, method):
    rng = np.random.default_rng(4)
    q, dynamics = robot.random_configuration(rng), bough.Dynamics(robot)
    twin, data = mujoco_state(robot, q)
    J = np.concatenate([task_rows(robot, twin, data, dynamics, q, frame) for frame in FRAMES])
    solved = np.zeros_like(J)
    mujoco.mj_solveM(twin, data, solved, J)
    expected = J @ solved.T
    ours = bough.OperationalSpace(robot, [bough.pose(frame) for frame in FRAMES]).inverse_inertia(q, method=method)
    assert np.abs(ours - expected).max() <= 1e-9 * np.abs(expected).max()
