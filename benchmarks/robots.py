"""Whole robots: contacts beside MuJoCo, whole-body control by several solvers, inverse kinematics."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np

from benchmarks.absent import Requirements, robot_file
from benchmarks.dynamics import G1
from benchmarks.reaching import FEET, HANDS, four_limbs, one_arm
from benchmarks.timing import Timing
from bough import zoo
from bough.app.bench.states import check
from bough.app.bench.timing import contest
from bough.compile.settings import most_threads
from bough.control import Contact, Gains, Reference, WholeBody
from bough.dynamics.dynamics import Dynamics
from bough.io import load
from bough.model import Model
from bough.opspace import center_of_mass, orientation, pose, position
from bough.simulate import ContactPoint, Contacts, Ensemble, rollout
from bough.zoo.robots import LEGS

MANY, FEW, STEPS, DT = 4096, 256, 50, 2e-3
RADIUS, SPEED = 0.02, 0.1
SOLVERS = {"daqp": "daqp", "proxqp": "proxsuite", "piqp": "piqp", "quadprog": "quadprog"}  # and their modules
REQUIRED = Requirements((G1, "panda.urdf"), ("pink", "mink", *SOLVERS.values()))
SOLVED = 1e-3  # of the largest acceleration: what solvers stop at
SOFT = "in the air both accelerate alike; on the ground not: MuJoCo's contacts give way, ours do not"


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
        robots = Ensemble(model, q, v, dt=DT, contacts=Contacts(feet, friction=1.0, sweeps=sweeps))
        runs[name], left[name] = partial(_steps, robots), 0.0
        for _ in range(STEPS):
            robots.step()
            left[name] = max(left[name], float(robots.residual.max()))
    theirs = {f"mujoco.rollout, {cone} cone": _mujoco(rest, v, cone) for cone in ("pyramidal", "elliptic")}
    in_the_air(model)
    with most_threads(1):
        seconds = contest(runs | theirs, seconds=4.0, burst=0.0)
    part = f"MuJoCo steps {FEW} of them"
    note = "; ".join([part, *(f"{name} leaves at most {x:.0e} m/s" for name, x in left.items()), SOFT])
    per = {name: t / STEPS / (MANY if name.startswith("bough") else FEW) for name, t in seconds.items()}
    return [Timing(f"steps with contacts, batch of {MANY}", model.name, "four feet, 2 ms", per, note)]


def in_the_air(model: Model) -> None:
    """Refuse to time another robot: far from the ground, with springs and dampers, accelerations must be the same."""
    import mujoco

    m = mujoco.MjModel.from_xml_string(quadruped_mjcf())
    d, rng = mujoco.MjData(m), np.random.default_rng(1)
    q, v = model.rest_configuration + 0.1 * rng.normal(size=model.nq), rng.normal(size=model.nv)
    q[:7], v[:6] = (0.1, 0.2, 5.0, 0.0, 0.0, 0.0, 1.0), 0.0
    d.qpos[:7], d.qpos[7:], d.qvel[:] = (*q[:3], 1.0, 0.0, 0.0, 0.0), q[7:], v
    mujoco.mj_forward(m, d)
    tau = -model.damping * v
    tau[6:] -= model.stiffness[6:] * (q[7:] - model.rest[6:])
    check("mj_forward on the quadruped in the air", d.qacc, Dynamics(model).forward_dynamics(q, v, tau))


def _steps(robots: Ensemble) -> None:
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
    path = robot_file(G1)
    if not path:
        return []
    model = load(path, floating_base=True)
    q, v = model.neutral.copy(), np.zeros(model.nv)
    other = model.integrate(q, 1e-3 * np.random.default_rng(0).normal(size=model.nv))
    tasks = [center_of_mass(), orientation("torso_link"), *map(pose, HANDS), orientation("pelvis"), position("pelvis")]
    soles = [Contact(foot, friction=0.6, size=(0.15, 0.05), point=(0.035, 0.0, -0.035)) for foot in FEET]
    com = Dynamics(model).center_of_mass(q)
    contestants: dict[str, Any] = {}
    qpsolvers: Any = import_module("qpsolvers")
    for solver in [s for s in SOLVERS if s in qpsolvers.available_solvers]:
        controller = WholeBody(
            model, tasks, soles, gains=Gains(100.0), posture=q, dt=DT, solver=solver,
            references={"center_of_mass": lambda t: Reference(com + [0.0, 0.02 * np.sin(t), 0.0])},
        )  # fmt: skip
        name = "bough" if not contestants else f"bough by {solver}"
        contestants[name] = [partial(controller, t, x, v) for t, x in ((0.1, q), (0.2, other))]
        if name == "bough":
            controller(0.0, q, v)
            given = (v, controller._state.target[0], controller._state.goal)
            contestants["bough matrices alone"] = [partial(controller._function.call, x, *given) for x in (q, other)]
    found = {name: calls[0]().qdd for name, calls in contestants.items() if "alone" not in name}
    gaps = [check(name, qdd, found["bough"], SOLVED) for name, qdd in found.items()]
    note = f"accelerations of all solvers agree to {max(gaps):.0e}; torques may differ, as feet can press on each other"
    return [Timing("whole-body control, one step", model.name, "24 task rows, two soles", contest(contestants), note)]
