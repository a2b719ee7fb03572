"""What a whole-body program looks like while certain contacts hold: where forces are, cones, and names of rows."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from bough.control.bounds import AccelerationBounds
from bough.control.contacts import Contact
from bough.control.program import Constraints
from bough.opspace import TaskSet
from bough.types import FloatArray


class Layout:
    """The parts of a program that do not change with the state; variables are qdd, then the forces of each contact."""

    def __init__(self, tasks: TaskSet, contacts: tuple[Contact, ...], bounds: AccelerationBounds) -> None:
        model, slices = tasks.model, tasks.slices
        self.contacts, self.names = contacts, tuple(contact.name for contact in contacts)
        self.rows = np.concatenate([np.zeros(0, np.int64), *(np.r_[slices[name]] for name in self.names)]).astype(int)
        ends = np.cumsum([0, *(contact.rows for contact in contacts)])
        self.parts = [slice(a, b) for a, b in pairwise(ends.tolist())]
        self.most = np.full(len(self.rows), np.inf)
        self.cone = np.zeros((sum(len(contact.cone) for contact in contacts), model.nv + len(self.rows)))
        names: list[str] = []
        first = 0
        for contact, part in zip(contacts, self.parts, strict=True):
            self.most[part.start + 2] = contact.most
            stop = first + len(contact.cone)
            self.cone[first:stop, model.nv + part.start : model.nv + part.stop] = contact.cone
            names.extend(contact.cone_names)
            first = stop
        joint = bounds.names
        loose = [joint[k] for k in np.flatnonzero(~model.actuated)]
        held = [f"contact of {contact.frame!r}" for contact in contacts for _ in range(contact.rows)]
        self.equal_names = (*(f"no motor drives {name!r}" for name in loose), *held)
        torque = tuple(f"torque limit of {joint[k]!r}" for k in bounds.limited)
        self.below_names = (*torque, *torque, *names)
        self.variable_names = (
            *(f"velocity or position limit of {name!r}" for name in joint),
            *(f"largest force of {contact.frame!r}" for contact in contacts for _ in range(contact.rows)),
        )

    def shared(self, f: FloatArray) -> dict[str, FloatArray]:
        """The forces of each contact, by frame."""
        return {contact.frame: f[part] for contact, part in zip(self.contacts, self.parts, strict=True)}

    def kept(self, s: Constraints, J: FloatArray, qdd: FloatArray, band: float) -> Constraints:
        """The same constraints, and rows J keep the acceleration that qdd gives them, up to `band`."""
        rows = np.concatenate([J, np.zeros((len(J), len(s.lower) - len(qdd)))], axis=1)
        reached = J @ qdd
        G = np.concatenate([s.G, rows, -rows])
        h = np.concatenate([s.h, reached + band, band - reached])
        above = ("a task of higher priority",) * (2 * len(J))
        return s._replace(G=G, h=h, names=(s.names[0], (*s.names[1], *above), s.names[2]))
