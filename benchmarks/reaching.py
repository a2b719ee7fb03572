"""Inverse kinematics to 1e-6, beside loops on Pinocchio, pink and mink that stop there."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.absent import robot_file
from benchmarks.dynamics import G1
from benchmarks.timing import Timing
from bough.app.bench.engines.mujoco import mujoco_model
from bough.app.bench.states import check
from bough.app.bench.timing import contest
from bough.control import ik
from bough.dynamics.dynamics import Dynamics
from bough.io import load
from bough.model import Model
from bough.opspace import pose

MANY, FEW, ALONE = 4096, 256, 32
HANDS = ("left_wrist_yaw_link", "right_wrist_yaw_link")
FEET = ("left_ankle_roll_link", "right_ankle_roll_link")
REACHED = 1e-6
WAYS = "what is reached is the same, the joints need not be: there are many ways to reach a pose"


def one_arm() -> list[Timing]:
    """Panda: random poses that can be reached, a pose of a batch, beside loops that stop at 1e-6."""
    path = robot_file("panda.urdf")
    if not path:
        return []
    model = load(path, mimic="independent")
    wanted = Dynamics(model).placement(model.random_configuration(np.random.default_rng(0), MANY), "panda_hand")
    solver = ik.InverseKinematics(model, [pose("panda_hand")])
    found = solver.solve({"pose(panda_hand)": wanted}, threads=1)
    batch = contest({"bough": lambda: solver.solve({"pose(panda_hand)": wanted}, threads=1)}, seconds=4.0, burst=0.0)
    seconds = {"bough": batch["bough"] / MANY, "bough one pose": 0.0}
    singles = wanted[:FEW]

    def each() -> None:
        for T in singles:
            solver.solve({"pose(panda_hand)": T})

    peers, rate = _peers(model, path, ("panda_hand",), singles[:, None])
    for name, t in contest({"bough one pose": each} | peers, seconds=2.0, burst=0.0).items():
        seconds[name] = t / FEW
    reached = {"bough": float(np.mean(found.success))} | rate
    note = ", ".join(f"{name} reaches {100 * share:.1f} %" for name, share in reached.items()) + f"; {WAYS}"
    return [Timing("inverse kinematics to 1e-6, a pose", model.name, "hand", seconds, note)]


def _peers(model: Model, path: Path, frames: tuple[str, ...], targets: Any) -> tuple[dict[str, Any], dict[str, float]]:
    """Loops of one start and at most 100 steps on Pinocchio, pink and mink, where installed; and what they reach.

    `targets` are (poses, frames, 4, 4).
    """
    import pinocchio as pin

    floating = model.nq > model.nv
    robot = pin.buildModelFromUrdf(str(path), *([pin.JointModelFreeFlyer()] if floating else []))
    goals = [[pin.SE3(T) for T in each] for each in targets]
    _alike(model, robot, frames)
    runs: dict[str, Any] = {"Pinocchio loop": _pinocchio(robot, frames)}
    with suppress(ImportError):
        runs["pink loop"] = _pink(robot, frames)
    with suppress(ImportError):
        runs["mink loop"] = _mink(model, frames)
    share = {name: float(np.mean([run(goal) for goal in goals])) for name, run in runs.items()}
    return {name: partial(_each, run, goals) for name, run in runs.items()}, share


def _alike(model: Model, robot: Any, frames: tuple[str, ...]) -> None:
    """Refuse to time another robot: where all joints are at home, so must be the frames."""
    import pinocchio as pin

    data, home = robot.createData(), _home(robot)
    pin.framesForwardKinematics(robot, data, home)
    for frame in frames:
        wanted = Dynamics(model).placement(home, frame)
        check(f"Pinocchio's {frame} at home", data.oMf[robot.getFrameId(frame)].homogeneous, wanted)


def _each(run: Callable[[Any], bool], goals: list[Any]) -> None:
    for goal in goals:
        run(goal)


def _pinocchio(robot: Any, frames: tuple[str, ...]) -> Callable[[Any], bool]:
    """Damped least squares on Pinocchio, stepped until the error is small."""
    import pinocchio as pin

    data, numbers, home = robot.createData(), [robot.getFrameId(f) for f in frames], _home(robot)
    damping = 1e-6 * np.eye(6 * len(frames))

    def descend(goal: Any) -> bool:
        q = home
        for _ in range(100):
            pin.computeJointJacobians(robot, data, q)
            pin.updateFramePlacements(robot, data)
            error = np.concatenate([pin.log6(data.oMf[k].actInv(T)).vector for k, T in zip(numbers, goal, strict=True)])
            if np.linalg.norm(error) < REACHED:
                return True
            J = np.concatenate([pin.getFrameJacobian(robot, data, k, pin.LOCAL) for k in numbers])
            step = J.T @ np.linalg.solve(J @ J.T + damping, error)
            q = _clipped(robot, pin.integrate(robot, q, step))
        return False

    return descend


def _mink(model: Model, frames: tuple[str, ...]) -> Callable[[Any], bool]:
    """The same by mink, on the tree of the robot in MuJoCo."""
    mink: Any = import_module("mink")
    twin, tasks, backs = mujoco_model(model), [], []
    for frame in frames:
        number = model.frame(frame)
        name = f"body {int(model.frames.body[number])}"
        tasks.append(mink.FrameTask(name, "body", position_cost=1.0, orientation_cost=1.0))
        on_body = np.eye(4)
        on_body[:3, :3], on_body[:3, 3] = model.frames.R[number], model.frames.p[number]
        backs.append(np.linalg.inv(on_body))
    home = twin.qpos0.copy()
    if model.nq == model.nv:
        home = np.clip(home, model.limits.lower, model.limits.upper)

    at = mink.Configuration(twin, q=home).get_transform_frame_to_world(tasks[0].frame_name, "body").as_matrix()
    start = np.clip(model.neutral, model.limits.lower, model.limits.upper) if model.nq == model.nv else model.neutral
    check("mink's frame at home", at, Dynamics(model).placement(start, frames[0]) @ backs[0])

    def descend(goal: Any) -> bool:
        configuration = mink.Configuration(twin, q=home)
        for task, T, back in zip(tasks, goal, backs, strict=True):
            task.set_target(mink.SE3.from_matrix(T.homogeneous @ back))
        for _ in range(100):
            if np.linalg.norm([task.compute_error(configuration) for task in tasks]) < REACHED:
                return True
            step = mink.solve_ik(configuration, tasks, 1.0, solver="daqp", damping=1e-6, limits=[])
            configuration.integrate_inplace(step, 1.0)
        return False

    return descend


def _pink(robot: Any, frames: tuple[str, ...]) -> Callable[[Any], bool]:
    """Differential inverse kinematics by pink, stepped until the error is small."""
    pink: Any = import_module("pink")
    tasks = [pink.tasks.FrameTask(frame, position_cost=1.0, orientation_cost=1.0) for frame in frames]
    home, failed = _home(robot), pink.exceptions.PinkError

    def descend(goal: Any) -> bool:
        configuration = pink.Configuration(robot, robot.createData(), home)
        for task, T in zip(tasks, goal, strict=True):
            task.set_target(T)
        for _ in range(100):
            if np.linalg.norm([task.compute_error(configuration) for task in tasks]) < REACHED:
                return True
            try:
                step = pink.solve_ik(configuration, tasks, 1.0, solver="daqp", damping=1e-6)
            except failed:
                return False
            configuration.integrate_inplace(step, 1.0)
        return False

    return descend


def _clipped(robot: Any, q: Any) -> Any:
    return np.clip(q, robot.lowerPositionLimit, robot.upperPositionLimit)


def _home(robot: Any) -> Any:
    import pinocchio as pin

    return _clipped(robot, pin.neutral(robot))


def four_limbs() -> list[Timing]:
    """G1's hands and feet, from a stance to poses near it: a pose of a batch, and one alone."""
    path = robot_file(G1)
    if not path:
        return []
    model = load(path, floating_base=True)
    move = 0.1 * np.random.default_rng(0).normal(size=(FEW, model.nv))
    goals = model.integrate(np.tile(model.neutral, (FEW, 1)), move)
    frames: tuple[str, ...] = (*HANDS, *FEET)
    dynamics = Dynamics(model)
    wanted = {f"pose({f})": dynamics.placement(goals, f) for f in frames}
    singles = [{name: T[k] for name, T in wanted.items()} for k in range(ALONE)]
    solver = ik.InverseKinematics(model, [pose(f) for f in frames])
    reached = np.mean(solver.solve(wanted, model.neutral).success)
    seconds = contest({"bough": lambda: solver.solve(wanted, model.neutral, threads=1)}, seconds=2.0, burst=0.0)
    per = {name: t / FEW for name, t in seconds.items()}

    def each() -> None:
        for targets in singles:
            solver.solve(targets, model.neutral)

    peers, rate = _peers(model, path, frames, np.stack([wanted[f"pose({f})"][:ALONE] for f in frames], axis=1))
    per |= {name: t / ALONE for name, t in contest({"bough one pose": each} | peers, seconds=2.0, burst=0.0).items()}
    shares = ({"bough": reached} | rate).items()
    note = ", ".join(f"{name} reaches {100 * share:.0f} %" for name, share in shares) + f"; {WAYS}"
    return [Timing("inverse kinematics to 1e-6, a pose", model.name, "hands and feet", per, note)]


