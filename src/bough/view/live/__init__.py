"""A scene in the browser, live: served on this machine by viser (extra `viewer`).

Belongs here: what sliders and simulations do to a scene. Does not belong here: what is drawn (`bough.view`).
"""

from __future__ import annotations

from bough.view.live.server import Live, serve

__all__ = ["Live", "serve"]
