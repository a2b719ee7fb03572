"""`Live`: a scene on a server of this machine."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from contextlib import redirect_stdout, suppress
from typing import Any

import numpy as np

from bough.errors import MissingExtraError, OptionError, required
from bough.simulate import Contacts
from bough.types import FloatArray
from bough.view.live.access import Access, escape_markdown
from bough.view.live.panels import MOST_SLIDERS, Ellipsoids, Sliders, ellipsoids
from bough.view.live.run import Run
from bough.view.live.stage import Stage
from bough.view.scene import Scene


class Live:
    """A scene in the browser: `address` says where. `close` ends it; in a `with` block that is done by itself.

    `contacts` are those of simulations in it; without, a floating robot stands on the ends of its limbs.
    """

    def __init__(self, scene: Scene, port: int = 8080, contacts: Contacts | None = None) -> None:
        if scene.motion is not None:
            raise OptionError("a motion is played in a page (`Scene.save_html`), not in a live view")
        viser = required("viser", "viewer", "a live view")
        self.access = Access()
        try:
            # it would say where it is, which we do
            with redirect_stdout(io.StringIO()), self.access.guarding():
                self.server = viser.ViserServer(host="127.0.0.1", port=port, label=scene.title, verbose=False)
        except OSError as error:
            raise OptionError(f"port {port} of this machine cannot be used: {error.strerror or error}") from None
        if not self.access.guards:
            self.server.stop()
            raise MissingExtraError(
                "this version of viser starts its server in a way that cannot be guarded: use another"
            )
        self.scene, self.q = scene, np.array(scene.q)
        self.stage = Stage(self.server, scene)
        self.ellipsoids: Ellipsoids | None = None
        self._panels(contacts)

    @property
    def address(self) -> str:
        """For a browser of this machine; without its token the view does not answer."""
        return f"http://127.0.0.1:{self.server.get_port()}/?token={self.access.token}"

    def _panels(self, contacts: Contacts | None) -> None:
        self.server.gui.configure_theme(control_width="medium", show_logo=False, show_share_button=False)
        many = self.scene.model.nv > MOST_SLIDERS  # a robot is moved by hand, a linkage settles
        if not many:
            self.sliders = Sliders(self.server, self.stage, self._moved)
        self.run = Run(self.server, self.stage, self.show, contacts)
        if many:
            self.sliders = Sliders(self.server, self.stage, self._moved)
        self.ellipsoids = ellipsoids(self.server, self.stage)
        for note in self.scene.notes:
            self.server.gui.add_markdown(f"*{escape_markdown(note)}*")
        self.run.run.on_update(lambda _: self._rest())

    def _moved(self, q: FloatArray) -> None:
        """By a slider: between two steps, so that the next one goes on from there."""
        with self.run.lock:
            self.show(q)

    def _rest(self) -> None:
        """When it has stopped, and the last step is drawn, sliders follow."""
        if not self.run.run.value:
            with self.run.lock:
                pass
            self.sliders.rest()

    def show(self, q: FloatArray, active: Any = None) -> None:
        """Move the scene to q; `active` (N,) bodies are lit up."""
        self.q = np.array(q)
        self.stage.show(self.q, active)
        if self.ellipsoids is not None:
            self.ellipsoids.show(self.q)

    def close(self) -> None:
        """End the server."""
        self.run.close()
        with redirect_stdout(sys.stderr):
            self.server.stop()

    def __enter__(self) -> Live:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def serve(
    scene: Scene, port: int = 8080, announce: Callable[[str], None] | None = None, contacts: Contacts | None = None
) -> None:
    """Show a scene until it is interrupted."""
    with Live(scene, port, contacts) as live:
        if announce is not None:
            announce(f"{scene.title} at {live.address} (control-C ends it)")
        with suppress(KeyboardInterrupt):
            live.server.sleep_forever()
