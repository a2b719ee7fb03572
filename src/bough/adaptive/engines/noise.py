"""How wrong the assembly tree is on the linkage at hand: measured beside plain solutions, never assumed.

Rounding grows where light bodies hang on heavy ones (see `node.algebra`), and with it two things are wrong: the joint
accelerations themselves, and the total accelerations by which a bounded pass chooses. Both are measured when a tree is
first made, under the forces at hand and under forces on all bodies in proportion to their masses, which bring out what
few forces hide. Bounds are widened by what is found; a linkage with too much of it is solved plainly.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from bough.adaptive.measures import ErrorMeasure
from bough.adaptive.passes import CHANGED, COARSE, NOISE, Loads
from bough.joints import Mechanism
from bough.types import FloatArray

if TYPE_CHECKING:
    from bough.adaptive.engines.plain import PlainEngine
    from bough.adaptive.engines.tree import TreeEngine

# Other forces than the two of the measurement may bring out more: joint accelerations were up to 63 times as wrong on
# 60 random linkages. So bounds contain a multiple of what is measured, of joints and of total accelerations.
SAFE, SAFE_TOTAL = 1000.0, 4.0
# A tree that is wrong by more than this, as a fraction of the largest acceleration, is not used.
TRUSTED = 1e-8
LEAST = 2.0**-55  # total accelerations, by the root's, that no measurement vouches for


class Noise(NamedTuple):
    """Errors of a tree, as fractions: the larger ones of two measurements."""

    rounding: float = math.nan  # of an acceleration, by the largest one
    joint: float = math.nan  # of a joint's weighted acceleration, by the largest one
    norm: float = math.nan  # of the norm of all
    level: float = math.nan  # total accelerations up to this, by the root's, are mere rounding
    spread: float = math.nan  # the same, summed over clusters that may be closed together
    total: float = math.nan  # of a total acceleration, by the root's
    root: float = math.nan  # total acceleration of the root under the forces at hand, (1/s^2)^2
    largest: float = math.nan  # largest weighted square of a joint acceleration under them

    @property
    def is_known(self) -> bool:
        """Whether it was measured."""
        return math.isfinite(self.rounding)

    @property
    def is_too_large(self) -> bool:
        """Whether the tree is not to be used; false before it is measured."""
        return self.rounding > TRUSTED

    def merged(self, other: Noise) -> Noise:
        """The larger errors of both; the scale of this one."""
        if not self.is_known:
            return other._replace(root=0.0, largest=0.0)
        return Noise._make([*map(max, self[:6], other[:6]), self.root, self.largest])

    def _parts(self, error: ErrorMeasure, root: float) -> tuple[float, float]:
        """(square of what rounding may hide in closed clusters, error of the joints computed), not yet scaled."""
        if error.over == "energy":  # known exactly once the hybrid linkage is solved
            return 0.0, 0.0
        if error.over == "joint":
            return SAFE_TOTAL * self.level * root, SAFE * self.joint * math.sqrt(root)
        return SAFE_TOTAL * self.spread * root, SAFE * self.norm * math.sqrt(root)

    def bound(self, error: ErrorMeasure, left: float | None, root: float, largest: float) -> float:
        """The bound of a pass that left total accelerations `left` closed, None without any, in the measure's terms."""
        hidden, rounding = self._parts(error, root)
        total = rounding
        if left is not None:
            exact = left / (1.0 - COARSE)
            total += math.sqrt(max(exact, hidden) if error.over == "joint" else exact + hidden)
        scale = error.scaled(root, largest)
        if total == 0.0:
            return 0.0
        return total / math.sqrt(scale) if scale > 0.0 else math.inf

    def floor(self, error: ErrorMeasure) -> float:
        """The smallest eps that is worth its name: four times what rounding may do."""
        root, largest = (self.root, self.largest) if self.root > 0.0 else (1.0, 1.0)
        hidden, rounding = self._parts(error, root)
        return 4.0 * max(math.sqrt(hidden), rounding) / math.sqrt(error.scaled(root, largest))

    def inner(self, error: ErrorMeasure, root: float) -> ErrorMeasure:
        """The measure for which a pass must stop, so that its bound is within `error` when rounding is added."""
        share = self.largest / self.root if self.root > 0.0 else 1.0
        scale = error.scaled(root, share * root)
        if not (self.is_known and scale > 0.0) or error.over == "energy":
            return error
        hidden, rounding = self._parts(error, root)
        rest = max(error.eps - rounding / math.sqrt(scale), 0.5 * error.eps) ** 2
        if error.over == "linkage":
            rest = max(rest - hidden / scale, 0.25 * rest)
        return replace(error, eps=math.sqrt((1.0 - COARSE) * rest))


def make_noise(found: FloatArray, rounding: float) -> Noise:
    """From what `passes.whole.noise` found."""
    root, largest, level, spread, joint, norm, worst = found[:7].tolist()
    if not root > 0.0:
        return Noise(root=0.0, largest=0.0)
    totals = max(level / root, LEAST), max(spread / root, LEAST), worst / root
    return Noise._make([rounding, math.sqrt(joint / largest), math.sqrt(norm / root), *totals, root, largest])


def probe(m: Mechanism) -> FloatArray:
    """(primitives, 6) a random force on every body, in proportion to its mass and rotational inertia."""
    rng = np.random.default_rng(0)
    push, turn = rng.normal(size=(2, len(m.inertia), 3))
    force = m.inertia[:, 9:] * push
    moment = np.cross(m.inertia[:, 6:9], push) + m.inertia[:, :3].mean(axis=1, keepdims=True) * turn
    return np.concatenate([moment, force], axis=1)


def measure_noise(tree: TreeEngine, plain: PlainEngine, loads: Loads) -> Noise:
    """How wrong a tree is, beside plain solutions here and now; it must be up to date with `loads`. O(n)."""
    s, none = tree.shared, tree.no_forces
    kept = s.force.copy(), s.tau.copy()
    found = _noise_beside(tree, plain, loads)
    if found is None:  # refused by whoever reads the accelerations
        return tree.noise
    every = np.unique(tree.plan.leaf_up[: len(tree.plan.parent)]).astype(np.int64)
    tree.reserve(none, len(tree.plan.left))
    s.force[:], s.tau[:] = probe(tree.mechanism), 0.0
    tree.do(CHANGED, none, number=every)
    tree.noise = found.merged(_noise_beside(tree, plain, none) or found)
    s.force[:], s.tau[:] = kept
    tree.do(CHANGED, none, number=every)
    plain.load(loads)
    return tree.noise


def _noise_beside(tree: TreeEngine, plain: PlainEngine, loads: Loads) -> Noise | None:
    """One measurement, under the forces that act now; None where accelerations are no numbers."""
    qdd = tree.shared.qdd
    plain.load(loads)
    plain.solve(loads)
    largest = float(np.abs(qdd).max(initial=0.0))
    work = np.zeros((4, max(len(tree.plan.left), len(qdd), 7)))
    work[2, : len(qdd)] = qdd
    tree.do(NOISE, out=work)
    qdd[:] = 0.0
    wrong = float(np.abs(work[2]).max())
    if not math.isfinite(wrong):
        return None
    return make_noise(work[3], wrong / largest) if largest > 0.0 else Noise(root=0.0, largest=0.0)
