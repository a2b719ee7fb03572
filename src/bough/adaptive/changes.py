"""What changed since the last solution: the one thing that decides what must be done again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from bough.types import IntArray

# A tree of which more than this share of the leaves changed is redone as a whole: that is cheaper.
WHOLE = 1.0 / 8.0
FORCES = 0.5  # the same where forces have changed, which costs half or less


@dataclass
class Changes:
    """Notes of what inputs and steps have changed, taken back by the solver when it has acted on them.

    Bodies and joints are numbers of primitives. `size` is how many there are.
    """

    size: int
    forces: list[int] = field(default_factory=list)  # bodies on which other forces act
    torques: list[int] = field(default_factory=list)  # joints with other torques
    everything: bool = True  # configuration or gravity: no equation of the tree holds
    most_forces: bool = False  # so many that all equations are redone
    measure: bool = False  # another error is allowed: the bounded pass begins anew
    closures: bool = True  # closure forces must be found again
    solution: bool = True  # the accelerations found last answer other inputs
    given: int = 0  # how often forces or torques were given

    def force(self, body: int) -> None:
        """Another force on a body."""
        self.forces.append(body)
        self._note(self.forces, FORCES)

    def many_forces(self, bodies: Sequence[int] | IntArray) -> None:
        """Other forces on several bodies."""
        self.closures = self.solution = True
        self.given += 1
        if len(bodies) > FORCES * self.size:
            self.most_forces = True
        elif not self.most_forces:
            self.forces.extend(bodies.tolist() if isinstance(bodies, np.ndarray) else bodies)
            self._note(self.forces, FORCES)

    def torque(self, joints: Sequence[int]) -> None:
        """Other torques at several joints."""
        self.torques.extend(joints)
        self._note(self.torques, WHOLE)

    def _note(self, listed: list[int], most: float) -> None:
        self.closures = self.solution = True
        self.given += 1
        if len(listed) > most * self.size + 64:  # named again and again, or many
            listed[:] = set(listed)
            if len(listed) > most * self.size:
                self.all()

    def all(self) -> None:
        """Another configuration or gravity, or a motion of all joints."""
        self.everything = self.closures = self.solution = True

    def error(self) -> None:
        """Another error measure."""
        self.measure = self.solution = True

    def step(self) -> None:
        """A step was taken on the tree, which is up to date with it."""
        self.closures = self.solution = True

    @property
    def any_force(self) -> bool:
        """Whether forces have other values."""
        return self.most_forces or bool(self.forces)

    @property
    def touched(self) -> list[int]:
        """Bodies and joints with other forces or torques."""
        return self.forces + self.torques

    @property
    def is_small(self) -> bool:
        """Whether the tree may be brought up to date along some of its ways only."""
        few = len(self.torques) <= WHOLE * self.size and len(self.forces) <= FORCES * self.size + 64
        return few and not (self.everything or self.most_forces)

    def taken_by_tree(self) -> None:
        """The tree is up to date with forces and torques."""
        self.forces.clear()
        self.torques.clear()
        self.everything = self.most_forces = self.measure = False

    def taken_by_plain(self) -> None:
        """Forces and torques have reached the plain engine, but not the tree."""
        if self.forces or self.torques or self.most_forces:
            self.everything, self.most_forces = True, False
        self.forces.clear()
        self.torques.clear()
