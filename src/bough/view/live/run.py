"""A simulation in a live scene: adaptive quasi-statics, or motion with contacts. Ctrl-drag pulls at a body."""

from __future__ import annotations

import threading
from collections.abc import Callable
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from bough.adaptive import QuasiStatics, energy
from bough.dynamics import Dynamics
from bough.errors import BoughError
from bough.simulate import ContactPoint, Contacts, Ensemble, Plane
from bough.simulate.drives import default_gains
from bough.types import FloatArray
from bough.view.bounds import corners_of
from bough.view.kinematics import joints_in
from bough.view.live.access import escape_markdown
from bough.view.live.stage import Stage, resent

KINDS = ("dynamics with contacts", "adaptive quasi-statics")
FRAME, MOMENT, MOST_STEPS = 0.03, 0.02, 50  # s of motion in a frame, and of adaptive stepping
DT = 2e-3  # s, of dynamics
STIFF = 40.0  # N/m for a body of 1 kg: it arrives after some hundred adaptive steps of 0.01 s
HELP = "hold ctrl and drag a body: a spring pulls it to the pointer"


class Pull(NamedTuple):
    """A spring from a point of a body, named by a frame, to a place in the world."""

    frame: str
    point: FloatArray  # (3,) in the frame
    body: int  # as the kernels number them
    local: FloatArray  # (3,) the point in the body
    target: FloatArray  # (3,)


class Settling:
    """Adaptive steps, as many as fit into a moment."""

    def __init__(self, run: Run) -> None:
        self.run, self.stage = run, run.stage
        self.sim, self.number = QuasiStatics(run.model, energy(run.eps.value), "adaptive"), -1

    def advance(self, q: FloatArray, pull: Pull | None, stiffness: float) -> tuple[FloatArray, Any, str]:
        """A few steps: the configuration after them, the bodies that are lit up or None, and the state in words."""
        sim, run = self.sim, self.run
        if not np.array_equal(q, sim.configuration):  # a slider moved
            sim.configuration = q
        sim.error = energy(run.eps.value)
        sim.gravity = run.model.gravity if run.gravity.value else np.zeros(3)
        if pull is None and self.number >= 0:
            sim.remove_force(self.number)
            self.number = -1
        if pull is not None:
            force = stiffness * (pull.target - run.place(pull, q))
            if self.number < 0:
                self.number = sim.apply_force(pull.frame, force, pull.point)
            sim.change_force(self.number, force)
        took = sim.stats.seconds if sim.steps else np.inf
        sim.run(int(np.clip(MOMENT / took, 1, MOST_STEPS)) if took > 0.0 else 1, 0.01)
        stats, now = sim.stats, sim.configuration
        words = (
            f"step {stats.steps:,}: {stats.joints:,.0f} of {run.model.nv:,} joints computed, "
            f"{1e6 * stats.seconds:.0f} us a step, error bound {stats.bound:.2g}"
        )
        return now, joints_in(self.stage.scene.links, now != q), words


class Moving:
    """Steps of 2 ms in real time, with hard contacts; motors hold the start if that is on."""

    def __init__(self, run: Run) -> None:
        self.run, model = run, run.model
        self.dynamics = Dynamics(model, general=True)
        servo = default_gains(self.dynamics, run.stage.q) if run.hold.value else None
        self.sim = Ensemble(
            model, run.stage.q[None], np.zeros((1, model.nv)), dt=DT, contacts=run.contacts, servo=servo,
            dynamics=self.dynamics, threads=1,
        )  # fmt: skip
        self.last: FloatArray | None = None  # where the pulled point was a step ago

    def advance(self, q: FloatArray, pull: Pull | None, stiffness: float) -> tuple[FloatArray, Any, str]:
        """Steps of one frame."""
        if not np.array_equal(q, self.sim.q[0]):  # a slider moved
            self.sim.reset([0], q[None], np.zeros((1, self.run.model.nv)))

        def tau(t: float, q: FloatArray, v: FloatArray) -> FloatArray:
            """That of a spring with a damper."""
            if pull is None:
                self.last = None
                return np.zeros(self.run.model.nv)
            at = self.run.place(pull, q[0])
            speed, self.last = (at - (at if self.last is None else self.last)) / DT, at
            force = stiffness * (pull.target - at) - (stiffness * self.run.model.total_mass) ** 0.5 * speed
            return np.asarray(self.dynamics.generalized_forces(q[0], [(pull.frame, pull.point)], force[None]))

        self.sim.step(round(FRAME / DT), tau=tau)
        if self.sim.failed[0]:
            raise BoughError("the motion has no finite state any more")
        force = self.sim.force
        weight = "" if force is None else f", contacts push with {np.linalg.norm(np.sum(force[0], axis=0)):.4g} N"
        return np.array(self.sim.q[0]), None, f"{self.sim.time:.2f} s{weight}"