GPU_POSES = {"panda_hand": 4_194_304, "hands and feet": 262_144}


def on_gpu() -> list[Timing]:
    """The same poses as tensors on a GPU, a pose of a large batch; what is reached is checked on the CPU."""
    try:
        import_module("torch")
    except ImportError:
        return []
    found = []
    if path := robot_file("panda.urdf"):
        arm = load(path, mimic="independent")
        found.append(_on_gpu(arm, ("panda_hand",), arm.random_configuration(np.random.default_rng(0), 65_536), None))
    if path := robot_file(G1):
        model = load(path, floating_base=True)
        near = 0.1 * np.random.default_rng(0).normal(size=(16_384, model.nv))
        goals = model.integrate(np.tile(model.neutral, (len(near), 1)), near)
        found.append(_on_gpu(model, (*HANDS, *FEET), goals, model.neutral))
    return found


def _on_gpu(model: Model, frames: tuple[str, ...], goals: Any, start: Any) -> Timing:
    torch: Any = import_module("torch")
    task = frames[0] if len(frames) == 1 else "hands and feet"
    batch, dynamics = GPU_POSES[task], Dynamics(model)
    wanted = {frame: dynamics.placement(goals, frame) for frame in frames}
    every = np.arange(batch) % len(goals)
    targets = {frame: torch.as_tensor(T[every], device="cuda") for frame, T in wanted.items()}
    first = None if start is None else torch.as_tensor(start.copy(), device="cuda")
    solver = ik.InverseKinematics(model, list(frames))

    def solve() -> Any:
        found = solver.solve(targets, first, device="cuda")
        torch.cuda.synchronize()
        return found

    found = solve()
    reached = np.flatnonzero(found.success.cpu().numpy())
    some = reached[:1000]
    for frame in frames:
        placed = dynamics.placement(found.q[: some.max() + 1].cpu().numpy()[some], frame)
        check(f"{frame} on the GPU", placed, wanted[frame][every[some]], 1e-5)
    seconds = contest({"bough": solve}, seconds=4.0, burst=0.0)["bough"] / batch
    steps = float(found.iterations.double().mean())
    note = f"reaches {100 * len(reached) / batch:.2f} % to 1e-6, {steps:.0f} steps a pose"
    return Timing(f"inverse kinematics to 1e-6, a pose of {batch:,}", model.name, task, {"bough": seconds}, note)
