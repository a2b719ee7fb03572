"""A linkage that settles while one looks: an error slider, and a force that is placed on a body and dragged."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np

from bough.adaptive import QuasiStatics, Stats, energy
from bough.errors import BoughError, short
from bough.types import FloatArray
from bough.view.kinematics import joints_in
from bough.view.live.access import escape_markdown
from bough.view.live.panels import MOST_SLIDERS
from bough.view.live.play import plotted
from bough.view.live.stage import Stage, told

KEPT = 300  # steps in the plots
MOMENT, MOST_STEPS = 0.02, 50  # s of stepping between two pictures
MOST_NAMED = 2000  # bodies in a list; of more, one is named
STIFF = 40.0  # N/m for a body of 1 kg: it arrives after some hundred steps of 0.01 s
NEAR = 1e-6  # of the scene's radius: a handle that is not dragged pulls at nothing, whatever the rounding


class Settling:
    """Adaptive steps, a few for each picture, while `run` is on."""

    def __init__(self, server: Any, stage: Stage, show: Callable[[FloatArray, Any], None]) -> None:
        self.server, self.stage, self.draw = server, stage, show
        self.model, self.number, self.pulled = stage.scene.model, -1, ""
        self.sim: QuasiStatics | None = None
        self.lock, self.over = threading.Lock(), threading.Event()
        self.history: deque[tuple[float, float, float]] = deque(maxlen=KEPT)
        self._controls()
        self.thread = threading.Thread(target=self._loop, daemon=True)
        self.thread.start()

    def _controls(self) -> None:
        gui, names = self.server.gui, self.model.body_names
        with gui.add_folder("Settle adaptively", expand_by_default=self.model.nv > MOST_SLIDERS):
            self.run = gui.add_checkbox("run", False)
            self.eps = gui.add_slider("allowed error", 0.001, 1.0, 0.001, 0.1)
            self.step = gui.add_slider("step, s", 0.001, 1.0, 0.001, 0.01)
            self.gravity = gui.add_checkbox("gravity", False)
            self.body: Any = (
                gui.add_dropdown("force on", names, initial_value=names[-1])
                if len(names) <= MOST_NAMED
                else gui.add_text("force on", names[-1])
            )
            mean = max(self.model.total_mass / len(names), 1e-9)
            self.pull = gui.add_number("pull, N/m", float(f"{STIFF * mean:.2g}"), min=0.0)
            self.text = gui.add_markdown("when it runs, drag the handle in the scene: the force points to it")
            words = ("joints computed", "error bound")
            self.plots = [plotted(self.server, np.arange(2.0), {word: np.zeros(2)}) for word in words]
        self.handle = self.server.scene.add_transform_controls(
            "/pull", scale=0.25 * self.stage.view.radius, disable_rotations=True, visible=False
        )
        self.run.on_update(lambda _: self._switch())
        self.body.on_update(lambda _: self._place())
        self.eps.on_update(lambda _: self._set())
        self.gravity.on_update(lambda _: self._set())

    def _switch(self) -> None:
        with self.lock:
            if self.run.value and self.sim is None:
                self.sim = QuasiStatics(self.model, energy(self.eps.value), "adaptive")
                self.sim.configuration = self.stage.q
        self._set()
        self._place()

    def _set(self) -> None:
        with self.lock:
            if self.sim is not None:
                self.sim.error = energy(self.eps.value)
                self.sim.gravity = self.model.gravity if self.gravity.value else np.zeros(3)

    @told
    def _place(self) -> None:
        """The handle at the body, and a force on it, zero until it is dragged."""
        with self.lock:
            if self.sim is None or self.body.value not in self.model.body_names:
                return
            if self.number >= 0:
                self.sim.remove_force(self.number)
            self.pulled = self.body.value
            self.number = self.sim.apply_force(self.pulled, np.zeros(3))
            self.handle.position = tuple(self.sim.positions([self.pulled])[0])
            self.handle.visible = bool(self.run.value)

    def _loop(self) -> None:
        while not self.over.wait(0.03):
            try:
                with self.lock:
                    if self.run.value:
                        self.advance()
            except BoughError as error:
                self.run.value = False
                self.text.content = f"**stopped**: {escape_markdown(error)}"

    def advance(self) -> None:
        """As many steps as fit into a moment, then the picture and the plots."""
        sim = self.sim
        if sim is None:
            return
        took = sim.stats.seconds if sim.steps else np.inf
        steps = int(np.clip(MOMENT / took, 1, MOST_STEPS)) if took > 0.0 else 1
        if not np.array_equal(self.stage.q, sim.configuration):  # somebody moved a slider
            sim.configuration = self.stage.q
        before = sim.configuration
        if self.number >= 0:
            at = sim.positions([self.pulled])[0]
            way = np.asarray(self.handle.position, float) - at
            way *= np.linalg.norm(way) > NEAR * self.stage.view.radius
            sim.change_force(self.number, self.pull.value * way)
            self.stage.arrow("/pulled", at[None], way[None])
        sim.run(steps, self.step.value)
        q, stats = sim.configuration, sim.stats
        self.draw(q, joints_in(self.stage.scene.links, q != before))
        self.history.append((stats.steps, stats.joints, stats.bound))
        self.report(stats)

    @told
    def report(self, stats: Stats) -> None:
        """The plots, and the last step in words."""
        x, joints, bound = (np.array(column, float) for column in zip(*self.history, strict=True))
        for plot, y in zip(self.plots, (joints, bound), strict=True):
            if len(x) > 1:
                plot.data = (x, np.nan_to_num(y))
        plain = " (full steps, which cost less here)" if stats.method == "aba" else ""
        lost = escape_markdown(f"no body {short(self.body.value)!r}: the force stays on {self.pulled}") + "  \n"
        self.text.content = (lost if self.body.value != self.pulled else "") + (
            f"step {stats.steps:,}: {stats.joints:,.0f} of {self.model.nv:,} joints computed{plain}, "
            f"{1e6 * stats.seconds:.0f} us a step, error bound {stats.bound:.2g}"
        )

    def close(self) -> None:
        """Stop."""
        self.over.set()
        self.thread.join(timeout=5.0)
