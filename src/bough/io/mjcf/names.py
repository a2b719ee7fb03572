"""Names out of MuJoCo's tables; what has none is called by its kind and number, and none is given twice."""

from __future__ import annotations

from typing import Any

from bough.model import WORLD, filled_names


class Names:
    """Bodies, joints and sites by their numbers."""

    def __init__(self, model: Any) -> None:
        self._bytes: bytes = model.names
        self.model = self._at(0) or "mujoco"
        self.bodies = [WORLD, *self._all(model.name_bodyadr[1:], "body", 1)]
        self.joints = self._all(model.name_jntadr, "joint", 0)
        self.equalities = self._all(model.name_eqadr, "equality", 0)
        self._taken = set(self.bodies)
        # sites may be called like bodies in MuJoCo; here the second of a name gets a prefix
        self.sites = [self.fresh(name, f"site/{name}") for name in self._all(model.name_siteadr, "site", 0)]

    def _at(self, start: int) -> str:
        return self._bytes[start : self._bytes.index(b"\0", start)].decode(errors="backslashreplace")

    def _all(self, starts: Any, kind: str, first: int) -> list[str]:
        return filled_names([self._at(int(start)) for start in starts], kind, first)

    def weld(self, body: str) -> str:
        """The name of the fixed joint of a body: that of the body, unless a joint has it."""
        name = body if body not in self.joints else f"{body}/weld"
        while name in self.joints:
            name += "_"
        return name

    def fresh(self, name: str, other: str | None = None) -> str:
        """The name, or another if it is taken by a body or frame."""
        if name in self._taken and other is not None:
            name = other
        while name in self._taken:
            name += "_"
        self._taken.add(name)
        return name
