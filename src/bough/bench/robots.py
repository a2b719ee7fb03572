"""Whole robots: contacts beside MuJoCo, whole-body control, inverse kinematics beside Pinocchio, pink and mink."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from bough import zoo
from bough.bench.dynamics import robot_file
from bough.bench.peers import mujoco_twin
from bough.bench.report import Timing
from bough.bench.timing import contest
from bough.compile.settings import most_threads
from bough.control import Contact, Gains, Reference, WholeBody, ik
from bough.dynamics.dynamics import Dynamics
from bough.io import load
from bough.model import Model
from bough.opspace import center_of_mass, orientation, pose, position
from bough.simulate import ContactPoint, Contacts, GroundedEnsemble, rollout
from bough.zoo.walkers import LEGS

MANY, FEW, ALONE, STEPS, DT = 4096, 256, 32, 50, 2e-3
RADIUS, SPEED = 0.02, 0.1
HANDS = ("left_wrist_yaw_link", "right_wrist_yaw_link")
FEET = ("left_ankle_roll_link", "right_ankle_roll_link")
REACHED = 1e-6


def rows() -> list[Timing]:
    """Contacts, whole-body control and inverse kinematics."""
    return [*contacts(), *whole_body(), *one_arm(), *four_limbs()]


# Contacts


def contacts() -> list[Timing]:
    """4,096 quadrupeds on four feet, thrown about a little, on one thread; microseconds a step of one of them."""
    model = zoo.quadruped(stiffness=60.0, damping=2.0)
    feet = [ContactPoint(f"{leg}_foot", radius=RADIUS) for leg, *_ in LEGS]
    start = model.rest_configuration.copy()
    start[2] = 0.36
    rest = rollout(model, start, np.zeros(model.nv), duration=1.0, dt=DT, contacts=Contacts(feet, friction=1.0)).q[-1]
    q, v = np.tile(rest, (MANY, 1)), SPEED * np.random.default_rng(0).normal(size=(MANY, model.nv))
    runs: dict[str, Any] = {}
    left: dict[str, float] = {}
    for name, sweeps in (("bough", None), ("bough four sweeps", 4)):
        robots = GroundedEnsemble(model, q, v, dt=DT, contacts=Contacts(feet, friction=1.0, sweeps=sweeps))
        runs[name], left[name] = partial(_steps, robots), 0.0
        for _ in range(STEPS):
            robots.step()
            left[name] = max(left[name], float(robots.residual.max()))
    theirs = {f"mujoco.rollout, {cone} cone": _mujoco(rest, v, cone) for cone in ("pyramidal", "elliptic")}
    with most_threads(1):
        seconds = contest(runs | theirs, seconds=4.0, burst=0.0)
    note = ", ".join(f"{name} leaves at most {x:.0e} m/s" for name, x in left.items())
    per = {name: t / STEPS / (MANY if name.startswith("bough") else FEW) for name, t in seconds.items()}
    return [Timing(f"steps with contacts, batch of {MANY}", model.name, "four feet, 2 ms", per, note)]


def _steps(robots: GroundedEnsemble) -> None:
    """The same motion again."""
    robots.reset(slice(None))
    robots.step(STEPS)


def _mujoco(rest: Any, v: Any, cone: str) -> Callable[[], None]:
    """The same robots and steps by `mujoco.rollout` on one thread, a part of them."""
    import mujoco

    rollout_module: Any = import_module("mujoco.rollout")
    m = mujoco.MjModel.from_xml_string(quadruped_mjcf(cone))
    d, full = mujoco.MjData(m), mujoco.mjtState.mjSTATE_FULLPHYSICS
    states = np.zeros((FEW, mujoco.mj_stateSize(m, full)))
    for k in range(FEW):
        d.qpos[:7] = [*rest[:3], rest[6], *rest[3:6]]
        d.qpos[7:] = rest[7:]
        d.qvel[:] = v[k]
        mujoco.mj_getState(m, d, states[k], full)
    return lambda: rollout_module.rollout(m, [mujoco.MjData(m)], states, nstep=STEPS)


def quadruped_mjcf(cone: str = "pyramidal") -> str:
    """`zoo.quadruped(60, 2)` for MuJoCo, with spheres as feet."""
    legs = ""
    for leg, x, y in LEGS:
        law = 'stiffness="60" damping="2"'
        legs += f"""<body pos="{x} {y} 0"><joint axis="1 0 0" range="-0.9 0.9" {law}/>
        <inertial pos="0 0 0" mass="0.5" diaginertia="0.001 0.001 0.001"/>
        <body pos="0 {0.05 if y > 0 else -0.05} 0"><joint axis="0 1 0" range="-1.5 2.5" springref="0.6" {law}/>
        <inertial pos="0 0 -0.1" mass="0.8" diaginertia="0.003 0.003 0.001"/>
        <body pos="0 0 -0.2"><joint axis="0 1 0" range="-2.6 -0.2" springref="-1.2" {law}/>
        <inertial pos="0 0 -0.1" mass="0.3" diaginertia="0.001 0.001 0.0003"/>
        <geom name="{leg}" type="sphere" size="{RADIUS}" pos="0 0 -0.2" mass="0" conaffinity="0"/>
        </body></body></body>"""
    return f"""<mujoco><compiler angle="radian" autolimits="true"/><option timestep="{DT}" cone="{cone}"/><worldbody>
    <geom type="plane" size="5 5 1" contype="0"/><body pos="0 0 0.36"><freejoint/>
    <inertial pos="0 0 0" mass="8" diaginertia="0.1 0.3 0.35"/>{legs}</body></worldbody></mujoco>"""


# Whole-body control


def whole_body() -> list[Timing]:
    """G1 on two feet with 24 task rows: a step, its matrices alone, and other solvers."""
    path = robot_file("g1_29dof_rev_1_0.urdf")
    if not path:
        return []
    model = load(path, floating_base=True)
    q, v = model.neutral.copy(), np.zeros(model.nv)
    tasks = [center_of_mass(), orientation("torso_link"), *map(pose, HANDS), orientation("pelvis"), position("pelvis")]
    soles = [Contact(foot, friction=0.6, size=(0.15, 0.05), point=(0.035, 0.0, -0.035)) for foot in FEET]
    com = Dynamics(model).center_of_mass(q)
    contestants: dict[str, Any] = {}
    qpsolvers: Any = import_module("qpsolvers")
    for solver in [s for s in ("daqp", "proxqp", "piqp", "quadprog") if s in qpsolvers.available_solvers]:
        controller = WholeBody(
            model, tasks, soles, gains=Gains(100.0), posture=q, dt=DT, solver=solver,
            references={"center_of_mass": lambda t: Reference(com + [0.0, 0.02 * np.sin(t), 0.0])},
        )  # fmt: skip
        name = "bough" if not contestants else f"bough by {solver}"
        contestants[name] = partial(controller, 0.1, q, v)
        if name == "bough":
            controller(0.0, q, v)
            memory = controller._memories[0]
            given = (q, v, memory.target, memory.goal)
            contestants["bough matrices alone"] = partial(controller._function.call, *given)
    return [Timing("whole-body control, one step", model.name, "24 task rows, two soles", contest(contestants))]


# Inverse kinematics


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
    note = ", ".join(f"{name} reaches {100 * share:.1f} %" for name, share in reached.items())
    return [Timing("inverse kinematics to 1e-6, a pose", model.name, "hand", seconds, note)]


def _peers(model: Model, path: Path, frames: tuple[str, ...], targets: Any) -> tuple[dict[str, Any], dict[str, float]]:
    """Loops of one start and at most 100 steps on Pinocchio, pink and mink, where installed; and what they reach.

    `targets` are (poses, frames, 4, 4).
    """
    import pinocchio as pin

    floating = model.nq > model.nv
    robot = pin.buildModelFromUrdf(str(path), *([pin.JointModelFreeFlyer()] if floating else []))
    goals = [[pin.SE3(T) for T in each] for each in targets]
    runs: dict[str, Any] = {"Pinocchio loop": _pinocchio(robot, frames)}
    with suppress(ImportError):
        runs["pink loop"] = _pink(robot, frames)
    with suppress(ImportError):
        runs["mink loop"] = _mink(model, frames)
    share = {name: float(np.mean([run(goal) for goal in goals])) for name, run in runs.items()}
    return {name: partial(_each, run, goals) for name, run in runs.items()}, share


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
    twin, tasks, backs = mujoco_twin(model), [], []
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
    path = robot_file("g1_29dof_rev_1_0.urdf")
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
    note = ", ".join(f"{name} reaches {100 * share:.0f} %" for name, share in ({"bough": reached} | rate).items())
    return [Timing("inverse kinematics to 1e-6, a pose", model.name, "hands and feet", per, note)]