class Run:
    """The controls of a simulation, and the thread that advances it while `run` is on."""

    def __init__(
        self, server: Any, stage: Stage, show: Callable[[FloatArray, Any], None], contacts: Contacts | None
    ) -> None:
        self.server, self.stage, self.draw = server, stage, show
        self.model, self.names = stage.scene.model, stage.scene.labels()
        self.contacts = contacts or contacts_of(stage)
        self.sim: Settling | Moving | None = None
        self.pull: Pull | None = None
        self.lock, self.over = threading.Lock(), threading.Event()
        self._controls(server.gui)
        stage.on_drag(self.drag)
        self.thread = threading.Thread(target=self._loop, daemon=True)
        self.thread.start()

    def _controls(self, gui: Any) -> None:
        many = self.model.nv > 60
        with gui.add_folder("Simulate", expand_by_default=many):
            self.run = gui.add_checkbox("run", False)
            self.kind = gui.add_dropdown("kind", KINDS, initial_value=KINDS[many])
            self.hold = gui.add_checkbox("motors hold the posture", True)
            self.eps = gui.add_slider("allowed error", 0.001, 1.0, 0.001, 0.1)
            self.gravity = gui.add_checkbox("gravity in quasi-statics", False)
            mass = self.model.total_mass if self.kind.value == KINDS[0] else self.model.total_mass / len(self.names)
            self.stiffness = gui.add_number("pull, N/m", float(f"{STIFF * max(mass, 1e-9):.2g}"), min=0.0)
            self.text = gui.add_markdown(HELP)
        for control in (self.run, self.kind, self.hold):
            control.on_update(lambda _: self._restart())

    def _restart(self) -> None:
        """The next frame begins a new simulation where the scene is."""
        with self.lock:
            self.sim = None

    def drag(self, phase: str, body: int, at: FloatArray, target: FloatArray) -> None:
        """Pull at a point of a body, which is `at` in the world, until the drag ends."""
        if phase == "end" or body < 0 or self.names[body] not in self.model.body_names:
            self.pull = None
        elif phase == "start" or self.pull is None:
            k = self.model.frame(self.names[body])
            T = self.stage.placements(self.stage.q)[body]
            local = T[:3, :3].T @ (at - T[:3, 3])
            point = self.model.frames.R[k].T @ (local - self.model.frames.p[k])
            self.pull = Pull(self.names[body], point, body, local, target)
        else:
            self.pull = self.pull._replace(target=target)

    def place(self, pull: Pull, q: FloatArray) -> FloatArray:
        """Where the pulled point is at q."""
        T = self.stage.placements(q)[pull.body]
        found: FloatArray = T[:3, :3] @ pull.local + T[:3, 3]
        return found

    def _loop(self) -> None:
        took = 0.0
        while not self.over.wait(max(FRAME - took, 1e-3)):
            began = perf_counter()
            try:
                with self.lock:
                    if self.run.value:
                        self.advance()
            except BoughError as error:
                self.run.value = False
                self.text.content = f"**stopped**: {escape_markdown(error)}"
            took = perf_counter() - began

    def advance(self) -> None:
        """One frame."""
        if self.sim is None:
            self.sim = (Moving if self.kind.value == KINDS[0] else Settling)(self)
        pull = self.pull
        q, active, words = self.sim.advance(self.stage.q, pull, self.stiffness.value)
        self.draw(q, active)
        start = np.zeros((0, 3)) if pull is None else self.place(pull, q)[None]
        self.stage.arrow("/pulled", start, start if pull is None else pull.target - start)
        self._tell(words)

    @resent
    def _tell(self, words: str) -> None:
        self.text.content = f"{words}  \n{HELP}"

    def close(self) -> None:
        """Stop."""
        self.over.set()
        self.thread.join(timeout=5.0)


def contacts_of(stage: Stage) -> Contacts | None:
    """The lowest corners of the last links of a floating robot, above the floor of the scene; None on a fixed base."""
    scene, model = stage.scene, stage.scene.model
    if not len(model.joints) or model.joints[0].type != "floating":
        return None
    names, T = scene.labels(), stage.placements(scene.q)
    points = []
    for body in sorted(set(range(len(names))) - set(scene.links.parent.tolist())):
        corners = corners_of(scene.shapes, body)
        if not len(corners) or names[body] not in model.body_names:
            continue
        height = (corners @ T[body, :3, :3].T)[:, 2]
        low, k = corners[np.argsort(height)[:4]], model.frame(names[body])
        inside = (low - model.frames.p[k]) @ model.frames.R[k]
        points += [ContactPoint(names[body], tuple(point)) for point in inside.tolist()]
    return Contacts(points, Plane((0.0, 0.0, stage.view.floor))) if points else None
