"""Steps with contacts on a GPU beside MuJoCo Warp and Newton, which read our robots from `Model.to_mjcf`.

Every robot has four points (spheres of a millimetre in MJCF) that may touch a plane, and springs with damping that draw
its joints to the rest posture. All start from the same states, just above the ground, and go on from step to step.
Ours makes six sweeps over hard contacts; theirs are soft, and iterate to a tolerance (MuJoCo's defaults). Ours has no
collisions other than of these points, and none are switched on in theirs. The heights of the base agree before timing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from importlib import import_module
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from benchmarks.absent import robot_file
from benchmarks.dynamics import G1
from benchmarks.timing import Timing
from bough import zoo
from bough.convert import to_mujoco
from bough.dynamics import Dynamics
from bough.errors import NumericalError, required
from bough.io import load
from bough.model import Model
from bough.simulate import ContactPoint, Contacts, Effect, Ensemble

GROUP = "on a GPU, a step of 2 ms with four contact points, per robot"
BATCHES = (8_192, 32_768)
LARGE, STATES, SWEEPS = 65_536, 1024, 4
DT, FRICTION, RADIUS = 2e-3, 0.8, 1e-3
STIFFNESS, DAMPING = 200.0, 5.0
SETTLED = 50  # steps after which heights are compared
EQUAL = 1e-2  # m, in the median: soft contacts sink in


class Scene(NamedTuple):
    """A robot, its points, and states (batch, nq) just above the ground."""

    model: Model
    points: tuple[str, ...]
    q: Any

    @property
    def target(self) -> Any:
        """The rest posture by velocity coordinates; the base has none."""
        return np.concatenate([np.zeros(6), self.model.rest_configuration[7:]])

    def repeated(self, batch: int) -> Any:
        return self.q[np.arange(batch) % len(self.q)]


def scenes() -> Iterator[Scene]:
    quadruped, humanoid, path = zoo.quadruped(), zoo.humanoid(), robot_file(G1)
    yield scene(quadruped, ("lf_foot", "rf_foot", "lh_foot", "rh_foot"))
    yield scene(humanoid, ("left_hand", "right_hand", "left_foot", "right_foot"))
    if path is not None:
        g1 = load(path, floating_base=True)
        yield scene(g1, tuple(g1.body_names[i] for i in range(len(g1.parent)) if i not in set(g1.parent.tolist()))[:4])


def alone() -> list[Timing]:
    """A large batch of ours: feet of a quadruped, corners of the soles of the others; with joint stops and without."""
    path = robot_file(G1)
    feet = Contacts(["lf_foot", "rf_foot", "lh_foot", "rh_foot"], friction=FRICTION, sweeps=SWEEPS)
    scenes = [(zoo.quadruped(), feet), (zoo.humanoid(), soles("left_foot", "right_foot", 0.0))]
    if path is not None:
        scenes.append((load(path, floating_base=True), soles("left_ankle_roll_link", "right_ankle_roll_link", -0.03)))
    effects: tuple[tuple[Effect, ...], ...] = ((), ("limits",))
    return [
        large(model, contacts, dtype, without)
        for model, contacts in scenes
        for without in effects[: 1 + has_stops(model)]
        for dtype in ("float32", "float64")
    ]


def has_stops(model: Model) -> bool:
    return bool(np.isfinite([*model.limits.lower, *model.limits.upper]).any())


def soles(left: str, right: str, height: float) -> Contacts:
    corners = [(x, y, height) for x in (0.1, -0.05) for y in (0.03, -0.03)]
    return Contacts(
        [ContactPoint(foot, at) for foot in (left, right) for at in corners], friction=FRICTION, sweeps=SWEEPS
    )


def large(model: Model, contacts: Contacts, dtype: str, without: tuple[Effect, ...]) -> Timing:
    """Robots that stand, with the time of the first call, kernels compiled or from the disk."""
    torch: Any = import_module("torch")
    q = standing(model, contacts)[np.arange(LARGE) % STATES]
    state = [torch.asarray(x, dtype=getattr(torch, dtype), device="cuda") for x in (q, np.zeros((LARGE, model.nv)))]
    start = perf_counter()
    runs = Ensemble(model, *state, dt=DT, contacts=contacts, servo=(STIFFNESS, DAMPING), without=without)
    motion = Motion(runs.step, lambda: runs.q[:, 2].cpu(), torch.cuda.synchronize)
    motion.step(1)
    motion.wait()
    first, seconds = perf_counter() - start, timed(motion) / LARGE
    if bool(runs.failed.any()):
        raise NumericalError(f"{model.name}: {int(runs.failed.sum())} rows failed")
    stops = "without stops" if without else "with stops" if has_stops(model) else "no joint has stops"
    note = f"{1e-6 / seconds:,.0f} M/s; first call {first:.1f} s; largest residual {float(runs.residual.max()):.0e} m/s"
    points = f"{len(contacts.points)} points, {stops}, {dtype}"
    return Timing(
        f"on a GPU, a step of 2 ms of {LARGE:,} robots, per robot", model.name, points, {"bough": seconds}, note
    )


def standing(model: Model, contacts: Contacts) -> Any:
    """States (STATES, nq) near the rest posture, the lowest point a millimetre above the ground."""
    rng = np.random.default_rng(1)
    q = np.tile(model.rest_configuration, (STATES, 1))
    q[:, 7:] += rng.uniform(-0.1, 0.1, q[:, 7:].shape)
    places: Any = Dynamics(model).placements(q)
    points: Any = contacts.points
    heights = []
    for point in points:
        T = places[:, model.frame(point.frame)]
        heights.append(T[:, 2, 3] + T[:, 2, :3] @ np.asarray(point.point) - point.radius)
    q[:, 2] += 1e-3 - np.min(heights, axis=0)
    return q


def scene(model: Model, points: tuple[str, ...]) -> Scene:
    return Scene(model, points, standing(model, Contacts([ContactPoint(name, radius=RADIUS) for name in points])))


def rows() -> list[Timing]:
    return [row for scene in scenes() for row in compared(scene)]


def compared(scene: Scene) -> Iterator[Timing]:
    """Ours and what is installed, at each batch; what fails has no time, and the note says why."""
    for batch in BATCHES:
        ours = heights(motion := own(scene, batch))
        seconds, notes = {"bough": timed(motion)}, []
        for name, peer in (("mujoco_warp.step", mujoco_warp), ("newton SolverMuJoCo.step", newton)):
            try:
                gap = float(np.median(np.abs(heights(motion := peer(scene, batch)) - ours)))
                if not gap < EQUAL:
                    raise NumericalError(f"its bases are {gap:.1e} m from ours")
                seconds[name] = timed(motion)
                notes.append(f"{name} within {1e3 * gap:.1g} mm after {SETTLED} steps")
            except ImportError:
                continue
            except Exception as error:  # of another library, in its own words
                notes.append(f"{name}: {error}"[:200])
        each = {name: t / batch for name, t in seconds.items()}
        rates = ", ".join(f"{1e-6 / t:.2f}" for t in each.values())
        yield Timing(GROUP, scene.model.name, f"float32, {batch:,} robots", each, f"{rates} M/s; {'; '.join(notes)}")


class Motion(NamedTuple):
    """A number of steps, and the heights of all bases, on the host."""

    step: Callable[[int], Any]
    height: Callable[[], Any]
    wait: Callable[[], Any]


def heights(motion: Motion) -> Any:
    motion.step(SETTLED)
    return np.asarray(motion.height())


def timed(motion: Motion, steps: int = 50) -> float:
    """Seconds of a step, the median of bursts; states go on."""
    motion.step(steps)
    motion.wait()
    times = []
    for _ in range(5):
        start = perf_counter()
        motion.step(steps)
        motion.wait()
        times.append((perf_counter() - start) / steps)
    return float(np.median(times))


def own(scene: Scene, batch: int) -> Motion:
    torch: Any = import_module("torch")
    contacts = Contacts([ContactPoint(name, radius=RADIUS) for name in scene.points], friction=FRICTION)
    q = torch.asarray(scene.repeated(batch), dtype=torch.float32, device="cuda")
    v = torch.zeros((batch, scene.model.nv), dtype=torch.float32, device="cuda")
    runs = Ensemble(scene.model, q, v, dt=DT, contacts=contacts, servo=(STIFFNESS, DAMPING))
    return Motion(partial(runs.step, target=scene.target), lambda: runs.q[:, 2].cpu(), torch.cuda.synchronize)


def mjcf(scene: Scene) -> str:
    """Our MJCF with the plane, the points, and the springs."""
    mujoco = required("mujoco", "bench", "this comparison")
    spec = mujoco.MjSpec.from_string(scene.model.to_mjcf())
    spec.option.timestep = DT
    spec.worldbody.add_geom(
        type=mujoco.mjtGeom.mjGEOM_PLANE, size=[0, 0, 1], friction=[FRICTION, 0, 0], contype=1, conaffinity=0
    )
    for name in scene.points:
        site = spec.site(name)
        body, at = (site.parent, site.pos) if site else (spec.body(name), np.zeros(3))
        body.add_geom(
            type=mujoco.mjtGeom.mjGEOM_SPHERE, size=[RADIUS, 0, 0], pos=at, friction=[FRICTION, 0, 0],
            contype=0, conaffinity=1, mass=0.0,
        )  # fmt: skip
    for joint in spec.joints:
        if joint.type in (mujoco.mjtJoint.mjJNT_HINGE, mujoco.mjtJoint.mjJNT_SLIDE):
            joint.stiffness, joint.damping = [STIFFNESS, 0, 0], [DAMPING + joint.damping[0], 0, 0]
    spec.compile()
    return spec.to_xml()


def mujoco_warp(scene: Scene, batch: int) -> Motion:
    """Ten steps a CUDA graph."""
    warp: Any = import_module("warp")
    library: Any = import_module("mujoco_warp")
    mujoco = required("mujoco", "bench", "this comparison")
    twin = mujoco.MjModel.from_xml_string(mjcf(scene))
    on_device, data = library.put_model(twin), library.make_data(twin, nworld=batch, nconmax=8, njmax=64)
    q = to_mujoco(scene.model, scene.repeated(batch))
    library.step(on_device, data)  # compiles
    library.reset_data(on_device, data)
    data.qpos.assign(q.astype(np.float32))
    return Motion(
        _graph(warp, lambda: library.step(on_device, data)), lambda: data.qpos.numpy()[:, 2], warp.synchronize
    )


def newton(scene: Scene, batch: int) -> Motion:
    """Newton's default solver of robots, which is MuJoCo Warp's, through Newton's states."""
    warp: Any = import_module("warp")
    library: Any = import_module("newton")
    one, all_of_them = library.ModelBuilder(), library.ModelBuilder()
    library.solvers.SolverMuJoCo.register_custom_attributes(one)
    one.add_mjcf(mjcf(scene), ctrl_direct=True)
    all_of_them.replicate(one, batch)
    model = all_of_them.finalize()
    solver = library.solvers.SolverMuJoCo(model, nconmax=8, njmax=64)
    states, control = [model.state(), model.state()], model.control()

    def step() -> None:
        for before, after in (states, states[::-1]):
            solver.step(before, after, control, None, DT)

    step()
    for state in states:
        state.joint_q.assign(scene.repeated(batch).astype(np.float32).ravel())
        state.joint_qd.zero_()
        library.eval_fk(model, state.joint_q, state.joint_qd, state)
    advance = _graph(warp, step, 2)
    return Motion(advance, lambda: states[0].joint_q.numpy().reshape(batch, -1)[:, 2], warp.synchronize)


def _graph(warp: Any, step: Callable[[], Any], of: int = 1) -> Callable[[int], None]:
    """What takes a number of steps, a multiple of ten, by CUDA graphs of ten."""

    def ten() -> None:
        for _ in range(10 // of):
            step()

    launch = ten
    if warp.is_cuda_available():
        with warp.ScopedCapture() as capture:
            ten()
        launch = partial(warp.capture_launch, capture.graph)

    def advance(count: int) -> None:
        for _ in range(count // 10):
            launch()

    return advance
