"""Loops before they are used: refused are those that cannot be closed, where that is certain (`reach`), and those that
hold nothing which others do not.

Rows of loops that share no joint have nothing to do with each other, so all is done in small groups of loops. A loop is
redundant where all of its rows lie in the span of the others': in a configuration with loops closed, and elsewhere,
wherever the linkage can go with the others closed, so that a singular posture is not mistaken for it. Rows that are
redundant in part, as those of a planar four-bar in space, are nothing to refuse.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple

import numpy as np

from bough.adaptive.compiled import compiled
from bough.adaptive.engines import LoopRows, loop_jacobian, make_work, plain_move
from bough.adaptive.reach import listed, refuse, refuse_impossible
from bough.errors import ModelError
from bough.joints import Mechanism
from bough.types import FloatArray, IntArray

CLOSED, OPEN = 1e-9, 1e-4  # m or rad: loops as good as closed, and loops that are not
DEPENDENT, INDEPENDENT = 1e-7, 1e-5  # shares of rows outside the span of others: rounding, and what is none
HELD = 1e-6  # square of the share that others have in holding what a redundant loop holds
LARGEST = 10_000_000  # entries of the rows of a group, beyond which it is not looked at
TRIES, STUCK = 60, 1e8  # steps of a search, and its largest damping
TURN, AWAY = 0.4, 0.3  # largest step on the way, and to another posture, rad or m


class Group(NamedTuple):
    """Loops that share joints: m rows that depend on n freedoms."""

    loops: list[int]
    blocks: list[IntArray]  # rows of each loop, counted within the group
    rows: IntArray  # (m,) which rows they are
    v: IntArray  # (n,) places of the freedoms in velocities
    entry: tuple[IntArray, IntArray]  # where nonzeros are in LoopRows.s
    place: tuple[IntArray, IntArray]  # and in the rows (m, n)

    def without(self, k: int) -> IntArray:
        """All rows but those of its k-th loop."""
        return np.setdiff1d(np.arange(len(self.rows)), self.blocks[k])

    def matrix(self, lp: LoopRows) -> FloatArray:
        """Its rows (m, n), as they are now."""
        J = np.zeros((len(self.rows), len(self.v)))
        J[self.place] = lp.s[self.entry]
        return J


def _joined(pairs: IntArray, count: int) -> IntArray:
    """The least number with which each of so many is connected by pairs."""
    first = np.arange(count)
    while True:
        least = np.minimum(first[pairs[:, 0]], first[pairs[:, 1]])
        before = first.copy()
        np.minimum.at(first, pairs[:, 0], least)
        np.minimum.at(first, pairs[:, 1], least)
        first = first[first]
        if np.array_equal(first, before):
            return first


def groups_of(m: Mechanism, lp: LoopRows) -> list[Group]:
    """Loops by the joints that they share."""
    body = np.repeat(np.arange(len(m.parent)), np.diff(lp.first))
    size = np.diff(m.dof)[body]
    e = np.repeat(np.arange(len(body)), size)
    j = np.arange(len(e)) - np.repeat(np.cumsum(size) - size, size)
    row, v, loop = lp.row[e], np.asarray(m.v_index)[m.dof[body[e]] + j], lp.loop[lp.row[e]]
    pairs = np.unique(np.stack([lp.loop[lp.row[lp.first[body]]], lp.loop[lp.row]], axis=1), axis=0)
    label = _joined(pairs.reshape(-1, 2), len(lp.meet))
    order = np.argsort(label[loop], kind="stable")
    ends = np.searchsorted(label[loop][order], np.arange(len(lp.meet) + 1))
    members = np.argsort(label, kind="stable")
    bounds = np.searchsorted(label[members], np.arange(len(lp.meet) + 1))
    count = np.bincount(lp.loop, minlength=len(lp.meet))
    first, found = np.cumsum(count) - count, []
    for k in np.unique(label).tolist():
        loops, some = members[bounds[k] : bounds[k + 1]].tolist(), order[ends[k] : ends[k + 1]]
        rows = np.concatenate([np.arange(first[c], first[c] + count[c]) for c in loops])
        blocks = np.split(np.arange(len(rows)), np.cumsum(count[loops])[:-1])
        columns, at = np.unique(v[some], return_inverse=True)
        place = np.searchsorted(rows, row[some]), at
        found.append(Group(loops, blocks, rows, columns, (e[some], j[some]), place))
    return found


class Postures:
    """Configurations of a mechanism with loops, and how these depend on them there."""

    def __init__(self, m: Mechanism, lp: LoopRows, q: FloatArray) -> None:
        self.m, self.lp, self.q = m, lp, q
        self.work, self.step = make_work(len(m.parent), len(m.axis)), np.zeros(len(m.v_index))
        self.look()

    def look(self) -> None:
        """Jacobians and gaps where joints are now."""
        compiled(loop_jacobian)(self.m, self.q, self.work, self.lp)

    def move(self, groups: Sequence[Group], steps: Sequence[FloatArray]) -> None:
        """Move the joints of groups."""
        self.step[:] = 0.0
        for group, x in zip(groups, steps, strict=True):
            self.step[group.v] = x
        compiled(plain_move)(self.m, self.q, self.step, 1.0)
        self.look()

    def gap(self, group: Group, at: IntArray) -> float:
        """How far these rows of a group are open."""
        return float(np.abs(self.lp.gap[group.rows[at]]).max(initial=0.0))

    def close(self, groups: Sequence[Group], rows: Sequence[IntArray]) -> None:
        """Close these rows of groups by short steps (Levenberg-Marquardt), as far as that goes."""
        searches = [Search(g, at) for g, at in zip(groups, rows, strict=True)]
        for _ in range(TRIES):
            left = [s for s in searches if s.damping < STUCK and self.gap(s.group, s.rows) > CLOSED]
            if not left:
                return
            before, steps = self.q.copy(), [s.step(self.lp) for s in left]
            self.move([s.group for s in left], steps)
            better = [s.took(self.lp) for s in left]
            if not all(better):
                self.q[:] = before
                kept = [(s.group, x) for s, x, good in zip(left, steps, better, strict=True) if good]
                self.move([g for g, _ in kept], [x for _, x in kept])


class Search:
    """One group on its way to where some of its rows are closed."""

    def __init__(self, group: Group, rows: IntArray) -> None:
        self.group, self.rows, self.damping, self._least = group, rows, 1e-9, np.inf

    def step(self, lp: LoopRows) -> FloatArray:
        """The next one, from where joints are."""
        J, gap = self.group.matrix(lp)[self.rows], lp.gap[self.group.rows[self.rows]]
        self._least = float(gap @ gap)
        A = J @ J.T
        A[np.diag_indices_from(A)] += self.damping * max(float(np.trace(A)), 1e-200)
        x = -J.T @ np.linalg.solve(A, gap)
        return np.asarray(x * min(1.0, TURN / max(float(np.abs(x).max(initial=0.0)), 1e-300)))

    def took(self, lp: LoopRows) -> bool:
        """Whether it brought rows closer; the next is shorter where it did not."""
        gap = lp.gap[self.group.rows[self.rows]]
        good = float(gap @ gap) < self._least
        self.damping = max(0.1 * self.damping, 1e-9) if good else 10.0 * max(self.damping, 1e-4)
        return good


def redundant(J: FloatArray, blocks: Sequence[IntArray]) -> list[int]:
    """Which blocks of rows lie in the span of all others."""
    size = np.linalg.norm(J, axis=1)
    moves = size > 1e-10 * size.max(initial=0.0)
    A = J[moves] / size[moves, None]
    idle = [k for k, rows in enumerate(blocks) if not moves[rows].any()]
    with suppress(np.linalg.LinAlgError):
        if np.diag(np.linalg.cholesky(A @ A.T)).min(initial=1.0) > INDEPENDENT:
            return idle
    U, s, _ = np.linalg.svd(A, full_matrices=False)
    U = U[:, s > DEPENDENT]
    at = np.cumsum(moves) - 1
    for k, rows in enumerate(blocks):
        own = U[at[rows[moves[rows]]]]
        # of the forces that hold each other, those of this block: all directions of it, or not
        if len(own) and np.linalg.eigvalsh(np.eye(len(own)) - own @ own.T)[0] > HELD:
            idle.append(k)
    return sorted(idle)


def _away(postures: Postures, group: Group, rows: IntArray, rng: np.random.Generator) -> list[int]:
    """To another posture in which these rows are closed; returns loops of the group that are redundant there."""
    J, x = group.matrix(postures.lp)[rows], rng.normal(size=len(group.v))
    x -= np.linalg.lstsq(J, J @ x, rcond=1e-9)[0]
    postures.move([group], [x * AWAY / max(1.0, float(np.abs(x).max(initial=0.0)))])
    postures.close([group], [rows])
    return redundant(group.matrix(postures.lp), group.blocks)


def _redundant_loop(postures: Postures, group: Group, rng: np.random.Generator) -> int | None:
    """The last loop of a group that is redundant here, and wherever the others let the linkage go."""
    found = redundant(group.matrix(postures.lp), group.blocks)
    if not found:
        return None
    here, every = postures.q.copy(), np.arange(len(group.rows))
    for _ in range(2):
        found = [k for k in found if k in _away(postures, group, every, rng)]
    while found:
        k = found.pop()
        postures.q[:] = here
        postures.look()
        if all(k in _away(postures, group, group.without(k), rng) for _ in range(2)):
            return k
    return None


def _implied_by(J: FloatArray, group: Group, loop: int) -> list[int]:
    """The loops of which the rows of another one are made."""
    at = group.without(loop)
    x = np.zeros(len(J))
    x[at] = np.abs(np.linalg.lstsq(J[at].T, J[group.blocks[loop]].T, rcond=1e-9)[0]).max(axis=1, initial=0.0)
    return [k for k, rows in zip(group.loops, group.blocks, strict=True) if x[rows].max() > 1e-6]


def examine_loops(m: Mechanism, lp: LoopRows, q: FloatArray, names: Sequence[str]) -> None:
    """Refuse loops that cannot be closed, and loops that hold nothing, by name; q is where to begin, and is changed."""
    refuse_impossible(m, lp, q, names)
    groups = [g for g in groups_of(m, lp) if len(g.rows) * len(g.v) <= LARGEST]
    postures, rng = Postures(m, lp, q), np.random.default_rng(1)
    postures.close(groups, [np.arange(len(g.rows)) for g in groups])
    for group in groups:
        k = _redundant_loop(postures, group, rng)
        if k is None:
            continue
        name, by = names[group.loops[k]], [names[c] for c in _implied_by(group.matrix(lp), group, k)]
        others = listed(by, "the linkage itself")
        gap, rest = postures.gap(group, group.blocks[k]), postures.gap(group, group.without(k))
        if gap > OPEN > rest:
            refuse(name, others, gap)
        raise ModelError(f"closure {name} is redundant: it follows from {others}; leave it out")
