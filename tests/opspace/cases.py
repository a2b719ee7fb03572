"""Random task sets on random trees, and the definitions that their matrices are checked against."""

from __future__ import annotations

import numpy as np

from bough.compile.routine import interpret
from bough.dynamics.crba import MASS_MATRIX
from bough.opspace import tasks as T
from bough.opspace.methods import prepare
from bough.opspace.sweeps.jacobian import JACOBIAN
from bough.opspace.taskset import TaskSet
from models import JOINT_TYPES, random_twin

try:
    import pinocchio as pin
except ImportError:  # needed only to compare with it
    pin = None

NAMES = ("local", "world", "local_world_aligned")
REFERENCES = {name: pin and getattr(pin.ReferenceFrame, name.upper()) for name in NAMES}


def interpreted_jacobian(tasks, q):
    constants = (tasks.model.mechanism, tasks.with_placements, tasks.pattern)
    return interpret(JACOBIAN, constants, tasks.sizes, q)[0]


def definition(tasks, q):
    """J H^-1 J' by numpy."""
    J = interpreted_jacobian(tasks, q)
    (H,) = interpret(MASS_MATRIX, (tasks.model.mechanism,), tasks.model.sizes, q)
    return J @ np.linalg.solve(H, J.T)


def agrees(method, seeds=range(12)):
    """A method, interpreted, gives J H^-1 J' on random trees and task sets."""
    for seed in seeds:
        twin, tasks = random_case(seed)
        q = twin.model.random_configuration(np.random.default_rng(seed))
        expected = definition(tasks, q)
        (actual,) = interpret(*prepare(method, tasks), q)
        np.testing.assert_allclose(actual, expected, atol=1e-11 * np.abs(expected).max(), err_msg=method)
        np.testing.assert_array_equal(actual, actual.T, err_msg=method)


def random_case(seed, size=10, joints=JOINT_TYPES):
    """A forest of up to `size` bodies with every joint type, and one to four tasks of every kind."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, size + 1))
    reach = int(rng.integers(1, n + 1))
    parent = [int(rng.integers(max(-1 if rng.random() < 0.2 else 0, i - reach), i)) if i else -1 for i in range(n)]
    twin = random_twin(seed, parent, [str(rng.choice(joints)) for _ in range(n)], armature=bool(seed % 2))
    tasks = [random_task(rng, twin.model, n, f"task{k}") for k in range(rng.integers(1, 5))]
    return twin, TaskSet(twin.model, tasks)


def random_task(rng, model, n, name):
    frame = f"f{rng.integers(n)}"
    reference = str(rng.choice(list(REFERENCES)))
    kind = rng.choice(["pose", "position", "orientation", "rows", "relative", "center_of_mass", "momentum", "joint"])
    if kind == "center_of_mass":
        return T.center_of_mass(name=name)
    if kind == "momentum":
        return T.momentum(str(rng.choice(["linear", "angular", "both"])), name=name)
    if kind == "joint":
        return T.joint(model.joint_names[rng.integers(n)], name=name)
    if kind == "relative":
        base = str(rng.choice(["world", *(f"f{i}" for i in range(n) if f"f{i}" != frame)]))
        frame, base = (base, frame) if base == "world" and rng.random() < 0.5 else (frame, base)
        return T.relative(frame, base, "local" if reference == "local" else "local_world_aligned", name=name)
    if kind == "orientation":
        return T.orientation(frame, reference, name=name)
    point = (0, 0, 0) if reference == "world" else rng.normal(size=3)
    if kind == "rows":
        return T.rows(frame, rng.normal(size=(rng.integers(1, 8), 6)), reference, point=point, name=name)
    return getattr(T, kind)(frame, reference, point=point, name=name)


def pinocchio_jacobian(twin, tasks, q):
    """J from Pinocchio's frame and centroidal Jacobians, in the model's order."""
    model, data, x = twin.pin, twin.data, twin.q_to_pin(q)
    pin.computeJointJacobians(model, data, x)
    pin.updateFramePlacements(model, data)
    pin.ccrba(model, data, x, np.zeros(model.nv))
    blocks = [_block(twin, task, q) for task in tasks.tasks]
    ours = [isinstance(t, T.JointTask) for t in tasks.tasks]
    return np.concatenate([b if own else twin.from_pin(b, axes=(1,)) for b, own in zip(blocks, ours, strict=True)])


def _block(twin, task, q):
    model, data = twin.pin, twin.data
    if isinstance(task, T.JointTask):
        return np.eye(model.nv)[twin.model.joint(task.joint).v]
    if isinstance(task, T.MomentumTask):
        return np.array(task.matrix) @ data.Ag.reshape(6, -1)
    if isinstance(task, T.CenterOfMassTask):
        return data.Ag.reshape(6, -1)[:3] / twin.model.total_mass
    if isinstance(task, T.RelativeTask):
        return np.array(task.matrix) @ _relative(twin, task)
    frame = model.getFrameId(task.frame)
    J = pin.getFrameJacobian(model, data, frame, REFERENCES[task.reference]).reshape(6, -1)
    R = np.eye(3) if task.reference == "local" else data.oMf[frame].rotation
    if task.reference != "world":
        J = np.concatenate([J[:3] - pin.skew(R @ np.array(task.point)) @ J[3:], J[3:]])
    return np.array(task.matrix) @ J


def _relative(twin, task):
    model, data = twin.pin, twin.data
    ends = [_world_jacobian(model, data, name) for name in (task.frame, task.base)]
    at = pin.SE3.Identity() if task.frame == "world" else data.oMf[model.getFrameId(task.frame)]
    R = at.rotation if task.reference == "local" else np.eye(3)
    to_frame = pin.SE3(R, at.translation).inverse().action
    return to_frame @ (ends[0] - ends[1])


def _world_jacobian(model, data, name):
    if name == "world":
        return np.zeros((6, model.nv))
    return pin.getFrameJacobian(model, data, model.getFrameId(name), pin.ReferenceFrame.WORLD).reshape(6, -1)


def state(model, seed=0, batch=None):
    rng = np.random.default_rng(seed)
    shape = (model.nv,) if batch is None else (batch, model.nv)
    return model.random_configuration(rng, batch), rng.normal(size=shape)
