"""Whole-body programs with friction as it is: second-order cones, by Clarabel (Goulart & Chen 2024).

A rectangle presses with a force at each of its four corners, each in Coulomb's cone |f_t| <= friction f_z; the forces
of the program are what corners add up to. What pyramids cut off is there.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from bough.control.contacts import Contact, Loop
from bough.errors import OptionError, required
from bough.model import Sole
from bough.types import FloatArray

if TYPE_CHECKING:
    from bough.control.active_sets import Quadratic

SOLVER = "clarabel"
CORNER_WEIGHT = 1e-4  # of corner forces, so that of many the least is chosen; in the units of programs


class ConeSet(NamedTuple):
    """Forces at points and what they add up to: f = M g, each three of g in a cone."""

    M: FloatArray  # (rows of f, 3 points)
    friction: FloatArray  # (points,)


def cone_solver(wanted: str | None) -> str:
    """Clarabel; any other solver is refused by name."""
    if wanted not in (None, SOLVER):
        raise OptionError(f"solver {wanted!r} takes no second-order cones: use solver={SOLVER!r}, or cone='pyramid'")
    required(SOLVER, "cones", 'cone="second_order"')
    return SOLVER


def cone_set(contacts: tuple[Contact | Loop, ...]) -> ConeSet:
    """The corners of all contacts; loops press with any force, at no point."""
    rows = sum(contact.rows for contact in contacts)
    blocks: list[FloatArray] = []
    friction: list[float] = []
    first = 0
    for contact in contacts:
        corners = Sole(contact.frame, contact.size).corners if isinstance(contact, Contact) else ()
        for x, y, z in corners:
            block = np.zeros((rows, 3))
            block[first : first + 3] = np.eye(3)
            if contact.rows == 6:  # moments about the contact's point
                block[first + 3 : first + 6] = [[0, -z, y], [z, 0, -x], [-y, x, 0]]
            blocks.append(block)
        friction += [contact.friction] * len(corners) if isinstance(contact, Contact) else []
        first += contact.rows
    return ConeSet(np.hstack(blocks) if blocks else np.zeros((rows, 0)), np.array(friction))


def minimise_in_cones(s: Quadratic, cones: ConeSet, nv: int) -> FloatArray | None:
    """x of a program within the cones too, or None where there is none."""
    clarabel: Any = import_module(SOLVER)
    sparse: Any = import_module("scipy.sparse")
    n, points = len(s.c), len(cones.friction)
    held = np.flatnonzero(np.abs(cones.M).any(axis=1))  # forces that points make; loops have none
    wide = np.zeros((n + 3 * points, n + 3 * points))
    wide[:n, :n], wide[n:, n:] = s.P, CORNER_WEIGHT * np.eye(3 * points)
    joined = np.zeros((len(held), n + 3 * points))
    joined[np.arange(len(held)), nv + held], joined[:, n:] = 1.0, -cones.M[held]
    box = np.eye(n)
    low, high = np.isfinite(s.lower), np.isfinite(s.upper)
    (G, h), (E, e) = s.below, s.equations
    below, ends = np.concatenate([G, box[high], -box[low]]), np.concatenate([h, s.upper[high], -s.lower[low]])
    # s = (friction g_z, g_x, g_y) for each point
    cone = np.zeros((3 * points, n + 3 * points))
    for k, mu in enumerate(cones.friction):
        cone[3 * k, n + 3 * k + 2], cone[3 * k + 1, n + 3 * k], cone[3 * k + 2, n + 3 * k + 1] = -mu, -1.0, -1.0
    more = ((0, 0), (0, 3 * points))
    A = sparse.csc_matrix(np.concatenate([np.pad(E, more), joined, np.pad(below, more), cone]))
    b = np.concatenate([e, np.zeros(len(held)), ends, np.zeros(3 * points)])
    kinds: list[Any] = [clarabel.ZeroConeT(len(e) + len(held)), clarabel.NonnegativeConeT(len(ends))]
    kinds += [clarabel.SecondOrderConeT(3)] * points
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    upper = sparse.csc_matrix(np.triu(wide))
    found = clarabel.DefaultSolver(upper, np.r_[s.c, np.zeros(3 * points)], A, b, kinds, settings).solve()
    if str(found.status) not in ("Solved", "AlmostSolved"):
        return None
    return np.asarray(found.x, float)[:n]
