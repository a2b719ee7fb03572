"""A recorded motion in a live scene: a time bar, play and speed, and plots that follow."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np

from bough.types import FloatArray
from bough.view.kinematics import Links, moving
from bough.view.live.access import escape_markdown
from bough.view.live.stage import told
from bough.view.scene import Motion

SHOWN = 400  # points of a plot
FRAMES = 30  # a second


class Player:
    """Plays a motion; `show(q, active, sample)` draws a sample."""

    def __init__(self, server: Any, motion: Motion, show: Callable[[FloatArray, Any, int], None], links: Links) -> None:
        self.motion, self.draw, self.links = motion, show, links
        with server.gui.add_folder("Time"):
            last = max(len(motion.time) - 1, 1)
            self.bar = server.gui.add_slider("sample", 0, last, 1, 0)
            self.text = server.gui.add_markdown("")
            self.play = server.gui.add_checkbox("play", False)
            self.speed = server.gui.add_slider("speed", 0.1, 5.0, 0.1, 1.0)
        self.plots = [plotted(server, motion.time, {name: track}) for name, track in motion.tracks.items()]
        self.bar.on_update(lambda _: self.go(int(self.bar.value)))
        self.go(0)
        self.over = threading.Event()
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    @told
    def go(self, sample: int) -> None:
        """Show a sample; of an adaptive run, with the joints that moved in it."""
        motion = self.motion
        sample = min(sample, len(motion.time) - 1)
        self.draw(motion.q[sample], moving(self.links, motion.q, sample) if motion.adaptive else None, sample)
        values = "  \n".join(f"{escape_markdown(name)}: {track[sample]:.4g}" for name, track in motion.tracks.items())
        self.text.content = f"{motion.time[sample]:.3f} s of {motion.time[-1]:.3f} s  \n{values}"

    def _run(self) -> None:
        at, times = float(self.motion.time[0]), self.motion.time
        while not self.over.wait(1.0 / FRAMES):
            if not self.play.value:
                at = float(times[min(int(self.bar.value), len(times) - 1)])
                continue
            at += self.speed.value / FRAMES
            at = at if at <= times[-1] else float(times[0])
            with suppress(RuntimeError):  # as in `told`; the next picture is near
                self.bar.value = max(int(np.searchsorted(times, at, side="right")) - 1, 0)

    def close(self) -> None:
        """Stop playing."""
        self.over.set()
        self.thread.join(timeout=2.0)


def plotted(server: Any, x: FloatArray, lines: dict[str, FloatArray]) -> Any:
    """A plot of a few lines over x; long ones are thinned out."""
    from viser import uplot

    kept = np.unique(np.linspace(0, len(x) - 1, min(SHOWN, len(x))).astype(int))
    data = (np.asarray(x, float)[kept], *(np.nan_to_num(np.asarray(y, float)[kept]) for y in lines.values()))
    series = (uplot.Series(label=""), *(uplot.Series(label=name, stroke="#2a7fba", width=2) for name in lines))
    return server.gui.add_uplot(
        data, series, title=", ".join(lines), aspect=2.2, scales={"x": uplot.Scale(time=False)}, padding=(14, 14, 0, 0)
    )
