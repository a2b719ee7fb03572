"""Soft spheres: atoms that overlap repel each other; pairs are found with a cell list, all in compiled code.

Pairs inside a rigid group never change and are not listed; nor are atoms up to three bonds apart. Where few
joints have moved, the groups between them are rigid clusters: pairs inside a cluster stay listed, and those between
clusters are found on a hierarchy of boxes along the tree (Lotan, Schwarzer, Halperin & Latombe 2004).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from bough.arguments import explained
from bough.compile.kernel import loop_kernel
from bough.compile.run.direct import compiled
from bough.errors import NonFiniteError, SettingError
from bough.molecules.restraints import add_force
from bough.spatial import dot3, get3, scale3, sub3
from bough.types import FloatArray, IntArray, Rows, Scalar, Vector

if TYPE_CHECKING:
    from bough.molecules.molecule import Molecule

SKIN = 0.08  # nm by which pairs are listed beyond contact; half of it may be moved before they are listed again
CELLS = 8  # at most so many a atom
LEAF = 8  # atoms of one group in a box of the hierarchy, at most
FEW = 0.1  # clusters a group: with more of them, the cell list is faster
STILL = 1e-9  # nm and rad: what moved by less has not moved


class Spheres(NamedTuple):
    """Atoms as soft spheres, and where their pairs are listed."""

    radius: FloatArray  # (atoms,) nm
    group: IntArray  # (atoms,)
    first: IntArray  # (atoms + 1,)
    excluded: IntArray  # atoms that are up to three bonds away from each
    cell: IntArray  # (atoms,) scratch: the cell of each atom
    start: IntArray  # (cells + 2,) scratch: where atoms of cell k - 1 start in `order`
    order: IntArray  # (atoms,) scratch: atoms by cell
    place: IntArray  # (atoms,) scratch: where each atom is in `order`
    sorted: FloatArray  # (atoms, 4) scratch: their positions, and radii with half the skin
    listed: FloatArray  # (atoms, 3) where atoms were when pairs were listed
    pairs: IntArray  # (1,) how many are listed; -1 before the first time
    stiffness: FloatArray  # (1,) kJ/mol/nm^2


class Hierarchy(NamedTuple):
    """Boxes around atoms of a group, in the order of the tree, and around two boxes each."""

    atom: IntArray  # (atoms,) by group, those fixed in the world last
    first: IntArray  # (boxes + 1,) of the smallest boxes, into `atom`
    parent: IntArray  # (groups,)
    joint: IntArray  # (groups,) the place in q of a torsion, -1 of a root
    cluster: IntArray  # (groups + 1,) scratch: the first group of the cluster; the last one is the world
    moved: IntArray  # (groups + 1,) scratch: whether a cluster has moved
    inside: IntArray  # (2 leaves,) scratch: the cluster that a box belongs to, -1 where there are several
    box: FloatArray  # (2 leaves, 6) scratch: least and greatest coordinates; box k encloses 2 k and 2 k + 1
    todo: IntArray  # (many, 2) scratch: pairs of boxes


@explained
class Repulsion:
    """Repulsion of atoms closer than `scale` times the sum of their radii: x (atoms, 3) -> (energy, forces).

    E = k s^2 / 8 (1 - d^2 / s^2)^2 for d < s, like a spring k near contact; k is `stiffness` in kJ/mol/nm^2.
    """

    def __init__(self, molecule: Molecule, *, scale: float = 0.8, stiffness: float = 2000.0) -> None:
        atoms, group = molecule.atoms, molecule.groups.group
        if not (0.0 < scale < 10.0 and 0.0 <= stiffness < math.inf):
            raise SettingError(
                f"repulsion: scale must be positive and stiffness not negative, got {scale}, {stiffness}"
            )
        n = len(atoms)
        near = [_within(atoms.neighbours, k) for k in range(n)]
        self.cutoff = 2.0 * scale * float(atoms.radii.max()) + SKIN
        self.spheres = Spheres(
            scale * atoms.radii, np.ascontiguousarray(group, np.int64), np.cumsum([0, *map(len, near)]),
            np.array([j for own in near for j in own], np.int64), np.zeros(n, np.int64),
            np.zeros(CELLS * n + 64, np.int64), np.zeros(n, np.int64), np.zeros(n, np.int64), np.zeros((n, 4)),
            np.full((n, 3), np.inf), np.full(1, -1), np.array([float(stiffness)]),
        )  # fmt: skip
        self.listed_pairs = np.zeros((max(64, 16 * n), 2), np.int64)
        self.listed_at: FloatArray | None = None  # q where pairs were listed, if that is known
        self._hierarchy = _hierarchy(molecule)

    def __call__(self, x: FloatArray) -> tuple[float, FloatArray]:
        """Energy (kJ/mol) and forces (atoms, 3) at x (atoms, 3)."""
        F = np.zeros_like(x)
        return self.add(x, F), F

    def add(self, x: FloatArray, F: FloatArray, q: FloatArray | None = None) -> float:
        """Add the forces to F, and return the energy; where x are positions at q, joints that rest save time."""
        if compiled(have_moved)(self.spheres.listed, x, 0.5 * SKIN):
            self.list_pairs(x, q)
        return float(compiled(repel)(self.spheres, self.listed_pairs, x, F))

    def list_pairs(self, x: FloatArray, q: FloatArray | None = None) -> None:
        """List the pairs that are near at x, in as much room as they need."""
        if not np.isfinite(x).all():
            raise NonFiniteError("repulsion: positions must be finite")
        s, h, before = self.spheres, self._hierarchy, self.listed_at
        self.listed_at = None if q is None else np.array(q, float)
        few = q is not None and before is not None and compiled(find_clusters)(s, h, x, q, before) < FEW * len(h.parent)
        while True:
            kept = int(compiled(keep_pairs)(s, h, self.listed_pairs)) if few else 0
            args = (s, h, self.listed_pairs, x, kept) if few else (s, self.listed_pairs, x, self.cutoff)
            count = s.pairs[0] = int(compiled(list_between if few else list_pairs)(*args))
            if count <= len(self.listed_pairs):
                break
            self.listed_pairs, few = np.zeros((count + count // 4, 2), np.int64), False
        s.listed[:] = x


def _hierarchy(molecule: Molecule) -> Hierarchy:
    groups, n = molecule.groups, len(molecule.groups.parent)
    group = np.where(groups.group < 0, n, groups.group)
    atom = np.argsort(group, kind="stable")
    start = np.searchsorted(group[atom], np.arange(n + 1))
    place = np.arange(len(atom)) - start[group[atom]]
    first = np.append(np.flatnonzero(place % LEAF == 0), len(atom))
    leaves = 1 << (len(first) - 2).bit_length()
    todo = np.zeros((4 * leaves.bit_length() + 64, 2), np.int64)
    return Hierarchy(
        atom, first, groups.parent, molecule.joint_places, np.arange(n + 1), np.zeros(n + 1, np.int64),
        np.zeros(2 * leaves, np.int64), np.zeros((2 * leaves, 6)), todo,
    )  # fmt: skip


def _within(neighbours: list[list[int]], start: int) -> list[int]:
    """Atoms up to three bonds away."""
    found, edge = {start}, [start]
    for _ in range(3):
        edge = [j for k in edge for j in neighbours[k] if j not in found]
        found.update(edge)
    return sorted(found - {start})


@loop_kernel
def have_moved(listed: Rows, x: Rows, far: Scalar) -> int:
    """1 if some atom is farther than that from where it was."""
    for k in range(len(x)):
        gap = sub3(get3(x, k), get3(listed, k))
        if not dot3(gap, gap) < far * far:
            return 1
    return 0


@loop_kernel
def list_pairs(s: Spheres, pairs: Rows, x: Rows, cutoff: Scalar) -> int:
    """List pairs closer than the sum of radii and the skin; returns their number, which may exceed the room."""
    n = len(x)
    low, high = get3(x, 0), get3(x, 0)
    for k in range(n):
        low = (min(low[0], x[k, 0]), min(low[1], x[k, 1]), min(low[2], x[k, 2]))
        high = (max(high[0], x[k, 0]), max(high[1], x[k, 1]), max(high[2], x[k, 2]))
    edge = cutoff
    nx, ny, nz = cells(low, high, edge)
    while float(nx) * float(ny) * float(nz) > len(s.start) - 2:
        edge = 1.26 * edge
        nx, ny, nz = cells(low, high, edge)
    sort_by_cell(s, x, low, edge, (nx, ny, nz))
    count = 0
    for p in range(n):
        c = s.cell[s.order[p]]
        column, l = c // nz, c % nz
        i, j = column // ny, column % ny
        below, above = max(l - 1, 0), min(l + 1, nz - 1)
        exclude(s, p, 0.0)
        # cells of a column are contiguous; of two atoms, the one whose column comes first finds the other
        count = scan(s, pairs, count, p, p + 1, s.start[column * nz + above + 2])
        for a in range(i, min(i + 2, nx)):
            for b in range(max(j - 1, 0), min(j + 2, ny)):
                if a > i or b > j:
                    k = (a * ny + b) * nz
                    count = scan(s, pairs, count, p, s.start[k + below + 1], s.start[k + above + 2])
        exclude(s, p, 1.0)
    return count


@loop_kernel
def sort_by_cell(s: Spheres, x: Rows, low: Vector, edge: Scalar, shape: tuple[int, int, int]) -> None:
    """Fill `order` and `sorted`; atoms of cell k are those from start[k + 1] to start[k + 2]."""
    nx, ny, nz = shape
    for k in range(nx * ny * nz + 2):
        s.start[k] = 0
    for k in range(len(x)):
        i, j, l = int((x[k, 0] - low[0]) / edge), int((x[k, 1] - low[1]) / edge), int((x[k, 2] - low[2]) / edge)
        s.cell[k] = (i * ny + j) * nz + l
        s.start[s.cell[k] + 1] += 1
    for k in range(nx * ny * nz):
        s.start[k + 1] += s.start[k]
    s.start[nx * ny * nz + 1] = len(x)
    for k in range(len(x) - 1, -1, -1):
        s.start[s.cell[k] + 1] -= 1
        p = s.start[s.cell[k] + 1]
        s.order[p], s.place[k] = k, p
        s.sorted[p, 0], s.sorted[p, 1], s.sorted[p, 2] = x[k, 0], x[k, 1], x[k, 2]
        s.sorted[p, 3] = s.radius[k] + 0.5 * SKIN


@loop_kernel
def exclude(s: Spheres, p: int, own: Scalar) -> None:
    """Give atoms near the one at place p along bonds their own radius, times 1, or one with which they never touch."""
    i, radius = s.order[p], s.sorted[p, 3]
    for k in range(s.first[i], s.first[i + 1]):
        j = s.excluded[k]
        s.sorted[s.place[j], 3] = own * (s.radius[j] + 0.5 * SKIN) - (1.0 - own) * radius


@loop_kernel
def scan(s: Spheres, pairs: Rows, count: int, p: int, first: int, last: int) -> int:
    """Add pairs of the atom at place p with those at places from first to last, and return how many there are."""
    y, radius, group = get3(s.sorted, p), s.sorted[p, 3], s.group[s.order[p]]
    for t in range(first, last):
        gap = sub3(y, get3(s.sorted, t))
        reach = radius + s.sorted[t, 3]
        if dot3(gap, gap) < reach * reach and s.group[s.order[t]] != group:
            if count < len(pairs):
                pairs[count, 0], pairs[count, 1] = s.order[p], s.order[t]
            count += 1
    return count


@loop_kernel
def cells(
    low: tuple[Scalar, Scalar, Scalar], high: tuple[Scalar, Scalar, Scalar], edge: Scalar
) -> tuple[int, int, int]:
    """Number of cells of this edge in a box."""
    return (
        int(min((high[0] - low[0]) / edge, 1e6)) + 1, int(min((high[1] - low[1]) / edge, 1e6)) + 1,
        int(min((high[2] - low[2]) / edge, 1e6)) + 1,
    )  # fmt: skip


@loop_kernel
def find_clusters(s: Spheres, h: Hierarchy, x: Rows, q: Rows, before: Rows) -> int:
    """The cluster of each group since pairs were listed, and how many there are beside the world."""
    n, count = len(h.parent), 0
    for g in range(n):
        h.cluster[g], h.moved[g], j = g, 0, h.joint[g]
        if h.parent[g] >= 0 and abs(q[j] - before[j]) < STILL:
            h.cluster[g] = h.cluster[h.parent[g]]
    for k in range(len(x)):
        gap = sub3(get3(x, k), get3(s.listed, k))
        if s.group[k] >= 0 and not dot3(gap, gap) < STILL * STILL:
            h.moved[h.cluster[s.group[k]]] = 1
    for g in range(n):
        count += h.moved[g]
        if h.moved[h.cluster[g]] == 0:
            h.cluster[g] = n
    return count


@loop_kernel
def cluster_of(s: Spheres, h: Hierarchy, k: int) -> int:
    """The cluster of atom k."""
    if s.group[k] < 0:
        return len(h.parent)
    return h.cluster[s.group[k]]


@loop_kernel
def keep_pairs(s: Spheres, h: Hierarchy, pairs: Rows) -> int:
    """Keep listed pairs inside clusters only, and return their number."""
    count = 0
    for p in range(s.pairs[0]):
        i, j = pairs[p, 0], pairs[p, 1]
        if cluster_of(s, h, i) == cluster_of(s, h, j):
            pairs[count, 0], pairs[count, 1] = i, j
            count += 1
    return count


@loop_kernel
def enclose(s: Spheres, h: Hierarchy, x: Rows) -> None:
    """Boxes around spheres with half the skin."""
    leaves = len(h.inside) // 2
    for k in range(leaves):
        own = min(k, len(h.first) - 2)
        h.inside[leaves + k] = cluster_of(s, h, h.atom[h.first[own]])
        for c in range(3):
            low, high = 1e300, -1e300
            if own == k:
                for a in range(h.first[k], h.first[k + 1]):
                    i = h.atom[a]
                    low = min(low, x[i, c] - s.radius[i] - 0.5 * SKIN)
                    high = max(high, x[i, c] + s.radius[i] + 0.5 * SKIN)
            h.box[leaves + k, c], h.box[leaves + k, c + 3] = low, high
    for k in range(leaves - 1, 0, -1):
        h.inside[k] = h.inside[2 * k]
        if h.inside[2 * k] != h.inside[2 * k + 1]:
            h.inside[k] = -1
        for c in range(3):
            h.box[k, c] = min(h.box[2 * k, c], h.box[2 * k + 1, c])
            h.box[k, c + 3] = max(h.box[2 * k, c + 3], h.box[2 * k + 1, c + 3])


@loop_kernel
def list_between(s: Spheres, h: Hierarchy, pairs: Rows, x: Rows, kept: int) -> int:
    """Add pairs between clusters to those that are kept; returns how many there are, which may exceed the room."""
    enclose(s, h, x)
    leaves, count, left = len(h.inside) // 2, kept, 1
    h.todo[0, 0], h.todo[0, 1] = 1, 1
    while left > 0:
        left -= 1
        a, b = h.todo[left, 0], h.todo[left, 1]
        if (h.inside[a] >= 0 and h.inside[a] == h.inside[b]) or touch(h, a, b) == 0:
            continue
        if a >= leaves and b >= leaves:
            count = scan_boxes(s, h, pairs, x, a - leaves, b - leaves, count)
        elif a == b:
            h.todo[left, 0], h.todo[left, 1] = 2 * a, 2 * a
            h.todo[left + 1, 0], h.todo[left + 1, 1] = 2 * a, 2 * a + 1
            h.todo[left + 2, 0], h.todo[left + 2, 1] = 2 * a + 1, 2 * a + 1
            left += 3
        else:  # of two boxes, that of the higher level opens
            big, small = min(a, b), max(a, b)
            h.todo[left, 0], h.todo[left, 1] = 2 * big, small
            h.todo[left + 1, 0], h.todo[left + 1, 1] = 2 * big + 1, small
            left += 2
    return count


@loop_kernel
def touch(h: Hierarchy, a: int, b: int) -> int:
    """1 if two boxes have a point in common."""
    for c in range(3):
        if h.box[a, c] > h.box[b, c + 3] or h.box[b, c] > h.box[a, c + 3]:
            return 0
    return 1


@loop_kernel
def scan_boxes(s: Spheres, h: Hierarchy, pairs: Rows, x: Rows, a: int, b: int, count: int) -> int:
    """Add pairs of atoms in two of the smallest boxes, and return how many there are."""
    for k in range(h.first[a], h.first[a + 1]):
        i = h.atom[k]
        for l in range(h.first[b], h.first[b + 1]):
            j = h.atom[l]
            gap, reach = sub3(get3(x, i), get3(x, j)), s.radius[i] + s.radius[j] + SKIN
            if dot3(gap, gap) < reach * reach and is_pair(s, i, j) == 1:
                if count < len(pairs):
                    pairs[count, 0], pairs[count, 1] = i, j
                count += 1
    return count


@loop_kernel
def is_pair(s: Spheres, i: int, j: int) -> int:
    """1 if atoms are more than three bonds apart."""
    for k in range(s.first[i], s.first[i + 1]):
        if s.excluded[k] == j:
            return 0
    return 1


@loop_kernel
def repel(s: Spheres, pairs: Rows, x: Rows, F: Rows) -> Scalar:
    """Add the forces of overlapping pairs and return their energy."""
    energy, k = 0.0, s.stiffness[0]
    for p in range(s.pairs[0]):
        i, j = pairs[p, 0], pairs[p, 1]
        gap = sub3(get3(x, i), get3(x, j))
        reach = s.radius[i] + s.radius[j]
        d2, s2 = dot3(gap, gap), reach * reach
        if d2 < s2:
            u = 1.0 - d2 / s2
            energy += 0.125 * k * s2 * u * u
            f = scale3(0.5 * k * u, gap)
            add_force(F, i, f)
            add_force(F, j, scale3(-1.0, f))
    return energy
