"""Identical limbs: subtrees of one shape below one body, marked so that traced code treats them side by side."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Any

import numpy as np

from bough.compile.graph.program import Mark
from bough.compile.graph.program import Part as Limb
from bough.compile.graph.twins import Parameter, Twins
from bough.joints import PLACED, PRIMITIVES, Mechanism

OF_BODIES = ("fixed", "offset", "inertia")
OF_DOFS = ("pitch", "ratio", "armature")
FOLDING = (0.0, 1.0, -1.0)


def find_limbs(m: Mechanism) -> tuple[list[Limb], list[int]]:
    """For each body its limb, and its place there: bodies of the same place in different limbs correspond."""
    shapes = _shapes(m)
    siblings = Counter((int(p), s) for p, s in zip(m.parent, shapes, strict=True))
    limb: list[Limb] = []
    place: list[int] = []
    seen: Counter[tuple[int, int]] = Counter()
    places: dict[tuple[int, int], int] = {}
    for i, shape in enumerate(shapes):
        p = int(m.parent[i])
        place.append(places.setdefault((place[p] if p >= 0 else -1, shape), len(places)))
        inner = limb[p] if p >= 0 else ()
        if siblings[p, shape] > 1:
            inner = (*inner, ((place[i], seen[p, shape]),))
            seen[p, shape] += 1
        limb.append(inner)
    return limb, place


def identical_limbs(m: Mechanism) -> list[tuple[int, int]]:
    """(how many, joints of each) for every kind of identical limbs on one body of the trunk."""
    found: Counter[tuple[int, int]] = Counter(path[0][0] for path in find_limbs(m)[0] if path)
    kinds: dict[int, list[int]] = defaultdict(list)
    for (kind, _), joints in found.items():
        kinds[kind].append(joints)
    return [(len(sizes), sizes[0]) for sizes in kinds.values()]


def _shapes(m: Mechanism) -> list[int]:
    """A number for the shape of each body's subtree: the kinds of joints, regardless of all dimensions."""
    known: dict[Any, int] = {}
    shape = [0] * len(m.parent)
    children: list[list[int]] = [[] for _ in m.parent]
    for i in range(len(m.parent) - 1, -1, -1):
        dofs = slice(m.dof[i], m.dof[i + 1])
        moving = tuple(zip(m.axis[dofs].tolist(), (m.pitch[dofs] != 0.0).tolist(), strict=True))
        own = (int(m.kind[i]), bool(m.fixed_kind[i] == PLACED), moving)
        shape[i] = known.setdefault((own, *sorted(children[i])), len(known))
        if m.parent[i] >= 0:
            children[m.parent[i]].append(shape[i])
    return shape


def mark_limbs(constants: Sequence[Any]) -> Twins | None:
    """The constants of a kernel, a mechanism first, with the limbs' numbers marked; None without identical limbs.

    Other groups may hold numbers of bodies, too: arrays with a row for each entry of their column `body`.
    """
    m: Mechanism = constants[0]
    limb, place = find_limbs(m)
    if not any(limb):
        return None
    alike: dict[int, list[int]] = defaultdict(list)
    for i in range(len(limb)):
        if limb[i]:
            alike[place[i]].append(i)
    fixed_kind = np.array(m.fixed_kind)
    marked = {name: getattr(m, name).astype(object, order="C") for name in OF_BODIES + OF_DOFS}
    for same, bodies in alike.items():
        fixed_kind[bodies] = fixed_kind[bodies].max()  # the more general screw
        limbs = [limb[i] for i in bodies]
        for name in OF_BODIES:
            _mark(marked[name], bodies, limbs, (name, same))
        for k in range(m.dof[bodies[0] + 1] - m.dof[bodies[0]]):
            for name in OF_DOFS:
                _mark(marked[name], [m.dof[i] + k for i in bodies], limbs, (name, same, k))
    mechanism = m._replace(fixed_kind=fixed_kind, **marked)
    others = (_mark_group(group, limb, place) if hasattr(group, "body") else group for group in constants[1:])
    return Twins((mechanism, *others), _axes(m, limb, place))


def _mark_group(group: Any, limb: list[Limb], place: list[int]) -> Any:
    """A named tuple with the numbers of its rows marked by the bodies that they belong to."""
    rows_of: dict[tuple[int, int], list[int]] = defaultdict(list)  # by place, and rank among the rows of one body
    rank: Counter[int] = Counter()
    for row, i in enumerate(group.body.tolist()):
        if i >= 0 and limb[i]:
            rows_of[place[i], rank[i]].append(row)
            rank[i] += 1
    marked = {
        name: array.astype(object, order="C")
        for name, array in group._asdict().items()
        if array.dtype.kind == "f" and len(array) == len(group.body)
    }
    for same, rows in rows_of.items():
        for name, array in marked.items():
            _mark(array, rows, [limb[group.body[r]] for r in rows], (name, *same))
    return group._replace(**marked)


def _mark(array: Any, rows: list[int], limbs: list[Limb], place: tuple[Any, ...]) -> None:
    """Make parameters of the entries in `rows`, but for columns that fold in the same way in all of them."""
    table = array.reshape(len(array), -1)
    for column in range(table.shape[1]):
        first = table[rows[0], column]
        if first in FOLDING and all(table[r, column] == first for r in rows):
            continue
        for r, limb in zip(rows, limbs, strict=True):
            table[r, column] = Parameter(table[r, column], Mark(limb, (*place, column)))


def _axes(m: Mechanism, limb: list[Limb], place: list[int]) -> dict[str, dict[int, Mark]]:
    """The marks of the entries of q, v and other inputs, by the name of their axis."""
    axes: dict[str, dict[int, Mark]] = {"bodies": {}, "dofs": {}, "nq": {}, "nv": {}}
    nq = {primitive.kind: primitive.nq for primitive in PRIMITIVES.values()}
    for i in (i for i in range(len(limb)) if limb[i]):
        axes["bodies"][i] = Mark(limb[i], (place[i],))
        for k in range(nq[int(m.kind[i])]):
            axes["nq"][int(m.q_index[i]) + k] = Mark(limb[i], (place[i], k))
        for k, d in enumerate(range(m.dof[i], m.dof[i + 1])):
            axes["dofs"][d] = axes["nv"][int(m.v_index[d])] = Mark(limb[i], (place[i], k))
    return axes
